package store

import (
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/inbound"
)

// NewInbound declares the collections of package inbound in db, and returns them as a Store.
func NewInbound(db *document.Database) inbound.Store {
	return inbound.Store{
		Keys: document.Declare(db, inboundKeys()), Logs: document.Declare(db, inboundLogs()), Problems: document.Declare(db, inboundProblems()),
		Watches: document.Declare(db, document.Schema[inbound.Watch]{Name: "inbound_watches", Shard: document.ByKey(), Key: func(w *inbound.Watch) string { return w.ID }}),
	}
}

// ofAge is the reason why queries for old records ask every shard.
const ofAge = "Records of all organizations are deleted after the retention time."

func inboundProblems() document.Schema[inbound.Problem] {
	type p = inbound.Problem
	return document.Schema[p]{
		Name:  "inbound_problems",
		Key:   func(p *p) string { return p.ID },
		Shard: document.ByKey(),
		Fields: []document.Field[p]{
			{Name: inbound.FieldOrganization, Value: func(p *p) any { return p.OrganizationID }},
			{Name: inbound.FieldKey, Value: func(p *p) any { return p.KeyID }},
			{Name: inbound.FieldSince, Value: func(p *p) any { return p.Since }},
			{Name: inbound.FieldDueAt, Value: func(p *p) any { return timeOrNull(p.DueAt) }},
			{Name: inbound.FieldExpiresAt, Value: func(p *p) any { return p.ExpiresAt() }},
		},
		Indexes: []document.Index{
			{Name: "newest", Fields: []string{inbound.FieldOrganization, inbound.FieldSince}, Scatter: "A list merges the pages of all shards. A message reads one problem by its key."},
			{Name: "keys", Fields: []string{inbound.FieldOrganization, inbound.FieldKey}, Scatter: "The problems of a key are counted for its limit."},
			{Name: "due", Fields: []string{inbound.FieldDueAt}, Scatter: "The problems of all organizations that become incidents now."},
			{Name: "expired", Fields: []string{inbound.FieldExpiresAt}, Scatter: ofAge},
		},
	}
}

// timeOrNull returns a nil interface for nil, so that the field is absent.
func timeOrNull(at *time.Time) any {
	if at == nil {
		return nil
	}
	return *at
}

func inboundKeys() document.Schema[inbound.Key] {
	type k = inbound.Key
	return document.Schema[k]{
		Name:  "inbound_keys",
		Key:   func(k *k) string { return k.ID },
		Shard: document.By(inbound.FieldOrganization),
		Fields: []document.Field[k]{
			{Name: inbound.FieldOrganization, Value: func(k *k) any { return k.OrganizationID }},
			{Name: inbound.FieldSlot, Value: func(k *k) any { return optional.OrNull(k.Slot) }},
			{Name: inbound.FieldSilentAt, Value: func(k *k) any { return k.SilentAt() }},
		},
		Indexes: []document.Index{
			{Name: "organization", Fields: []string{inbound.FieldOrganization}},
			{Name: "slots", Fields: []string{inbound.FieldOrganization, inbound.FieldSlot}, Unique: true},
			{Name: "silent", Fields: []string{inbound.FieldSilentAt}, Scatter: "The keys of all organizations that sent nothing for too long."},
		},
	}
}

func inboundLogs() document.Schema[inbound.Log] {
	type l = inbound.Log
	return document.Schema[l]{
		Name:  "inbound_logs",
		Key:   func(l *l) string { return l.ID },
		Shard: document.By(inbound.FieldOrganization),
		Fields: []document.Field[l]{
			{Name: inbound.FieldOrganization, Value: func(l *l) any { return l.OrganizationID }},
			{Name: inbound.FieldReceivedAt, Value: func(l *l) any { return l.ReceivedAt }},
			{Name: inbound.FieldKey, Value: func(l *l) any { return l.KeyID }},
			{Name: inbound.FieldResult, Value: func(l *l) any { return l.FilterResult() }},
			{Name: inbound.FieldWebhookID, Value: func(l *l) any { return optional.OrNull(l.WebhookID) }},
		},
		Indexes: []document.Index{
			{Name: "newest", Fields: []string{inbound.FieldOrganization, inbound.FieldReceivedAt}},
			{Name: "byKey", Fields: []string{inbound.FieldOrganization, inbound.FieldKey, inbound.FieldReceivedAt}},
			{Name: "byResult", Fields: []string{inbound.FieldOrganization, inbound.FieldResult, inbound.FieldReceivedAt}},
			{Name: "byKeyAndResult", Fields: []string{inbound.FieldOrganization, inbound.FieldKey, inbound.FieldResult, inbound.FieldReceivedAt}},
			{Name: "responses", Fields: []string{inbound.FieldOrganization, inbound.FieldWebhookID}, Unique: true},
			{Name: "age", Fields: []string{inbound.FieldReceivedAt}, Scatter: ofAge},
		},
	}
}
