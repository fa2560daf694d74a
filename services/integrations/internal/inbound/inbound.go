// Package inbound receives the messages of monitoring tools, which open and resolve incidents. It has the signing keys,
// signatures and tokens, the formats of tools, the problems that tools report, and the log of messages. The events
// service applies a message by the same rules as a request of a user.
//
// The domain is separate from package endpoint, because they have no records or rules in common.
//
// A message with an id is applied once. The events service stores the id of the message in the event that the message
// changes. Then this package stores the response in the log. A unique index on the id allows only one response. If the
// process is killed between the two writes, the sender tries again. The events service finds the id in the event, and
// the log is stored.
//
// A Problem is stored before the event. If the process is killed after that, Complete applies the message of the
// problem.
package inbound

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// The fields that queries may name.
const (
	FieldOrganization = "organization"
	FieldSlot         = "slot" // Key.Slot of an active key; absent for a revoked key
	FieldReceivedAt   = "receivedAt"
	FieldWebhookID    = "webhookId" // Log.WebhookID; absent if empty
	FieldKey          = "key"       // Problem.KeyID, Log.KeyID
	FieldResult       = "result"    // Log.FilterResult
	FieldSince        = "since"     // Problem.Since
	FieldDueAt        = "dueAt"     // Problem.DueAt; absent if nil
	FieldSilentAt     = "silentAt"  // Key.SilentAt
	FieldExpiresAt    = "expiresAt" // Problem.ExpiresAt
)

// Store stores the domain's records.
type Store struct {
	Keys     find.Collection[Key]
	Logs     find.Collection[Log]
	Problems find.Collection[Problem]
	Watches  find.Collection[Watch]
}

// Services is a client of other services.
type Services interface {
	// HasIntegrations reports whether the plan of the organization includes integrations.
	HasIntegrations(ctx context.Context, organization string) (bool, error)
	// Ingest applies a message. If the message was applied already, Ingest returns the result of the first time. With
	// in.Check it only checks the message.
	Ingest(ctx context.Context, organization string, in topic.InboundMessage) (topic.InboundResult, error)
}

// Inbound has the operations of the domain, and their dependencies.
type Inbound struct {
	Store    Store
	Services Services
	Box      seal.Box
	Log      *slog.Logger
	Now      func() time.Time // UTC, whole milliseconds

	refusals refusals
	counted  counted
	down     atomic.Pointer[time.Duration] // Watch.Down; nil before it is read
}

// message returns a message with the id of the request and the defaults of the key.
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
