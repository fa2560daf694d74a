package peer

import (
	"context"
	"net/http"
	"net/url"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// ComponentQuery selects components by ids. If IDs is empty, it selects the components that match all conditions of Where, on
// the fields legacyId, name, description, group, hidden and hiddenFromNotifications. If both are empty, it selects all
// components of the organization.
type ComponentQuery struct {
	IDs   []string         `json:"ids,omitempty"`
	Where []find.Condition `json:"where,omitempty"`
}

// NewDashboard is the input of CreateDashboard.
type NewDashboard struct {
	Name string `json:"name"`
}

// Plan contains the features of an organization that change its dashboards.
type Plan struct {
	Integrations bool `json:"integrations"`
}

// OnlyDashboard is the only enabled dashboard of the installation.
type OnlyDashboard struct {
	Slug string `json:"slug"`
}

// Events is the client of the events service.
type Events struct{ *Client }

// Dashboard returns one dashboard of the organization, or fault.NotFound.
func (e Events) Dashboard(ctx context.Context, organization, id string) (topic.DashboardRecord, error) {
	return get[topic.DashboardRecord](ctx, e.Client, organization, "/dashboards/"+url.PathEscape(id))
}

// FirstDashboard returns the oldest dashboard of the organization, or fault.NotFound.
func (e Events) FirstDashboard(ctx context.Context, organization string) (topic.DashboardRecord, error) {
	return get[topic.DashboardRecord](ctx, e.Client, organization, "/dashboards/first")
}

// Dashboards returns the organization's dashboards with the ids. It omits ids of dashboards that do not exist.
func (e Events) Dashboards(ctx context.Context, organization string, ids []string) ([]topic.DashboardRecord, error) {
	return post[[]topic.DashboardRecord](ctx, e.Client, organization, "/dashboards/lookup", ids)
}

// PublicDashboard returns the dashboard at an address. It returns fault.NotFound if there is none or the dashboard is
// disabled. It also returns private dashboards, because the gateway forwards requests only of visitors who have
// access.
func (e Events) PublicDashboard(ctx context.Context, at topic.PublicAddress) (topic.PublicDashboard, error) {
	return call[topic.PublicDashboard](ctx, e.Client, "", http.MethodPost, Prefix+"/public-dashboards/lookup", at)
}

// OnlyDashboard returns the enabled dashboard of the installation if there is exactly one, else fault.NotFound.
func (e Events) OnlyDashboard(ctx context.Context) (OnlyDashboard, error) {
	return call[OnlyDashboard](ctx, e.Client, "", http.MethodGet, Prefix+"/public-dashboards/only", nil)
}

// Frame returns the frame of an enabled dashboard, or fault.NotFound. The frame of a private dashboard shows only the
// dashboard's name and branding.
func (e Events) Frame(ctx context.Context, dashboardID string) (Frame, error) {
	return call[Frame](ctx, e.Client, "", http.MethodGet, Prefix+"/dashboards/"+url.PathEscape(dashboardID)+"/frame", nil)
}

// CreateDashboard creates the dashboard with the id. It returns the existing dashboard if an earlier call created
// it.
func (e Events) CreateDashboard(ctx context.Context, organization, id string, in NewDashboard) (topic.DashboardRecord, error) {
	return call[topic.DashboardRecord](ctx, e.Client, organization, http.MethodPut, organizationPath(organization, "/dashboards/"+url.PathEscape(id)), in)
}

// SetPlan sets the features on all dashboards of the organization.
func (e Events) SetPlan(ctx context.Context, organization string, in Plan) error {
	_, err := call[Plan](ctx, e.Client, organization, http.MethodPut, organizationPath(organization, "/plan"), in)
	return err
}

// ComponentsByID returns the organization's components that exist, by id. Without ids it sends no request, because a
// ComponentQuery without ids selects all components.
func (e Events) ComponentsByID(ctx context.Context, organization string, ids []string) (map[string]topic.ComponentRecord, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := post[[]topic.ComponentRecord](ctx, e.Client, organization, "/components/lookup", ComponentQuery{IDs: ids})
	components := find.Index(found, func(component topic.ComponentRecord) string { return component.ID })
	return components, err
}

// ComponentsWhere returns the organization's components that fulfil all conditions, ordered by legacy id.
func (e Events) ComponentsWhere(ctx context.Context, organization string, where []find.Condition) ([]topic.ComponentRecord, error) {
	return post[[]topic.ComponentRecord](ctx, e.Client, organization, "/components/lookup", ComponentQuery{Where: where})
}

// EventState returns the state of one event of the organization, or fault.NotFound.
func (e Events) EventState(ctx context.Context, organization, id string) (topic.EventState, error) {
	return get[topic.EventState](ctx, e.Client, organization, "/events/"+url.PathEscape(id))
}

// PageStatus returns the present state of a dashboard of the organization, or fault.NotFound.
func (e Events) PageStatus(ctx context.Context, organization, dashboardID string) (topic.PageStatus, error) {
	return get[topic.PageStatus](ctx, e.Client, organization, "/dashboards/"+url.PathEscape(dashboardID)+"/status")
}

// Ingest applies a message of a monitoring tool. If a message with the same ID was applied before, Ingest changes
// nothing and returns the result of that message.
func (e Events) Ingest(ctx context.Context, organization string, in topic.InboundMessage) (topic.InboundResult, error) {
	return post[topic.InboundResult](ctx, e.Client, organization, "/inbound", in)
}
