package store

import (
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/inbound"
)

// NewInbound declares the collections of package inbound in db, and returns them as a Store.
func NewInbound(db *document.Database) inbound.Store {
	return inbound.Store{Keys: document.Declare(db, inboundKeys()), Logs: document.Declare(db, inboundLogs())}
}

func inboundKeys() document.Schema[inbound.Key] {
	type k = inbound.Key
	return document.Schema[k]{
		Name: "inbound_keys",
		Key:  func(k *k) string { return k.ID },
		Fields: []document.Field[k]{
			{Name: inbound.FieldOrganization, Value: func(k *k) any { return k.OrganizationID }},
			{Name: inbound.FieldSlot, Value: func(k *k) any { return optional.OrNull(k.Slot) }},
		},
		Indexes: []document.Index{
			{Name: "organization", Fields: []string{inbound.FieldOrganization}},
			{Name: "slots", Fields: []string{inbound.FieldOrganization, inbound.FieldSlot}, Unique: true},
		},
	}
}

func inboundLogs() document.Schema[inbound.Log] {
	type l = inbound.Log
	return document.Schema[l]{
		Name: "inbound_logs",
		Key:  func(l *l) string { return l.ID },
		Fields: []document.Field[l]{
			{Name: inbound.FieldOrganization, Value: func(l *l) any { return l.OrganizationID }},
			{Name: inbound.FieldReceivedAt, Value: func(l *l) any { return l.ReceivedAt }},
			{Name: inbound.FieldWebhookID, Value: func(l *l) any { return optional.OrNull(l.WebhookID) }},
		},
		Indexes: []document.Index{
			{Name: "newest", Fields: []string{inbound.FieldOrganization, inbound.FieldReceivedAt}},
			{Name: "responses", Fields: []string{inbound.FieldOrganization, inbound.FieldWebhookID}, Unique: true},
			{Name: "age", Fields: []string{inbound.FieldReceivedAt}},
		},
	}
}
