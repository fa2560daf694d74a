package account

import (
	"context"
	"reflect"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// The special actions. All other actions are create, update and delete of a record.
const (
	actionKeyCreate = "api_key.create"
	actionKeyRevoke = "api_key.revoke"

	actionInvite        = "user.invite"
	actionForgotten     = "user.forgotten" // a link for a forgotten password was sent
	actionRecoveryCodes = "user.recovery_codes.create"
	actionSessionsEnd   = "user.sessions.delete" // all sessions but one have ended
	actionSignInRefuse  = "user.sign_in.refuse"  // see observe
)

// The fields of audit entries that queries may name, beside FieldOrganization.
const (
	FieldActor      = "actor"
	FieldAction     = "action"
	FieldEntityType = "entityType"
	FieldEntityID   = "entityId"
	FieldOccurredAt = "occurredAt"
)

// AuditLog stores audit entries. No operation changes or deletes an entry. document.Collection implements AuditLog and
// describes its methods.
type AuditLog interface {
	InsertMany(ctx context.Context, entries []topic.AuditEntry) (added []topic.AuditEntry, err error)
	Find(ctx context.Context, q find.Query) (find.Page[topic.AuditEntry], error)
}

// Record stores the entries of all services in the audit log. It ignores an entry that is stored already.
func (a *Accounts) Record(ctx context.Context, entries []topic.AuditEntry) error {
	_, err := a.Store.Audit.InsertMany(ctx, entries)
	return err
}

// AuditFilter restricts the list of audit entries. Empty fields do not restrict it.
type AuditFilter struct {
	ActorID    string
	Action     string
	EntityType string
	EntityID   string
	From, To   *time.Time // only entries in [From, To)
}

// where returns the conditions of the filter. An action starts with the type of the record, so the type needs no
// condition if there is an action. where returns false if no entry can match, because the action is of another type.
func (f AuditFilter) where(organization string) ([]find.Condition, bool) {
	if f.Action != "" && f.EntityType != "" {
		if first, _, _ := strings.Cut(f.Action, "."); first != f.EntityType {
			return nil, false
		}
		f.EntityType = ""
	}
	where := []find.Condition{find.Eq(FieldOrganization, organization)}
	for _, equal := range []struct{ field, value string }{
		{FieldActor, f.ActorID}, {FieldAction, f.Action}, {FieldEntityType, f.EntityType}, {FieldEntityID, f.EntityID},
	} {
		if equal.value != "" {
			where = append(where, find.Eq(equal.field, equal.value))
		}
	}
	if f.From != nil {
		where = append(where, find.Gte(FieldOccurredAt, *f.From))
	}
	if f.To != nil {
		where = append(where, find.Lt(FieldOccurredAt, *f.To))
	}
	return where, true
}

// maxAuditPage is the size in bytes at which a page ends before its limit. The entry of an import of 1,000 rows has
// 25 KB, and an entry has at most twice audit.MaxSnapshot.
const maxAuditPage = 256 << 10

// AuditEntries returns a page of the organization's audit entries, newest first.
func (a *Accounts) AuditEntries(ctx context.Context, organization string, filter AuditFilter, limit int, after string) (find.Page[topic.AuditEntry], error) {
	where, possible := filter.where(organization)
	if !possible {
		return find.Page[topic.AuditEntry]{}, nil
	}
	return a.Store.Audit.Find(ctx, find.Query{
		Where: where, Order: []find.Order{{Field: FieldOccurredAt, Descending: true}}, Limit: limit, MaxBytes: maxAuditPage, After: after,
	})
}

// changed returns the audit entry of a change. It returns none if the record has not changed.
func changed[T audit.Record](ctx context.Context, now time.Time, before, after *T) []topic.Message {
	if reflect.DeepEqual(before, after) {
		return nil
	}
	return audit.Entry(audit.From(ctx), "", now, before, after)
}

// edited raises the version of a changed user, and returns the audit entry of the change. If nothing has changed, it
// does neither.
func edited(ctx context.Context, now time.Time, before, after *User) []topic.Message {
	messages := changed(ctx, now, before, after)
	if !reflect.DeepEqual(before, after) {
		after.Version++
	}
	return messages
}

// AuditEntity implements audit.Record.
func (o Organization) AuditEntity() audit.Entity {
	return audit.Entity{Organization: o.ID, Type: "organization", ID: o.ID, Name: o.Name}
}

// AuditEntity implements audit.Record.
func (u User) AuditEntity() audit.Entity {
	return audit.Entity{Organization: u.Organization, Type: "user", ID: u.ID, Name: u.Username}
}

// userKey is a key as audit entries show it.
type userKey struct {
	Key
	UserID       string `audit:"userId"`
	Legacy       bool   `audit:"legacy"` // true: the user's legacy key
	Organization string
}

// keyOf returns the key of the user as audit entries show it. It returns nil if key is nil.
func keyOf(u *User, key *Key, legacy bool) *userKey {
	if key == nil {
		return nil
	}
	return &userKey{*key, u.ID, legacy, u.Organization}
}

// AuditEntity implements audit.Record.
func (k userKey) AuditEntity() audit.Entity {
	return audit.Entity{Organization: k.Organization, Type: "api_key", ID: k.ID, Name: k.Name}
}
