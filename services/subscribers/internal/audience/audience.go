// Package audience is the domain of people who want to be told: addresses (mail
// addresses and phone numbers) and their subscriptions to components.
//
// A subscription is one entry, an address and a component, with an id and a
// confirmation of its own; it is the legacy interface's subscription. Recipients of
// a change are addresses, each once however many affected components it subscribed to.
//
// Removing an address takes several writes. The first, which marks it removed, is the
// one that counts: from then on the address is nowhere to be found and told nothing.
// Its subscriptions and itself are deleted after it, and by Sweep at the next start
// if the process was killed in between.
package audience

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Names of the fields that queries of the store may name.
const (
	FieldOrganization = "organization"
	FieldChannel      = "channel"
	FieldLegacyID     = "legacyId"
	FieldText         = "text"      // of an address, as given
	FieldNormal       = "normal"    // of an address, as compared
	FieldBlocked      = "blocked"   // of an address
	FieldRemoved      = "removed"   // of an address
	FieldAddress      = "address"   // of a subscription: the address's id
	FieldComponent    = "component" // of a subscription
	FieldConfirmed    = "confirmed" // of a subscription
)

// Indexes of the form (organization, channel, ..., legacyId).
const (
	IndexLegacy    = "legacy"
	IndexText      = "text"
	IndexAddress   = "address"
	IndexComponent = "component"
	IndexConcerned = "concerned"
)

// Component is a component as the events service knows it.
type Component struct {
	ID                      string
	LegacyID                int64
	Name                    string
	Description             string
	Group                   string
	Hidden                  bool
	HiddenFromNotifications bool
}

// Dashboard is a dashboard, as mail speaks of it.
type Dashboard struct {
	ID, Name, URL string
	Components    []string // ids of those asked about that it shows
}

// Components asks the events service. What it finds is true now, so that a caller
// can subscribe to what was made one call ago.
type Components interface {
	// ByID finds those of the ids that there are.
	ByID(ctx context.Context, organization string, ids []string) (map[string]Component, error)
	// ByLegacyID finds one, or fault.NotFound.
	ByLegacyID(ctx context.Context, organization string, id int64) (Component, error)
	// Where finds those for which all conditions hold.
	Where(ctx context.Context, organization string, where []find.Condition) ([]Component, error)
	// Dashboards finds those that show one of the components, the first made first.
	Dashboards(ctx context.Context, organization string, components []string) ([]Dashboard, error)
}

// Store keeps addresses and subscriptions. Every query names the organization.
type Store interface {
	NextLegacyID(ctx context.Context, channel topic.Channel, what string) (int64, error)

	// AddAddress fails with fault.Conflict when the organization has the address.
	AddAddress(ctx context.Context, a Address) error
	ChangeAddress(ctx context.Context, id string, change func(*Address) error) (Address, error)
	DeleteAddress(ctx context.Context, id string) error
	AddressesByID(ctx context.Context, ids []string) ([]Address, error)
	FindAddresses(ctx context.Context, q find.Query) (find.Page[Address], error)
	CountAddresses(ctx context.Context, q find.Query) (int64, error)

	// AddSubscription fails with fault.Conflict when the address has the component.
	AddSubscription(ctx context.Context, s Subscription) error
	ChangeSubscription(ctx context.Context, id string, change func(*Subscription) error) (Subscription, error)
	DeleteSubscription(ctx context.Context, id string) error
	DeleteSubscriptions(ctx context.Context, q find.Query) error
	FindSubscriptions(ctx context.Context, q find.Query) (find.Page[Subscription], error)
	CountSubscriptions(ctx context.Context, q find.Query) (int64, error)
}

// Audience is the organization's addresses and subscriptions.
type Audience struct {
	store      Store
	components Components
	now        func() time.Time
}

// New makes the audience over its store.
func New(store Store, components Components, now func() time.Time) *Audience {
	return &Audience{store: store, components: components, now: now}
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// of restricts a query to one channel of one organization.
func of(organization string, channel topic.Channel, more ...find.Condition) []find.Condition {
	return append([]find.Condition{find.Eq(FieldOrganization, organization), find.Eq(FieldChannel, string(channel))}, more...)
}
