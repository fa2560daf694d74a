// Package store declares the collections of the domain's records, with the indexes for the queries.
package store

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

// Follower updates the records that depend on a written record.
type Follower interface {
	AddressWritten(ctx context.Context, id string, current *audience.Address) error
	SubscriberWritten(ctx context.Context, id string, current *audience.Subscriber) error
	ImportWritten(ctx context.Context, id string, current *audience.Import) error
}

// New declares the collections in db, and returns them as a Store. Each write calls the Follower that follower returns.
// follower is a function, because the audience, which is the Follower, is created after its Store.
func New(db *document.Database, follower func() Follower) audience.Store {
	people, entries, addresses, imports := subscribers(), subscriptions(), addresses(), document.Schema[audience.Import]{
		Name: "imports", Shard: document.ByKey(),
		Key: func(i *audience.Import) string { return i.ID },
	}
	people.Derive = derive(follower, Follower.SubscriberWritten)
	addresses.Derive = derive(follower, Follower.AddressWritten)
	imports.Derive = derive(follower, Follower.ImportWritten)
	return audience.Store{
		Addresses: document.Declare(db, addresses), Subscribers: document.Declare(db, people),
		Subscriptions: document.Declare(db, entries), Imports: document.Declare(db, imports), Next: db.NextN,
		DeletedImports: document.Declare(db, document.Schema[audience.DeletedImport]{
			Name: "deleted_imports", Shard: document.ByKey(),
			Key: func(d *audience.DeletedImport) string { return d.ID },
		}),
	}
}

func derive[T any](follower func() Follower, written func(Follower, context.Context, string, *T) error) func(context.Context, string, *T) error {
	return func(ctx context.Context, key string, current *T) error { return written(follower(), ctx, key, current) }
}

// inChannel returns the fields of an index that begins with the organization and the channel.
func inChannel(more ...string) []string {
	return append([]string{audience.FieldOrganization, audience.FieldChannel}, more...)
}

// unless returns value, or nil if absent is true.
func unless(absent bool, value any) any {
	if absent {
		return nil
	}
	return value
}

func addresses() document.Schema[audience.Address] {
	type a = audience.Address
	return document.Schema[a]{
		Name:  "addresses",
		Key:   func(a *a) string { return a.ID },
		Shard: document.By(audience.FieldOrganization),
		Fields: []document.Field[a]{
			// No query of an organization finds a removed address, and its text may be stored again.
			{Name: audience.FieldOrganization, Value: func(a *a) any { return unless(a.Removed, a.OrganizationID) }},
			{Name: audience.FieldChannel, Value: func(a *a) any { return string(a.Channel) }},
			{Name: audience.FieldLegacyID, Value: func(a *a) any { return a.LegacyID }},
			{Name: audience.FieldText, Value: func(a *a) any { return a.Text }},
			{Name: audience.FieldNormal, Value: func(a *a) any { return a.Normal }},
			{Name: audience.FieldBlocked, Value: func(a *a) any { return a.Suppression != nil }},
			{Name: audience.FieldRemoved, Value: func(a *a) any { return optional.OrNull(a.Removed) }},
			{Name: audience.FieldUnclaimed, Value: func(a *a) any {
				if a.Unclaimed == nil || a.Removed {
					return nil
				}
				return *a.Unclaimed
			}},
		},
		Indexes: []document.Index{
			{Name: audience.IndexLegacy, Fields: inChannel(audience.FieldLegacyID), Unique: true},
			{Name: "normal", Fields: inChannel(audience.FieldNormal), Unique: true},
			{Name: audience.IndexSame, Fields: inChannel(audience.FieldNormal, audience.FieldLegacyID)},
			{Name: "unclaimed", Fields: []string{audience.FieldUnclaimed}, Scatter: "A sweep finds the addresses of all organizations that a killed process has left."},
			{Name: "removed", Fields: []string{audience.FieldRemoved}, Scatter: "A sweep completes the removal of addresses of all organizations."},
		},
	}
}

// Reasons why queries of subscribers ask every shard. FieldOrganization cannot be the shard key of subscribers, because
// the field is absent from a subscriber without entries.
const (
	ofList  = "A list of members merges the pages of all shards."
	ofSweep = "A sweep finds the requests of all organizations that have expired."
)

