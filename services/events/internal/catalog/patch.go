package catalog

import (
	"cmp"
	"errors"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// EventPatch says what a legacy write wants of an event; nil keeps what is there. The
// same body sent twice changes nothing the second time.
type EventPatch struct {
	Type   *EventType
	Status *Status
	Start  *time.Time
	End    *time.Time
	NoEnd  bool // the end is cleared
	Auto   *bool

	Severity    *string // "" clears it
	Description TextPatch
	Impact      TextPatch
	Coordinator TextPatch

	HiddenFromDashboard     *bool
	HiddenFromUptimeReports *bool

	Links   []LinkPatch
	Updates []UpdatePatch
	Notice  Notice
}

// TextPatch changes a text, its _md flag, or both.
type TextPatch struct {
	Text     *string
	Markdown *bool
}

// LinkPatch is a link in a body: one there is, by its id, or the component of a new one.
type LinkPatch struct {
	LegacyID    int64
	ComponentID *string
}

// UpdatePatch is an update in a body: a new one, or by its id one there is.
type UpdatePatch struct {
	LegacyID int64
	Status   *Status
	Date     *time.Time
	Message  TextPatch
}

// fresh counts the children for which ids are needed, at the most.
func (p *EventPatch) fresh() (links, updates int64) {
	for _, link := range p.Links {
		if link.LegacyID == 0 {
			links++
		}
	}
	for _, update := range p.Updates {
		if update.LegacyID == 0 {
			updates++
		}
	}
	return links, updates
}

// revision is a write under way: the event it changes, and what it has done so far.
type revision struct {
	*Event
	now     time.Time
	by      Author
	nextIDs children
	changed bool
	told    *Entry       // the newest entry that came with the write
	notify  topic.Notify // whom it tells
	// remembers: what the event keeps for the clock is different now, which nobody is told.
	remembers bool
}

// children are the next legacy ids of new links and updates.
type children struct{ link, update int64 }

// apply makes the event what the patch wants and finds fault with the whole of it.
func (r *revision) apply(p *EventPatch) error {
	isNew, wasClosed := r.Version == 0, r.Status.closed() && r.Version > 0
	start, end, former := r.StartAt, r.End(), r.Type
	timeline := len(r.Timeline)
	r.applyScalars(p)
	r.announce(p.Notice)
	r.applyTimes(p, isNew, wasClosed)
	problems := []error{
		r.applyLinks(p.Links),
		r.applyUpdates(p),
		p.Notice.check(),
		r.check(),
	}
	if !isNew && r.Type != former {
		problems = append(problems, r.checkTimeline(timeline))
	}
	moved := p.Start != nil && !start.Equal(r.StartAt) || p.End != nil && !sameTime(end, r.End())
	if now := r.End(); moved && now != nil && now.Before(r.StartAt) {
		problems = append(problems, fault.Field("end", "The end must not be before the start."))
	}
	return errors.Join(problems...)
}

func (r *revision) applyScalars(p *EventPatch) {
	put(&r.changed, &r.Type, p.Type)
	put(&r.changed, &r.Status, p.Status)
	put(&r.changed, &r.Severity, p.Severity)
	put(&r.changed, &r.HiddenFromDashboard, p.HiddenFromDashboard)
	put(&r.changed, &r.HiddenFromUptimeReports, p.HiddenFromUptimeReports)
	put(&r.changed, &r.EmailSubject, p.Notice.subject())
	derived := r.Title == titleOf(r.Description)
	r.text(&r.Description, p.Description)
	r.text(&r.Impact, p.Impact)
	r.text(&r.Coordinator, p.Coordinator)
	if derived {
		r.Title = titleOf(r.Description)
	}
	auto := p.Auto
	if r.Type == Incident {
		none := false
		auto = &none
	}
	if auto != nil && (*auto != r.Auto() || r.Type == Incident) {
		put(&r.changed, &r.AutoStart, auto)
		put(&r.changed, &r.AutoEnd, auto)
	}
}

// text changes a text as the legacy interface does: what is not Markdown is plain, but a
// text that came from the App stays as rich as it was until it or its flag is changed.
func (r *revision) text(text *Rich, p TextPatch) {
	markdown := text.IsMarkdown()
	edited := p.Text != nil && *p.Text != text.Text
	if p.Markdown != nil {
		edited = edited || *p.Markdown != markdown
		markdown = *p.Markdown
	}
	if !edited {
		return
	}
	put(&r.changed, &text.Text, p.Text)
	format := richtext.Plain
	if markdown {
		format = richtext.Markdown
	}
	put(&r.changed, &text.Format, &format)
}

func (r *revision) applyTimes(p *EventPatch, isNew, wasClosed bool) {
	if p.Start != nil && !r.StartAt.Equal(*p.Start) {
		r.StartAt, r.changed = *p.Start, true
	}
	closed := r.Status.closed()
	end, planned := r.EndAt, r.ScheduledEndAt
	switch {
	case r.Type == Incident && p.End != nil:
		end, planned = p.End, nil
	case r.Type == Incident: // it may have been a maintenance
		end, planned = cmp.Or(end, planned), nil
	case p.End != nil && closed:
		end = p.End
		if isNew || planned == nil {
			planned = p.End
		}
	case p.End != nil:
		end, planned = nil, p.End
	case planned == nil && closed: // it was an incident
		planned = end
	case planned == nil:
		end, planned = nil, end
	}
	switch {
	case p.End != nil:
	case p.NoEnd:
		end = nil
		if !closed {
			planned = nil
		}
	case wasClosed && !closed:
		end = nil
	}
	if closed && !wasClosed && p.End == nil {
		// What ends before its planned start never began: it has no length.
		last := r.now
		if r.StartAt.After(last) {
			last = r.StartAt
		}
		end = &last
	}
	r.time(&r.EndAt, end)
	r.time(&r.ScheduledEndAt, planned)
	var start *time.Time
	if r.Type == Maintenance {
		at := r.StartAt
		start = &at
	}
	r.time(&r.ScheduledStartAt, start)
	if start != nil && r.Status != Planning {
		r.StartedFor = start
	}
	if closed {
		r.EndedFor = r.ScheduledEndAt
	}
}

func (r *revision) time(field **time.Time, value *time.Time) {
	if !sameTime(*field, value) {
		*field, r.changed = value, true
	}
}

func (r *revision) applyLinks(links []LinkPatch) error {
	var problems []error
	for i, link := range links {
		switch {
		case link.LegacyID != 0 && r.link(link.LegacyID) < 0:
			problems = append(problems, fault.Field("event_service", "item %d: This event has no such event service.", i+1))
		case link.LegacyID != 0 || link.ComponentID == nil || r.linked(*link.ComponentID):
		default:
			if !r.addLink(*link.ComponentID) {
				return fault.Field("event_service", "An event can have at most %d services.", maxLinks)
			}
		}
	}
	return errors.Join(problems...)
}

// maxLinks is how many components an event can affect. All of them are in the message that
// tells of a change, which has to stay well below what Kafka takes.
const maxLinks = 500

// addLink ties the event to one more component, if there is room.
func (r *revision) addLink(componentID string) bool {
	if len(r.Links) >= maxLinks {
		return false
	}
	r.Links = append(r.Links, Link{LegacyID: r.nextIDs.link, ComponentID: componentID})
	r.nextIDs.link++
	r.changed = true
	return true
}

// checkTimeline finds fault with those of the first n entries that do not fit the event's type.
func (r *revision) checkTimeline(n int) error {
	for _, entry := range r.Timeline[:n] {
		if entry.Status != StatusUpdate && !r.Type.allows(entry.Status) {
			return fault.Field("type", "The event has an update with the status '%s', which does not fit the type %s.", entry.Status, r.Type)
		}
	}
	return nil
}

// maxUpdates is how many updates an event can have. All of them are in its record, and each
// has a row that follows whatever is changed of the event while its writer waits.
const maxUpdates = 1000

func (r *revision) applyUpdates(p *EventPatch) error {
	if _, fresh := p.fresh(); fresh > 0 && int64(len(r.Timeline))+fresh > maxUpdates {
		return fault.Field("event_update", "An event can have at most %d updates.", maxUpdates)
	}
	var problems []error
	for i := range p.Updates {
		if err := r.applyUpdate(&p.Updates[i]); err != nil {
			problems = append(problems, fault.Field("event_update", "item %d: %s", i+1, err.Error()))
		}
	}
	return errors.Join(problems...)
}

// applyUpdate appends a new update or edits one in place. It leaves the event's own
// status alone: that is the one difference between an update and a transition.
func (r *revision) applyUpdate(p *UpdatePatch) error {
	at := len(r.Timeline)
	edit := revision{Event: r.Event}
	if p.LegacyID != 0 {
		if at = r.entry(p.LegacyID); at < 0 {
			return errors.New("This event has no such event update.")
		}
	} else {
		r.Timeline = append(r.Timeline, Entry{
			StatusID: newID(), LegacyID: r.nextIDs.update, Status: StatusUpdate, Message: Rich{Format: richtext.Plain},
			Timestamp: r.now, Author: r.by, CreatedAt: r.now,
		})
		r.nextIDs.update++
		edit.changed = true
	}
	entry := &r.Timeline[at]
	if p.Status != nil && *p.Status != entry.Status && *p.Status != StatusUpdate && !r.Type.allows(*p.Status) {
		return errors.New("status: The status does not fit the type of the event.")
	}
	put(&edit.changed, &entry.Status, p.Status)
	if p.Date != nil && !entry.Timestamp.Equal(*p.Date) {
		entry.Timestamp, edit.changed = *p.Date, true
	}
	edit.text(&entry.Message, p.Message)
	if !edit.changed {
		return nil
	}
	r.changed = true
	if p.LegacyID != 0 {
		now := r.now
		entry.EditedAt = &now
	}
	if r.told == nil || !entry.Timestamp.Before(r.told.Timestamp) {
		told := *entry
		r.told = &told
	}
	return nil
}

// check finds fault with the event as a whole.
func (r *revision) check() error {
	var problems []error
	if !r.Type.allows(r.Status) {
		problems = append(problems, fault.Field("status", "The status '%s' does not fit the type %s.", r.Status, r.Type))
	}
	if r.Type == Maintenance && r.End() == nil {
		problems = append(problems, fault.Field("end", "A maintenance needs an end."))
	}
	return errors.Join(problems...)
}
