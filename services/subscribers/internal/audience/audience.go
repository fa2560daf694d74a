// Package audience is the domain of the people who subscribe to a dashboard by mail, SMS or WhatsApp.
//
// There are two records. An Address is a mail address or a phone number of an organization. It holds what applies on every
// dashboard: the text of the address, and whether messages to it are suppressed. A Subscriber is the subscription of one
// address to one dashboard. It holds an Entry for each component, with a confirmation of its own, or one Entry for all
// components. The recipients of a change are subscribers.
//
// The key of a Subscriber is computed from its dashboard and the id of its address. So an address has at most one on each
// dashboard: of several concurrent writes, one creates it. Nobody can compute the key from the text of an address, because
// the id of the address is random and in no response to a visitor. A subscriber without entries does not exist: no query
// finds it, and Derive deletes it.
//
// A subscriber holds a copy of its address. A Subscription is a copy of an entry for the lists of the legacy interface.
// AddressWritten and SubscriberWritten update the copies. The store calls them after each write, and again after a crash.
package audience

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// The fields that queries may name.
const (
	FieldOrganization = "organization"
	FieldChannel      = "channel"
	FieldLegacyID     = "legacyId"
	FieldText         = "text"       // text of an address as given; text of a subscriber as Searched returns it
	FieldNormal       = "normal"     // text of an address as compared
	FieldBlocked      = "blocked"    // an address is suppressed
	FieldRemoved      = "removed"    // an address is removed
	FieldAddress      = "address"    // the address's id
	FieldComponent    = "component"  // component id of a subscription
	FieldConfirmed    = "confirmed"  // a subscription is confirmed
	FieldSubscriber   = "subscriber" // subscriber id of a subscription
	FieldDashboard    = "dashboard"  // dashboard id of a subscriber
	FieldStates       = "states"     // states of a subscriber, see State
	FieldSubscribed   = "subscribed" // component ids of a subscriber's entries, or allOf its dashboard
	FieldConcerned    = "concerned"  // values of FieldSubscribed for confirmed entries, and Everything; absent while the subscriber is paused
	FieldWaiting      = "waiting"    // a subscriber waits, see Waiting
	FieldRequested    = "requested"  // time of a subscriber's Request
)

// The indexes that queries name: organization, channel and the field in the name. The indexes of addresses and
// subscriptions end with the legacy id.
const (
	IndexLegacy          = "legacy"
	IndexSame            = "same" // compared form of addresses
	IndexAddress         = "address"
	IndexComponent       = "component"
	IndexNormal          = "listed"
	IndexDashboard       = "dashboard"
	IndexStates          = "states"
	IndexDashboardStates = "dashboardStates"
	IndexSubscribed      = "subscribed"
	IndexConcerned       = "concerned"
)

// Events is a client of the events service. Only DashboardsByID caches, so a caller can subscribe to a component that was
// created one call before.
type Events interface {
	// ComponentsByID returns the components that exist, by id.
	ComponentsByID(ctx context.Context, organization string, ids []string) (map[string]topic.ComponentRecord, error)
	// ComponentsWhere returns the components that fulfil all conditions.
	ComponentsWhere(ctx context.Context, organization string, where []find.Condition) ([]topic.ComponentRecord, error)
	// Dashboard returns the dashboard, or fault.NotFound.
	Dashboard(ctx context.Context, organization, id string) (topic.DashboardRecord, error)
	// FirstDashboard returns the oldest dashboard of the organization, or fault.NotFound.
	FirstDashboard(ctx context.Context, organization string) (topic.DashboardRecord, error)
	// DashboardsByID returns the dashboards that exist, by id. They may be one second old.
	DashboardsByID(ctx context.Context, organization string, ids []string) (map[string]topic.DashboardRecord, error)
	// PublicDashboard returns the dashboard that visitors find at an address, or fault.NotFound.
	PublicDashboard(ctx context.Context, at topic.PublicAddress) (topic.PublicDashboard, error)
}

// Store stores the domain's records.
type Store struct {
	Addresses     find.Collection[Address]
	Subscribers   find.Collection[Subscriber]
	Subscriptions find.Collection[Subscription]
	Imports       find.Collection[Import]
	// Next takes n numbers of a counter and returns the first: 1, 2, 3, each once.
	Next func(ctx context.Context, counter string, n int64) (int64, error)
}

// Audience holds the operations of the domain, and the parts that they use.
type Audience struct {
	Store  Store
	Events Events
	Links  Links
	Log    *slog.Logger
	Now    func() time.Time // UTC, whole milliseconds
}

// of returns conditions that restrict a query to one channel of one organization, followed by more.
func of(organization string, channel topic.Channel, more ...find.Condition) []find.Condition {
	return append([]find.Condition{find.Eq(FieldOrganization, organization), find.Eq(FieldChannel, string(channel))}, more...)
}

// list returns the records that q finds in one channel of one organization, and their number before
// q.Limit and q.Offset.
func list[T any](ctx context.Context, from find.Collection[T], organization string, channel topic.Channel, q find.Query) ([]T, int64, error) {
	q.Where = of(organization, channel, q.Where...)
	page, err := from.Find(ctx, q)
	if err != nil {
		return nil, 0, err
	}
	total, err := from.Count(ctx, find.Query{Where: q.Where, Scan: q.Scan})
	return page.Items, total, err
}

// each calls visit for each record that the conditions find, page by page and as together does.
func each[T any](ctx context.Context, from find.Collection[T], where []find.Condition, visit func(T) error) error {
	query := find.Query{Where: where, Limit: batch}
	for {
		page, err := from.Find(ctx, query)
		if err != nil {
			return err
		}
		if err := together(page.Items, visit); err != nil {
			return err
		}
		if page.Next == "" {
			return nil
		}
		query.After = page.Next
	}
}

// writers is the number of records that together visits at a time.
const writers = 64

// together calls visit for the items, several at a time, and returns the first error. Writes that wait at the same time
// share one transaction on SQLite.
func together[T any](items []T, visit func(T) error) error {
	var group errgroup.Group
	group.SetLimit(writers)
	for _, item := range items {
		group.Go(func() error { return visit(item) })
	}
	return group.Wait()
}

// batch is the number of records that a cascade reads at once.
const batch = 500

// set stores *value in *field if value is not nil.
func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}
