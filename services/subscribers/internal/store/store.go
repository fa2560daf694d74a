// Package store keeps the domain's records as documents, and declares the indexes
// that serve its queries.
package store

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

// Store implements audience.Store.
type Store struct {
	db            *document.Database
	addresses     *document.Collection[audience.Address]
	subscriptions *document.Collection[audience.Subscription]
}

// New declares the collections in db.
func New(db *document.Database) *Store {
	return &Store{db: db, addresses: document.Declare(db, addresses()), subscriptions: document.Declare(db, subscriptions())}
}

// inChannel are the fields of an index within one channel of one organization.
func inChannel(more ...string) []string {
	return append([]string{audience.FieldOrganization, audience.FieldChannel}, more...)
}

func addresses() document.Schema[audience.Address] {
	type a = audience.Address
	return document.Schema[a]{
		Name: "addresses",
		Key:  func(a *a) string { return a.ID },
		Fields: []document.Field[a]{
			{Name: audience.FieldOrganization, Value: func(a *a) any {
				if a.Removed {
					return nil // found by nobody, in nobody's way
				}
				return a.OrganizationID
			}},
			{Name: audience.FieldChannel, Value: func(a *a) any { return string(a.Channel) }},
			{Name: audience.FieldLegacyID, Value: func(a *a) any { return a.LegacyID }},
			{Name: audience.FieldText, Value: func(a *a) any { return a.Text }},
			{Name: audience.FieldNormal, Value: func(a *a) any { return a.Normal }},
			{Name: audience.FieldBlocked, Value: func(a *a) any { return a.Blocked }},
			{Name: audience.FieldRemoved, Value: func(a *a) any {
				if !a.Removed {
					return nil
				}
				return true
			}},
		},
		Indexes: []document.Index{
			{Name: audience.IndexLegacy, Fields: inChannel(audience.FieldLegacyID), Unique: true},
			{Name: "normal", Fields: inChannel(audience.FieldNormal), Unique: true},
			{Name: audience.IndexText, Fields: inChannel(audience.FieldText, audience.FieldLegacyID)},
			{Name: "removed", Fields: []string{audience.FieldRemoved}},
		},
	}
}

func subscriptions() document.Schema[audience.Subscription] {
	type s = audience.Subscription
	return document.Schema[s]{
		Name: "subscriptions",
		Key:  func(s *s) string { return s.ID },
		Fields: []document.Field[s]{
			{Name: audience.FieldOrganization, Value: func(s *s) any { return s.OrganizationID }},
			{Name: audience.FieldChannel, Value: func(s *s) any { return string(s.Channel) }},
			{Name: audience.FieldLegacyID, Value: func(s *s) any { return s.LegacyID }},
			{Name: audience.FieldAddress, Value: func(s *s) any { return s.AddressID }},
			{Name: audience.FieldComponent, Value: func(s *s) any { return s.ComponentID }},
			{Name: audience.FieldConfirmed, Value: func(s *s) any { return s.Confirmed }},
		},
		Indexes: []document.Index{
			{Name: audience.IndexLegacy, Fields: inChannel(audience.FieldLegacyID), Unique: true},
			{Name: "pair", Fields: []string{audience.FieldAddress, audience.FieldComponent}, Unique: true},
			{Name: audience.IndexAddress, Fields: inChannel(audience.FieldAddress, audience.FieldLegacyID)},
			{Name: audience.IndexComponent, Fields: inChannel(audience.FieldComponent, audience.FieldLegacyID)},
			{Name: audience.IndexConcerned, Fields: inChannel(audience.FieldConfirmed, audience.FieldComponent, audience.FieldAddress)},
		},
	}
}

// NextLegacyID implements audience.Store.
func (s *Store) NextLegacyID(ctx context.Context, channel topic.Channel, what string) (int64, error) {
	return s.db.Next(ctx, string(channel)+"-"+what)
}

// AddAddress implements audience.Store.
func (s *Store) AddAddress(ctx context.Context, a audience.Address) error {
	return s.addresses.Insert(ctx, a)
}

// ChangeAddress implements audience.Store.
func (s *Store) ChangeAddress(ctx context.Context, id string, change func(*audience.Address) error) (audience.Address, error) {
	return s.addresses.Update(ctx, id, func(a *audience.Address) ([]topic.Message, error) { return nil, change(a) })
}

// DeleteAddress implements audience.Store.
func (s *Store) DeleteAddress(ctx context.Context, id string) error {
	return s.addresses.Delete(ctx, id, nil)
}

// AddressesByID implements audience.Store.
func (s *Store) AddressesByID(ctx context.Context, ids []string) ([]audience.Address, error) {
	return s.addresses.GetMany(ctx, ids)
}

// FindAddresses implements audience.Store.
func (s *Store) FindAddresses(ctx context.Context, q find.Query) (find.Page[audience.Address], error) {
	return s.addresses.Find(ctx, q)
}

// CountAddresses implements audience.Store.
func (s *Store) CountAddresses(ctx context.Context, q find.Query) (int64, error) {
	return s.addresses.Count(ctx, q)
}

// AddSubscription implements audience.Store.
func (s *Store) AddSubscription(ctx context.Context, subscription audience.Subscription) error {
	return s.subscriptions.Insert(ctx, subscription)
}

// ChangeSubscription implements audience.Store.
func (s *Store) ChangeSubscription(ctx context.Context, id string, change func(*audience.Subscription) error) (audience.Subscription, error) {
	return s.subscriptions.Update(ctx, id, func(subscription *audience.Subscription) ([]topic.Message, error) {
		return nil, change(subscription)
	})
}

// DeleteSubscription implements audience.Store.
func (s *Store) DeleteSubscription(ctx context.Context, id string) error {
	return s.subscriptions.Delete(ctx, id, nil)
}

// DeleteSubscriptions implements audience.Store.
func (s *Store) DeleteSubscriptions(ctx context.Context, q find.Query) error {
	_, err := s.subscriptions.DeleteMany(ctx, q)
	return err
}

// FindSubscriptions implements audience.Store.
func (s *Store) FindSubscriptions(ctx context.Context, q find.Query) (find.Page[audience.Subscription], error) {
	return s.subscriptions.Find(ctx, q)
}

// CountSubscriptions implements audience.Store.
func (s *Store) CountSubscriptions(ctx context.Context, q find.Query) (int64, error) {
	return s.subscriptions.Count(ctx, q)
}
