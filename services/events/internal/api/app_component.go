package api

import (
	"cmp"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

func (a api) componentOperations() []web.Operation {
	readers := []string{passport.RoleEvent, passport.RoleSubscriber}
	return []web.Operation{
		web.Declare(web.Operation{
			Method: "GET", Path: "/app/components", ID: "listComponents", Tag: "components", Summary: "List components",
			Description: "A component is a service of the legacy interface.", Roles: readers, Status: 200,
			Example: web.Example{Response: `{"components": [{"id": "01890a5d-ac96-774b-bcce-b302099a8061", "legacyId": 4, "name": "Checkout", "description": "",
				"groupName": "default", "hidden": false, "hiddenFromNotifications": false, "position": 1, "status": "degraded_performance",
				"activeEventIds": ["01890a5d-ac96-774b-bcce-b302099a8062"], "dashboardIds": ["01890a5d-ac96-774b-bcce-b302099a8060"], "externalRefs": [],
				"createdAt": "2026-01-31T09:30:00.000Z", "updatedAt": "2026-01-31T09:30:00.000Z", "version": 1}], "nextToken": null}`},
		}, a.listComponents),
	}
}

type componentView struct {
	ID                      string         `json:"id" format:"uuid"`
	LegacyID                int64          `json:"legacyId" description:"The id of the legacy interface's service."`
	Name                    string         `json:"name"`
	Description             string         `json:"description"`
	GroupName               string         `json:"groupName"`
	Hidden                  bool           `json:"hidden"`
	HiddenFromNotifications bool           `json:"hiddenFromNotifications"`
	Position                int64          `json:"position"`
	Status                  catalog.Impact `json:"status" enum:"operational,degraded_performance,partial_outage,major_outage,under_maintenance"`
	ActiveEventIDs          []string       `json:"activeEventIds"`
	DashboardIDs            []string       `json:"dashboardIds"`
	ExternalRefs            []string       `json:"externalRefs"`
	CreatedAt               web.Time       `json:"createdAt"`
	UpdatedAt               web.Time       `json:"updatedAt"`
	Version                 int64          `json:"version"`
}

type componentsView struct {
	Components []componentView `json:"components"`
	NextToken  *string         `json:"nextToken"`
}

func (a api) listComponents(c *web.Call[web.Paging, web.None]) (componentsView, error) {
	after, err := a.Pages.Position(c.List, c.Parameters)
	if err != nil {
		return componentsView{}, err
	}
	organization := c.Caller.Organization
	page, err := a.catalog.PageOfComponents(c, organization, c.Parameters.Limit, after)
	if err != nil {
		return componentsView{}, err
	}
	holding, err := a.catalog.DashboardsHolding(c, organization, catalog.ComponentKeys(page.Items))
	if err != nil {
		return componentsView{}, err
	}
	healths, err := a.catalog.Healths(c, organization)
	views := make([]componentView, len(page.Items))
	for i, component := range page.Items {
		views[i] = viewComponent(component, healths[component.ID], holding[component.ID])
	}
	return componentsView{views, a.Pages.Token(c.List, page.Next)}, err
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
