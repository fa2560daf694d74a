package api

import (
	"cmp"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

func (a api) eventExportOperations() []web.Operation {
	export := operation("events", []string{passport.RoleAdmin}, "GET", "/export", "exportEvents", "Export events",
		"The newest start first, each with its whole timeline, as POST /app/events/import takes an event, except that ids name components. Texts are the HTML that visitors see.", 200)
	export.Versioned = false
	export.Example.Response = `{"events": [{"id": "01890a5d-ac96-774b-bcce-b302099a8062", "key": null, "type": "incident", "title": "Checkout fails",
		"status": "resolved", "severity": "major_outage", "html": "<p>Some payments fail.</p>", "impactAnalysis": null, "coordinator": null,
		"createdAt": "2026-01-31T09:31:00.000Z", "startAt": "2026-01-31T09:30:00.000Z", "endAt": "2026-01-31T10:00:00.000Z", "scheduledStartAt": null, "scheduledEndAt": null,
		"autoStart": false, "autoEnd": false, "reminderMinutes": [], "notifyLater": {}, "publish": true, "hiddenFromDashboard": false, "hiddenFromUptimeReports": false,
		"externalId": null, "components": [{"componentId": "01890a5d-ac96-774b-bcce-b302099a8061", "impact": "major_outage"}], "dashboardIds": [],
		"timeline": [{"id": "01890a5d-ac96-774b-bcce-b302099a8063", "key": null, "at": "2026-01-31T10:00:00.000Z", "status": "resolved", "html": "<p>Solved.</p>", "impacts": {}, "publicId": null}],
		"postMortem": null, "notes": [], "publicId": null}], "nextToken": null}`
	return []web.Operation{web.Declare(export, a.exportEvents)}
}

type exportParameters struct {
	web.Paging
	DashboardID *string `query:"dashboardId" format:"uuid" description:"Events that the dashboard shows or could show."`
}

type exportedEventsView struct {
	Events    []exportedEventView `json:"events"`
	NextToken *string             `json:"nextToken"`
}

type exportedEventView struct {
	ID                      string                  `json:"id" format:"uuid"`
	Key                     *string                 `json:"key" description:"The importKey. Null: the event was not imported."`
	Type                    catalog.EventType       `json:"type" enum:"incident,maintenance"`
	Title                   string                  `json:"title"`
	Status                  catalog.Status          `json:"status" enum:"investigating,identified,monitoring,resolved,planning,started,inprogress,verifying,completed"`
	Severity                *string                 `json:"severity" enum:"minor_performance,major_performance,minor_outage,major_outage"`
	HTML                    *string                 `json:"html"`
	ImpactAnalysis          *string                 `json:"impactAnalysis"`
	Coordinator             *string                 `json:"coordinator"`
	CreatedAt               web.Time                `json:"createdAt"`
	StartAt                 web.Time                `json:"startAt"`
	EndAt                   *web.Time               `json:"endAt"`
	ScheduledStartAt        *web.Time               `json:"scheduledStartAt"`
	ScheduledEndAt          *web.Time               `json:"scheduledEndAt"`
	AutoStart               bool                    `json:"autoStart"`
	AutoEnd                 bool                    `json:"autoEnd"`
	ReminderMinutes         []int                   `json:"reminderMinutes"`
	NotifyLater             map[topic.Channel]bool  `json:"notifyLater" description:"Channels that the scheduler's steps notify."`
	Publish                 bool                    `json:"publish"`
	HiddenFromDashboard     bool                    `json:"hiddenFromDashboard"`
	HiddenFromUptimeReports bool                    `json:"hiddenFromUptimeReports"`
	ExternalID              *string                 `json:"externalId"`
	Components              []exportedComponentView `json:"components"`
	DashboardIDs            []string                `json:"dashboardIds" description:"Of an event without components."`
	Timeline                []exportedEntryView     `json:"timeline" description:"The oldest first."`
	PostMortem              *exportedPostMortemView `json:"postMortem"`
	Notes                   []string                `json:"notes"`
	PublicID                *string                 `json:"publicId"`
}

type exportedComponentView struct {
	ComponentID string          `json:"componentId" format:"uuid"`
	Impact      *catalog.Impact `json:"impact" enum:"operational,degraded_performance,partial_outage,major_outage,under_maintenance" description:"Null: it follows from type and severity."`
}

type exportedEntryView struct {
	ID       string                    `json:"id" format:"uuid"`
	Key      *string                   `json:"key"`
	At       web.Time                  `json:"at"`
	Status   catalog.Status            `json:"status" enum:"investigating,identified,monitoring,resolved,planning,started,inprogress,verifying,completed,update"`
	HTML     string                    `json:"html"`
	Impacts  map[string]catalog.Impact `json:"impacts" description:"Impacts from then on, by the id of the component."`
	PublicID *string                   `json:"publicId"`
}

type exportedPostMortemView struct {
	HTML           string           `json:"html"`
	RootCause      *string          `json:"rootCause"`
	Impact         *string          `json:"impact"`
	Resolution     *string          `json:"resolution"`
	LessonsLearned *string          `json:"lessonsLearned"`
	ActionItems    []actionItemView `json:"actionItems"`
	PublishedAt    *web.Time        `json:"publishedAt" description:"Null: it is not published."`
}

func (a api) exportEvents(c *web.Call[exportParameters, web.None]) (exportedEventsView, error) {
	events, next, err := web.Listed(a.Pages, c.List, c.Parameters.Paging, func(limit int, after string) (find.Page[catalog.EventDetail], error) {
		return a.catalog.PageOfEvents(c, c.Caller.Organization, catalog.EventFilter{DashboardID: optional.OrZero(c.Parameters.DashboardID)}, limit, after)
	}, viewExportedEvent)
	return exportedEventsView{events, next}, err
}

func viewExportedEvent(d catalog.EventDetail) exportedEventView {
	e := &d.Event
	view := exportedEventView{
		ID: e.ID, Key: optional.OrNull(e.ImportKey()), Type: e.Type, Title: e.Title, Status: e.Status, Severity: optional.OrNull(e.Severity),
		HTML: htmlOf(&e.Description), ImpactAnalysis: htmlOf(&e.Impact), Coordinator: textOf(&e.Coordinator),
		CreatedAt: web.Time(e.CreatedAt), StartAt: web.Time(e.StartAt), EndAt: web.TimeOf(e.EndAt), ScheduledStartAt: web.TimeOf(e.ScheduledStartAt),
		ScheduledEndAt: web.TimeOf(e.ScheduledEndAt), AutoStart: e.AutoStart, AutoEnd: e.AutoEnd, ReminderMinutes: append([]int{}, e.ReminderMinutes...),
		NotifyLater: map[topic.Channel]bool{}, Publish: e.Published, HiddenFromDashboard: e.HiddenFromDashboard, HiddenFromUptimeReports: e.HiddenFromUptimeReports,
		ExternalID: optional.OrNull(e.ExternalID), Components: []exportedComponentView{}, DashboardIDs: append([]string{}, e.DashboardIDs...),
		Timeline: []exportedEntryView{}, Notes: find.Values(e.Notes, func(n catalog.Note) string { return n.Text }), PublicID: optional.OrNull(e.PublicID),
	}
	for channel := range e.Announced {
		view.NotifyLater[channel] = true
	}
	for _, link := range e.Links {
		if _, there := d.Components[link.ComponentID]; there {
			view.Components = append(view.Components, exportedComponentView{link.ComponentID, optional.OrNull(link.Impact)})
		}
	}
	for _, entry := range d.Chronicle() {
		shown := exportedEntryView{
			ID: entry.StatusID, Key: optional.OrNull(entry.ImportKey), At: web.Time(entry.Timestamp), Status: entry.Status, HTML: entry.Message.HTML(),
			Impacts: map[string]catalog.Impact{}, PublicID: optional.OrNull(entry.PublicID),
		}
		for _, impact := range entry.Impacts {
			if _, there := d.Components[impact.ComponentID]; there {
				shown.Impacts[impact.ComponentID] = impact.Impact
			}
		}
		view.Timeline = append(view.Timeline, shown)
	}
	if p := e.PostMortem; p != nil {
		view.PostMortem = &exportedPostMortemView{
			HTML: p.Summary.HTML(), RootCause: htmlOf(p.RootCause), Impact: htmlOf(p.Impact), Resolution: htmlOf(p.Resolution), LessonsLearned: htmlOf(p.LessonsLearned),
			ActionItems: find.Values(p.ActionItems, func(i catalog.ActionItem) actionItemView { return actionItemView(i) }),
		}
		if p.Published {
			view.PostMortem.PublishedAt = web.TimeOf(cmp.Or(p.PublishedAt, &p.UpdatedAt))
		}
	}
	return view
}

// htmlOf returns the HTML that visitors see of a text, or nil for an empty text.
func htmlOf(text *catalog.Rich) *string {
	if text == nil || text.Text == "" {
		return nil
	}
	return optional.OrNull(text.HTML())
}
