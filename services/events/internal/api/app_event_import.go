package api

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// maxImportBody is the limit of the body of an import, in bytes. It is greater than the limit of other bodies, 1 MiB,
// because a history has many texts.
const maxImportBody = 8 << 20

func (a api) importOperations() []web.Operation {
	create := operation("events", []string{passport.RoleAdmin}, "POST", "/import", "importEvents", "Import events",
		`Each event is stored whole, with its timeline, or refused; a refused event does not affect others. 1 to 200 events and 8 MiB of body. Statuses are taken as they are sent, and nobody is notified.
Feeds do not show imported entries. Steps of the scheduler and reminders whose time is past are not taken.
The request may be repeated: an event with the same key and content stays unchanged. An event that a member has changed or deleted is kept, unless force is true. No Idempotency-Key is needed.`, 200, 404)
	create.Versioned, create.MaxBody, create.Repeatable = false, maxImportBody, true
	create.Example = web.Example{
		Request: `{"dashboardId": "01890a5d-ac96-774b-bcce-b302099a8060", "runId": "01890a5d-ac96-774b-bcce-b302099a8068", "events": [
			{"key": "statuspage:acme:p31zjtct2jer", "type": "incident", "title": "Checkout fails", "status": "resolved", "severity": "major_outage",
			"startAt": "2025-01-31T09:30:00Z", "endAt": "2025-01-31T10:00:00Z", "components": [{"key": "statuspage:acme:b13yz5g2cw10", "impact": "major_outage"}],
			"timeline": [{"key": "statuspage:acme:u1", "at": "2025-01-31T09:30:00Z", "status": "investigating", "html": "<p>We are looking into it.</p>"},
			{"key": "statuspage:acme:u2", "at": "2025-01-31T10:00:00Z", "status": "resolved", "html": "<p>Solved.</p>"}]},
			{"key": "statuspage:acme:kctbh9vrtdwd", "type": "incident", "title": "Slow", "status": "resolved"}]}`,
		Response: `{"results": [{"key": "statuspage:acme:p31zjtct2jer", "status": "created", "eventId": "01890a5d-ac96-774b-bcce-b302099a8062", "error": null},
			{"key": "statuspage:acme:kctbh9vrtdwd", "status": "refused", "eventId": null, "error": "startAt: is required for an incident"}]}`,
	}
	undo := operation("events", []string{passport.RoleAdmin}, "DELETE", "/import/{runId}", "undoEventImport", "Undo an import of events",
		"Deletes up to 200 events that the run created and no member has changed. Repeat it until remaining is 0. A later import creates the events again.", 200)
	undo.Versioned, undo.Repeatable = false, true
	undo.Example.Response = `{"deleted": 200, "kept": 1, "remaining": 619}`
	return []web.Operation{web.Declare(create, web.WithBody(a.importEvents)), web.Declare(undo, a.undoImport)}
}

type eventImportBody struct {
	DashboardID optional.Value[string]                       `json:"dashboardId" required:"true" format:"uuid" description:"The dashboard of the events that name neither components nor dashboards."`
	RunID       optional.Value[string]                       `json:"runId" required:"true" format:"uuid" description:"An id that the sender chooses. It names the events that DELETE deletes."`
	Events      optional.Value[[]web.Row[importedEventBody]] `json:"events" required:"true" minItems:"1" maxItems:"200"`
	DryRun      optional.Value[bool]                         `json:"dryRun" default:"false" description:"True: nothing is stored; the results are those that the import would have."`
	Force       optional.Value[bool]                         `json:"force" default:"false" description:"True: events that a member has changed or deleted are imported too."`
}

