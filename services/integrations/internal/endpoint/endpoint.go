// Package endpoint is the domain of outbound integration endpoints: the URLs of an organization's receivers, the
// components about which each endpoint is notified, the results of deliveries to the endpoint, and the suppression of URLs
// to which the platform no longer sends.
//
// A View combines three kinds of records. An Endpoint has the settings that its owner chooses. The records of package
// outcome have the results of deliveries to the endpoint, and the consumer of outcomes writes them in bulk. A Suppression
// belongs to a URL of the organization and not to one endpoint.
package endpoint

import (
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Endpoint is one receiver on one dashboard. Times are UTC with milliseconds.
type Endpoint struct {
	ID             string        `json:"id" audit:"id"`             // uuid v7
	LegacyID       int64         `json:"legacyId" audit:"legacyId"` // a write of an event through the legacy interface selects the endpoints to notify by this id
	OrganizationID string        `json:"organizationId"`
	Version        int64         `json:"version" audit:"version,quiet"` // increases with each change that the owner sees, and if prevent is called; not with results of deliveries
	Channel        topic.Channel `json:"channel" audit:"channel"`
	DashboardID    string        `json:"dashboardId" audit:"dashboardId"`
	DashboardName  string        `json:"dashboardName" audit:"dashboardName"` // name at the last create, request or change
	URL            string        `json:"url"`                                 // sealed for ID
	URLHash        string        `json:"urlHash" audit:"urlHash"`             // Address.Hash
	URLDisplay     string        `json:"urlDisplay" audit:"urlDisplay"`       // Address.Display
	Paced          string        `json:"paced,omitempty"`                     // pacedBy
	// MovedSuppression is the suppression of the endpoint's former URL. The change of the URL sets MovedSuppression. reconcile
	// decides whether the suppression applies to the new URL, and removes MovedSuppression.
	MovedSuppression *Suppression `json:"movedSuppression,omitempty"`
	ManagementEmail  string       `json:"managementEmail" audit:"managementEmail"`
	VerifiedAt       *time.Time   `json:"verifiedAt,omitempty" audit:"verifiedAt"` // nil: not verified
	Request          *Request     `json:"request,omitempty"`                       // request of a visitor; nil: the endpoint is verified, or was locked when the request expired
	Paused           bool         `json:"paused" audit:"paused"`
	Locked           bool         `json:"locked" audit:"locked"`
	ComponentIDs     []string     `json:"componentIds" audit:"componentIds"`
	EventKinds       []topic.Kind `json:"eventKinds,omitempty" audit:"eventKinds"`       // nil: all kinds, including future ones
	Secrets          []Secret     `json:"secrets,omitempty" audit:"secrets"`             // newest first
	Format           topic.Format `json:"format,omitempty" audit:"format"`               // format of a signed kind; empty: topic.FormatBellbuoy
	Template         *Template    `json:"template,omitempty" audit:"template"`           // with topic.FormatTemplate only
	MinIntervalMs    *int         `json:"minIntervalMs,omitempty" audit:"minIntervalMs"` // nil: the default of the format
	CreatedAt        time.Time    `json:"createdAt" audit:"createdAt"`
	UpdatedAt        time.Time    `json:"updatedAt" audit:"updatedAt,quiet"`
}

func endpointKey(e Endpoint) string { return e.ID }

// AuditEntity implements audit.Record.
func (e Endpoint) AuditEntity() audit.Entity {
	return audit.Entity{Organization: e.OrganizationID, Type: "endpoint", ID: e.ID, Name: e.URLDisplay}
}

// Kinds returns the event kinds that are sent to the endpoint.
func (e Endpoint) Kinds() []topic.Kind {
	if e.EventKinds == nil {
		return topic.Kinds()
	}
	return e.EventKinds
}

// drop removes a component and reports whether the endpoint had it. An endpoint without components is not deleted, but
// no message is sent to it.
func (e *Endpoint) drop(component string) bool {
	before := len(e.ComponentIDs)
	e.ComponentIDs = slices.DeleteFunc(e.ComponentIDs, func(id string) bool { return id == component })
	return len(e.ComponentIDs) < before
}

// View is an endpoint as its owner sees it. URL is set only in the result of Create. Secret is set only in the
// results of Create and of a Change that rotates the secret.
type View struct {
	Endpoint            Endpoint
	Suppressed          bool
	ConsecutiveFailures int
	FirstFailureAt      *time.Time // start of the consecutive failures
	LastSuccessAt       *time.Time
	URL                 string
	Secret              string
}

// Usage is the number of different URLs of an organization's verified endpoints of one kind, and the limit of this number.
type Usage struct {
	UniqueEndpoints int
	Limit           int
}

// Secret is a signing secret of an endpoint.
type Secret struct {
	Sealed    string     `json:"sealed"` // sealed by seal.Box for the endpoint's id
	CreatedAt time.Time  `json:"createdAt" audit:"createdAt"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty" audit:"expiresAt"` // until when the replaced secret signs; nil: the secret is not replaced
}

// Reason is the cause of a suppression.
type Reason string

const (
	ReasonFailures Reason = "failures" // the endpoint had SuppressAfter consecutive failures
	ReasonGone     Reason = "gone"     // the receiver responded with 410, or as its chat program does for a webhook that no longer exists
)

// Suppression stops all messages to a URL of the organization, for every endpoint with this URL. It ends if a user
// clears it, or if no verified endpoint has the URL any more. If the last verified endpoint with the URL gets a new URL that
// no other verified endpoint has, the suppression moves to the new URL.
type Suppression struct {
	ID                  string        `json:"id"` // UUID; distinguishes this from a later suppression of the URL
	OrganizationID      string        `json:"organizationId"`
	Channel             topic.Channel `json:"channel" audit:"channel"`
	URLHash             string        `json:"urlHash" audit:"urlHash"`
	URLDisplay          string        `json:"urlDisplay" audit:"urlDisplay"`
	Reason              Reason        `json:"reason" audit:"reason"`
	ConsecutiveFailures int           `json:"consecutiveFailures" audit:"consecutiveFailures"`
	FirstFailureAt      *time.Time    `json:"firstFailureAt,omitempty" audit:"firstFailureAt"`
	SuppressedAt        time.Time     `json:"suppressedAt" audit:"suppressedAt"`
	LastHTTPStatus      int           `json:"lastHttpStatus,omitempty" audit:"lastHttpStatus"`
	LastError           string        `json:"lastError,omitempty" audit:"lastError"`
}

// Request marks an endpoint that a visitor has requested and not verified yet. No message is sent to such an endpoint,
// and it does not count toward the limit of URLs. After ExpiresAt the endpoint is deleted, or only the Request if the
// endpoint is locked. A later request for the URL replaces the Request.
type Request struct {
	ID        string    `json:"id"` // random; the link to verify contains a digest of it
	ExpiresAt time.Time `json:"expiresAt"`
}

// expired reports whether the endpoint has a Request that can no longer be verified.
func (e *Endpoint) expired(now time.Time) bool {
	return e.Request != nil && !e.Request.ExpiresAt.After(now)
}
