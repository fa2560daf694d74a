package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
)

// NewEntry is a timeline entry that a request adds.
type NewEntry struct {
	Message   string
	Status    Status            // empty: StatusUpdate for Post, and the default for Reopen
	Timestamp *time.Time        // nil: now; Reopen always uses now
	Impacts   []ComponentImpact // impacts on affected components
}

// Post appends an entry. If the status of the entry is neither StatusUpdate nor the present status of the event, Post also
// changes the status of the event, or returns a Conflict if transitions does not allow the change.
func (d *EventEdit) Post(in NewEntry) error {
	entry := Entry{
		Status: cmp.Or(in.Status, StatusUpdate), Message: Rich{in.Message, richtext.Rich}, Timestamp: d.Now, Impacts: in.Impacts,
	}
	moves := entry.Status != StatusUpdate && entry.Status != d.Status
	problems := []error{checkMessage("message", in.Message), d.checkEntry(entry.Status), d.checkImpacts(in.Impacts)}
	if in.Timestamp != nil {
		entry.Timestamp = *in.Timestamp
		problems = append(problems, d.checkTimestamp(entry.Timestamp, moves && entry.Status.Closed()), CheckTime("timestamp", in.Timestamp, nil))
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	if !moves {
		return d.append(entry)
	}
	return d.appendMove(Advance, entry)
}

// Reopen opens a closed event again, with an entry. It returns a Conflict if the event is open, or if transitions does not
// allow the new status.
func (d *EventEdit) Reopen(in NewEntry) error {
	defaults := append(transitions()[Reopen][d.Status], d.Status)
	entry := Entry{Status: cmp.Or(in.Status, defaults[0]), Message: Rich{in.Message, richtext.Rich}, Timestamp: d.Now, Impacts: in.Impacts}
	err := checkMessage("message", in.Message)
	if !d.Type.allows(entry.Status) {
		err = errors.Join(err, fault.Field("status", "must be a status of the type %s", d.Type))
	}
	if err != nil {
		return err
	}
	return d.appendMove(Reopen, entry)
}

// appendMove appends an entry that changes the status.
func (d *EventEdit) appendMove(by Move, entry Entry) error {
	if err := d.Move(by, entry.Status, entry.Timestamp); err != nil {
		return err
	}
	return d.append(entry)
}

// append is like AppendEntry, but returns a Conflict if the timeline is full.
func (d *EventEdit) append(entry Entry) error {
	if len(d.Timeline) >= maxEntries {
		return fault.New(fault.Conflict, "The timeline has %d entries, which is the most. Delete an entry before you add one.", maxEntries)
	}
	return d.AppendEntry(entry)
}

// Correct changes the message of an entry, and the timestamp unless it is nil.
func (d *EventEdit) Correct(statusID, message string, timestamp *time.Time) error {
	entry, err := d.EntryOf(statusID)
	if err != nil {
		return err
	}
	if message != entry.Message.Text { // a message from before these rules may stay
		err = checkMessage("message", message)
	}
	if timestamp != nil {
		err = errors.Join(err, d.checkTimestamp(*timestamp, entry.PreviousStatus != "" && entry.Status.Closed()), CheckTime("timestamp", timestamp, &entry.Timestamp))
	}
	if err != nil {
		return err
	}
	return d.EditEntry(statusID, func(e *Entry) {
		e.Message.Set(richtext.Rich, message)
		if timestamp != nil {
			e.Timestamp = *timestamp
		}
	})
}

// Retract removes an entry. It returns a Conflict for the entry that set the current status.
func (d *EventEdit) Retract(statusID string) error {
	if _, err := d.EntryOf(statusID); err == nil && statusID == d.StatusEntry {
		return fault.New(fault.Conflict, "The entry set the current status, %s. Change the status before you delete the entry.", d.Status)
	}
	return d.RemoveEntry(statusID)
}

// markTransition sets StatusEntry if the write has changed the status: to the last new entry with this status, or to
// empty if there is none. It also sets PreviousStatus of that entry, unless the event is new.
func (d *EventEdit) markTransition() {
	if !d.IsNew() && d.Status == d.before.Status {
		return
	}
	d.StatusEntry = ""
	for i := range d.Timeline {
		if entry := &d.Timeline[i]; entry.LegacyID == 0 && entry.Status == d.Status {
			d.StatusEntry = entry.StatusID
		}
	}
	at, err := d.entryAt(d.StatusEntry)
	if err == nil && !d.IsNew() {
		d.Timeline[at].PreviousStatus = d.before.Status
	}
}

// checkTimestamp checks the timestamp that a request gives an entry. closes means that the entry closes the event.
func (d *EventEdit) checkTimestamp(at time.Time, closes bool) error {
	switch {
	case at.After(d.Now):
		return fault.Field("timestamp", "must not be in the future")
	case closes && at.Before(d.StartAt):
		return fault.Field("timestamp", "must not be before the start of the event, because the entry closes the event")
	}
	return nil
}

func (d *EventEdit) checkImpacts(impacts []ComponentImpact) error {
	components := d.ComponentIDs()
	for i, impact := range impacts {
		field := fmt.Sprintf("componentImpacts[%d].componentId", i)
		named := slices.ContainsFunc(impacts[:i], func(other ComponentImpact) bool { return other.ComponentID == impact.ComponentID })
		switch {
		case !slices.Contains(components, impact.ComponentID):
			return fault.Field(field, "must be an affected component of the event")
		case named:
			return fault.Field(field, "must not be named twice")
		}
	}
	return nil
}