type importedEventBody struct {
	Key                     optional.Value[string]                  `json:"key" required:"true" minLength:"1" maxLength:"255" description:"Names the event in its source. It becomes importKey, which is unique in the organization for ever."`
	Type                    optional.Value[catalog.EventType]       `json:"type" required:"true" enum:"incident,maintenance"`
	Title                   optional.Value[string]                  `json:"title" required:"true" minLength:"1" maxLength:"255"`
	Status                  optional.Value[catalog.Status]          `json:"status" required:"true" enum:"investigating,identified,monitoring,resolved,planning,started,inprogress,verifying,completed"`
	Severity                optional.Value[string]                  `json:"severity" nullable:"true" enum:"minor_performance,major_performance,minor_outage,major_outage"`
	HTML                    optional.Value[string]                  `json:"html" nullable:"true" maxLength:"20000" description:"The description, as HTML."`
	ImpactAnalysis          optional.Value[string]                  `json:"impactAnalysis" nullable:"true" maxLength:"8000" description:"HTML."`
	Coordinator             optional.Value[string]                  `json:"coordinator" nullable:"true" maxLength:"1000"`
	CreatedAt               optional.Value[time.Time]               `json:"createdAt" nullable:"true" description:"By default the earliest time of the event."`
	StartAt                 optional.Value[time.Time]               `json:"startAt" nullable:"true" description:"Required for an incident. No time of an event may be before 1990. A planned maintenance starts at scheduledStartAt."`
	EndAt                   optional.Value[time.Time]               `json:"endAt" nullable:"true" description:"Of a closed event. By default the time of the entry that closes it."`
	ScheduledStartAt        optional.Value[time.Time]               `json:"scheduledStartAt" nullable:"true" description:"Required for a maintenance."`
	ScheduledEndAt          optional.Value[time.Time]               `json:"scheduledEndAt" nullable:"true" description:"Required for a maintenance."`
	AutoStart               optional.Value[bool]                    `json:"autoStart" description:"For a maintenance."`
	AutoEnd                 optional.Value[bool]                    `json:"autoEnd" description:"For a maintenance."`
	ReminderMinutes         optional.Value[[]int]                   `json:"reminderMinutes" maxItems:"5" description:"For a maintenance: minutes before the planned start, 5 to 1440 each."`
	NotifyLater             optional.Value[web.NotifyLater]         `json:"notifyLater"`
	Publish                 optional.Value[bool]                    `json:"publish" description:"False: a draft. By default true."`
	HiddenFromDashboard     optional.Value[bool]                    `json:"hiddenFromDashboard"`
	HiddenFromUptimeReports optional.Value[bool]                    `json:"hiddenFromUptimeReports"`
	ExternalID              optional.Value[string]                  `json:"externalId" nullable:"true" maxLength:"255" description:"Unique in the organization while the event is open."`
	Components              optional.Value[[]importedComponentBody] `json:"components" maxItems:"500"`
	DashboardIDs            optional.Value[[]string]                `json:"dashboardIds" maxItems:"50" description:"The dashboards of an event without components. By default dashboardId of the request."`
	Timeline                optional.Value[[]importedEntryBody]     `json:"timeline" maxItems:"1000"`
	PostMortem              optional.Value[importedReviewBody]      `json:"postMortem" nullable:"true" description:"Of a closed event."`
	Notes                   optional.Value[[]string]                `json:"notes" maxItems:"200" description:"Internal notes of 1 to 5000 characters."`
	PublicID                optional.Value[string]                  `json:"publicId" nullable:"true" maxLength:"64" description:"The id that /api/v2 shows: letters, digits, _ and -. Unique in the organization."`
	Aliases                 optional.Value[[]string]                `json:"aliases" maxItems:"20" description:"Former paths of the event, as in POST /app/dashboards/{id}/aliases. They are set on the dashboards that show the event. A path that leads elsewhere stays as it is."`
}

type importedComponentBody struct {
	Key    optional.Value[string]         `json:"key" required:"true" maxLength:"255" description:"An externalRef of the component."`
	Impact optional.Value[catalog.Impact] `json:"impact" enum:"operational,degraded_performance,partial_outage,major_outage,under_maintenance" description:"From the start on. By default it follows from type and severity."`
}

type importedEntryBody struct {
	Key      optional.Value[string]                    `json:"key" required:"true" minLength:"1" maxLength:"255" description:"Names the entry in the event."`
	At       optional.Value[time.Time]                 `json:"at" required:"true"`
	Status   optional.Value[catalog.Status]            `json:"status" required:"true" enum:"investigating,identified,monitoring,resolved,planning,started,inprogress,verifying,completed,update"`
	HTML     optional.Value[string]                    `json:"html" required:"true" minLength:"1" maxLength:"20000"`
	Impacts  optional.Value[map[string]catalog.Impact] `json:"impacts" description:"Impacts from then on, by the key of the component."`
	PublicID optional.Value[string]                    `json:"publicId" nullable:"true" maxLength:"64" description:"The id of the update in /api/v2. It must be unique in the request; whether entries of other events have it is not checked."`
}

type importedReviewBody struct {
	HTML           optional.Value[string]           `json:"html" required:"true" minLength:"1" maxLength:"50000" description:"The summary."`
	RootCause      optional.Value[string]           `json:"rootCause" nullable:"true" maxLength:"50000" description:"HTML."`
	Impact         optional.Value[string]           `json:"impact" nullable:"true" maxLength:"50000" description:"HTML."`
	Resolution     optional.Value[string]           `json:"resolution" nullable:"true" maxLength:"50000" description:"HTML."`
	LessonsLearned optional.Value[string]           `json:"lessonsLearned" nullable:"true" maxLength:"50000" description:"HTML."`
	ActionItems    optional.Value[[]actionItemBody] `json:"actionItems" maxItems:"100"`
	PublishedAt    optional.Value[time.Time]        `json:"publishedAt" nullable:"true" description:"Null or absent: it is not published."`
}

type eventResultsView struct {
	Results []eventResultView `json:"results" description:"In the order of the events."`
}

type eventResultView struct {
	Key     string               `json:"key"`
	Status  catalog.ImportStatus `json:"status" enum:"created,unchanged,updated,kept,refused" description:"kept: a member has changed or deleted the event."`
	EventID *string              `json:"eventId" format:"uuid"`
	Error   *string              `json:"error" description:"Names the wrong field of a refused event, says why an event is kept, or names an alias that was not set."`
}

