// Package inbound receives the signed messages of monitoring tools, which open and resolve incidents: signing keys,
// signatures, the formats of tools, and the log of messages. The events service applies a message by the same rules
// as a request of a person.
//
// The domain is separate from package endpoint, because the two share no record and no rule.
//
// A message is applied once. The events service stores its id in the event that it changes. This package stores the
// response in the log, and a unique index on the id keeps one response. If a process dies between the two
// writes, the event has the id of the message, and the sender's next attempt completes the log.
package inbound

import (
	"context"
	"log/slog"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// The fields that queries may name.
const (
	FieldOrganization = "organization"
	FieldSlot         = "slot" // Key.Slot of an active key; else absent
	FieldReceivedAt   = "receivedAt"
	FieldWebhookID    = "webhookId" // webhook-id of a response that is kept; else absent
)

// Store stores the domain's records.
type Store struct {
	Keys find.Collection[Key]
	Logs find.Collection[Log]
}

// Services is a client of other services.
type Services interface {
	// HasIntegrations reports whether the plan of the organization includes integrations.
	HasIntegrations(ctx context.Context, organization string) (bool, error)
	// Ingest applies a message. A message that was applied already gets the first outcome.
	Ingest(ctx context.Context, organization string, in topic.InboundMessage) (topic.InboundResult, error)
}

// Inbound holds the operations of the domain, and the parts that they use.
type Inbound struct {
	Store    Store
	Services Services
	Box      seal.Box
	Log      *slog.Logger
	Now      func() time.Time // UTC, whole milliseconds

	refusals refusals
}

// message returns an empty message of a request, with the defaults of its key.
func (k Key) message(in Request) topic.InboundMessage {
	out := topic.InboundMessage{
		ID: in.ID, KeyID: k.ID, KeyName: k.Name, IP: in.IP, RequestID: in.RequestID,
		DefaultSeverity: k.Defaults.Severity, Publish: k.Defaults.Publish,
	}
	if !k.Defaults.Notify {
		out.Notify = &map[topic.Channel]bool{}
	}
	return out
}
