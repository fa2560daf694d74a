package catalog

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	maxLinks   = 500  // the message about a change holds all of them, and Kafka limits its size
	maxEntries = 1000 // the event holds all of them, and each has a row that is written before the response
)

// Draft is an event in a write. The write assigns texts, times, flags, type, title and severity directly, and calls
// a method for everything that has a rule or a consequence. It must not assign any other field.
type Draft struct {
	*Event
	Now time.Time

	author  Author
	before  Event        // without links and timeline
	changed bool         // links or timeline differ
	entry   *Entry       // the newest entry that the write has added or edited
	notify  topic.Notify // whom the write notifies
}

func NewDraft(event *Event, author Author, now time.Time) *Draft {
	d := &Draft{Event: event, Now: now, author: author, before: *event}
	d.before.Links, d.before.Timeline = nil, nil
	return d
}

func (d *Draft) IsNew() bool { return d.Version == 0 }

// SetStatus also sets the actual end when the event closes (now, or the start of an event that never began), and
// clears it when the event opens again.
func (d *Draft) SetStatus(status Status) {
	wasClosed := d.Status.closed()
	d.Status = status
	switch {
	case status.closed() && !wasClosed:
		end := later(d.Now, d.StartAt)
		d.EndAt = &end
	case wasClosed && !status.closed():
		d.EndAt = nil
	}
}

// AddComponent links the event to a component, unless it is linked.
func (d *Draft) AddComponent(id string) error {
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

func (d *Draft) RemoveComponent(id string) {
	n := len(d.Links)
	d.Links = slices.DeleteFunc(d.Links, func(link Link) bool { return link.ComponentID == id })
	d.changed = d.changed || len(d.Links) < n
}

// AppendEntry appends an entry with the Status, Message and Timestamp of the given one. The event's status stays.
func (d *Draft) AppendEntry(entry Entry) error {
	if len(d.Timeline) >= maxEntries {
		return fault.Field("timeline", "must have at most %d entries", maxEntries)
	}
	if err := d.checkEntry(entry.Status); err != nil {
		return err
	}
	d.Timeline = append(d.Timeline, Entry{
		StatusID: newID(), Status: entry.Status, Message: entry.Message, Timestamp: entry.Timestamp, Author: d.author, CreatedAt: d.Now,
	})
	d.entryWritten(d.Timeline[len(d.Timeline)-1])
	return nil
}

// EditEntry changes Status, Message and Timestamp of an entry in place.
func (d *Draft) EditEntry(statusID string, edit func(*Entry)) error {
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
	}
	now := d.Now
	edited.EditedAt = &now
	d.Timeline[at] = edited
	d.entryWritten(edited)
	return nil
}

func (d *Draft) RemoveEntry(statusID string) error {
	at, err := d.entryAt(statusID)
	if err != nil {
		return err
	}
	d.Timeline = slices.Delete(d.Timeline, at, at+1)
	d.changed = true
	return nil
}

func (d *Draft) entryAt(statusID string) (int, error) {
	at := slices.IndexFunc(d.Timeline, func(entry Entry) bool { return entry.StatusID == statusID })
	if at < 0 {
		return at, fault.New(fault.NotFound, "The event has no such timeline entry.")
	}
	return at, nil
}

func (d *Draft) checkEntry(status Status) error {
	if status != StatusUpdate && !d.Type.allows(status) {
		return fault.Field("status", "must be a status of the type %s, or update", d.Type)
	}
	return nil
}

func (d *Draft) entryWritten(entry Entry) {
	d.changed = true
	if d.entry == nil || !entry.Timestamp.Before(d.entry.Timestamp) {
		d.entry = &entry
	}
}

// Notify makes the write notify these channels. Without Notify a write notifies nobody. The event keeps the channels
// for the scheduler, without the texts, which are for this write only.
func (d *Draft) Notify(channels topic.Notify) {
	d.notify = maps.Clone(channels)
	if wording, there := d.notify[topic.Email]; there {
		wording.Subject = d.EmailSubject
		d.notify[topic.Email] = wording
	}
	kept := topic.Notify{}
	for channel, wording := range channels {
		kept[channel] = topic.Wording{Details: wording.Details, Color: wording.Color, Endpoints: wording.Endpoints}
	}
	if !maps.EqualFunc(d.Announced, kept, sameWording) {
		d.Announced = kept
	}
}

func sameWording(a, b topic.Wording) bool {
	return a.Details == b.Details && a.Color == b.Color && slices.Equal(a.Endpoints, b.Endpoints)
}

func (d *Draft) Check() error {
	var problems []error
	refuse := func(field, format string, args ...any) {
		problems = append(problems, fault.Field(field, format, args...))
	}
	if !d.Type.allows(d.Status) {
		refuse("status", "must be a status of the type %s", d.Type)
	}
	end := d.End()
	if d.Type == Maintenance && end == nil {
		refuse("scheduledEndAt", "is required for a maintenance")
	}
	moved := !d.StartAt.Equal(d.before.StartAt) || !sameTime(end, d.before.End())
	if moved && end != nil && end.Before(d.StartAt) {
		refuse("endAt", "must not be before the start")
	}
	if !d.IsNew() && d.Type != d.before.Type {
		misfit := slices.IndexFunc(d.Timeline, func(entry Entry) bool { return d.checkEntry(entry.Status) != nil })
		if misfit >= 0 {
			refuse("type", "must fit the statuses of the timeline, which has '%s'", d.Timeline[misfit].Status)
		}
	}
	return errors.Join(problems...)
}

// finish completes the fields that follow from others, and returns whether the event differs from before.
func (d *Draft) finish() (changed, announcedOnly bool) {
	now := *d.Event
	now.Links, now.Timeline, now.Announced = nil, nil, d.before.Announced
	changed = d.changed || !reflect.DeepEqual(now, d.before)
	announcedOnly = !changed && !maps.EqualFunc(d.Announced, d.before.Announced, sameWording)
	if d.Type == Maintenance && d.Status != Planning {
		start := d.StartAt
		d.StartedFor = &start
	}
	d.recordPause()
	if d.Status.closed() {
		d.EndedFor = d.ScheduledEndAt
	}
	return changed, announcedOnly
}
