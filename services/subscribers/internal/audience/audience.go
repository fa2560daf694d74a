// Package audience is the domain of addresses (mail addresses and phone numbers) and their
// subscriptions to components.
//
// A subscription joins one address and one component. It has an id and a confirmation of its own.
// The recipients of a change are addresses. An address is one recipient even if it subscribed to
// several of the affected components.
//
// The removal of an address takes several writes. The first write marks the address as removed.
// From then on no query finds the address and no message is sent to it. The next writes delete its
// subscriptions and the address. If the process is killed in between, Sweep deletes them at the
// next start.
package audience

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// The fields that queries may name.
const (
	FieldOrganization = "organization"
	FieldChannel      = "channel"
	FieldLegacyID     = "legacyId"
	FieldText         = "text"      // of an address, as given
	FieldNormal       = "normal"    // of an address, as compared
	FieldBlocked      = "blocked"   // of an address
	FieldRemoved      = "removed"   // of an address
	FieldAddress      = "address"   // of a subscription: the address's id
	FieldComponent    = "component" // of a subscription: the component's id
	FieldConfirmed    = "confirmed" // of a subscription
)

// The indexes that queries name: organization, channel and the field in the name. The legacy id
// follows, except in IndexConcerned.
const (
	IndexLegacy    = "legacy"
	IndexText      = "text"
	IndexAddress   = "address"
	IndexComponent = "component"
	IndexConcerned = "concerned" // organization, channel, confirmed, component, address
)

// Component is a component of the events service.
type Component struct {
	ID                      string
	LegacyID                int64
	Name                    string
	Description             string
	Group                   string
	Hidden                  bool
	HiddenFromNotifications bool
}

// Dashboard is a dashboard that a message names.
type Dashboard struct {
	ID, Name, URL string
	Components    []string // ids of the requested components that it shows
}

// Events is a client of the events service. It does not cache, so that a caller can subscribe to a
// component that was created one call before.
type Events interface {
	// ComponentsByID returns the components that exist, by id.
	ComponentsByID(ctx context.Context, organization string, ids []string) (map[string]Component, error)
	// ComponentIDs returns the ids of the components that fulfil all conditions.
	ComponentIDs(ctx context.Context, organization string, where []find.Condition) ([]string, error)
	// Dashboards returns the dashboards that show one of the components, oldest first.
	Dashboards(ctx context.Context, organization string, components []string) ([]Dashboard, error)
}

// Collection stores records of one type. document.Collection implements and describes it.
type Collection[T any] interface {
	GetMany(ctx context.Context, keys []string) ([]T, error)
	Find(ctx context.Context, q find.Query) (find.Page[T], error)
	Count(ctx context.Context, q find.Query) (int64, error)
	Insert(ctx context.Context, item T, messages ...topic.Message) error
	Update(ctx context.Context, key string, change func(*T) ([]topic.Message, error)) (T, error)
	Change(ctx context.Context, key string, change func(*T) error) (T, error)
	Delete(ctx context.Context, key string, decide func(*T) ([]topic.Message, error)) error
	DeleteMany(ctx context.Context, q find.Query) (int64, error)
}

// Store stores the domain's records.
type Store struct {
	Addresses     Collection[Address]
	Subscriptions Collection[Subscription]
	// Next returns the next number of a counter: 1, 2, 3, each once.
	Next func(ctx context.Context, counter string) (int64, error)
}

// Audience holds the operations of the domain.
type Audience struct {
	Options
}

// Options are the parts that the operations use.
type Options struct {
	Store  Store
	Events Events
	// Manage returns the URL where the owner of an address unsubscribes.
	Manage func(Address) string
	Log    *slog.Logger
	Now    func() time.Time // UTC, whole milliseconds
}

// New returns the operations.
func New(o Options) *Audience { return &Audience{o} }

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// of returns conditions that restrict a query to one channel of one organization, followed by more.
func of(organization string, channel topic.Channel, more ...find.Condition) []find.Condition {
	return append([]find.Condition{find.Eq(FieldOrganization, organization), find.Eq(FieldChannel, string(channel))}, more...)
}

// list returns the records that q finds in one channel of one organization, and their number before
// q.Limit and q.Offset.
func list[T any](ctx context.Context, from Collection[T], organization string, channel topic.Channel, q find.Query) ([]T, int64, error) {
	q.Where = of(organization, channel, q.Where...)
	page, err := from.Find(ctx, q)
	if err != nil {
		return nil, 0, err
	}
	total, err := from.Count(ctx, find.Query{Where: q.Where, Scan: q.Scan})
	return page.Items, total, err
}

// unlessMissing returns nil if err says that the record does not exist, and err otherwise.
func unlessMissing(err error) error {
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}