func (a api) importEvents(c *web.Call[web.None, eventImportBody], in eventImportBody) (eventResultsView, error) {
	events := make([]catalog.ImportedEvent, len(in.Events.Value))
	for i, row := range in.Events.Value {
		body, err := row.Read()
		if events[i] = body.event(); err == nil {
			err = errors.Join(body.checkImpacts(), body.checkAliases())
		}
		events[i].Wrong = err
	}
	results, err := a.catalog.ImportEvents(c, appCommand(c).AsImport(), catalog.EventImport{
		DashboardID: in.DashboardID.Value, RunID: in.RunID.Value, Events: events, DryRun: in.DryRun.Value, Force: in.Force.Value,
	})
	return eventResultsView{find.Values(results, func(r catalog.ImportResult) eventResultView {
		return eventResultView{r.Key, r.Status, optional.OrNull(r.EventID), optional.OrNull(r.Error)}
	})}, err
}

// checkImpacts checks the impacts of entries. Package web does not check the values of a map.
func (b *importedEventBody) checkImpacts() error {
	known := []catalog.Impact{catalog.Operational, catalog.UnderMaintenance, catalog.Degraded, catalog.PartialOutage, catalog.MajorOutage}
	for i, entry := range b.Timeline.Value {
		for key, impact := range entry.Impacts.Value {
			if !slices.Contains(known, impact) {
				return fault.Field("timeline", "entry %d: the impact on %q must be operational, under_maintenance, degraded_performance, partial_outage or major_outage", i+1, key)
			}
		}
	}
	return nil
}

// maxEventAliases is the maximum number of aliases of an event in an import.
const maxEventAliases = 20

func (b *importedEventBody) checkAliases() error {
	if len(b.Aliases.Value) > maxEventAliases {
		return fault.Field("aliases", "must be at most %d paths", maxEventAliases)
	}
	for i, path := range b.Aliases.Value {
		if err := peer.CheckAlias(fmt.Sprintf("aliases[%d]", i), path); err != nil {
			return err
		}
	}
	return nil
}

func (b *importedEventBody) event() catalog.ImportedEvent {
	event := catalog.ImportedEvent{
		Key: b.Key.Value, Type: b.Type.Value, Title: b.Title.Value, Status: b.Status.Value, Severity: b.Severity.Value, HTML: b.HTML.Value,
		ImpactAnalysis: b.ImpactAnalysis.Value, Coordinator: b.Coordinator.Value, CreatedAt: b.CreatedAt.Pointer(), StartAt: b.StartAt.Pointer(), EndAt: b.EndAt.Pointer(),
		ScheduledStartAt: b.ScheduledStartAt.Pointer(), ScheduledEndAt: b.ScheduledEndAt.Pointer(), AutoStart: b.AutoStart.Value, AutoEnd: b.AutoEnd.Value,
		ReminderMinutes: b.ReminderMinutes.Value, NotifyLater: b.NotifyLater.Value.Wording(), Draft: b.Publish.Sent && !b.Publish.Value,
		HiddenFromDashboard: b.HiddenFromDashboard.Value, HiddenFromUptimeReports: b.HiddenFromUptimeReports.Value, ExternalID: b.ExternalID.Value,
		DashboardIDs: b.DashboardIDs.Value, Notes: b.Notes.Value, PublicID: b.PublicID.Value, Aliases: b.Aliases.Value,
		Components: find.Values(b.Components.Value, func(named importedComponentBody) catalog.ImportedImpact {
			return catalog.ImportedImpact{Key: named.Key.Value, Impact: named.Impact.Value}
		}),
		Timeline: find.Values(b.Timeline.Value, func(entry importedEntryBody) catalog.ImportedEntry {
			return catalog.ImportedEntry{
				Key: entry.Key.Value, At: entry.At.Value, Status: entry.Status.Value, HTML: entry.HTML.Value, Impacts: entry.Impacts.Value, PublicID: entry.PublicID.Value,
			}
		}),
	}
	if p := b.PostMortem; p.Sent && !p.Null {
		event.PostMortem = &catalog.ImportedPostMortem{
			HTML: p.Value.HTML.Value, RootCause: p.Value.RootCause.Value, Impact: p.Value.Impact.Value, Resolution: p.Value.Resolution.Value,
			LessonsLearned: p.Value.LessonsLearned.Value, ActionItems: actionItems(p.Value.ActionItems.Value), PublishedAt: p.Value.PublishedAt.Pointer(),
		}
	}
	return event
}

type undoParameters struct {
	RunID string `path:"runId" format:"uuid"`
}

type undoneView struct {
	Deleted   int   `json:"deleted"`
	Kept      int64 `json:"kept" description:"Events of the run that a member has changed."`
	Remaining int64 `json:"remaining" description:"Events that further calls delete."`
}

func (a api) undoImport(c *web.Call[undoParameters, web.None]) (undoneView, error) {
	out, err := a.catalog.UndoImport(c, appCommand(c).AsImport(), c.Parameters.RunID)
	return undoneView(out), err
}
