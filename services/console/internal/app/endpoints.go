package app

import (
	"context"
	"net/url"
	"time"
)

const integrations = "integrations"

// EndpointKind is a kind of outbound endpoints.
type EndpointKind string

const (
	Webhook EndpointKind = "webhook"
	Teams   EndpointKind = "teams"
	GChat   EndpointKind = "gchat"
	Slack   EndpointKind = "slack"
	Discord EndpointKind = "discord"
)

// EndpointKinds returns all kinds of endpoints, in the order in which the console shows them.
func EndpointKinds() []EndpointKind { return []EndpointKind{Webhook, Teams, GChat, Slack, Discord} }

func (k EndpointKind) path() string {
	if k == Webhook {
		return "/app/integrations/webhooks/outbound"
	}
	return "/app/integrations/" + url.PathEscape(string(k))
}

// EndpointCountsResult counts endpoints by kind.
type EndpointCountsResult struct {
	Counts map[string]EndpointCounts `json:"counts"`
}

// EndpointCounts counts the endpoints of a kind that fail, are paused or are suppressed.
type EndpointCounts struct {
	Failing    int `json:"failing"`
	Paused     int `json:"paused"`
	Suppressed int `json:"suppressed"`
}

// EndpointCounts counts endpoints by kind and state.
func (c *Caller) EndpointCounts(ctx context.Context) (EndpointCountsResult, error) {
	return call[EndpointCountsResult](ctx, c, request{service: integrations, method: "GET", path: "/app/integrations/counts"})
}

// Endpoints is a page of a list of endpoints.
type Endpoints struct {
	Endpoints []Endpoint `json:"endpoints"`
	NextToken *string    `json:"nextToken"`
	Usage     Usage      `json:"usage"`
}

// Usage counts the different URLs of a kind, and says how many the plan allows.
type Usage struct {
	UniqueEndpoints int `json:"uniqueEndpoints"`
	Limit           int `json:"limit"`
}

// Endpoint is an address of a program that gets messages about a dashboard.
type Endpoint struct {
	Version             int64             `json:"version"`
	DashboardID         string            `json:"dashboardId"`
	DashboardName       string            `json:"dashboardName"`
	URLHash             string            `json:"urlHash"`
	URLDisplay          string            `json:"urlDisplay"`
	ManagementEmail     string            `json:"managementEmail"`
	Verified            bool              `json:"verified"`
	Paused              bool              `json:"paused"`
	Locked              bool              `json:"locked"`
	Suppressed          bool              `json:"suppressed"`
	ComponentIDs        []string          `json:"componentIds"`
	EventKinds          []string          `json:"eventKinds"`
	Format              string            `json:"format"` // only webhooks have one
	MinIntervalMs       *int              `json:"minIntervalMs"`
	Template            *EndpointTemplate `json:"template"` // with the format template only
	Secret              string            `json:"secret"`   // only of webhooks, and only when the secret is new
	ConsecutiveFailures int               `json:"consecutiveFailures"`
	FirstFailureAt      *time.Time        `json:"firstFailureAt"`
	LastSuccessAt       *time.Time        `json:"lastSuccessAt"`
	CreatedAt           time.Time         `json:"createdAt"`
}

// FormatTemplate is the format of a webhook whose owner has composed the request.
const FormatTemplate = "template"

// EndpointTemplate is the request of a webhook that its owner has composed, without the values of headers and secrets.
type EndpointTemplate struct {
	Method      string   `json:"method"`
	IDInPath    bool     `json:"idInPath"`
	HeaderNames []string `json:"headerNames"`
	SecretNames []string `json:"secretNames"`
	Body        string   `json:"body"`
}

// EndpointTemplateChange changes the request of a webhook. A header or secret that is nil is removed. Stored headers and
// secrets that the change does not contain are kept.
type EndpointTemplateChange struct {
	Method   string             `json:"method"`
	IDInPath bool               `json:"idInPath"`
	Headers  map[string]*string `json:"headers,omitempty"`
	Secrets  map[string]*string `json:"secrets,omitempty"`
	Body     string             `json:"body"`
}

// ShippedTemplates are the templates to start from.
type ShippedTemplates struct {
	Templates []ShippedTemplate `json:"templates"`
}

// ShippedTemplate is a template to start from. The values of headers and secrets are placeholders.
type ShippedTemplate struct {
	Name     string `json:"name"`
	Template struct {
		Method   string            `json:"method"`
		IDInPath bool              `json:"idInPath"`
		Headers  map[string]string `json:"headers"`
		Secrets  map[string]string `json:"secrets"`
		Body     string            `json:"body"`
	} `json:"template"`
}

// ShippedTemplates lists the templates to start from.
func (c *Caller) ShippedTemplates(ctx context.Context) (ShippedTemplates, error) {
	return call[ShippedTemplates](ctx, c, request{service: integrations, method: "GET", path: Webhook.path() + "/templates"})
}

