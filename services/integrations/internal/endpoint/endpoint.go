// Package endpoint is the domain of outbound integration endpoints: the URLs of an
// organization's receivers, which components each is told about, how deliveries to
// it went, and when the platform stops trying.
//
// Three records, because three parties write them. An Endpoint is what its owner
// configured; a Tally is what the stream of outcomes says of it, written by its
// consumer only and in bulk; a Suppression belongs to a URL of the organization,
// not to one endpoint. What a reader is shown is put together from the three.
package endpoint

import (
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Endpoint is one receiver on one dashboard. Times are UTC with milliseconds.
type Endpoint struct {
	ID              string        `json:"id"`       // uuid v7
	LegacyID        int64         `json:"legacyId"` // what the legacy interface's channels hold
	OrganizationID  string        `json:"organizationId"`
	Channel         topic.Channel `json:"channel"`
	DashboardID     string        `json:"dashboardId"`
	DashboardName   string        `json:"dashboardName"`     // as of the last write
	URL             string        `json:"url"`               // sealed for ID
	URLHash         string        `json:"urlHash"`           // Address.Hash
	URLDisplay      string        `json:"urlDisplay"`        // Address.Display
	Carried         *Suppression  `json:"carried,omitempty"` // of the former URL, until settle has judged what it means for this one
	ManagementEmail string        `json:"managementEmail"`
	VerifiedAt      *time.Time    `json:"verifiedAt,omitempty"` // nil: not verified
	Paused          bool          `json:"paused"`
	Locked          bool          `json:"locked"`
	ComponentIDs    []string      `json:"componentIds"`
	EventKinds      []topic.Kind  `json:"eventKinds,omitempty"` // nil: all, later ones too
	Secrets         []Secret      `json:"secrets,omitempty"`    // newest first
	CreatedAt       time.Time     `json:"createdAt"`
	UpdatedAt       time.Time     `json:"updatedAt"`
}

// Kinds are the event kinds the endpoint is told of.
func (e Endpoint) Kinds() []topic.Kind {
	if e.EventKinds == nil {
		return topic.Kinds()
	}
	return e.EventKinds
}

// drop takes a component away and reports whether it was there. The last one may
// go: the endpoint stays and is told nothing.
func (e *Endpoint) drop(component string) bool {
	before := len(e.ComponentIDs)
	e.ComponentIDs = slices.DeleteFunc(e.ComponentIDs, func(id string) bool { return id == component })
	return len(e.ComponentIDs) < before
}

// late reports an outcome that is about a former URL.
func (e Endpoint) late(o topic.Outcome) bool { return o.URLHash != e.URLHash }

// Record is an endpoint as its owner is shown it. URL and Secret are set only in
// the answer to the call that made them.
type Record struct {
	Endpoint            Endpoint
	Suppressed          bool
	ConsecutiveFailures int
	LastSuccessAt       *time.Time
	URL                 string
	Secret              string
}

// Usage is how many unique URLs of a kind an organization has, of how many.
type Usage struct {
	UniqueEndpoints int
	Limit           int
}

// Dashboard is what the domain needs to know of a dashboard.
type Dashboard struct {
	ID         string
	LegacyID   int64
	Name       string
	Slug       string
	URL        string
	Components []string // ids
}
