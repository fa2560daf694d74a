package app

import (
	"context"
	"net/url"
	"time"
)

const dashboardsPath = "/app/dashboards"

// Dashboards is a page of a list of dashboards.
type Dashboards struct {
	Dashboards []Dashboard `json:"dashboards"`
	NextToken  *string     `json:"nextToken"`
}

// Dashboard is a public page.
type Dashboard struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	URL       string    `json:"url"`
	Enabled   bool      `json:"enabled"`
	Indicator string    `json:"indicator"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	Version   int64     `json:"version"`
}

// Dashboards lists the dashboards.
func (c *Caller) Dashboards(ctx context.Context, query url.Values) (Dashboards, error) {
	return call[Dashboards](ctx, c, request{service: events, method: "GET", path: dashboardsPath, query: query})
}
