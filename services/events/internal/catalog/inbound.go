package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/google/uuid"
)

const (
	// reopenWithin is the time after the end of an event in which a trigger reopens it. Later a trigger makes a new event.
	reopenWithin = 24 * time.Hour
	// An event remembers the messages that have changed it for rememberInbound, and the last maxInbound at most. The
	// integrations service keeps the response to a message. The event needs its own memory for messages whose response
	// was lost, because a process died, and for copies that arrive at the same time.
	rememberInbound = 24 * time.Hour
	maxInbound      = 100
	// inboundTries bounds how often a message starts over because another write was faster.
	inboundTries = 10
)

// InboundAction is what a message of a monitoring tool asks for.
type InboundAction string

const (
	Trigger InboundAction = "trigger" // the problem is there
	Update  InboundAction = "update"
	Resolve InboundAction = "resolve"
)

// InboundResult is what a message has done.
type InboundResult string

const (
	InboundCreated  InboundResult = "created"
	InboundUpdated  InboundResult = "updated"
	InboundResolved InboundResult = "resolved"
	InboundReopened InboundResult = "reopened"
	InboundIgnored  InboundResult = "ignored"
)

// Inbound is a message of a monitoring tool about the problem that the tool calls ExternalID.
type Inbound struct {
	ID         string // of the message, which changes an event once, however often it arrives
	Action     InboundAction
	ExternalID string
	Message    *string
	Status     Status   // empty: not sent
	Severity   *string  // nil: not sent
	Components []string // ids or external references
	Impact     Impact   // on the components; empty: not sent
	Timestamp  *time.Time
	Notify     topic.Notify // nil: by default

	// Of a new event only, so that a trigger does not undo what a person has changed.
	Title           string
	Description     string
	DefaultSeverity string
	Publish         bool
}

// InboundRecord is what an event remembers of a message that has changed it.
type InboundRecord struct {
	ID     string        `json:"id"`
	Result InboundResult `json:"result"`
	At     time.Time     `json:"at"`
}

// InboundOutcome is the result of a message with the event that it is about.
type InboundOutcome struct {
	Result  InboundResult
	EventID string
}

// Ingest applies a message. The newest event with the external id is the one that it is about, an open one before all
// closed ones. A trigger creates the event if there is none, and reopens one that closed within reopenWithin.
//
// A message with the ID of one that has changed an event changes nothing, and returns the first outcome. Each write
// finds this in the record that it replaces, and a unique index keeps two events from remembering the same message.
// If another write was faster, Ingest starts over.
func (c *Catalog) Ingest(ctx context.Context, command Command, in Inbound) (InboundOutcome, error) {
	if err := in.check(c.now()); err != nil {
		return InboundOutcome{}, err
	}
	for try := 1; ; try++ {
		outcome, err := c.ingest(ctx, command, in)
		if try == inboundTries || !wasOvertaken(err) {
			return outcome, err
		}
	}
}

func (c *Catalog) ingest(ctx context.Context, command Command, in Inbound) (InboundOutcome, error) {
	changed, err := c.store.Events.Keys(ctx, owned(command.Organization, find.Query{Where: []find.Condition{find.Has(FieldInbound, in.ID)}, Limit: 1}))
	if err != nil {
		return InboundOutcome{}, err
	}
	if len(changed) > 0 {
		return c.ingestInto(ctx, command, changed[0].Key, in, nil)
	}
	components, err := c.namedComponents(ctx, command.Organization, in.Components)
	if err != nil {
		return InboundOutcome{}, err
	}
	same, err := c.store.Events.Keys(ctx, owned(command.Organization, find.Query{
		Where: []find.Condition{find.Eq(FieldCorrelation, in.ExternalID)}, Order: []find.Order{{Field: FieldUntil, Descending: true}}, Limit: 1,
	}), FieldUntil)
	if err != nil {
		return InboundOutcome{}, err
	}
	switch {
	case len(same) > 0 && (in.Action != Trigger || reopens(endOf(same[0]), c.now())):
		return c.ingestInto(ctx, command, same[0].Key, in, components)
	case in.Action != Trigger:
		return InboundOutcome{}, fault.New(fault.NotFound, "There is no event with this externalId. Send a trigger to create one.")
	}
	detail, err := c.CreateEvent(ctx, command, func(d *Draft) error { return in.create(d, components) })
	return InboundOutcome{InboundCreated, detail.ID}, err
}

