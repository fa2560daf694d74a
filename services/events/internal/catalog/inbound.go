package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/google/uuid"
)

const (
	// reopenWithin is how long after the end of an event a trigger reopens it. A later trigger creates a new event.
	reopenWithin = 24 * time.Hour
	// For rememberInbound, an event stores the ids and results of the messages that have changed it, but at most those of the
	// last maxInbound messages. The integrations service also stores the response to a message. But that service does not
	// recognise a message whose response was lost because a process died, or copies of a message that arrive at the same
	// time.
	rememberInbound = 24 * time.Hour
	maxInbound      = 100
	// inboundTries is how often Ingest tries to apply a message while other writes are faster.
	inboundTries = 10
)

// InboundAction is what a message of a monitoring tool asks for.
type InboundAction string

const (
	Trigger InboundAction = "trigger" // the problem exists
	Update  InboundAction = "update"
	Resolve InboundAction = "resolve"
)

// Inbound is a message of a monitoring tool about the problem that the tool calls ExternalID.
type Inbound struct {
	ID         string // id of the message; however often the message arrives, it changes an event once
	Action     InboundAction
	ExternalID string
	Message    *string
	Status     Status   // empty: not sent
	Severity   *string  // nil: not sent
	Components []string // ids or external references
	Named      *NamedComponent
	Impact     Impact // impact on the components; empty: not sent
	Timestamp  *time.Time
	ReceivedAt *time.Time   // when the problem, or its end, was first reported; nil: now
	Notify     topic.Notify // channels to notify; nil: the message leaves the channels out, see EventEdit.Notify

	// The following fields are used only for a new event, so that a trigger does not undo what a person has changed.
	Title           string
	Description     string
	DefaultSeverity string
	Publish         bool
}

// NamedComponent identifies the component of a message if Components has an unknown name.
type NamedComponent struct{ Group, Name string }

// InboundOutcome is the result of a message, and the event to which the message was applied.
type InboundOutcome struct {
	Result  InboundResult
	EventID string
}

// Ingest applies a message to the open event with its external id, or else to the event with this external id that closed
// last. A trigger reopens an event that closed within reopenWithin. If there is no event, or if the event closed earlier, a
// trigger creates a new event. Without an event, an update or a resolve returns NotFound.
//
// If a message with the same ID has changed an event before, Ingest changes nothing and returns the first outcome. Each
// write checks this in the record that it replaces. A unique index prevents two events from recording the same message.
// If another write was faster, Ingest starts over.
func (c *Catalog) Ingest(ctx context.Context, command Command, in Inbound) (InboundOutcome, error) {
	in = in.readable()
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

// CheckInbound returns a fault if no event can accept the message, because a field is wrong or a component is unknown.
func (c *Catalog) CheckInbound(ctx context.Context, organization string, in Inbound) error {
	in = in.readable()
	if err := in.check(c.now()); err != nil {
		return err
	}
	_, err := c.inboundComponents(ctx, organization, in)
	return err
}

func (c *Catalog) ingest(ctx context.Context, command Command, in Inbound) (InboundOutcome, error) {
	changed, err := c.store.Events.Keys(ctx, owned(command.Organization, find.Query{Where: []find.Condition{find.Has(FieldInbound, in.ID)}, Limit: 1}))
	if err != nil {
		return InboundOutcome{}, err
	}
	if len(changed) > 0 {
		return c.ingestInto(ctx, command, changed[0].Key, in, nil)
	}
	components, err := c.inboundComponents(ctx, command.Organization, in)
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
	detail, err := c.CreateEvent(ctx, command, func(d *EventEdit) error { return in.create(d, components) })
	return InboundOutcome{InboundCreated, detail.ID}, err
}

// ingestInto applies the message to an event. It returns a Conflict if the message does not belong to this event any
// more.
func (c *Catalog) ingestInto(ctx context.Context, command Command, id string, in Inbound, components []string) (InboundOutcome, error) {
	mine := &eventWrite{command: command, origin: audit.From(ctx)}
	var result InboundResult
	mine.change = func(d *EventEdit) (err error) {
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

// wasOvertaken reports whether err is a Conflict with another write. The store and ingestInto return such a Conflict
// with a cause (Err). A Conflict with the rules of events has no cause.
func wasOvertaken(err error) bool { return fault.Is(err, fault.Conflict) && fault.As(err).Err != nil }

// inboundComponents returns the ids of the components of a message. If a name is unknown and the message has a
// NamedComponent, it returns the id of the component with that name in that group, if there is exactly one. Otherwise it
// returns the fault about the unknown name.
func (c *Catalog) inboundComponents(ctx context.Context, organization string, in Inbound) ([]string, error) {
	ids, err := c.namedComponents(ctx, organization, in.Components)
	if in.Named == nil || !fault.Is(err, fault.Invalid) {
		return ids, err
	}
	found, failed := c.store.Components.Find(ctx, owned(organization, find.Query{Where: []find.Condition{find.Eq(fieldName, in.Named.Name)}}))
	if failed != nil {
		return nil, failed
	}
	same := slices.DeleteFunc(found.Items, func(component Component) bool { return component.Group != in.Named.Group })
	if len(same) != 1 {
		return nil, err
	}
	return []string{same[0].ID}, nil
}

// namedComponents returns the ids of the components that a message names by id or external reference. It returns Invalid
// for the first name that no component of the organization has.
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
