package app

import (
	"context"
	"net/url"
	"time"
)

const inboundPath = "/app/integrations/webhooks/inbound"

// InboundKeys is a page of the list of signing keys.
type InboundKeys struct {
	Keys      []InboundKey `json:"keys"`
	NextToken *string      `json:"nextToken"`
}

// InboundKey is a key with which a monitoring tool signs its messages.
type InboundKey struct {
	KeyID      string          `json:"keyId"`
	Name       string          `json:"name"`
	Secret     string          `json:"secret"` // only of a new key
	CreatedBy  Author          `json:"createdBy"`
	CreatedAt  time.Time       `json:"createdAt"`
	LastUsedAt *time.Time      `json:"lastUsedAt"`
	RevokedAt  *time.Time      `json:"revokedAt"`
	Defaults   InboundDefaults `json:"defaults"`
	InboundRules
	SilentSince *time.Time `json:"silentSince"`
}

// InboundRules are how a tool may authenticate, and when a reported problem opens and resolves an event.
type InboundRules struct {
	Bearer       bool   `json:"bearer"`
	OpenAfter    string `json:"openAfter"`
	ResolveAfter string `json:"resolveAfter"`
	MinSources   int    `json:"minSources"`
	// ManagementEmail gets a mail if no message arrives for ExpectEvery. Both are set, or both are empty.
	ExpectEvery     Nullable `json:"expectEvery"`
	ManagementEmail Nullable `json:"managementEmail"`
}

// InboundDefaults are the values that are used if a message does not contain them.
type InboundDefaults struct {
	Publish  bool     `json:"publish"`
	Notify   bool     `json:"notify"`
	Severity Nullable `json:"severity"`
}

// InboundKeys lists the signing keys, the oldest first.
func (c *Caller) InboundKeys(ctx context.Context, query url.Values) (InboundKeys, error) {
	return call[InboundKeys](ctx, c, request{service: integrations, method: "GET", path: inboundPath + "/keys", query: query})
}

// NewInboundKey is a signing key to create.
type NewInboundKey struct {
	Name     string          `json:"name"`
	Defaults InboundDefaults `json:"defaults"`
	InboundRules
}

// InboundKeyResult is one signing key.
type InboundKeyResult struct {
	Key InboundKey `json:"key"`
}

// AddInboundKey creates a signing key. Only this result has the secret.
func (c *Caller) AddInboundKey(ctx context.Context, in NewInboundKey) (InboundKeyResult, error) {
	return call[InboundKeyResult](ctx, c, request{service: integrations, method: "POST", path: inboundPath + "/keys", body: in})
}

// ChangeInboundKey changes a signing key.
func (c *Caller) ChangeInboundKey(ctx context.Context, id string, in NewInboundKey) (InboundKeyResult, error) {
	return call[InboundKeyResult](ctx, c, request{service: integrations, method: "PATCH", path: inboundPath + "/keys/" + url.PathEscape(id), body: in})
}

// InboundProblems is a page of the list of reported problems.
type InboundProblems struct {
	Problems  []InboundProblem `json:"problems"`
	NextToken *string          `json:"nextToken"`
}

// InboundProblem is a problem that a monitoring tool reports under an externalId.
type InboundProblem struct {
	KeyID      string     `json:"keyId"`
	ExternalID string     `json:"externalId"`
	State      string     `json:"state"`
	Sources    []string   `json:"sources"`
	Since      time.Time  `json:"since"`
	DueAt      *time.Time `json:"dueAt"`
	EventID    string     `json:"eventId"`
}

// InboundProblems lists the reported problems by Since, the newest first.
func (c *Caller) InboundProblems(ctx context.Context, query url.Values) (InboundProblems, error) {
	return call[InboundProblems](ctx, c, request{service: integrations, method: "GET", path: inboundPath + "/problems", query: query})
}

// RevokeInboundKey revokes a signing key.
func (c *Caller) RevokeInboundKey(ctx context.Context, id string) (struct{}, error) {
	return call[struct{}](ctx, c, request{service: integrations, method: "DELETE", path: inboundPath + "/keys/" + url.PathEscape(id)})
}

// InboundLogs is a page of the log of received messages.
type InboundLogs struct {
	Logs      []InboundLog `json:"logs"`
	NextToken *string      `json:"nextToken"`
}

// InboundLog is a message of a monitoring tool, with its result.
type InboundLog struct {
	ReceivedAt time.Time `json:"receivedAt"`
	KeyID      string    `json:"keyId"`
	RemoteIP   string    `json:"remoteIp"`
	Format     string    `json:"format"`
	Source     string    `json:"source"`
	Action     string    `json:"action"`
	ExternalID string    `json:"externalId"`
	EventID    string    `json:"eventId"`
	Result     string    `json:"result"`
	HTTPStatus int       `json:"httpStatus"`
	Error      string    `json:"error"`
}

// InboundLogs lists the received messages, the newest first.
func (c *Caller) InboundLogs(ctx context.Context, query url.Values) (InboundLogs, error) {
	return call[InboundLogs](ctx, c, request{service: integrations, method: "GET", path: inboundPath + "/logs", query: query})
}