// ingestInto applies the message to an event. It returns a Conflict if the message is not about this event any more.
func (c *Catalog) ingestInto(ctx context.Context, command Command, id string, in Inbound, components []string) (InboundOutcome, error) {
	mine := &eventWrite{command: command, origin: audit.From(ctx)}
	var result InboundResult
	mine.change = func(d *Draft) (err error) {
		known, is := d.inboundResult(in.ID)
		switch {
		case is:
			result = known
			return nil
		case d.ExternalID != in.ExternalID, in.Action == Trigger && !reopens(d.Until(), d.Now):
			return overtaken()
		}
		if result, mine.command.Action, err = in.apply(d, components); err == nil && result != InboundIgnored {
			d.remember(in.ID, result)
		}
		return err
	}
	_, err := c.queue(ctx, id, mine)
	if fault.Is(err, fault.NotFound) { // the event was deleted
		err = overtaken()
	}
	return InboundOutcome{result, id}, err
}

var errOvertaken = errors.New("catalog: another write was faster")

func overtaken() error {
	return fault.Wrap(fault.Conflict, errOvertaken, "The event changed at the same time. Send the message again.")
}

// wasOvertaken reports whether the conflict is with another write, which the store or ingestInto found. A conflict with the
// rules of events has no cause.
func wasOvertaken(err error) bool { return fault.Is(err, fault.Conflict) && fault.As(err).Err != nil }

// namedComponents returns the ids of the organization's components that a message names by id or external reference.
func (c *Catalog) namedComponents(ctx context.Context, organization string, names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	var ids []string
	for _, name := range names {
		if id, err := uuid.Parse(name); err == nil {
			ids = append(ids, id.String())
		}
	}
	byID, err := c.ComponentsByID(ctx, organization, ids)
	if err != nil {
		return nil, err
	}
	byRef, err := c.store.Components.Find(ctx, owned(organization, find.Query{Where: []find.Condition{find.Has(FieldExternalRefs, names...)}}))
	if err != nil {
		return nil, err
	}
	var found []string
	for i, name := range names {
		at := slices.IndexFunc(byID, func(component Component) bool { return strings.EqualFold(component.ID, name) })
		ref := slices.IndexFunc(byRef.Items, func(component Component) bool { return slices.Contains(component.ExternalRefs, name) })
		var id string
		switch {
		case at >= 0:
			id = byID[at].ID
		case ref >= 0:
			id = byRef.Items[ref].ID
		default:
			return nil, fault.Field(fmt.Sprintf("components[%d]", i), "must be the id or an external reference of a component of your organization")
		}
		if !slices.Contains(found, id) {
			found = append(found, id)
		}
	}
	return found, nil
}

// check returns a fault for a message that is wrong whatever the event is.
func (in Inbound) check(now time.Time) error {
	switch {
	case blank(in.ExternalID) || utf8.RuneCountInString(in.ExternalID) > maxExternalID:
		return fault.Field("externalId", "must be 1 to %d characters and not only white space", maxExternalID)
	case in.Action == Trigger && (blank(in.Title) || utf8.RuneCountInString(in.Title) > maxTitle):
		return fault.Field("title", "must be 1 to %d characters and not only white space, for a trigger", maxTitle)
	case in.Action == Trigger && in.Status.closed():
		return fault.Field("status", "must not be %s for a trigger", in.Status)
	case in.Action == Trigger && len(in.Components) == 0:
		return fault.Field("components", "must name at least one component, by id or external reference, for a trigger")
	case in.Action == Update && in.Message == nil && in.Status == "" && in.Severity == nil:
		return fault.New(fault.Invalid, "An update must have message, status or severity.")
	case in.Action == Resolve && in.Status != "" && !in.Status.closed():
		return fault.Field("status", "must be resolved, or be left out, for a resolve")
	case len(in.Components) > maxAffected:
		return fault.Field("components", "must name at most %d components", maxAffected)
	case in.Timestamp != nil && in.Timestamp.After(now):
		return fault.Field("timestamp", "must not be in the future")
	case in.Message != nil:
		return checkMessage("message", *in.Message)
	}
	return nil
}

// create fills a new event.
func (in Inbound) create(d *Draft, components []string) error {
	err := d.Begin(Incident, in.Title, in.Status)
	d.Description.Set(richtext.Rich, in.Description)
	d.ExternalID, d.Published, d.Severity = in.ExternalID, in.Publish, in.DefaultSeverity
	if in.Severity != nil {
		d.Severity = *in.Severity
	}
	d.StartAt = d.Now
	if in.Timestamp != nil {
		d.StartAt = *in.Timestamp
	}
	affected := each(components, func(id string) ComponentImpact { return ComponentImpact{id, in.Impact} })
	err = errors.Join(err, d.SetComponents(affected))
	if in.Message != nil {
		err = errors.Join(err, d.SetInitialEntry(*in.Message))
	}
	in.notify(d)
	d.remember(in.ID, InboundCreated)
	return err
}

