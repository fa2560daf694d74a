package peer

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Dashboard is a dashboard with its components.
type Dashboard struct {
	ID         string      `json:"id"`
	LegacyID   int64       `json:"legacyId"`
	Name       string      `json:"name"`
	Slug       string      `json:"slug"`
	URL        string      `json:"url"`
	Timezone   string      `json:"timezone"` // IANA
	Locale     string      `json:"locale"`   // BCP 47
	Components []Component `json:"components"`
}

// Component is a component. The legacy interface calls it a service.
type Component struct {
	ID                      string   `json:"id"`
	LegacyID                int64    `json:"legacyId"`
	Name                    string   `json:"name"`
	Description             string   `json:"description"`
	Group                   string   `json:"group"`
	Hidden                  bool     `json:"hidden"`
	HiddenFromNotifications bool     `json:"hiddenFromNotifications"`
	Dashboards              []string `json:"dashboards"`
}

// ComponentQuery selects components by ids, or by conditions on the fields legacyId, name, description, group, hidden
// and hiddenFromNotifications. Exactly one of the two is set.
type ComponentQuery struct {
	IDs   []string         `json:"ids,omitempty"`
	Where []find.Condition `json:"where,omitempty"`
}

// NewDashboard is the input of CreateDashboard.
type NewDashboard struct {
	Name string `json:"name"`
}

// Plan is what the plan of an organization includes, as far as its dashboards show it.
type Plan struct {
	Integrations bool `json:"integrations"`
}

// Inbound is a message of a monitoring tool whose signature is valid.
type Inbound struct {
	ID        string `json:"id"`        // webhook-id
	KeyID     string `json:"keyId"`     // id of the signing key
	KeyName   string `json:"keyName"`   // the author of what the message changes
	IP        string `json:"ip"`        // address of the client
	RequestID string `json:"requestId"` // id of the client's request

	Action          string                  `json:"action"` // trigger, update or resolve
	ExternalID      string                  `json:"externalId"`
	Title           string                  `json:"title"`
	Description     string                  `json:"description"`
	Message         *string                 `json:"message"`
	Status          string                  `json:"status"`
	Severity        *string                 `json:"severity"` // empty: none; nil: not sent
	DefaultSeverity string                  `json:"defaultSeverity"`
	Components      []string                `json:"components"` // ids or external references
	Impact          string                  `json:"impact"`
	Timestamp       *time.Time              `json:"timestamp"`
	Publish         bool                    `json:"publish"`
	Notify          *map[topic.Channel]bool `json:"notify"` // nil: by default
}

// InboundResult is what a message has done: created, updated, resolved, reopened or ignored.
type InboundResult struct {
	Result  string `json:"result"`
	EventID string `json:"eventId"`
}

// Events is the client of the events service.
type Events struct{ *Client }

// Dashboard returns one dashboard of the organization, or fault.NotFound.
func (e Events) Dashboard(ctx context.Context, organization, id string) (Dashboard, error) {
	var out Dashboard
	err := e.call(ctx, organization, http.MethodGet, organizationPath(organization, "/dashboards/"+url.PathEscape(id)), nil, &out)
	return out, err
}

// EventState returns the state of one event of the organization, or fault.NotFound.
func (e Events) EventState(ctx context.Context, organization, id string) (topic.EventState, error) {
	var out topic.EventState
	err := e.call(ctx, organization, http.MethodGet, organizationPath(organization, "/events/"+url.PathEscape(id)), nil, &out)
	return out, err
}

// Frame returns the frame of an enabled dashboard, or fault.NotFound. That of a private dashboard shows only its name
// and its branding.
func (e Events) Frame(ctx context.Context, dashboardID string) (Frame, error) {
	var out Frame
	err := e.call(ctx, "", http.MethodGet, Prefix+"/dashboards/"+url.PathEscape(dashboardID)+"/frame", nil, &out)
	return out, err
}

// FirstDashboard returns the oldest dashboard of the organization, or fault.NotFound.
func (e Events) FirstDashboard(ctx context.Context, organization string) (Dashboard, error) {
	var out Dashboard
	err := e.call(ctx, organization, http.MethodGet, organizationPath(organization, "/dashboards/first"), nil, &out)
	return out, err
}

// Dashboards returns the dashboards of the organization with the ids.
func (e Events) Dashboards(ctx context.Context, organization string, ids []string) ([]Dashboard, error) {
	var out []Dashboard
	err := e.call(ctx, organization, http.MethodPost, organizationPath(organization, "/dashboards/lookup"), ids, &out)
	return out, err
}

// CreateDashboard creates the dashboard with the id. It returns the existing dashboard if an earlier call created
// it.
func (e Events) CreateDashboard(ctx context.Context, organization, id string, in NewDashboard) (Dashboard, error) {
	var out Dashboard
	err := e.call(ctx, organization, http.MethodPut, organizationPath(organization, "/dashboards/"+url.PathEscape(id)), in, &out)
	return out, err
}

// SetPlan makes the dashboards of the organization follow its plan.
func (e Events) SetPlan(ctx context.Context, organization string, in Plan) error {
	return e.call(ctx, organization, http.MethodPut, organizationPath(organization, "/plan"), in, &in)
}

// Components returns the organization's components that match the query, ordered by legacy id.
func (e Events) Components(ctx context.Context, organization string, query ComponentQuery) ([]Component, error) {
	var out []Component
	err := e.call(ctx, organization, http.MethodPost, organizationPath(organization, "/components/lookup"), query, &out)
	return out, err
}

// Ingest applies a message of a monitoring tool. A message with an ID that was applied already changes nothing, and gets the
// first result.
func (e Events) Ingest(ctx context.Context, organization string, in Inbound) (InboundResult, error) {
	var out InboundResult
	err := e.call(ctx, organization, http.MethodPost, organizationPath(organization, "/inbound"), in, &out)
	return out, err
}
