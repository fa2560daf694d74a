package catalog

import (
	"cmp"
	"context"
	"errors"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// CreateEvent stores a new event whose fields fill sets. It returns the faults of fill and of EventEdit.Check together.
func (c *Catalog) CreateEvent(ctx context.Context, command Command, fill func(*EventEdit) error) (EventDetail, error) {
	now := c.now()
	plain := Rich{Format: richtext.Plain}
	event := Event{
		ID: topic.NewID(), OrganizationID: command.Organization, Published: true, Source: command.Source,
		Description: plain, Impact: plain, Coordinator: plain,
		Links: []Link{}, DashboardIDs: []string{}, Timeline: []Entry{}, CreatedBy: command.Author, CreatedAt: now, UpdatedAt: now,
	}
	edit := NewEventEdit(&event, command, now)
	if err := errors.Join(fill(edit), edit.Check()); err != nil {
		return EventDetail{}, err
	}
	if len(event.Links) == 0 && len(event.DashboardIDs) == 0 {
		return EventDetail{}, fault.Field("affectedComponents", "must name at least one component")
	}
	var near affected
	if err := cmp.Or(near.read(ctx, c, event.OrganizationID, event.ComponentIDs()), near.readDashboards(ctx, c, event.OrganizationID, event)); err != nil {
		return EventDetail{}, err
	}
	if err := near.check(&event); err != nil {
		return EventDetail{}, err
	}
	edit.finish(near.concernsAnybody(&event))
	event.Version, event.ShownVersion, event.ShownAt = 1, 1, now
	var ids childIDs
	if err := together(
		func() (err error) { event.LegacyID, err = c.store.Next(ctx, eventIDs, 1); return err },
		func() error { return ids.assign(ctx, c, &event, 1) },
	); err != nil {
		return EventDetail{}, err
	}
	change, err := near.change(nil, edit)
	if err != nil {
		return EventDetail{}, err
	}
	messages := append(audit.Entry(audit.From(ctx), command.Action, now, nil, &event), change)
	return near.detail(event), takenExternalID(c.store.Events.Insert(ctx, event, messages...))
}

// takenExternalID wraps a Conflict of the store in a fault that says that another open event has the external id.
func takenExternalID(err error) error {
	if !fault.Is(err, fault.Conflict) {
		return err
	}
	return fault.Wrap(fault.Conflict, err, "Another open event has the same externalId. Close that event, or use another externalId.")
}

// eventWrite is a change of an event that waits for a shared run. The run sets outcome and err.
type eventWrite struct {
	command Command
	origin  audit.Origin // origin of this change; the context of the shared run has the origin of the first caller
	change  func(*EventEdit) error
	outcome EventDetail
	err     error
}

// ChangeEvent calls change with an edit of the event, and stores the edited event and the message about the change. It returns
// the event after this change. It stores nothing if the edited event equals the event and the write notifies nobody.
// Concurrent changes of one event in one process are stored in one write. ChangeEvent does not stop when ctx ends.
func (c *Catalog) ChangeEvent(ctx context.Context, command Command, id string, change func(*EventEdit) error) (EventDetail, error) {
	return c.queue(ctx, id, &eventWrite{command: command, origin: audit.From(ctx), change: change})
}

func (c *Catalog) queue(ctx context.Context, id string, mine *eventWrite) (EventDetail, error) {
	_, err := Share(context.WithoutCancel(ctx), &c.writes, id, []*eventWrite{mine}, func(ctx context.Context, all []*eventWrite) (struct{}, error) {
		return struct{}{}, c.writeEvent(ctx, id, all)
	})
	return mine.outcome, cmp.Or(err, mine.err)
}

// writeEvent stores several changes of an event in one write. The returned error concerns all changes. The fault of a
// single change is in the err of its eventWrite. If the write of several changes fails with a Conflict, such as an
// external id in use, writeEvent stores each change in a separate write and returns nil.
func (c *Catalog) writeEvent(ctx context.Context, id string, writes []*eventWrite) error {
	err := takenExternalID(c.writeTogether(ctx, id, writes))
	if len(writes) == 1 || !fault.Is(err, fault.Conflict) {
		return err
	}
	for _, write := range writes {
		alone := c.writeEvent(ctx, id, []*eventWrite{write})
		write.err = cmp.Or(alone, write.err)
	}
	return nil
}

func (c *Catalog) writeTogether(ctx context.Context, id string, writes []*eventWrite) error {
	var ids childIDs
	_, err := c.store.Events.Update(ctx, id, func(event *Event) ([]topic.Message, error) {
		var near affected
		var messages []topic.Message
		dirty := false
		for _, write := range writes {
			if write.outcome, write.err = (EventDetail{}), nil; write.command.Organization != event.OrganizationID {
				write.err = noEvent()
				continue
			}
			if write.err = write.command.checkVersion(event.Version); write.err != nil {
				continue
			}
			edit := NewEventEdit(event.clone(), write.command, c.now())
			if write.err = errors.Join(write.change(edit), edit.Check()); write.err != nil {
				continue
			}
			if err := cmp.Or(near.read(ctx, c, event.OrganizationID, edit.ComponentIDs()), near.readDashboards(ctx, c, event.OrganizationID, *edit.Event)); err != nil {
				return nil, err
			}
			if write.err = near.check(edit.Event, event.DashboardIDs...); write.err != nil {
				continue
			}
			changed, announcedOnly := edit.finish(near.concernsAnybody(edit.Event))
			switch {
			case edit.reminds:
				edit.RemindersSent++
			case changed || len(edit.notify) > 0:
				edit.Version++
				edit.UpdatedAt = edit.Now
				if c.published.Differ(event, edit.Event) {
					edit.ShownVersion, edit.ShownAt = edit.Version, edit.Now
				}
			}
			if edit.sequence() > event.sequence() {
				message, err := near.change(event, edit)
				if write.err = err; err != nil {
					continue
				}
				dirty = true
				messages = append(messages, message)
			}
			if err := ids.assign(ctx, c, edit.Event, len(writes)); err != nil {
				return nil, err
			}
			if announcedOnly || edit.Version > event.Version {
				dirty = true
				messages = append(messages, audit.Entry(write.origin, write.command.Action, edit.Now, event, edit.Event)...)
			}
			*event = *edit.Event
			write.outcome = near.detail(*event)
		}
		if !dirty {
			return nil, fault.ErrUnchanged
		}
		return messages, nil
	})
	if fault.Is(err, fault.NotFound) {
		err = noEvent() // the same error as for an event of another organization
	}
	return err
}

func noEvent() error { return fault.New(fault.NotFound, "There is no such event.") }

// childIDs assigns legacy ids to new links and entries. It reserves ids for several changes of a run at once. Reserved
// ids that are not used are lost.
type childIDs struct{ links, entries idBlock }

type idBlock struct{ next, left int64 }

func (ids *childIDs) assign(ctx context.Context, c *Catalog, event *Event, writes int) error {
	var links, entries []*int64
	for i := range event.Links {
		if event.Links[i].LegacyID == 0 {
			links = append(links, &event.Links[i].LegacyID)
		}
	}
	for i := range event.Timeline {
		if event.Timeline[i].LegacyID == 0 {
			entries = append(entries, &event.Timeline[i].LegacyID)
		}
	}
	return together(
		func() error { return ids.links.assign(ctx, c, linkIDs, links, writes) },
		func() error { return ids.entries.assign(ctx, c, entryIDs, entries, writes) },
	)
}

func (b *idBlock) assign(ctx context.Context, c *Catalog, counter string, missing []*int64, writes int) (err error) {
	n := int64(len(missing))
	if b.left < n {
		b.left = n + int64(writes) - 1
		if b.next, err = c.store.Next(ctx, counter, b.left); err != nil {
			return err
		}
	}
	for _, id := range missing {
		*id = b.next
		b.next++
	}
	b.left -= n
	return nil
}

func (c *Catalog) DeleteEvent(ctx context.Context, command Command, id string) error {
	if err := c.rememberDeletion(ctx, command, id); err != nil {
		return err
	}
	return c.store.Events.Delete(ctx, id, func(event *Event) ([]topic.Message, error) {
		if event.OrganizationID != command.Organization {
			return nil, noEvent()
		}
		if err := command.checkVersion(event.Version); err != nil {
			return nil, err
		}
		before := event.clone()
		var near affected
		if err := near.read(ctx, c, event.OrganizationID, event.ComponentIDs()); err != nil {
			return nil, err
		}
		event.Version++
		edit := NewEventEdit(event, command, c.now())
		change, err := near.change(before, edit)
		return append(audit.Entry(audit.From(ctx), command.Action, edit.Now, before, nil), change), err
	})
}
