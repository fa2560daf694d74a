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
)

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

// EndpointCounts counts the endpoints of a kind that messages do not reach.
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
}

// Endpoint is an address of a program that gets messages about a dashboard.
type Endpoint struct {
	DashboardName       string     `json:"dashboardName"`
	URLDisplay          string     `json:"urlDisplay"`
	Suppressed          bool       `json:"suppressed"`
	ConsecutiveFailures int        `json:"consecutiveFailures"`
	FirstFailureAt      *time.Time `json:"firstFailureAt"`
}

// Endpoints lists the endpoints of a kind that match a filter, the oldest first.
func (c *Caller) Endpoints(ctx context.Context, kind EndpointKind, query url.Values) (Endpoints, error) {
	return call[Endpoints](ctx, c, request{service: integrations, method: "GET", path: kind.path() + "/endpoints", query: query})
}
