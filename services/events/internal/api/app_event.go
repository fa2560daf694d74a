package api

import (
	"errors"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

const eventExample = `{"id": "01890a5d-ac96-774b-bcce-b302099a8062", "legacyId": 12, "publicId": null, "type": "incident", "title": "Checkout fails", "description": "Some payments fail.",
	"impactAnalysis": null, "coordinator": null, "status": "identified", "severity": "major_outage", "startAt": "2026-01-31T09:30:00.000Z", "endAt": null,
	"scheduledStartAt": null, "scheduledEndAt": null, "autoStart": false, "autoEnd": false, "reminderMinutes": [], "publish": true,
	"affectedComponents": [{"componentId": "01890a5d-ac96-774b-bcce-b302099a8061", "name": "Checkout", "impact": "major_outage"}],
	"dashboardIds": ["01890a5d-ac96-774b-bcce-b302099a8060"], "importKey": null,
	"notifyLater": {"email": true, "sms": false, "whatsapp": false, "webhook": false, "teams": false, "gchat": false, "slack": false, "discord": false}, "hiddenFromDashboard": false, "hiddenFromUptimeReports": false, "externalId": null,
	"timeline": [` + entryExample + `], "notes": [], "postMortem": null, "backfilled": false, "source": "app", "createdBy": ` + authorExample + `,
	"createdAt": "2026-01-31T09:31:00.000Z", "updatedAt": "2026-01-31T09:40:00.000Z", "publishedAt": "2026-01-31T09:31:00.000Z", "version": 2}`

const authorExample = `{"userId": "01890a5d-ac96-774b-bcce-b302099a8057", "name": "Ada Lovelace"}`

// eventOperation returns an operation on events. path is relative to the path of their list.
func eventOperation(method, path, id, summary, description string, status int) web.Operation {
	return operation("events", []string{passport.RoleEvent}, method, path, id, summary, description, status)
}

func (a api) eventOperations() []web.Operation {
	get := eventOperation("GET", "/{id}", "getEvent", "Get an event", "", 200)
	get.Example.Response = `{"event": ` + eventExample + `}`
	create := eventOperation("POST", "", "createEvent", "Create an incident or a maintenance", "", 201)
	create.Example = web.Example{Request: `{"type": "incident", "title": "Checkout fails", "description": "Some payments fail.", "status": "identified",
		"severity": "major_outage", "affectedComponents": [{"componentId": "01890a5d-ac96-774b-bcce-b302099a8061"}],
		"initialTimelineMessage": "A certificate has expired.", "notify": {"email": true}}`, Response: `{"event": ` + eventExample + `}`}
	change := eventOperation("PATCH", "/{id}", "changeEvent", "Change an event",
		"At least one member is required. A timeline entry or a reopen changes the status. The type never changes.", 200)
	change.Example = web.Example{Request: `{"title": "Checkout fails", "severity": "major_outage", "publish": true}`, Response: `{"event": ` + eventExample + `}`}
	remove := eventOperation("DELETE", "/{id}", "deleteEvent", "Delete an event", "", 204)
	return []web.Operation{
		web.Declare(create, web.WithBody(a.createEvent)), web.Declare(get, a.getEvent), web.Declare(change, a.changeEvent), web.Declare(remove, a.deleteEvent),
	}
}

// eventRowView is an event in a list.
type eventRowView struct {
	ID                      string                  `json:"id" format:"uuid"`
	LegacyID                int64                   `json:"legacyId"`
	PublicID                *string                 `json:"publicId" description:"The id of the event in api/v2 and in webhooks of the format statuspage. Null: that of id."`
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
	DashboardIDs            []string                `json:"dashboardIds" description:"The dashboards that show an affected component, or those of an event without components."`
	ImportKey               *string                 `json:"importKey" description:"The key of an imported event in its source, unique in the organization for ever."`
	NotifyLater             map[topic.Channel]bool  `json:"notifyLater" description:"Channels that the steps and reminders of the scheduler notify."`
	HiddenFromDashboard     bool                    `json:"hiddenFromDashboard"`
	HiddenFromUptimeReports bool                    `json:"hiddenFromUptimeReports"`
	ExternalID              *string                 `json:"externalId"`
	Backfilled              bool                    `json:"backfilled"`
	Source                  catalog.Source          `json:"source" enum:"app,legacy,inbound,scheduler,import"`
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

// eventMembers are the members that a create and a change of an event share.
type eventMembers struct {
	Description             optional.Value[string]          `json:"description" nullable:"true" maxLength:"20000" description:"Rich text."`
	ImpactAnalysis          optional.Value[string]          `json:"impactAnalysis" nullable:"true" maxLength:"8000" description:"Rich text."`
	Coordinator             optional.Value[string]          `json:"coordinator" nullable:"true" maxLength:"1000"`
	Severity                optional.Value[string]          `json:"severity" nullable:"true" enum:"minor_performance,major_performance,minor_outage,major_outage"`
	StartAt                 optional.Value[time.Time]       `json:"startAt" description:"Not in the future. By default now, and for a maintenance the planned start."`
	EndAt                   optional.Value[time.Time]       `json:"endAt" nullable:"true" description:"The actual end, of a closed event only."`
	ScheduledStartAt        optional.Value[time.Time]       `json:"scheduledStartAt" nullable:"true" description:"Required for a maintenance."`
	ScheduledEndAt          optional.Value[time.Time]       `json:"scheduledEndAt" nullable:"true" description:"Required for a maintenance."`
	AutoStart               optional.Value[bool]            `json:"autoStart" description:"For a maintenance."`
	AutoEnd                 optional.Value[bool]            `json:"autoEnd" description:"For a maintenance."`
	ReminderMinutes         optional.Value[[]int]           `json:"reminderMinutes" maxItems:"5" description:"For a maintenance: minutes before the planned start, 5 to 1440 each."`
	Publish                 optional.Value[bool]            `json:"publish" description:"False: a draft. By default true."`
	HiddenFromDashboard     optional.Value[bool]            `json:"hiddenFromDashboard"`
	HiddenFromUptimeReports optional.Value[bool]            `json:"hiddenFromUptimeReports"`
	ExternalID              optional.Value[string]          `json:"externalId" nullable:"true" maxLength:"255" description:"Unique in the organization while the event is open."`
	Notify                  optional.Value[web.Notify]      `json:"notify"`
	NotifyLater             optional.Value[web.NotifyLater] `json:"notifyLater"`
	DashboardIDs            optional.Value[[]string]        `json:"dashboardIds" maxItems:"50" description:"The dashboards that show an event without components. It moves no component and concerns all of them. Beside components: 400."`
}

type eventBody struct {
	Type   optional.Value[catalog.EventType] `json:"type" required:"true" enum:"incident,maintenance"`
	Title  optional.Value[string]            `json:"title" required:"true" minLength:"1" maxLength:"255"`
	Status optional.Value[catalog.Status]    `json:"status" enum:"investigating,identified,monitoring,resolved,planning,started,inprogress,verifying,completed" description:"By default investigating or planning."`
	eventMembers
	AffectedComponents     optional.Value[[]affectedComponentBody] `json:"affectedComponents" maxItems:"100" description:"Without components, dashboardIds is required."`
	InitialTimelineMessage optional.Value[string]                  `json:"initialTimelineMessage" minLength:"1" maxLength:"20000" description:"Rich text of the first timeline entry."`
}

type eventPatch struct {
	Title optional.Value[string] `json:"title" minLength:"1" maxLength:"255"`
	eventMembers
	AffectedComponents optional.Value[[]affectedComponentBody] `json:"affectedComponents" maxItems:"100" description:"Replaces the set. Without components, dashboardIds is required."`
}

type affectedComponentBody struct {
	ComponentID optional.Value[string]         `json:"componentId" required:"true" format:"uuid"`
	Impact      optional.Value[catalog.Impact] `json:"impact" enum:"operational,degraded_performance,partial_outage,major_outage,under_maintenance" description:"By default it follows from type and severity."`
}

func (a api) createEvent(c *web.Call[web.None, eventBody], in eventBody) (oneEventView, error) {
	detail, err := a.catalog.CreateEvent(c, appCommand(c), in.apply)
	return oneEventView{viewEvent(detail)}, err
}

func (a api) changeEvent(c *web.Call[eventParameters, eventPatch]) (oneEventView, error) {
	detail, err := a.catalog.ChangeEvent(c, appCommand(c), c.Parameters.ID, func(d *catalog.EventEdit) error {
		in, err := c.Body()
		if err != nil {
			return patchable(err)
		}
		return in.apply(d)
	})
	return oneEventView{viewEvent(detail)}, err
}

// patchable returns a clearer fault for the members status and type, which PATCH cannot change. It returns any other
// error unchanged.
func patchable(err error) error {
	switch fault.As(err).Field {
	case "status":
		return fault.Field("status", "cannot be patched: POST /app/events/{id}/timeline or POST /app/events/{id}/reopen changes it")
	case "type":
		return fault.Field("type", "cannot be changed: create another event")
	}
	return err
}

func (a api) deleteEvent(c *web.Call[eventParameters, web.None]) (web.None, error) {
	return web.None{}, a.catalog.DeleteEvent(c, appCommand(c), c.Parameters.ID)
}

func (in eventBody) apply(d *catalog.EventEdit) error {
	d.Begin(in.Type.Value, in.Title.Value, in.Status.Value)
	err := errors.Join(in.eventMembers.apply(d), applyPlaces(d, in.AffectedComponents, in.DashboardIDs))
	if in.InitialTimelineMessage.Sent {
		err = errors.Join(err, d.SetInitialEntry(in.InitialTimelineMessage.Value))
	}
	return err
}

func (in eventPatch) apply(d *catalog.EventEdit) error {
	fields := in
	fields.Notify = optional.Value[web.Notify]{} // notify is not a field of the event
	if err := checkSent(fields); err != nil {
		return err
	}
	put(&d.Title, in.Title)
	return errors.Join(in.eventMembers.apply(d), applyPlaces(d, in.AffectedComponents, in.DashboardIDs))
}

func (in eventMembers) apply(d *catalog.EventEdit) error {
	putRich(&d.Description, richtext.Rich, in.Description)
	putRich(&d.Impact, richtext.Rich, in.ImpactAnalysis)
	former := d.Coordinator.Text
	putRich(&d.Coordinator, richtext.Plain, in.Coordinator)
	if err := catalog.CheckPlain("coordinator", d.Coordinator.Text, former); err != nil {
		return err
	}
	put(&d.Severity, in.Severity)
	put(&d.AutoStart, in.AutoStart)
	put(&d.AutoEnd, in.AutoEnd)
	put(&d.ReminderMinutes, in.ReminderMinutes)
	put(&d.Published, in.Publish)
	put(&d.HiddenFromDashboard, in.HiddenFromDashboard)
	put(&d.HiddenFromUptimeReports, in.HiddenFromUptimeReports)
	put(&d.ExternalID, in.ExternalID)
	d.Notify(in.Notify.Value.Wording())
	d.NotifyLater(in.NotifyLater.Value.Wording())
	return d.SetTimes(catalog.Times{StartAt: in.StartAt, EndAt: in.EndAt, ScheduledStartAt: in.ScheduledStartAt, ScheduledEndAt: in.ScheduledEndAt})
}

func applyPlaces(d *catalog.EventEdit, components optional.Value[[]affectedComponentBody], dashboards optional.Value[[]string]) error {
	var affected *[]catalog.ComponentImpact
	if components.Sent {
		affected = new(find.Values(components.Value, func(named affectedComponentBody) catalog.ComponentImpact {
			return catalog.ComponentImpact{ComponentID: named.ComponentID.Value, Impact: named.Impact.Value}
		}))
	}
	return d.SetPlaces(affected, dashboards.Pointer())
}

// put sets field to the value of a member if the member was sent. null sets the zero value.
func put[V any](field *V, sent optional.Value[V]) {
	if sent.Sent {
		*field = sent.Value
	}
}

func putRich(field *catalog.Rich, format richtext.Format, sent optional.Value[string]) {
	if sent.Sent {
		field.Set(format, sent.Value)
	}
}

func viewEvent(d catalog.EventDetail) eventView {
	view := eventView{
		eventRowView: viewEventRow(d), Timeline: []entryView{}, Notes: find.Values(d.Notes, viewNote),
		PostMortem: viewPostMortem(d.PostMortem),
	}
	for _, entry := range slices.Backward(d.Chronicle()) {
		view.Timeline = append(view.Timeline, viewEntry(entry))
	}
	return view
}

func viewEventRow(d catalog.EventDetail) eventRowView {
	e := &d.Event
	view := eventRowView{
		ID: e.ID, LegacyID: e.LegacyID, PublicID: optional.OrNull(e.PublicID), Type: e.Type, Title: e.Title, Description: textOf(&e.Description), ImpactAnalysis: textOf(&e.Impact),
		Coordinator: textOf(&e.Coordinator), Status: e.Status, Severity: optional.OrNull(e.Severity),
		StartAt: web.Time(e.StartAt), EndAt: web.TimeOf(e.EndAt), ScheduledStartAt: web.TimeOf(e.ScheduledStartAt), ScheduledEndAt: web.TimeOf(e.ScheduledEndAt),
		AutoStart: e.AutoStart, AutoEnd: e.AutoEnd, ReminderMinutes: append([]int{}, e.ReminderMinutes...), Publish: e.Published,
		AffectedComponents: []affectedComponentView{}, DashboardIDs: append([]string{}, d.ShownOn()...),
		HiddenFromDashboard: e.HiddenFromDashboard, HiddenFromUptimeReports: e.HiddenFromUptimeReports, ExternalID: optional.OrNull(e.ExternalID),
		ImportKey: optional.OrNull(e.ImportKey()), NotifyLater: map[topic.Channel]bool{},
		Backfilled: e.Backfilled, Source: e.Source, CreatedBy: viewAuthor(e.CreatedBy), CreatedAt: web.Time(e.CreatedAt), UpdatedAt: web.Time(e.UpdatedAt),
		PublishedAt: web.TimeOf(e.PublishedAt), Version: e.Version,
	}
	for _, channel := range topic.AppChannels() {
		_, view.NotifyLater[channel] = e.Announced[channel]
	}
	for _, link := range e.Links {
		if component, there := d.Components[link.ComponentID]; there {
			view.AffectedComponents = append(view.AffectedComponents, affectedComponentView{link.ComponentID, component.Name, e.ImpactOn(link)})
		}
	}
	return view
}

func viewAuthor(a catalog.Author) authorView { return authorView{optional.OrNull(a.UserID), a.Name} }

// textOf returns the text, or nil, which is null in JSON, for an empty or missing text.
func textOf(text *catalog.Rich) *string {
	if text == nil {
		return nil
	}
	return optional.OrNull(text.Text)
}