// apply changes the event of an earlier message, and returns the result and the action of the audit log.
func (in Inbound) apply(d *Draft, components []string) (InboundResult, string, error) {
	if in.Action == Resolve && !d.Open() {
		return InboundIgnored, "", nil
	}
	impacts := in.impacts(d, components) // before a severity changes the defaults
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
		in.notify(d)
		entry.Message = in.text("The problem has occurred again.")
		return InboundReopened, ActionReopen, d.Reopen(entry)
	case in.Action == Trigger:
		entry.Timestamp = nil // the time of a trigger is that of the start
		if !in.news(d, impacts) {
			if !d.changed && d.Severity == former {
				return InboundIgnored, "", nil
			}
			in.notify(d)
			return InboundUpdated, "", nil
		}
	case in.Action == Resolve:
		entry.Status = closing(d.Type)
	case !d.Open():
		entry.Status = StatusUpdate // only a trigger reopens
	}
	entry.Message = in.text(in.defaultText(d, entry))
	in.notify(d)
	wasOpen := d.Open()
	err := d.Post(entry)
	if wasOpen && !d.Open() {
		return InboundResolved, ActionTimelineCreate, err
	}
	return InboundUpdated, ActionTimelineCreate, err
}

func (in Inbound) addComponent(d *Draft, id string) error {
	if slices.Contains(d.ComponentIDs(), id) {
		return nil
	}
	err := d.AddComponent(id)
	d.SetImpact(id, in.Impact)
	return err
}

// impacts returns the changes of impact on components that the event has: on those that the message names, or on all.
func (in Inbound) impacts(d *Draft, components []string) []ComponentImpact {
	var changed []ComponentImpact
	for _, link := range d.Links {
		named := len(components) == 0 || slices.Contains(components, link.ComponentID)
		if named && in.Impact != "" && d.ImpactOn(link) != in.Impact {
			changed = append(changed, ComponentImpact{link.ComponentID, in.Impact})
		}
	}
	return changed
}

// news reports whether a trigger on an open event says what its timeline does not say yet. A tool repeats its triggers, so
// the text that its last entry has is none.
func (in Inbound) news(d *Draft, impacts []ComponentImpact) bool {
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

// defaultText returns the text of an entry for a message without one.
func (in Inbound) defaultText(d *Draft, entry NewEntry) string {
	words := func(value string) string { return strings.ReplaceAll(cmp.Or(value, "none"), "_", " ") }
	switch {
	case !d.Open() && in.Severity == nil:
		return fmt.Sprintf("The status stays %s.", d.Status)
	case entry.Status.closed():
		return "The problem is resolved."
	case entry.Status != "" && entry.Status != StatusUpdate:
		return fmt.Sprintf("The status is now %s.", words(string(entry.Status)))
	case len(entry.Impacts) > 0:
		return fmt.Sprintf("The impact is now %s.", words(string(entry.Impacts[0].Impact)))
	}
	return fmt.Sprintf("The severity is now %s.", words(d.Severity))
}

func (in Inbound) notify(d *Draft) {
	if in.Notify == nil {
		d.NotifyByDefault()
		return
	}
	d.Notify(in.Notify)
}

// reopens reports whether a trigger concerns an event with the end: it is open, or closed within reopenWithin.
func reopens(until, now time.Time) bool { return now.Sub(until) <= reopenWithin }

// endOf returns FieldUntil of a row, its only value.
func endOf(row find.Row) time.Time {
	milliseconds, _ := row.Values[0].(int64)
	return time.UnixMilli(milliseconds)
}

// InboundIDs returns the ids of the messages that the event remembers. The store keeps them unique.
func (e *Event) InboundIDs() []string {
	return each(e.Inbound, func(record InboundRecord) string { return record.ID })
}

func (e *Event) inboundResult(id string) (InboundResult, bool) {
	at := slices.IndexFunc(e.Inbound, func(record InboundRecord) bool { return record.ID == id })
	if at < 0 {
		return "", false
	}
	return e.Inbound[at].Result, true
}

func (d *Draft) remember(id string, result InboundResult) {
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
