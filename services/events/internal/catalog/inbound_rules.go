package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
)

// readable returns the message with a title in one line, and with texts that do not change the direction of other text. It
// removes a Message that has markup but shows no text, such as an HTML comment. A monitoring tool copies its texts from its
// alerts, so it could not correct them after a fault.
func (in Inbound) readable() Inbound {
	in.Title, in.Description = richtext.Line(in.Title), richtext.Text(in.Description)
	if in.Message == nil {
		return in
	}
	sent := strings.TrimSpace(*in.Message)
	in.Message = new(richtext.Text(*in.Message))
	if sent != "" && (Rich{*in.Message, richtext.Rich}).blank() {
		in.Message = nil
	}
	return in
}

// check returns a fault for a message that no event can accept.
func (in Inbound) check(now time.Time) error {
	switch {
	case blank(in.ExternalID) || utf8.RuneCountInString(in.ExternalID) > maxExternalID:
		return fault.Field("externalId", "must be 1 to %d characters and not only white space", maxExternalID)
	case in.Action == Trigger && (blank(in.Title) || utf8.RuneCountInString(in.Title) > maxTitle):
		return fault.Field("title", "must be 1 to %d characters and not only white space, for a trigger", maxTitle)
	case in.Action == Trigger && in.Status.Closed():
		return fault.Field("status", "must not be %s for a trigger", in.Status)
	case in.Action == Trigger && len(in.Components) == 0:
		return fault.Field("components", "must name at least one component, by id or external reference, for a trigger")
	case in.Action == Update && in.Message == nil && in.Status == "" && in.Severity == nil:
		return fault.New(fault.Invalid, "An update must have message, status or severity.")
	case in.Action == Resolve && in.Status != "" && !in.Status.Closed():
		return fault.Field("status", "must be resolved, or be left out, for a resolve")
	case len(in.Components) > maxAffected:
		return fault.Field("components", "must name at most %d components", maxAffected)
	case in.Timestamp != nil && in.Timestamp.After(now):
		return fault.Field("timestamp", "must not be in the future")
	case in.Timestamp != nil && beforeHistory(*in.Timestamp):
		return errBeforeHistory("timestamp")
	case in.Message != nil:
		return checkMessage("message", *in.Message)
	}
	return nil
}

// create sets the fields of a new event.
func (in Inbound) create(d *EventEdit, components []string) error {
	d.ReportedAt = in.ReceivedAt
	d.Begin(Incident, in.Title, in.Status)
	d.Description.Set(richtext.Rich, in.Description)
	d.ExternalID, d.Published, d.Severity = in.ExternalID, in.Publish, in.DefaultSeverity
	if in.Severity != nil {
		d.Severity = *in.Severity
	}
	d.StartAt = d.Now
	if in.Timestamp != nil {
		d.StartAt = *in.Timestamp
	}
	affected := find.Values(components, func(id string) ComponentImpact { return ComponentImpact{id, in.Impact} })
	err := d.SetComponents(affected)
	if in.Message != nil {
		err = errors.Join(err, d.SetInitialEntry(*in.Message))
	}
	d.Notify(in.Notify)
	d.remember(in.ID, InboundCreated)
	return err
}

// apply applies the message to an existing event. It returns the result and the action for the audit log.
func (in Inbound) apply(d *EventEdit, components []string) (InboundResult, string, error) {
	if in.Action == Resolve && !d.Open() {
		return InboundIgnored, "", nil
	}
	d.received = in.ReceivedAt
	impacts := in.impacts(d, components) // must precede the severity, which changes the default impacts
	former := d.Severity
	if in.Severity != nil {
		d.Severity = *in.Severity
	}
	for _, id := range components {
		if err := in.addComponent(d, id); err != nil {
			return "", "", err
		}
	}
	entry := NewEntry{Status: in.Status, Timestamp: in.Timestamp, Impacts: impacts}
	switch {
	case in.Action == Trigger && !d.Open():
		d.Notify(in.Notify)
		entry.Message = in.text("The problem has occurred again.")
		return InboundReopened, ActionReopen, d.Reopen(entry)
	case in.Action == Trigger:
		entry.Timestamp = nil // the timestamp of a trigger is the start of the problem, not the time of an entry
		if !in.news(d, impacts) {
			if !d.changed && d.Severity == former {
				return InboundIgnored, "", nil
			}
			d.Notify(in.Notify)
			return InboundUpdated, "", nil
		}
	case in.Action == Resolve:
		entry.Status = closing(d.Type)
	case !d.Open():
		entry.Status = StatusUpdate // the event is closed, and only a trigger reopens it
	}
	entry.Message = in.text(in.defaultText(d, entry))
	d.Notify(in.Notify)
	wasOpen := d.Open()
	err := d.Post(entry)
	if wasOpen && !d.Open() {
		return InboundResolved, ActionTimelineCreate, err
	}
	return InboundUpdated, ActionTimelineCreate, err
}

