package catalog

import (
	"cmp"
	"errors"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

const (
	maxLinks   = 500  // the message about a change holds all of them, and Kafka limits its size
	maxEntries = 1000 // the event holds all of them, and each has a row that is written before the response
)

// EventEdit is an event in a write. The write assigns texts, flags, severity, external id and reminders directly, and
// calls a method for everything that has a consequence. The legacy interface also assigns title, type and times,
// because it has other rules. A write must not assign any other field.
type EventEdit struct {
	*Event
	Now time.Time

	author     Author
	before     Event    // without links and timeline
	formerSize int      // textSize of before
	changed    bool     // links or timeline differ
	entry      *Entry   // the newest entry that the write has added or edited
	written    []string // ids of the entries that the write has added or edited

	source  Source // source of the write
	reminds bool   // the write is a reminder: it changes nothing that the event shows, so its version stays
	request request
	asked   topic.Notify // the channels that the request asks for
	notify  topic.Notify // whom the write notifies; see decide
}

func NewEventEdit(event *Event, command Command, now time.Time) *EventEdit {
	d := &EventEdit{Event: event, Now: now, author: command.Author, source: command.Source, before: *event, formerSize: event.textSize()}
	d.before.Links, d.before.Timeline = nil, nil
	return d
}

func (d *EventEdit) IsNew() bool { return d.Version == 0 }

// SetStatus also sets the actual end when the event closes (now, or the start of an event that never began), and
// clears it when the event opens again.
func (d *EventEdit) SetStatus(status Status) {
	wasClosed := d.Status.Closed()
	d.Status = status
	switch {
	case status.Closed() && !wasClosed:
		d.EndAt = new(uptime.Later(d.Now, d.StartAt))
	case wasClosed && !status.Closed():
		d.EndAt = nil
	}
}

// AddComponent links the event to a component, unless it is linked.
func (d *EventEdit) AddComponent(id string) error {
	if slices.Contains(d.ComponentIDs(), id) {
		return nil
	}
	if len(d.Links) >= maxLinks {
		return fault.Field("affectedComponents", "must name at most %d components", maxLinks)
	}
	d.Links = append(d.Links, Link{ComponentID: id})
	d.changed = true
	return nil
}

func (d *EventEdit) RemoveComponent(id string) {
	n := len(d.Links)
	d.Links = slices.DeleteFunc(d.Links, func(link Link) bool { return link.ComponentID == id })
	d.changed = d.changed || len(d.Links) < n
}

// AppendEntry appends an entry with the Status, Message, Timestamp and Impacts of the given one. The event's status stays.
func (d *EventEdit) AppendEntry(entry Entry) error {
	if len(d.Timeline) >= maxEntries {
		return fault.Field("timeline", "must have at most %d entries", maxEntries)
	}
	if err := d.checkEntry(entry.Status); err != nil {
		return err
	}
	entry.StatusID, entry.Author, entry.CreatedAt = topic.NewID(), d.author, d.Now
	d.Timeline = append(d.Timeline, entry)
	d.entryWritten(entry)
	return nil
}

// EditEntry changes Status, Message and Timestamp of an entry in place.
func (d *EventEdit) EditEntry(statusID string, edit func(*Entry)) error {
	at, err := d.entryAt(statusID)
	if err != nil {
		return err
	}
	former := d.Timeline[at]
	edited := former
	edit(&edited)
	if reflect.DeepEqual(edited, former) {
		return nil
	}
	if edited.Status != former.Status {
		if err := d.checkEntry(edited.Status); err != nil {
			return err
		}
		edited.PreviousStatus = "" // it is not the transition any more
		if d.StatusEntry == statusID {
			d.StatusEntry = ""
		}
	}
	edited.EditedAt = new(d.Now)
	d.Timeline[at] = edited
	d.entryWritten(edited)
	return nil
}

func (d *EventEdit) RemoveEntry(statusID string) error {
	at, err := d.entryAt(statusID)
	if err != nil {
		return err
	}
	d.Timeline = slices.Delete(d.Timeline, at, at+1)
	d.changed = true
	return nil
}

func (d *EventEdit) checkEntry(status Status) error {
	if status != StatusUpdate && !d.Type.allows(status) {
		return fault.Field("status", "must be a status of the type %s, or update", d.Type)
	}
	return nil
}

func (d *EventEdit) entryWritten(entry Entry) {
	d.changed = true
	d.written = append(d.written, entry.StatusID)
	if d.entry == nil || !entry.Timestamp.Before(d.entry.Timestamp) {
		d.entry = &entry
	}
}

func (d *EventEdit) Check() error {
	problems := d.checkFields()
	refuse := func(field, format string, args ...any) {
		problems = append(problems, fault.Field(field, format, args...))
	}
	if !d.Type.allows(d.Status) {
		refuse("status", "must be a status of the type %s", d.Type)
	}
	if d.Type == Maintenance && d.End() == nil {
		refuse("scheduledEndAt", "is required for a maintenance")
	}
	moved := !d.StartAt.Equal(d.before.StartAt) || !sameTime(d.EndAt, d.before.EndAt)
	rescheduled := !sameTime(d.ScheduledStartAt, d.before.ScheduledStartAt) || !sameTime(d.ScheduledEndAt, d.before.ScheduledEndAt)
	switch {
	case moved && d.EndAt != nil && d.EndAt.Before(d.StartAt):
		refuse("endAt", "must not be before the start")
	case rescheduled && d.ScheduledEndAt != nil && d.ScheduledStartAt != nil && d.ScheduledEndAt.Before(*d.ScheduledStartAt):
		refuse("scheduledEndAt", "must not be before the start")
	}
	if !d.IsNew() && d.Type != d.before.Type {
		misfit := slices.IndexFunc(d.Timeline, func(entry Entry) bool { return d.checkEntry(entry.Status) != nil })
		if misfit >= 0 {
			refuse("type", "must fit the statuses of the timeline, which has '%s'", d.Timeline[misfit].Status)
		}
	}
	return errors.Join(append(problems, d.checkSize())...)
}

// finish completes the fields that follow from others, decides whom the write notifies, and returns whether the event
// differs from before. named: messages may name a component of the event.
func (d *EventEdit) finish(named bool) (changed, announcedOnly bool) {
	d.markTransition()
	if len(d.ReminderMinutes) == 0 {
		d.ReminderMinutes = nil
	}
	if d.Published && (d.IsNew() || !d.before.Published) {
		d.PublishedAt = new(d.Now)
	}
	if d.IsNew() {
		d.Backfilled = !d.Open() && d.StartAt.Before(d.Now) && d.EndAt != nil && d.EndAt.Before(d.Now)
	}
	d.decide(named)
	now := *d.Event
	now.Links, now.Timeline, now.Announced = nil, nil, d.before.Announced
	changed = d.changed || !reflect.DeepEqual(now, d.before)
	announcedOnly = !changed && !maps.EqualFunc(d.Announced, d.before.Announced, sameWording)
	d.recordPause()
	d.arm()
	return changed, announcedOnly
}

// recordPause records the time in which the event was closed, when a write reopens it. The record survives the
// removal of the timeline entries, and the legacy interface reopens without an entry.
func (d *EventEdit) recordPause() {
	if !d.before.Status.Closed() || !d.Open() {
		return
	}
	if closed := d.before.End(); closed != nil && closed.Before(d.Now) {
		earlier := slices.DeleteFunc(slices.Clone(d.Pauses), func(p Pause) bool { return !p.From.Before(*closed) })
		d.Pauses = append(earlier, Pause{*closed, d.Now})
	}
}

// SetImpact sets the impact of the event on an affected component; empty for the default of type and severity. It
// states the impact for the whole time of the event and overrides the impacts of the timeline entries until now. An
// impact that the component has already changes nothing, so that a client may send back what it has read. Severity
// must be assigned before.
func (d *EventEdit) SetImpact(componentID string, impact Impact) {
	at := slices.IndexFunc(d.Links, func(link Link) bool { return link.ComponentID == componentID })
	if at < 0 {
		return
	}
	link := &d.Links[at]
	if link.LegacyID != 0 && d.ImpactOn(*link) == cmp.Or(impact, defaultImpact(d.Type, d.Severity)) {
		return
	}
	if len(d.ImpactsOn(*link)) > 1 {
		link.StatedAt = new(d.Now)
	}
	link.Impact, d.changed = impact, true
}

// checkSize refuses a write that makes the texts too large. An event that is too large can still be changed and shrink.
func (d *EventEdit) checkSize() error {
	if size := d.textSize(); size > maxEventText && size > d.formerSize {
		return fault.New(fault.Conflict, "The texts of the event would have more than %d MiB. Shorten or delete timeline entries or notes first.", maxEventText>>20)
	}
	return nil
}