func subscribers() document.Schema[audience.Subscriber] {
	type s = audience.Subscriber
	return document.Schema[s]{
		Name:  "subscribers",
		Key:   func(s *s) string { return s.ID },
		Shard: document.ByKey(),
		Fields: []document.Field[s]{
			// No query of an organization finds a subscriber without entries or with a removed address.
			{Name: audience.FieldOrganization, Value: func(s *s) any { return unless(s.Gone() || s.Address.Removed, s.OrganizationID) }},
			{Name: audience.FieldChannel, Value: func(s *s) any { return string(s.Channel) }},
			{Name: audience.FieldDashboard, Value: func(s *s) any { return s.DashboardID }},
			{Name: audience.FieldAddress, Value: func(s *s) any { return s.AddressID }},
			{Name: audience.FieldText, Value: func(s *s) any { return s.Searched() }, Revision: 1},
			{Name: audience.FieldParts, Value: func(s *s) any { return s.Parts() }, Many: true},
			{Name: audience.FieldNormal, Value: func(s *s) any { return s.Address.Normal }},
			{Name: audience.FieldStates, Value: func(s *s) any { return s.States() }, Many: true, Revision: 1},
			{Name: audience.FieldSubscribed, Value: func(s *s) any { return s.Subscribed() }, Many: true},
			{Name: audience.FieldConcerned, Value: func(s *s) any { return s.Concerned() }, Many: true, Revision: 2},
			{Name: audience.FieldBlocked, Value: func(s *s) any { return s.Address.Suppression != nil }},
			{Name: audience.FieldWaiting, Value: func(s *s) any { return optional.OrNull(s.Waiting()) }},
			{Name: audience.FieldRequested, Value: func(s *s) any {
				if s.Request == nil {
					return nil
				}
				return s.Request.At
			}},
		},
		Indexes: []document.Index{
			{Name: audience.IndexNormal, Fields: inChannel(audience.FieldNormal), Counted: true, Scatter: ofList},
			{Name: audience.IndexDashboard, Fields: inChannel(audience.FieldDashboard, audience.FieldNormal), Counted: true, Scatter: ofList},
			{Name: audience.IndexStates, Fields: inChannel(audience.FieldStates, audience.FieldNormal), Scatter: ofList},
			{Name: audience.IndexDashboardStates, Fields: inChannel(audience.FieldDashboard, audience.FieldStates, audience.FieldNormal), Scatter: ofList},
			{Name: audience.IndexSubscribed, Fields: inChannel(audience.FieldSubscribed, audience.FieldNormal), Scatter: ofList},
			{Name: audience.IndexConcerned, Fields: inChannel(audience.FieldConcerned, audience.FieldBlocked), Scatter: "A fan-out reads the recipients in pages of 10,000, from all shards at once."},
			{Name: audience.IndexAddress, Fields: []string{audience.FieldAddress}, Scatter: "A write of an address follows to its subscribers."},
			{Name: audience.IndexParts, Fields: []string{audience.FieldParts, audience.FieldNormal}, Words: true, Scatter: ofList},
			{Name: "waiting", Fields: []string{audience.FieldWaiting, audience.FieldRequested}, Scatter: ofSweep},
			{Name: "requested", Fields: []string{audience.FieldRequested}, Scatter: ofSweep},
		},
	}
}

func subscriptions() document.Schema[audience.Subscription] {
	type s = audience.Subscription
	return document.Schema[s]{
		Name:  "subscriptions",
		Key:   func(s *s) string { return s.ID },
		Shard: document.By(audience.FieldOrganization),
		Fields: []document.Field[s]{
			{Name: audience.FieldOrganization, Value: func(s *s) any { return s.OrganizationID }},
			{Name: audience.FieldChannel, Value: func(s *s) any { return string(s.Channel) }},
			{Name: audience.FieldLegacyID, Value: func(s *s) any { return s.LegacyID }},
			{Name: audience.FieldAddress, Value: func(s *s) any { return s.AddressID }},
			{Name: audience.FieldComponent, Value: func(s *s) any { return s.ComponentID }},
			{Name: audience.FieldConfirmed, Value: func(s *s) any { return s.Confirmed }},
			{Name: audience.FieldSubscriber, Value: func(s *s) any { return s.SubscriberID }},
		},
		Indexes: []document.Index{
			{Name: audience.IndexLegacy, Fields: inChannel(audience.FieldLegacyID), Unique: true},
			{Name: audience.IndexAddress, Fields: inChannel(audience.FieldAddress, audience.FieldLegacyID)},
			{Name: audience.IndexComponent, Fields: inChannel(audience.FieldComponent, audience.FieldLegacyID)},
			{Name: "subscriber", Fields: []string{audience.FieldSubscriber, audience.FieldLegacyID}, Scatter: "A write of a subscriber compares its rows, which its id finds."},
		},
	}
}
