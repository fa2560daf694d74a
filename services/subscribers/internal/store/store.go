// Package store declares the domain's records as documents, with the indexes that serve its queries.
package store

import (
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

// New declares the collections in db and returns them.
func New(db *document.Database) audience.Store {
	return audience.Store{
		Addresses: document.Declare(db, addresses()), Subscriptions: document.Declare(db, subscriptions()), Next: db.Next,
	}
}

// inChannel returns the fields of an index within one channel of one organization.
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
					return nil // no query finds it, and its text may be stored again
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
