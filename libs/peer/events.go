package peer

import (
	"context"
	"net/http"
	"net/url"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

// Dashboard is a dashboard as other services need it.
type Dashboard struct {
	ID         string      `json:"id"`
	LegacyID   int64       `json:"legacyId"`
	Name       string      `json:"name"`
	Slug       string      `json:"slug"`
	URL        string      `json:"url"`
	Components []Component `json:"components"`
}

// Component is a component, the legacy interface's service, with what its legacy
// object shows.
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

// ComponentQuery names components: by ids, by legacy ids, or by conditions on
// the fields legacyId, name, description, group, hidden, hiddenFromNotifications.
// Exactly one of the three is set.
type ComponentQuery struct {
	IDs       []string         `json:"ids,omitempty"`
	LegacyIDs []int64          `json:"legacyIds,omitempty"`
	Where     []find.Condition `json:"where,omitempty"`
}

// NewDashboard makes an organization's first dashboard.
type NewDashboard struct {
	Name string `json:"name"`
}

// Events is the client of the events service.
type Events struct{ *Client }

// Dashboard finds one dashboard of the organization, or NotFound.
func (e Events) Dashboard(ctx context.Context, organization, id string) (Dashboard, error) {
	var out Dashboard
	err := e.call(ctx, organization, http.MethodGet, organizationPath(organization, "/dashboards/"+url.PathEscape(id)), nil, &out)
	return out, err
}

// Dashboards finds those of the ids that exist in the organization.
func (e Events) Dashboards(ctx context.Context, organization string, ids []string) ([]Dashboard, error) {
	var out []Dashboard
	err := e.call(ctx, organization, http.MethodPost, organizationPath(organization, "/dashboards/lookup"), ids, &out)
	return out, err
}

// CreateDashboard makes the dashboard with that id, or answers with the one that
// an earlier try made.
func (e Events) CreateDashboard(ctx context.Context, organization, id string, in NewDashboard) (Dashboard, error) {
	var out Dashboard
	err := e.call(ctx, organization, http.MethodPut, organizationPath(organization, "/dashboards/"+url.PathEscape(id)), in, &out)
	return out, err
}

// Components finds the organization's components that the query names, by legacy id.
func (e Events) Components(ctx context.Context, organization string, query ComponentQuery) ([]Component, error) {
	var out []Component
	err := e.call(ctx, organization, http.MethodPost, organizationPath(organization, "/components/lookup"), query, &out)
	return out, err
}
