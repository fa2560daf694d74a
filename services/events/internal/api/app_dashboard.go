package api

import (
	"cmp"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

func (a api) dashboardOperations() []web.Operation {
	readers := []string{passport.RoleEvent, passport.RoleSubscriber}
	const dashboard = `{"id": "01890a5d-ac96-774b-bcce-b302099a8060", "legacyId": 1, "name": "Acme", "slug": "acme",
		"url": "https://status.example.com", "enabled": true, "description": "", "timezone": "UTC", "locale": "en",
		"customDomains": ["status.example.com"], "createdAt": "2026-01-31T09:30:00.000Z", "updatedAt": "2026-01-31T09:30:00.000Z", "version": 1,
		"components": [{"componentId": "01890a5d-ac96-774b-bcce-b302099a8061", "groupName": "default", "position": 1}]}`
	return []web.Operation{
		web.Declare(web.Operation{
			Method: "GET", Path: "/app/dashboards", ID: "listDashboards", Tag: "dashboards", Summary: "List dashboards", Roles: readers, Status: 200,
			Example: web.Example{Response: `{"dashboards": [` + dashboard + `], "nextToken": null}`},
		}, a.listDashboards),
		web.Declare(web.Operation{
			Method: "GET", Path: "/app/dashboards/{id}", ID: "getDashboard", Tag: "dashboards", Summary: "Get a dashboard", Roles: readers, Status: 200,
			Example: web.Example{Response: `{"dashboard": ` + dashboard + `}`},
		}, a.getDashboard),
	}
}

type dashboardView struct {
	ID            string          `json:"id" format:"uuid"`
	LegacyID      int64           `json:"legacyId"`
	Name          string          `json:"name"`
	Slug          string          `json:"slug"`
	URL           string          `json:"url" format:"uri"`
	Enabled       bool            `json:"enabled"`
	Description   string          `json:"description"`
	Timezone      string          `json:"timezone"`
	Locale        string          `json:"locale"`
	CustomDomains []string        `json:"customDomains"`
	Components    []placementView `json:"components" description:"In the order in which visitors see them."`
	CreatedAt     web.Time        `json:"createdAt"`
	UpdatedAt     web.Time        `json:"updatedAt"`
	Version       int64           `json:"version"`
}

type placementView struct {
	ComponentID string `json:"componentId" format:"uuid"`
	GroupName   string `json:"groupName"`
	Position    int64  `json:"position"`
}

type dashboardsView struct {
	Dashboards []dashboardView `json:"dashboards"`
	NextToken  *string         `json:"nextToken"`
}

func (a api) listDashboards(c *web.Call[web.Paging, web.None]) (dashboardsView, error) {
	after, err := a.Pages.Position(c.List, c.Parameters)
	if err != nil {
		return dashboardsView{}, err
	}
	page, err := a.catalog.PageOfDashboards(c, c.Caller.Organization, c.Parameters.Limit, after)
	if err != nil {
		return dashboardsView{}, err
	}
	components, err := a.catalog.ComponentsOn(c, c.Caller.Organization, page.Items)
	views := make([]dashboardView, len(page.Items))
	for i := range page.Items {
		views[i] = a.viewDashboard(&page.Items[i], components)
	}
	return dashboardsView{views, a.Pages.Token(c.List, page.Next)}, err
}

type dashboardParameters struct {
	ID string `path:"id" format:"uuid"`
}

type oneDashboardView struct {
	Dashboard dashboardView `json:"dashboard"`
}

func (a api) getDashboard(c *web.Call[dashboardParameters, web.None]) (oneDashboardView, error) {
	dashboard, err := a.catalog.Dashboard(c, c.Caller.Organization, c.Parameters.ID)
	if err != nil {
		return oneDashboardView{}, err
	}
	components, err := a.catalog.ComponentsOn(c, c.Caller.Organization, []catalog.Dashboard{dashboard})
	return oneDashboardView{a.viewDashboard(&dashboard, components)}, err
}

func (a api) viewDashboard(d *catalog.Dashboard, components map[string]catalog.Component) dashboardView {
	view := dashboardView{
		ID: d.ID, LegacyID: d.LegacyID, Name: d.Name, Slug: d.Slug, URL: a.dashboardURL(d), Enabled: d.Enabled,
		Description: d.Description, Timezone: d.Timezone, Locale: d.Locale, CustomDomains: append([]string{}, d.CustomDomains...),
		Components: []placementView{}, CreatedAt: web.Time(d.CreatedAt), UpdatedAt: web.Time(d.UpdatedAt), Version: d.Version,
	}
	for _, placement := range d.Components {
		component, there := components[placement.ComponentID]
		if !there {
			continue
		}
		view.Components = append(view.Components, placementView{
			ComponentID: placement.ComponentID, GroupName: cmp.Or(placement.GroupName, component.Group), Position: placement.Position,
		})
	}
	return view
}

// dashboardURL is where visitors find a dashboard: under its own host, if it has one.
func (a api) dashboardURL(d *catalog.Dashboard) string {
	if len(d.CustomDomains) > 0 {
		return "https://" + d.CustomDomains[0]
	}
	return a.DashboardBase + "/d/" + d.Slug
}