// Endpoints lists the endpoints of a kind that match a filter, the oldest first.
func (c *Caller) Endpoints(ctx context.Context, kind EndpointKind, query url.Values) (Endpoints, error) {
	return call[Endpoints](ctx, c, request{service: integrations, method: "GET", path: kind.path() + "/endpoints", query: query})
}

// EndpointResult is one endpoint.
type EndpointResult struct {
	Endpoint Endpoint `json:"endpoint"`
}

// NewEndpoint is an endpoint to create.
type NewEndpoint struct {
	DashboardID     string   `json:"dashboardId"`
	URL             string   `json:"url"`
	ManagementEmail string   `json:"managementEmail"`
	ComponentIDs    []string `json:"componentIds"`
	Locked          bool     `json:"locked"`
	EventKinds      []string `json:"eventKinds,omitempty"` // for webhooks; nil: all kinds, also future ones
	WebhookForm
}

// WebhookForm says in which form and how often a webhook gets messages. A member that is empty is not sent.
type WebhookForm struct {
	Format        string                  `json:"format,omitempty"`
	MinIntervalMs *int                    `json:"minIntervalMs,omitempty"`
	Template      *EndpointTemplateChange `json:"template,omitempty"` // with the format template only
}

// AddEndpoint creates an endpoint. The result of a webhook has the secret.
func (c *Caller) AddEndpoint(ctx context.Context, kind EndpointKind, in NewEndpoint) (EndpointResult, error) {
	return call[EndpointResult](ctx, c, request{service: integrations, method: "POST", path: kind.path() + "/endpoints", body: in})
}

// EndpointTarget names an endpoint.
type EndpointTarget struct {
	DashboardID string `json:"dashboardId"`
	URLHash     string `json:"urlHash"`
}

// EndpointChange is a change of an endpoint. A member that is nil or empty is not changed.
type EndpointChange struct {
	EndpointTarget
	URL             *string  `json:"url,omitempty"`
	ManagementEmail *string  `json:"managementEmail,omitempty"`
	ComponentIDs    []string `json:"componentIds,omitempty"`
	EventKinds      []string `json:"eventKinds,omitempty"` // for webhooks
	Paused          *bool    `json:"paused,omitempty"`
	Locked          *bool    `json:"locked,omitempty"`
	RotateSecret    bool     `json:"rotateSecret,omitempty"` // for webhooks
	WebhookForm
}

// ChangeEndpoint changes an endpoint that has the version. With version 0, the endpoint may have any version. The result
// has the new secret after a rotation.
func (c *Caller) ChangeEndpoint(ctx context.Context, kind EndpointKind, version int64, in EndpointChange) (EndpointResult, error) {
	return call[EndpointResult](ctx, c, request{service: integrations, method: "PATCH", path: kind.path() + "/endpoints", version: version, body: in})
}

// DeleteEndpoint deletes an endpoint that has the version.
func (c *Caller) DeleteEndpoint(ctx context.Context, kind EndpointKind, version int64, in EndpointTarget) (struct{}, error) {
	return call[struct{}](ctx, c, request{service: integrations, method: "DELETE", path: kind.path() + "/endpoints", version: version, body: in})
}

// EndpointTest names the delivery of a test message.
type EndpointTest struct {
	DeliveryID string `json:"deliveryId"`
}

// TestEndpoint sends a test message.
func (c *Caller) TestEndpoint(ctx context.Context, kind EndpointKind, in EndpointTarget) (EndpointTest, error) {
	return call[EndpointTest](ctx, c, request{service: integrations, method: "POST", path: kind.path() + "/endpoints/test", body: in})
}

// Suppressions is a page of a list of suppressed URLs.
type Suppressions struct {
	Entries   []Suppression `json:"entries"`
	NextToken *string       `json:"nextToken"`
}

// Suppression says why nothing is sent to a URL.
type Suppression struct {
	URLHash             string                `json:"urlHash"`
	URLDisplay          string                `json:"urlDisplay"`
	Reason              string                `json:"reason"`
	ConsecutiveFailures int                   `json:"consecutiveFailures"`
	SuppressedAt        time.Time             `json:"suppressedAt"`
	LastHTTPStatus      *int                  `json:"lastHttpStatus"`
	LastError           string                `json:"lastError"`
	Dashboards          []SuppressedDashboard `json:"dashboards"`
}

// SuppressedDashboard is a dashboard with an endpoint at the URL.
type SuppressedDashboard struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Suppressions lists the suppressed URLs of a kind, the oldest first.
func (c *Caller) Suppressions(ctx context.Context, kind EndpointKind, query url.Values) (Suppressions, error) {
	return call[Suppressions](ctx, c, request{service: integrations, method: "GET", path: kind.path() + "/suppression", query: query})
}

// SuppressedURL names a suppressed URL.
type SuppressedURL struct {
	URLHash string `json:"urlHash"`
}

// ClearSuppression ends the suppression of a URL.
func (c *Caller) ClearSuppression(ctx context.Context, kind EndpointKind, in SuppressedURL) (struct{}, error) {
	return call[struct{}](ctx, c, request{service: integrations, method: "DELETE", path: kind.path() + "/suppression", body: in})
}
