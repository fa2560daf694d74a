package api

import (
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

const eventExample = `{"id": "01890a5d-ac96-774b-bcce-b302099a8062", "legacyId": 12, "type": "incident", "title": "Checkout fails", "description": "Some payments fail.",
	"impactAnalysis": null, "coordinator": null, "status": "identified", "severity": "major_outage", "startAt": "2026-01-31T09:30:00.000Z", "endAt": null,
	"scheduledStartAt": null, "scheduledEndAt": null, "autoStart": false, "autoEnd": false, "reminderMinutes": [], "publish": true,
	"affectedComponents": [{"componentId": "01890a5d-ac96-774b-bcce-b302099a8061", "name": "Checkout", "impact": "major_outage"}],
	"dashboardIds": ["01890a5d-ac96-774b-bcce-b302099a8060"], "hiddenFromDashboard": false, "hiddenFromUptimeReports": false, "externalId": null,
	"timeline": [` + entryExample + `], "notes": [], "postMortem": null, "backfilled": false, "source": "app", "createdBy": ` + authorExample + `,
	"createdAt": "2026-01-31T09:31:00.000Z", "updatedAt": "2026-01-31T09:40:00.000Z", "publishedAt": "2026-01-31T09:31:00.000Z", "version": 2}`

const entryExample = `{"statusId": "01890a5d-ac96-774b-bcce-b302099a8063", "status": "identified", "previousStatus": "investigating",
	"message": "A certificate has expired.", "timestamp": "2026-01-31T09:40:00.000Z", "author": ` + authorExample + `, "notified": true,
	"componentImpacts": [], "editedAt": null, "createdAt": "2026-01-31T09:40:00.000Z"}`

const authorExample = `{"userId": "01890a5d-ac96-774b-bcce-b302099a8057", "name": "Ada Lovelace"}`

func (a api) eventOperations() []web.Operation {
	return []web.Operation{
		web.Declare(web.Operation{
			Method: "GET", Path: "/app/events/{id}", ID: "getEvent", Tag: "events", Summary: "Get an event",
			Roles: []string{passport.RoleEvent}, Versioned: true, Status: 200, Example: web.Example{Response: `{"event": ` + eventExample + `}`},
		}, a.getEvent),
	}
}

// eventRowView is an event in a list.
type eventRowView struct {
	ID                      string                  `json:"id" format:"uuid"`
	LegacyID                int64                   `json:"legacyId"`
	Type                    catalog.EventType       `json:"type" enum:"incident,maintenance"`
	Title                   string                  `json:"title"`
	Description             *string                 `json:"description" description:"Rich text."`
	ImpactAnalysis          *string                 `json:"impactAnalysis" description:"Rich text."`
	Coordinator             *string                 `json:"coordinator"`
	Status                  catalog.Status          `json:"status" enum:"investigating,identified,monitoring,resolved,planning,started,inprogress,verifying,completed"`
	Severity                *string                 `json:"severity" enum:"minor_performance,major_performance,minor_outage,major_outage"`
	StartAt                 web.Time                `json:"startAt"`
	EndAt                   *web.Time               `json:"endAt" description:"The actual end."`
	ScheduledStartAt        *web.Time               `json:"scheduledStartAt"`
	ScheduledEndAt          *web.Time               `json:"scheduledEndAt"`
	AutoStart               bool                    `json:"autoStart"`
	AutoEnd                 bool                    `json:"autoEnd"`
	ReminderMinutes         []int                   `json:"reminderMinutes"`
	Publish                 bool                    `json:"publish" description:"False: a draft."`
	AffectedComponents      []affectedComponentView `json:"affectedComponents"`
	DashboardIDs            []string                `json:"dashboardIds" description:"The dashboards that show an affected component."`
	HiddenFromDashboard     bool                    `json:"hiddenFromDashboard"`
	HiddenFromUptimeReports bool                    `json:"hiddenFromUptimeReports"`
	ExternalID              *string                 `json:"externalId"`
	Backfilled              bool                    `json:"backfilled"`
	Source                  catalog.Source          `json:"source" enum:"app,legacy,inbound,scheduler"`
	CreatedBy               authorView              `json:"createdBy"`
	CreatedAt               web.Time                `json:"createdAt"`
	UpdatedAt               web.Time                `json:"updatedAt"`
	PublishedAt             *web.Time               `json:"publishedAt"`
	Version                 int64                   `json:"version"`
}

type eventView struct {
	eventRowView
	Timeline   []entryView     `json:"timeline" description:"Newest first."`
	Notes      []noteView      `json:"notes" description:"Internal, oldest first."`
	PostMortem *postMortemView `json:"postMortem"`
}

type affectedComponentView struct {
	ComponentID string         `json:"componentId" format:"uuid"`
	Name        string         `json:"name"`
	Impact      catalog.Impact `json:"impact" enum:"operational,degraded_performance,partial_outage,major_outage,under_maintenance"`
}

type authorView struct {
	UserID *string `json:"userId" format:"uuid" description:"Null for the platform itself."`
	Name   string  `json:"name"`
}

type entryView struct {
	StatusID         string                `json:"statusId" format:"uuid"`
	Status           catalog.Status        `json:"status" enum:"investigating,identified,monitoring,resolved,planning,started,inprogress,verifying,completed,update"`
	PreviousStatus   *catalog.Status       `json:"previousStatus" description:"Null for an entry without a transition."`
	Message          string                `json:"message" description:"Rich text."`
	Timestamp        web.Time              `json:"timestamp"`
	Author           authorView            `json:"author"`
	Notified         bool                  `json:"notified"`
	ComponentImpacts []componentImpactView `json:"componentImpacts"`
	EditedAt         *web.Time             `json:"editedAt"`
	CreatedAt        web.Time              `json:"createdAt"`
}

type componentImpactView struct {
	ComponentID string         `json:"componentId" format:"uuid"`
	Impact      catalog.Impact `json:"impact" enum:"operational,degraded_performance,partial_outage,major_outage,under_maintenance"`
}

type oneEventView struct {
	Event eventView `json:"event"`
}

// RecordVersion implements web.Versioned.
func (v oneEventView) RecordVersion() int64 { return v.Event.Version }

type eventParameters struct {
	ID string `path:"id" format:"uuid"`
}

func (a api) getEvent(c *web.Call[eventParameters, web.None]) (oneEventView, error) {
	detail, err := a.catalog.Event(c, c.Caller.Organization, c.Parameters.ID)
	return oneEventView{viewEvent(detail)}, err
}

func viewEvent(d catalog.EventDetail) eventView {
	view := eventView{
		eventRowView: viewEventRow(&d), Timeline: make([]entryView, len(d.Timeline)), Notes: make([]noteView, len(d.Notes)),
		PostMortem: viewPostMortem(d.PostMortem),
	}
	for i, entry := range d.Timeline {
		view.Timeline[i] = viewEntry(entry)
	}
	slices.Reverse(view.Timeline)
	for i, note := range d.Notes {
		view.Notes[i] = viewNote(note)
	}
	return view
}

func viewEventRow(d *catalog.EventDetail) eventRowView {
	e := &d.Event
	view := eventRowView{
		ID: e.ID, LegacyID: e.LegacyID, Type: e.Type, Title: e.Title, Description: textOf(&e.Description), ImpactAnalysis: textOf(&e.Impact),
		Coordinator: textOf(&e.Coordinator), Status: e.Status, Severity: orNull(e.Severity),
		StartAt: web.Time(e.StartAt), EndAt: web.TimeOf(e.EndAt), ScheduledStartAt: web.TimeOf(e.ScheduledStartAt), ScheduledEndAt: web.TimeOf(e.ScheduledEndAt),
		AutoStart: e.AutoStart, AutoEnd: e.AutoEnd, ReminderMinutes: append([]int{}, e.ReminderMinutes...), Publish: e.Published,
		AffectedComponents: []affectedComponentView{}, DashboardIDs: append([]string{}, d.DashboardIDs()...),
		HiddenFromDashboard: e.HiddenFromDashboard, HiddenFromUptimeReports: e.HiddenFromUptimeReports, ExternalID: orNull(e.ExternalID),
		Backfilled: e.Backfilled, Source: e.Source, CreatedBy: viewAuthor(e.CreatedBy), CreatedAt: web.Time(e.CreatedAt), UpdatedAt: web.Time(e.UpdatedAt),
		PublishedAt: web.TimeOf(e.PublishedAt), Version: e.Version,
	}
	for _, link := range e.Links {
		if component, there := d.Components[link.ComponentID]; there {
			view.AffectedComponents = append(view.AffectedComponents, affectedComponentView{link.ComponentID, component.Name, e.ImpactOn(link)})
		}
	}
	return view
}

func viewEntry(e catalog.Entry) entryView {
	view := entryView{
		StatusID: e.StatusID, Status: e.Status, PreviousStatus: orNull(e.PreviousStatus), Message: e.Message.Text, Timestamp: web.Time(e.Timestamp),
		Author: viewAuthor(e.Author), Notified: e.Notified, ComponentImpacts: make([]componentImpactView, len(e.Impacts)),
		EditedAt: web.TimeOf(e.EditedAt), CreatedAt: web.Time(e.CreatedAt),
	}
	for i, impact := range e.Impacts {
		view.ComponentImpacts[i] = componentImpactView(impact)
	}
	return view
}

func viewAuthor(a catalog.Author) authorView { return authorView{orNull(a.UserID), a.Name} }

// textOf returns nil, so null, for a text that is empty.
func textOf(text *catalog.Rich) *string {
	if text == nil {
		return nil
	}
	return orNull(text.Text)
}

// orNull returns nil, so null, for an empty text.
func orNull[T ~string](text T) *T {
	if text == "" {
		return nil
	}
	return &text
}