func (in Inbound) addComponent(d *EventEdit, id string) error {
	if slices.Contains(d.ComponentIDs(), id) {
		return nil
	}
	err := d.AddComponent(id)
	d.SetImpact(id, in.Impact)
	return err
}

// impacts returns the impacts that the message changes. It considers the affected components that the message names, or
// all affected components if the message names none.
func (in Inbound) impacts(d *EventEdit, components []string) []ComponentImpact {
	var changed []ComponentImpact
	for _, link := range d.Links {
		named := len(components) == 0 || slices.Contains(components, link.ComponentID)
		if named && in.Impact != "" && d.ImpactOn(link) != in.Impact {
			changed = append(changed, ComponentImpact{link.ComponentID, in.Impact})
		}
	}
	return changed
}

// news reports whether a trigger has a status, an impact or a text that is new to an open event. Tools repeat their
// triggers, so a text that equals the last entry of the tool is not new.
func (in Inbound) news(d *EventEdit, impacts []ComponentImpact) bool {
	if in.Status != "" && in.Status != d.Status || len(impacts) > 0 {
		return true
	}
	if in.Message == nil {
		return false
	}
	for _, entry := range slices.Backward(d.Timeline) {
		if entry.Author == d.author {
			return entry.Message.Text != *in.Message
		}
	}
	return true
}

func (in Inbound) text(otherwise string) string {
	if in.Message == nil {
		return otherwise
	}
	return *in.Message
}

// defaultText returns the text of an entry for a message without a text.
func (in Inbound) defaultText(d *EventEdit, entry NewEntry) string {
	words := func(value string) string { return strings.ReplaceAll(cmp.Or(value, "none"), "_", " ") }
	switch {
	case !d.Open() && in.Severity == nil:
		return fmt.Sprintf("The status stays %s.", d.Status)
	case entry.Status.Closed():
		return "The problem is resolved."
	case entry.Status != "" && entry.Status != StatusUpdate:
		return fmt.Sprintf("The status is now %s.", words(string(entry.Status)))
	case len(entry.Impacts) > 0:
		return fmt.Sprintf("The impact is now %s.", words(string(entry.Impacts[0].Impact)))
	}
	return fmt.Sprintf("The severity is now %s.", words(d.Severity))
}

// reopens reports whether a trigger is applied to an event that ends at until: the event is open or has closed within
// reopenWithin. Otherwise the trigger creates a new event.
func reopens(until, now time.Time) bool { return now.Sub(until) <= reopenWithin }

// endOf returns the end of an event from a row whose only value is FieldUntil.
func endOf(row find.Row) time.Time {
	milliseconds, _ := row.Values[0].(int64)
	return time.UnixMilli(milliseconds)
}

// InboundIDs returns the ids of the messages in Inbound. A unique index of the store uses them.
func (e *Event) InboundIDs() []string {
	return find.Values(e.Inbound, func(record InboundRecord) string { return record.ID })
}

func (e *Event) inboundResult(id string) (InboundResult, bool) {
	at := slices.IndexFunc(e.Inbound, func(record InboundRecord) bool { return record.ID == id })
	if at < 0 {
		return "", false
	}
	return e.Inbound[at].Result, true
}

func (d *EventEdit) remember(id string, result InboundResult) {
	kept := []InboundRecord{}
	for _, record := range d.Inbound {
		if d.Now.Sub(record.At) <= rememberInbound {
			kept = append(kept, record)
		}
	}
	kept = append(kept, InboundRecord{id, result, d.Now})
	d.Inbound = kept[max(0, len(kept)-maxInbound):]
}

func closing(t EventType) Status {
	if t == Maintenance {
		return Completed
	}
	return Resolved
}
