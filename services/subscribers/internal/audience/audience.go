// Package audience is the domain of the people who subscribe to a dashboard by mail, SMS or WhatsApp.
//
// There are two kinds of records. An Address is a mail address or a phone number of an organization. It has the data
// that apply on every dashboard: the text of the address, and whether messages to it are suppressed. A Subscriber is
// the subscription of one address to one dashboard. It has an Entry for each component, or one Entry for all
// components. Each Entry is confirmed separately. The recipients of a change are subscribers.
//
// The key of a Subscriber is computed from the ids of its dashboard and its address. So an address has at most one
// Subscriber on each dashboard, also after concurrent writes. Nobody can compute the key from the text of an address,
// because the id of the address is random, and no response to a visitor contains it. A Subscriber without entries
// counts as deleted: no query of an organization finds it, and SubscriberWritten deletes the record.
//
// A Subscriber has a copy of its Address. A Subscription is a copy of an Entry for the lists of the legacy interface.
// AddressWritten and SubscriberWritten update the copies. The store calls them after each write. If a process is killed
// before that, the store calls them later.
package audience

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// The fields that queries may name.
const (
	FieldOrganization = "organization"
	FieldChannel      = "channel"
	FieldLegacyID     = "legacyId"
	FieldText         = "text"       // Address.Text; of a subscriber: the result of Searched
	FieldParts        = "parts"      // words for the parts of a subscriber's FieldText
	FieldNormal       = "normal"     // Address.Normal
	FieldBlocked      = "blocked"    // the address is suppressed; a field of addresses and subscribers
	FieldRemoved      = "removed"    // an address is removed
	FieldUnclaimed    = "unclaimed"  // Address.Unclaimed, unless the address is removed
	FieldAddress      = "address"    // the address's id
	FieldComponent    = "component"  // component id of a subscription
	FieldConfirmed    = "confirmed"  // a subscription is confirmed
	FieldSubscriber   = "subscriber" // subscriber id of a subscription
	FieldDashboard    = "dashboard"  // dashboard id of a subscriber
	FieldStates       = "states"     // states of a subscriber, see State
	FieldSubscribed   = "subscribed" // component ids of a subscriber's entries, or allOf(dashboard)
	FieldConcerned    = "concerned"  // see Subscriber.Concerned; absent while the subscriber is paused
	FieldWaiting      = "waiting"    // result of Subscriber.Waiting; absent if it is empty
	FieldRequested    = "requested"  // time of the subscriber's Request
)

// The indexes that queries name in Scan. Each begins with the organization and the channel, except IndexParts and the
// IndexAddress of subscribers. The fields in the name of the constant follow. The indexes of addresses and
// subscriptions end with the legacy id.
const (
	IndexLegacy          = "legacy"
	IndexSame            = "same" // FieldNormal of addresses
	IndexAddress         = "address"
	IndexComponent       = "component"
	IndexNormal          = "listed"
	IndexDashboard       = "dashboard"
	IndexStates          = "states"
	IndexDashboardStates = "dashboardStates"
	IndexSubscribed      = "subscribed"
	IndexConcerned       = "concerned"
	IndexParts           = "parts"
)

// Events is a client of the events service. Only DashboardsByID uses a cache. So a request can subscribe to a component
// that was created just before.
type Events interface {
	// ComponentsByID returns those components that exist, by id.
	ComponentsByID(ctx context.Context, organization string, ids []string) (map[string]topic.ComponentRecord, error)
	// ComponentsWhere returns the components that match all conditions.
	ComponentsWhere(ctx context.Context, organization string, where []find.Condition) ([]topic.ComponentRecord, error)
	// Dashboard returns the dashboard, or fault.NotFound.
	Dashboard(ctx context.Context, organization, id string) (topic.DashboardRecord, error)
	// FirstDashboard returns the oldest dashboard of the organization, or fault.NotFound.
	FirstDashboard(ctx context.Context, organization string) (topic.DashboardRecord, error)
	// DashboardsByID returns those dashboards that exist, by id. The data may be one second old.
	DashboardsByID(ctx context.Context, organization string, ids []string) (map[string]topic.DashboardRecord, error)
	// PublicDashboard returns the dashboard that visitors see at an address, or fault.NotFound.
	PublicDashboard(ctx context.Context, at topic.PublicAddress) (topic.PublicDashboard, error)
}

// Store stores the domain's records.
type Store struct {
	Addresses     find.Collection[Address]
	Subscribers   find.Collection[Subscriber]
	Subscriptions find.Collection[Subscription]
	Imports       find.Collection[Import]
	// DeletedImports has a record for each subscriber that an import must not create again.
	DeletedImports find.Collection[DeletedImport]
	// Next reserves the next n numbers of a counter and returns the first of them. No number is reserved twice.
	Next func(ctx context.Context, counter string, n int64) (int64, error)
}

// Audience has the operations of the domain, and their dependencies.
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

// list returns the records of one channel of one organization that match q, and the number of matches without q.Limit
// and q.Offset.
func list[T any](ctx context.Context, from find.Collection[T], organization string, channel topic.Channel, q find.Query) ([]T, int64, error) {
	q.Where = of(organization, channel, q.Where...)
	page, err := from.Find(ctx, q)
	if err != nil {
		return nil, 0, err
	}
	total, err := from.Count(ctx, find.Query{Where: q.Where, Scan: q.Scan})
	return page.Items, total, err
}

// each calls visit for each record that matches the conditions, concurrently (see together). It reads the records page
// by page, and returns the first error.
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

// writers is the maximum number of concurrent calls of visit in together.
const writers = 64

// together calls visit for the items concurrently, and returns the first error. A panic of visit is an error too. On
// SQLite, concurrent writes share one transaction.
func together[T any](items []T, visit func(T) error) error {
	var group errgroup.Group
	group.SetLimit(writers)
	for _, item := range items {
		group.Go(func() error { return fault.Recovered(func() error { return visit(item) }) })
	}
	return group.Wait()
}

// batch is the number of records in a page of each, and of addresses in a query of an import.
const batch = 500
