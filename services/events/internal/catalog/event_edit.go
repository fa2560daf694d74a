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
	maxLinks   = 500  // the message about a change contains all links, and Kafka limits the size of a message
	maxEntries = 1000 // the event contains all entries, and the row of each entry is written before the response
)

// EventEdit is an event while a write changes it. The App interface assigns title, texts, flags, severity, external id and
// reminders directly, and nil to PostMortem to delete the post-mortem. For every other change it calls a method, because
// other fields follow from the change. The legacy interface also assigns type, times and EmailSubject directly, because
// its rules differ. No other package may assign any other field.
type EventEdit struct {
	*Event
	Now time.Time

	author     Author
	before     Event    // the event before the write, without links and timeline
	formerSize int      // textSize of the event before the write
	changed    bool     // the write has changed links or timeline
	entry      *Entry   // the newest entry that the write has added or edited
	written    []string // ids of the entries that the write has added or edited

	source   Source     // source of the write
	received *time.Time // Inbound.ReceivedAt of the message that changes the event
	reminds  bool       // the write only sends a reminder, and does not increase Version
	request  request
	asked    topic.Notify  // the channels that the request asks for
	later    *topic.Notify // the channels that the scheduler notifies; nil: the result of facts.decide
	notify   topic.Notify  // the channels that the write notifies; see decide
	silence  topic.Silence // why the write notifies nobody
}

func NewEventEdit(event *Event, command Command, now time.Time) *EventEdit {
	d := &EventEdit{Event: event, Now: now, author: command.Author, source: command.Source, before: *event, formerSize: event.textSize()}
	d.before.Links, d.before.Timeline = nil, nil
	return d
}

func (d *EventEdit) IsNew() bool { return d.Version == 0 }

// SetStatus sets the status. If the event closes, it sets EndAt to now, or to StartAt if that is later. If a closed
// event opens again, it clears EndAt.
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

// AddComponent links the event to the component with the id, unless the event has this link. A new link clears DashboardIDs.
func (d *EventEdit) AddComponent(id string) error {
	if slices.Contains(d.ComponentIDs(), id) {
		return nil
	}
	if len(d.Links) >= maxLinks {
		return fault.Field("affectedComponents", "must name at most %d components", maxLinks)
	}
	d.Links = append(d.Links, Link{ComponentID: id})
	if len(d.DashboardIDs) > 0 {
		d.DashboardIDs = []string{}
	}
	d.changed = true
	return nil
}

func (d *EventEdit) RemoveComponent(id string) {
	n := len(d.Links)
	d.Links = slices.DeleteFunc(d.Links, func(link Link) bool { return link.ComponentID == id })
	d.changed = d.changed || len(d.Links) < n
}

// AppendEntry appends entry with a new StatusID, the author of the write as Author, and Now as CreatedAt. It does not
// change the status of the event.
func (d *EventEdit) AppendEntry(entry Entry) error {
	if len(d.Timeline) >= maxEntries {
		return fault.Field("timeline", "must have at most %d entries", maxEntries)
	}
	if err := cmp.Or(d.checkEntry(entry.Status), checkShown("message", entry.Message)); err != nil {
		return err
	}
	entry.StatusID, entry.Author, entry.CreatedAt = topic.NewID(), d.author, d.Now
	d.Timeline = append(d.Timeline, entry)
	d.entryWritten(entry)
	return nil
}

// EditEntry calls edit with a copy of an entry, and replaces the entry by the copy. edit may change Status, Message and
// Timestamp.
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
	if edited.Message != former.Message {
		if err := checkShown("message", edited.Message); err != nil {
			return err
		}
	}
	if edited.Status != former.Status {
		if err := d.checkEntry(edited.Status); err != nil {
			return err
		}
		edited.PreviousStatus = "" // with another status, the entry is not the one that changed the status of the event
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
	if len(d.Links) > 0 && len(d.DashboardIDs) > 0 {
		problems = append(problems, errBesideComponents())
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

// finish sets the fields that follow from others, and decides whom the write notifies. concerns is the result of
// affected.concernsAnybody. changed reports whether a field other than Announced differs from before. announcedOnly
// reports whether only Announced differs.
func (d *EventEdit) finish(concerns bool) (changed, announcedOnly bool) {
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
	d.decide(concerns)
	now := *d.Event
	now.Links, now.Timeline, now.Announced = nil, nil, d.before.Announced
	changed = d.changed || !reflect.DeepEqual(now, d.before)
	if changed {
		d.markChanged()
	}
	announcedOnly = !changed && !maps.EqualFunc(d.Announced, d.before.Announced, sameWording)
	d.recordPause()
	switch {
	case d.Open():
		d.ClosedAt = nil
	case !d.IsNew() && !d.before.Status.Closed():
		d.ClosedAt = new(d.Now)
	}
	d.arm()
	return changed, announcedOnly
}

// recordPause adds a Pause if the write reopens the event: the time from the former end until now. The timeline does not
// show this time for certain: entries can be removed, and the legacy interface reopens without an entry.
func (d *EventEdit) recordPause() {
	if !d.before.Status.Closed() || !d.Open() {
		return
	}
	if closed := d.before.End(); closed != nil && closed.Before(d.Now) {
		earlier := slices.DeleteFunc(slices.Clone(d.Pauses), func(p Pause) bool { return !p.From.Before(*closed) })
		d.Pauses = append(earlier, Pause{*closed, d.Now})
	}
}

// SetImpact sets the impact of the event on an affected component. An empty impact is the default for type and
// severity. The impact holds for the whole time of the event, and overrides the impacts of all timeline entries that
// exist now. A stored link that already has the impact does not change, so that a client may send back what it has
// read. Severity must be assigned before the call.
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

// checkSize returns a Conflict if the texts are larger than maxEventText and larger than before the write. So texts that
// are too large already can still be shortened.
func (d *EventEdit) checkSize() error {
	if size := d.textSize(); size > maxEventText && size > d.formerSize {
		return fault.New(fault.Conflict, "The texts of the event would have more than %d MiB. Shorten or delete timeline entries or notes first.", maxEventText>>20)
	}
	return nil
}
