package topic

import (
	"encoding/json"
	"time"
)

// AuditEntry reports one write to identity, which stores the entry in the organization's audit log. A write with an
// audit.Origin publishes exactly one entry. Before is null for a create, After is null for a delete. Both contain only
// the members that package audit selects, and never a secret.
type AuditEntry struct {
	ID            string          `json:"id"` // UUID v7, the same for every publication
	Organization  string          `json:"organization"`
	OccurredAt    time.Time       `json:"occurredAt"`
	Actor         Actor           `json:"actor"`
	Action        string          `json:"action"` // for example event.update
	EntityType    string          `json:"entityType"`
	EntityID      string          `json:"entityId"`
	EntityName    string          `json:"entityName"`
	ChangedFields []string        `json:"changedFields"`
	Before        json.RawMessage `json:"before"`
	After         json.RawMessage `json:"after"`
	IP            string          `json:"ip"`
	RequestID     string          `json:"requestId"`
	Surface       string          `json:"surface"`
}

// Actor is the cause of a write: a user (with a key or a session), the operator of the installation, a visitor of a
// dashboard, the scheduler, or a monitoring tool with a signing key.
type Actor struct {
	Type  ActorType `json:"type"`
	ID    string    `json:"id"`
	Email string    `json:"email"`
	KeyID string    `json:"keyId"`
}

// ActorType is the kind of an Actor. An ActorUser has ID, Email and, for a request with a key, KeyID. The ID and the
// KeyID of an ActorInboundKey are both the id of the signing key, so that the log can be filtered by this key. Other
// actors have no ID, no Email and no KeyID.
type ActorType string

// The types of actors.
const (
	ActorUser      ActorType = "user"
	ActorOperator  ActorType = "operator"
	ActorVisitor   ActorType = "visitor"
	ActorScheduler ActorType = "scheduler"

	ActorInboundKey ActorType = "inbound_key"
)

// Topic implements topic.Message.
func (AuditEntry) Topic() string { return Audit }

// Key returns the id of the record, so that the entries about one record are consumed in order.
func (e AuditEntry) Key() string { return e.EntityID }
