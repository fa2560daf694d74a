// Package audit creates the entries of the audit log. The entry of a write is a message of the same write. The outbox
// therefore publishes the entry if and only if the write is stored.
//
// Decision: an entry contains only the fields of a record that have the tag audit (snapshot.go). A new field is
// therefore absent until a developer decides that it contains no secret.
//
// A write whose context has no Origin is a consequence: a call of another service, a step that follows a stored
// write, or the outcome of a delivery. A consequence makes no entry, because the write that caused it has made one.
package audit

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Origin is the cause of writes. Writes with the zero Origin make no entries.
type Origin struct {
	Actor     topic.Actor
	IP        string
	RequestID string
	Surface   string
}

// OfRequest returns the origin of the writes of a request, without an actor. The literal has no field names, so the
// compiler requires each new field of Origin here.
func OfRequest(ip, request, surface string) Origin {
	return Origin{topic.Actor{}, ip, request, surface}
}

type contextKey struct{}

// With returns a context whose writes have the origin.
func With(ctx context.Context, origin Origin) context.Context {
	return context.WithValue(ctx, contextKey{}, origin)
}

// WithScheduler returns a context whose writes have the scheduler as their origin.
func WithScheduler(ctx context.Context) context.Context {
	return With(ctx, Origin{Actor: topic.Actor{Type: topic.ActorScheduler}, Surface: "scheduler"})
}

// WithInboundKey returns a context whose writes have an inbound key as their origin. request is the id of the request
// that the key signed. The literal has no field names, so the compiler requires each new field of Origin here.
func WithInboundKey(ctx context.Context, key, ip, request string) context.Context {
	return With(ctx, Origin{topic.Actor{Type: topic.ActorInboundKey, ID: key, KeyID: key}, ip, request, "inbound"})
}

// WithUser returns a context whose writes have the user as their actor. It is for a caller who signs in or accepts an
// invitation: the request begins without an actor, and the operation finds out who the caller is.
func WithUser(ctx context.Context, id, email string) context.Context {
	origin := From(ctx)
	origin.Actor = topic.Actor{Type: topic.ActorUser, ID: id, Email: email}
	return With(ctx, origin)
}

// From returns the origin of the context, or the zero Origin if the context has none. A write that contains the
// changes of several callers must call From with the context of each caller.
func From(ctx context.Context) Origin {
	origin, _ := ctx.Value(contextKey{}).(Origin)
	return origin
}

// Entity names a record in the audit log.
type Entity struct {
	Organization string
	Type         string // for example event
	ID           string
	Name         string // as users know the record
}

// Record is a value that an audit entry shows.
type Record interface{ AuditEntity() Entity }

// Entry returns the audit entry of a write as one message, or nothing if the origin is zero. before is nil for a create,
// after is nil for a delete. An empty action becomes the type of the entity with .create, .update or .delete.
func Entry[T Record](origin Origin, action string, at time.Time, before, after *T) []topic.Message {
	if origin == (Origin{}) {
		return nil
	}
	record, verb := after, ".update"
	switch {
	case before == nil:
		verb = ".create"
	case after == nil:
		record, verb = before, ".delete"
	}
	entity := (*record).AuditEntity()
	if action == "" {
		action = entity.Type + verb
	}
	former, next, changed := compare(before, after)
	return []topic.Message{topic.AuditEntry{
		ID: topic.NewID(), Organization: entity.Organization, OccurredAt: at,
		Actor: origin.Actor, Action: action, EntityType: entity.Type, EntityID: entity.ID, EntityName: entity.Name,
		ChangedFields: changed, Before: former, After: next,
		IP: origin.IP, RequestID: origin.RequestID, Surface: origin.Surface,
	}}
}

func encode(members map[string]any) json.RawMessage {
	if members == nil {
		return json.RawMessage("null")
	}
	text, err := json.Marshal(members)
	if err != nil {
		panic(err) // a programming error: a tagged field of a type that JSON does not have
	}
	return text
}
