package api

import (
	"time"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

const entryExample = `{"statusId": "01890a5d-ac96-774b-bcce-b302099a8063", "publicId": null, "importKey": null, "status": "identified", "previousStatus": "investigating",
	"message": "A certificate has expired.", "timestamp": "2026-01-31T09:40:00.000Z", "author": ` + authorExample + `, "notified": true,
	"componentImpacts": [], "editedAt": null, "createdAt": "2026-01-31T09:40:00.000Z"}`

func (a api) timelineOperations() []web.Operation {
	const response = `{"timelineEntry": ` + entryExample + `, "event": ` + eventExample + `}`
	post := eventOperation("POST", "/{id}/timeline", "createTimelineEntry", "Post a timeline entry",
		"A status other than that of the event is a transition. A closed event is opened by a reopen only.", 201)
	post.Example = web.Example{Request: `{"message": "A certificate has expired.", "status": "identified",
		"componentImpacts": [{"componentId": "01890a5d-ac96-774b-bcce-b302099a8061", "impact": "major_outage"}]}`, Response: response}
	edit := eventOperation("PUT", "/{id}/timeline/{statusId}", "replaceTimelineEntry", "Correct a timeline entry",
		"The status and the author stay. It notifies nobody.", 200)
	edit.Example = web.Example{Request: `{"message": "A certificate has expired."}`, Response: `{"timelineEntry": ` + entryExample + `}`}
	remove := eventOperation("DELETE", "/{id}/timeline/{statusId}", "deleteTimelineEntry", "Delete a timeline entry",
		"The entry that set the current status stays.", 204)
	reopen := eventOperation("POST", "/{id}/reopen", "reopenEvent", "Reopen a resolved or completed event",
		"By default to investigating or inprogress.", 201)
	reopen.Example = web.Example{Request: `{"message": "It fails again.", "status": "identified"}`, Response: response}
	return []web.Operation{
		web.Declare(post, a.postEntry), web.Declare(edit, a.putEntry), web.Declare(remove, a.deleteEntry), web.Declare(reopen, a.reopenEvent),
	}
}

type entryView struct {
	StatusID         string                `json:"statusId" format:"uuid"`
	ImportKey        *string               `json:"importKey" description:"The key of an imported entry in its source."`
	PublicID         *string               `json:"publicId" description:"The id of the update in api/v2 and in webhooks of the format statuspage. Null: that of statusId."`
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

type newEntryView struct {
	TimelineEntry entryView `json:"timelineEntry"`
	Event         eventView `json:"event"`
}

// RecordVersion implements web.Versioned.
func (v newEntryView) RecordVersion() int64 { return v.Event.Version }

type oneEntryView struct {
	TimelineEntry entryView `json:"timelineEntry"`
	version       int64     // version of the event
}

// RecordVersion implements web.Versioned.
func (v oneEntryView) RecordVersion() int64 { return v.version }

type entryBody struct {
	Message          optional.Value[string]                `json:"message" required:"true" minLength:"1" maxLength:"20000" description:"Rich text."`
	Status           optional.Value[catalog.Status]        `json:"status" enum:"investigating,identified,monitoring,resolved,planning,started,inprogress,verifying,completed,update" description:"By default update."`
	Timestamp        optional.Value[time.Time]             `json:"timestamp" description:"Not in the future. By default now. The end of an event that the entry closes."`
	ComponentImpacts optional.Value[[]componentImpactBody] `json:"componentImpacts" description:"Of affected components, in force from the timestamp on."`
	Notify           optional.Value[web.Notify]            `json:"notify"`
}

type componentImpactBody struct {
	ComponentID optional.Value[string]         `json:"componentId" required:"true" format:"uuid"`
	Impact      optional.Value[catalog.Impact] `json:"impact" required:"true" enum:"operational,degraded_performance,partial_outage,major_outage,under_maintenance"`
}

func (a api) postEntry(c *web.Call[eventParameters, entryBody]) (newEntryView, error) {
	detail, err := a.catalog.ChangeEvent(c, appCommand(c).As(catalog.ActionTimelineCreate), c.Parameters.ID, withBody(c, func(d *catalog.EventEdit, in entryBody) error {
		entry := catalog.NewEntry{Message: in.Message.Value, Status: in.Status.Value, Timestamp: in.Timestamp.Pointer()}
		for _, impact := range in.ComponentImpacts.Value {
			entry.Impacts = append(entry.Impacts, catalog.ComponentImpact{ComponentID: impact.ComponentID.Value, Impact: impact.Impact.Value})
		}
		d.Notify(in.Notify.Value.Wording())
		return d.Post(entry)
	}))
	return viewNewEntry(detail), err
}

type reopenBody struct {
	Message optional.Value[string]         `json:"message" required:"true" minLength:"1" maxLength:"20000" description:"Rich text."`
	Status  optional.Value[catalog.Status] `json:"status" enum:"investigating,identified,monitoring,resolved,planning,started,inprogress,verifying,completed" description:"By default investigating or inprogress."`
	Notify  optional.Value[web.Notify]     `json:"notify"`
}

func (a api) reopenEvent(c *web.Call[eventParameters, reopenBody]) (newEntryView, error) {
	detail, err := a.catalog.ChangeEvent(c, appCommand(c).As(catalog.ActionReopen), c.Parameters.ID, withBody(c, func(d *catalog.EventEdit, in reopenBody) error {
		d.Notify(in.Notify.Value.Wording())
		return d.Reopen(catalog.NewEntry{Message: in.Message.Value, Status: in.Status.Value})
	}))
	return viewNewEntry(detail), err
}

type entryParameters struct {
	ID       string `path:"id" format:"uuid"`
	StatusID string `path:"statusId" format:"uuid"`
}

type correctedEntryBody struct {
	Message   optional.Value[string]    `json:"message" required:"true" minLength:"1" maxLength:"20000" description:"Rich text."`
	Timestamp optional.Value[time.Time] `json:"timestamp" description:"Not in the future. Absent: it stays."`
}

func (a api) putEntry(c *web.Call[entryParameters, correctedEntryBody]) (oneEntryView, error) {
	detail, err := changeEntry(a, c, catalog.ActionTimelineUpdate, withBody(c, func(d *catalog.EventEdit, in correctedEntryBody) error {
		return d.Correct(c.Parameters.StatusID, in.Message.Value, in.Timestamp.Pointer())
	}))
	if err != nil {
		return oneEntryView{}, err
	}
	entry, err := detail.EntryOf(c.Parameters.StatusID)
	return oneEntryView{viewEntry(entry), detail.Version}, err
}

func (a api) deleteEntry(c *web.Call[entryParameters, web.None]) (web.None, error) {
	_, err := changeEntry(a, c, catalog.ActionTimelineDelete, func(d *catalog.EventEdit) error { return d.Retract(c.Parameters.StatusID) })
	return web.None{}, err
}

func changeEntry[B any](a api, c *web.Call[entryParameters, B], action string, change func(*catalog.EventEdit) error) (catalog.EventDetail, error) {
	return changePart(a, c, c.Parameters.ID, action, change, func(d *catalog.EventEdit) error {
		_, err := d.EntryOf(c.Parameters.StatusID)
		return err
	})
}

// viewNewEntry returns the view of the event and of the last entry of its timeline, which a write has appended.
func viewNewEntry(detail catalog.EventDetail) newEntryView {
	view := newEntryView{Event: viewEvent(detail)}
	if n := len(detail.Timeline); n > 0 {
		view.TimelineEntry = viewEntry(detail.Timeline[n-1])
	}
	return view
}

func viewEntry(e catalog.Entry) entryView {
	return entryView{
		StatusID: e.StatusID, PublicID: optional.OrNull(e.PublicID), ImportKey: optional.OrNull(e.ImportKey), Status: e.Status, PreviousStatus: optional.OrNull(e.PreviousStatus), Message: e.Message.Text, Timestamp: web.Time(e.Timestamp),
		Author: viewAuthor(e.Author), Notified: e.Notified, ComponentImpacts: find.Values(e.Impacts, func(i catalog.ComponentImpact) componentImpactView { return componentImpactView(i) }),
		EditedAt: web.TimeOf(e.EditedAt), CreatedAt: web.Time(e.CreatedAt),
	}
}
