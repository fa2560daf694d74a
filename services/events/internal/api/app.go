package api

import (
	"cmp"
	"net/http"

	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/gin-gonic/gin"
)

type dashboardView struct {
	ID            string          `json:"id"`
	LegacyID      int64           `json:"legacyId"`
	Name          string          `json:"name"`
	Slug          string          `json:"slug"`
	URL           string          `json:"url"`
	Enabled       bool            `json:"enabled"`
	Description   string          `json:"description"`
	Timezone      string          `json:"timezone"`
	Locale        string          `json:"locale"`
	CustomDomains []string        `json:"customDomains"`
	Components    []placementView `json:"components"`
	CreatedAt     web.Time        `json:"createdAt"`
	UpdatedAt     web.Time        `json:"updatedAt"`
	Version       int64           `json:"version"`
}

type placementView struct {
	ComponentID string `json:"componentId"`
	GroupName   string `json:"groupName"`
	Position    int64  `json:"position"`
}

// appDashboards is GET /app/dashboards.
func (a api) appDashboards(c *gin.Context) error {
	limit, after, err := a.Pages.Asked(c)
	if err != nil {
		return err
	}
	organization := web.Caller(c).Organization
	page, err := a.catalog.PageOfDashboards(c.Request.Context(), organization, limit, after)
	if err != nil {
		return err
	}
	components, err := a.catalog.ComponentsOn(c.Request.Context(), organization, page.Items)
	if err != nil {
		return err
	}
	views := make([]dashboardView, len(page.Items))
	for i := range page.Items {
		views[i] = a.viewDashboard(&page.Items[i], components)
	}
	c.PureJSON(http.StatusOK, gin.H{"dashboards": views, "nextToken": a.Pages.Token(c, page.Next)})
	return nil
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

type componentView struct {
	ID                      string         `json:"id"`
	LegacyID                int64          `json:"legacyId"`
	Name                    string         `json:"name"`
	Description             string         `json:"description"`
	GroupName               string         `json:"groupName"`
	Hidden                  bool           `json:"hidden"`
	HiddenFromNotifications bool           `json:"hiddenFromNotifications"`
	Position                int64          `json:"position"`
	Status                  catalog.Impact `json:"status"`
	ActiveEventIDs          []string       `json:"activeEventIds"`
	DashboardIDs            []string       `json:"dashboardIds"`
	ExternalRefs            []string       `json:"externalRefs"`
	CreatedAt               web.Time       `json:"createdAt"`
	UpdatedAt               web.Time       `json:"updatedAt"`
	Version                 int64          `json:"version"`
}

// appComponents is GET /app/components.
func (a api) appComponents(c *gin.Context) error {
	limit, after, err := a.Pages.Asked(c)
	if err != nil {
		return err
	}
	ctx, organization := c.Request.Context(), web.Caller(c).Organization
	page, err := a.catalog.PageOfComponents(ctx, organization, limit, after)
	if err != nil {
		return err
	}
	ids := make([]string, len(page.Items))
	for i, component := range page.Items {
		ids[i] = component.ID
	}
	holding, err := a.catalog.DashboardsHolding(ctx, organization, ids)
	if err != nil {
		return err
	}
	healths, err := a.catalog.Healths(ctx, organization)
	if err != nil {
		return err
	}
	views := make([]componentView, len(page.Items))
	for i, component := range page.Items {
		views[i] = viewComponent(component, healths[component.ID], holding[component.ID])
	}
	c.PureJSON(http.StatusOK, gin.H{"components": views, "nextToken": a.Pages.Token(c, page.Next)})
	return nil
}

func viewComponent(c catalog.Component, health catalog.Health, dashboards []string) componentView {
	return componentView{
		ID: c.ID, LegacyID: c.LegacyID, Name: c.Name, Description: c.Description, GroupName: c.Group, Hidden: c.Hidden,
		HiddenFromNotifications: c.HiddenFromNotifications, Position: c.Position,
		Status: cmp.Or(health.Status, catalog.Operational), ActiveEventIDs: append([]string{}, health.EventIDs...),
		DashboardIDs: append([]string{}, dashboards...), ExternalRefs: append([]string{}, c.ExternalRefs...),
		CreatedAt: web.Time(c.CreatedAt), UpdatedAt: web.Time(c.UpdatedAt), Version: c.Version,
	}
}
