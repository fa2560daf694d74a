package api

import (
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

func (a api) contentOperations(readers, writers []string) []web.Operation {
	const content = `{"modules": {"announcement": true, "overallStatus": true, "activeIncidents": true, "activeMaintenance": true, "components": true,
		"uptimeHistory": true, "upcomingMaintenance": true, "eventHistory": true, "subscribe": true, "about": true},
		"order": ["announcement", "overallStatus", "activeIncidents", "activeMaintenance", "components", "uptimeHistory", "upcomingMaintenance",
		"eventHistory", "subscribe", "about"],
		"uptime": {"windowDays": 90, "showPercentage": true, "precision": 2, "partialOutageWeight": 0.3, "historyDays": 14},
		"announcement": "We move to a new data centre in May."}`
	get := operation("dashboards", readers, "GET", "/{id}/content", "getDashboardContent", "Get the content of a dashboard", "The ETag is the dashboard's.", 200)
	get.Example.Response = `{"content": ` + content + `}`
	replace := operation("dashboards", writers, "PUT", "/{id}/content", "replaceDashboardContent", "Replace the content of a dashboard",
		"Without announcement the dashboard has none. The ETag is the dashboard's.", 200)
	replace.Example = web.Example{Request: content, Response: get.Example.Response}
	return []web.Operation{web.Declare(get, a.getContent), web.Declare(replace, a.replaceContent)}
}

type contentView struct {
	Modules      catalog.Modules        `json:"modules"`
	Order        []string               `json:"order"`
	Uptime       catalog.UptimeSettings `json:"uptime"`
	Announcement *string                `json:"announcement" description:"Rich text."`
}

type oneContentView struct {
	Content contentView `json:"content"`
	version int64
}

// RecordVersion implements web.Versioned.
func (v oneContentView) RecordVersion() int64 { return v.version }

func viewContent(d catalog.Dashboard) oneContentView {
	content := d.Content
	return oneContentView{contentView{content.Modules, append([]string{}, content.Order...), content.Uptime, textOf(content.Announcement)}, d.Version}
}

func (a api) getContent(c *web.Call[dashboardParameters, web.None]) (oneContentView, error) {
	dashboard, err := a.catalog.Dashboard(c, c.Caller.Organization, c.Parameters.ID)
	return viewContent(dashboard), err
}

type contentBody struct {
	Modules      optional.Value[modulesBody]        `json:"modules" required:"true"`
	Order        optional.Value[[]string]           `json:"order" required:"true" minItems:"10" maxItems:"10" description:"Each module once."`
	Uptime       optional.Value[uptimeSettingsBody] `json:"uptime" required:"true"`
	Announcement optional.Value[string]             `json:"announcement" nullable:"true" maxLength:"20000" description:"Rich text."`
}

type modulesBody struct {
	Announcement        optional.Value[bool] `json:"announcement" required:"true"`
	OverallStatus       optional.Value[bool] `json:"overallStatus" required:"true"`
	ActiveIncidents     optional.Value[bool] `json:"activeIncidents" required:"true"`
	ActiveMaintenance   optional.Value[bool] `json:"activeMaintenance" required:"true"`
	Components          optional.Value[bool] `json:"components" required:"true"`
	UptimeHistory       optional.Value[bool] `json:"uptimeHistory" required:"true"`
	UpcomingMaintenance optional.Value[bool] `json:"upcomingMaintenance" required:"true"`
	EventHistory        optional.Value[bool] `json:"eventHistory" required:"true"`
	Subscribe           optional.Value[bool] `json:"subscribe" required:"true"`
	About               optional.Value[bool] `json:"about" required:"true"`
}

type uptimeSettingsBody struct {
	WindowDays          optional.Value[int]     `json:"windowDays" required:"true" description:"30, 60 or 90."`
	ShowPercentage      optional.Value[bool]    `json:"showPercentage" required:"true"`
	Precision           optional.Value[int]     `json:"precision" required:"true" minimum:"0" maximum:"3"`
	PartialOutageWeight optional.Value[float64] `json:"partialOutageWeight" required:"true" minimum:"0" maximum:"1"`
	HistoryDays         optional.Value[int]     `json:"historyDays" required:"true" description:"7, 14, 30 or 90."`
}

func (a api) replaceContent(c *web.Call[dashboardParameters, contentBody]) (oneContentView, error) {
	dashboard, err := a.catalog.ReplaceContent(c, appCommand(c), c.Parameters.ID, func() (catalog.Content, error) {
		in, err := c.Body()
		return in.content(), err
	})
	return viewContent(dashboard), err
}

func (b contentBody) content() catalog.Content {
	m, u := b.Modules.Value, b.Uptime.Value
	content := catalog.Content{
		Modules: catalog.Modules{
			Announcement: m.Announcement.Value, OverallStatus: m.OverallStatus.Value, ActiveIncidents: m.ActiveIncidents.Value,
			ActiveMaintenance: m.ActiveMaintenance.Value, Components: m.Components.Value, UptimeHistory: m.UptimeHistory.Value,
			UpcomingMaintenance: m.UpcomingMaintenance.Value, EventHistory: m.EventHistory.Value, Subscribe: m.Subscribe.Value, About: m.About.Value,
		},
		Order: b.Order.Value,
		Uptime: catalog.UptimeSettings{
			WindowDays: u.WindowDays.Value, ShowPercentage: u.ShowPercentage.Value, Precision: u.Precision.Value,
			PartialOutageWeight: u.PartialOutageWeight.Value, HistoryDays: u.HistoryDays.Value,
		},
	}
	if text := b.Announcement.Pointer(); text != nil {
		content.Announcement = &catalog.Rich{Text: *text, Format: richtext.Rich}
	}
	return content
}
