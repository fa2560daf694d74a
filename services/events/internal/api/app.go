package api

import (
	"cmp"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

func (a api) appOperations() []web.Operation {
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
		web.Declare(web.Operation{
			Method: "GET", Path: "/app/components", ID: "listComponents", Tag: "components", Summary: "List components",
			Description: "A component is a service of the legacy interface.", Roles: readers, Status: 200,
			Example: web.Example{Response: `{"components": [{"id": "01890a5d-ac96-774b-bcce-b302099a8061", "legacyId": 4, "name": "Checkout", "description": "",
				"groupName": "default", "hidden": false, "hiddenFromNotifications": false, "position": 1, "status": "degraded_performance",
				"activeEventIds": ["01890a5d-ac96-774b-bcce-b302099a8062"], "dashboardIds": ["01890a5d-ac96-774b-bcce-b302099a8060"], "externalRefs": [],
				"createdAt": "2026-01-31T09:30:00.000Z", "updatedAt": "2026-01-31T09:30:00.000Z", "version": 1}], "nextToken": null}`},
		}, a.listComponents),
		web.Declare(web.Operation{
			Method: "GET", Path: "/app/reports/uptime", ID: "getUptimeReport", Tag: "reports", Summary: "Report the uptime of a month",
			Description: "Exactly one of dashboardId and componentId is required. Overlapping events count once, at the worst impact. " +
				"Events that are hidden from the dashboard or from uptime reports do not count.",
			Roles: []string{passport.RoleAdmin}, Entitlement: web.UptimeReports, Status: 200, Errors: []int{404},
			Example: web.Example{Response: `{"report": {"month": "2026-01", "timezone": "UTC", "rangeStart": "2026-01-01T00:00:00.000Z",
				"rangeEnd": "2026-02-01T00:00:00.000Z", "partial": false, "overallUptimePercent": 99.993729, "components": [
				{"componentId": "01890a5d-ac96-774b-bcce-b302099a8061", "name": "Checkout", "uptimePercent": 99.993729, "downtimeSeconds": 168,
				"majorOutageSeconds": 168, "partialOutageSeconds": 0, "degradedSeconds": 0, "maintenanceSeconds": 0, "measuredSeconds": 2678400,
				"days": [{"date": "2026-01-01", "uptimePercent": null, "worstStatus": null},
				{"date": "2026-01-02", "uptimePercent": 100, "worstStatus": "operational"}], "eventIds": ["01890a5d-ac96-774b-bcce-b302099a8062"]}],
				"formula": "1 - (major + 0.3*partial) / (measured - maintenance)"}}`},
		}, a.uptime),
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

type reportView struct {
	Month                string                `json:"month"`
	Timezone             string                `json:"timezone"`
	RangeStart           web.Time              `json:"rangeStart"`
	RangeEnd             web.Time              `json:"rangeEnd"`
	Partial              bool                  `json:"partial"`
	OverallUptimePercent *float64              `json:"overallUptimePercent" minimum:"0" maximum:"100" description:"Null if nothing but maintenance was measured."`
	Components           []componentUptimeView `json:"components"`
	Formula              string                `json:"formula"`
}

// componentUptimeView has seconds as numbers that are exact to the millisecond.
type componentUptimeView struct {
	ComponentID          string          `json:"componentId" format:"uuid"`
	Name                 string          `json:"name"`
	UptimePercent        *float64        `json:"uptimePercent"`
	DowntimeSeconds      float64         `json:"downtimeSeconds"`
	MajorOutageSeconds   float64         `json:"majorOutageSeconds"`
	PartialOutageSeconds float64         `json:"partialOutageSeconds"`
	DegradedSeconds      float64         `json:"degradedSeconds"`
	MaintenanceSeconds   float64         `json:"maintenanceSeconds"`
	MeasuredSeconds      float64         `json:"measuredSeconds"`
	Days                 []dayUptimeView `json:"days"`
	EventIDs             []string        `json:"eventIds"`
}

type dayUptimeView struct {
	Date          string          `json:"date" format:"date"`
	UptimePercent *float64        `json:"uptimePercent"`
	WorstStatus   *catalog.Impact `json:"worstStatus" enum:"operational,under_maintenance,degraded_performance,partial_outage,major_outage" description:"Null if nothing was measured."`
}

type oneReportView struct {
	Report reportView `json:"report"`
}

type uptimeParameters struct {
	Month       string  `query:"month" required:"true" pattern:"^[0-9]{4}-[0-9]{2}$" description:"YYYY-MM, not in the future."`
	DashboardID *string `query:"dashboardId" format:"uuid"`
	ComponentID *string `query:"componentId" format:"uuid"`
}

func (a api) uptime(c *web.Call[uptimeParameters, web.None]) (oneReportView, error) {
	asked := c.Parameters
	if (asked.DashboardID == nil) == (asked.ComponentID == nil) {
		return oneReportView{}, fault.Field("dashboardId", "must be sent, or componentId, and not both")
	}
	report, err := a.catalog.Uptime(c, c.Caller.Organization, asked.Month, given(asked.DashboardID), given(asked.ComponentID))
	return oneReportView{viewReport(report)}, err
}

func viewReport(r catalog.UptimeReport) reportView {
	view := reportView{
		Month: r.Month, Timezone: r.Timezone, RangeStart: web.Time(r.From), RangeEnd: web.Time(r.To), Partial: r.Partial,
		OverallUptimePercent: r.Total.Uptime(), Components: make([]componentUptimeView, len(r.Components)), Formula: r.Formula,
	}
	for i := range r.Components {
		view.Components[i] = viewComponentUptime(&r.Components[i])
	}
	return view
}

func viewComponentUptime(part *catalog.ComponentUptime) componentUptimeView {
	seconds := func(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 } // one division: Duration.Seconds adds two parts and shows it
	view := componentUptimeView{
		ComponentID: part.ComponentID, Name: part.Name, UptimePercent: part.Uptime(),
		DowntimeSeconds: seconds(part.Downtime()), MajorOutageSeconds: seconds(part.Major), PartialOutageSeconds: seconds(part.Partial),
		DegradedSeconds: seconds(part.Degraded), MaintenanceSeconds: seconds(part.Maintenance), MeasuredSeconds: seconds(part.Measured),
		Days: make([]dayUptimeView, len(part.Days)), EventIDs: part.EventIDs,
	}
	for i := range part.Days {
		day := &part.Days[i]
		view.Days[i] = dayUptimeView{Date: day.Date, UptimePercent: day.Uptime()}
		if day.Worst != "" {
			view.Days[i].WorstStatus = &day.Worst
		}
	}
	return view
}
