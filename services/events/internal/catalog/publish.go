package catalog

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// EventDetail is an event with those of its components that there are, by id.
type EventDetail struct {
	Event
	Components map[string]Component
}

// CreateEvent publishes a new event with its links and updates, in one write.
func (c *Catalog) CreateEvent(ctx context.Context, by Author, organization string, patch EventPatch) (EventDetail, error) {
	now := c.now()
	plain := Rich{Format: richtext.Plain}
	event := Event{
		ID: newID(), OrganizationID: organization, Published: true, Source: SourceLegacy,
		Description: plain, Impact: plain, Coordinator: plain,
		Links: []Link{}, Timeline: []Entry{}, CreatedBy: by, CreatedAt: now, UpdatedAt: now,
	}
	trial := event
	if err := (&revision{Event: &trial, now: now, by: by}).apply(&patch); err != nil {
		return EventDetail{}, err
	}
	if len(trial.Links) == 0 {
		return EventDetail{}, fault.Field("event_service", "At least one is needed.")
	}
	var next children
	if err := together(
		func() (err error) { next, err = c.reserve(ctx, &patch); return err },
		func() (err error) { event.LegacyID, err = c.store.Next(ctx, eventIDs, 1); return err },
	); err != nil {
		return EventDetail{}, err
	}
	write := revision{Event: &event, now: now, by: by, nextIDs: next}
	if err := write.apply(&patch); err != nil {
		return EventDetail{}, err
	}
	event.Version = 1
	change, err := c.changeOf(ctx, nil, &write)
	if err != nil {
		return EventDetail{}, err
	}
	if err := c.store.Events.Insert(ctx, event, change); err != nil {
		return EventDetail{}, err
	}
	return c.detail(ctx, organization, event)
}

// reserve takes the legacy ids that the patch may need. Ids that are not needed in the
// end are never used.
func (c *Catalog) reserve(ctx context.Context, patch *EventPatch) (next children, err error) {
	links, updates := patch.fresh()
	take := func(counter string, n int64, first *int64) func() error {
		return func() (err error) {
			if n > 0 {
				*first, err = c.store.Next(ctx, counter, n)
			}
			return err
		}
	}
	err = together(take(linkIDs, links, &next.link), take(updateIDs, updates, &next.update))
	return next, err
}

// ChangeEvent changes what was sent of the event with the legacy id.
func (c *Catalog) ChangeEvent(ctx context.Context, by Author, organization string, legacyID int64, patch EventPatch) (EventDetail, error) {
	found, err := c.eventByLegacyID(ctx, organization, legacyID)
	if err != nil {
		return EventDetail{}, err
	}
	next, err := c.reserve(ctx, &patch)
	if err != nil {
		return EventDetail{}, err
	}
	event, err := c.revise(ctx, by, organization, found.ID, func(r *revision) error {
		r.nextIDs = next
		return r.apply(&patch)
	})
	if err != nil {
		return EventDetail{}, err
	}
	return c.detail(ctx, organization, event)
}

// revise is the one way in which an event is changed: what change makes of it is written
// together with the message that tells of it, or nothing is.
func (c *Catalog) revise(ctx context.Context, by Author, organization, id string, change func(*revision) error) (Event, error) {
	return c.store.Events.Update(ctx, id, func(event *Event) ([]topic.Message, error) {
		if event.OrganizationID != organization {
			return nil, fault.New(fault.NotFound, "There is no such event.")
		}
		before := copyOf(event)
		write := revision{Event: event, now: c.now(), by: by}
		if err := change(&write); err != nil {
			return nil, err
		}
		if !write.changed && len(write.notify) == 0 {
			if write.remembers {
				return nil, nil
			}
			return nil, fault.ErrUnchanged
		}
		event.Version++
		event.UpdatedAt = write.now
		message, err := c.changeOf(ctx, before, &write)
		if err != nil {
			return nil, err
		}
		return []topic.Message{message}, nil
	})
}

// RemoveEvent deletes an event with its links and updates.
func (c *Catalog) RemoveEvent(ctx context.Context, organization string, legacyID int64) error {
	found, err := c.eventByLegacyID(ctx, organization, legacyID)
	if err != nil {
		return err
	}
	return c.store.Events.Delete(ctx, found.ID, func(event *Event) ([]topic.Message, error) {
		before := copyOf(event)
		event.Version++
		message, err := c.changeOf(ctx, before, &revision{Event: event, now: c.now()})
		if err != nil {
			return nil, err
		}
		return []topic.Message{message}, nil
	})
}

// AddUpdate appends an update to an event's timeline and tells nobody.
func (c *Catalog) AddUpdate(ctx context.Context, by Author, organization, eventID string, patch UpdatePatch) (UpdateRow, error) {
	id, err := c.store.Next(ctx, updateIDs, 1)
	if err != nil {
		return UpdateRow{}, err
	}
	event, err := c.revise(ctx, by, organization, eventID, func(r *revision) error {
		if len(r.Timeline) >= maxUpdates {
			return fault.Field("event", "An event can have at most %d updates.", maxUpdates)
		}
		r.nextIDs.update = id
		patch.LegacyID = 0
		if err := r.applyUpdate(&patch); err != nil {
			return fault.Field("status", "The status does not fit the type of the event.")
		}
		return nil
	})
	if err != nil {
		return UpdateRow{}, err
	}
	return updateRow(&event, event.Timeline[event.entry(id)]), nil
}

// RemoveUpdate deletes an update from its event's timeline.
func (c *Catalog) RemoveUpdate(ctx context.Context, by Author, organization string, legacyID int64) error {
	row, err := byLegacyID[UpdateRow](ctx, c.store.Updates, organization, legacyID)
	if err != nil {
		return err
	}
	_, err = c.revise(ctx, by, organization, row.EventID, func(r *revision) error {
		at := r.entry(legacyID)
		if at < 0 {
			return fault.New(fault.NotFound, "There is no such event update.")
		}
		r.Timeline = append(r.Timeline[:at:at], r.Timeline[at+1:]...)
		r.changed = true
		return nil
	})
	return err
}

// LinkDetail is a link of an event with its component.
type LinkDetail struct {
	LinkRow
	Component Component
}

// AddLink adds a component to those an event affects.
func (c *Catalog) AddLink(ctx context.Context, by Author, organization, eventID, componentID string) (LinkDetail, error) {
	id, err := c.store.Next(ctx, linkIDs, 1)
	if err != nil {
		return LinkDetail{}, err
	}
	event, err := c.revise(ctx, by, organization, eventID, func(r *revision) error {
		if r.linked(componentID) {
			return fault.Field("service", "The event is linked to this service already.")
		}
		r.nextIDs.link = id
		if !r.addLink(componentID) {
			return fault.Field("event", "An event can have at most %d services.", maxLinks)
		}
		return nil
	})
	if err != nil {
		return LinkDetail{}, err
	}
	components, err := c.componentsOf(ctx, organization, []string{componentID})
	component, there := components[componentID]
	if err == nil && !there { // it left while it was linked, and took the link along
		err = fault.Field("service", "There is no such service.")
	}
	return LinkDetail{LinkRow: linkRow(&event, event.Links[event.link(id)]), Component: component}, err
}

// RemoveLink takes a component from those its event affects.
func (c *Catalog) RemoveLink(ctx context.Context, by Author, organization string, legacyID int64) error {
	row, err := byLegacyID[LinkRow](ctx, c.store.Links, organization, legacyID)
	if err != nil {
		return err
	}
	_, err = c.revise(ctx, by, organization, row.EventID, func(r *revision) error {
		at := r.link(legacyID)
		if at < 0 {
			return fault.New(fault.NotFound, "There is no such event service.")
		}
		r.Links = append(r.Links[:at:at], r.Links[at+1:]...)
		r.changed = true
		return nil
	})
	return err
}

// EventByLegacyID finds one of the organization's events, or NotFound.
func (c *Catalog) EventByLegacyID(ctx context.Context, organization string, legacyID int64) (EventDetail, error) {
	event, err := c.eventByLegacyID(ctx, organization, legacyID)
	if err != nil {
		return EventDetail{}, err
	}
	return c.detail(ctx, organization, event)
}

func (c *Catalog) eventByLegacyID(ctx context.Context, organization string, legacyID int64) (Event, error) {
	return byLegacyID[Event](ctx, c.store.Events, organization, legacyID)
}

// ListEvents finds events of the organization and counts them all.
func (c *Catalog) ListEvents(ctx context.Context, organization string, query find.Query) ([]EventDetail, int64, error) {
	query.Scan = eventsIndex(query)
	events, total, err := listed[Event](ctx, c.store.Events, owned(organization, query))
	if err != nil {
		return nil, 0, err
	}
	details, err := c.details(ctx, organization, events)
	return details, total, err
}

// eventsIndex is the query's own index, or that of a condition which fewer events hold to
// than the organization has: being certain ones, or having certain children.
func eventsIndex(query find.Query) string {
	best := query.Scan
	for _, condition := range query.Where {
		switch {
		case condition.Field == "id" && (condition.Op == find.OpEq || condition.Op == find.OpIn):
			return "org_id"
		case condition.Field == "links" && condition.Op == find.OpHas:
			best = "org_link_legacy"
		case condition.Field == "components" && condition.Op == find.OpHas && best != "org_link_legacy":
			best = "org_component_legacy"
		}
	}
	return best
}

// EventsWithUpdate are the ids of the organization's events of whose updates one holds to
// all the conditions.
func (c *Catalog) EventsWithUpdate(ctx context.Context, organization string, where []find.Condition) ([]string, error) {
	return eventsOf(ctx, c.store.Updates, organization, where, func(row UpdateRow) string { return row.EventID })
}

// EventsWithLink are the same of whose links one holds to all the conditions.
func (c *Catalog) EventsWithLink(ctx context.Context, organization string, where []find.Condition) ([]string, error) {
	return eventsOf(ctx, c.store.Links, organization, where, func(row LinkRow) string { return row.EventID })
}

// eventsOf are the ids of the events to which the rows belong that hold to the conditions.
func eventsOf[R any](ctx context.Context, rows Rows[R], organization string, where []find.Condition, event func(R) string) ([]string, error) {
	var ids []string
	seen := map[string]bool{}
	query := owned(organization, find.Query{Where: where, Order: []find.Order{{Field: "legacyId"}}, Scan: "org_legacy"})
	err := rows.Each(ctx, query, func(row R) error {
		if id := event(row); !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
		return nil
	})
	return ids, err
}

// ListLinks finds links of the organization's events and counts them all.
func (c *Catalog) ListLinks(ctx context.Context, organization string, query find.Query) ([]LinkDetail, int64, error) {
	rows, total, err := listed[LinkRow](ctx, c.store.Links, owned(organization, query))
	if err != nil {
		return nil, 0, err
	}
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.ComponentID
	}
	components, err := c.componentsOf(ctx, organization, ids)
	details := make([]LinkDetail, 0, len(rows))
	for _, row := range rows {
		if component, there := components[row.ComponentID]; there { // else it is leaving this very moment
			details = append(details, LinkDetail{LinkRow: row, Component: component})
		}
	}
	return details, total, err
}

// ListUpdates finds updates of the organization's events and counts them all.
func (c *Catalog) ListUpdates(ctx context.Context, organization string, query find.Query) ([]UpdateRow, int64, error) {
	return listed[UpdateRow](ctx, c.store.Updates, owned(organization, query))
}

func (c *Catalog) detail(ctx context.Context, organization string, event Event) (EventDetail, error) {
	details, err := c.details(ctx, organization, []Event{event})
	if err != nil {
		return EventDetail{}, err
	}
	return details[0], nil
}

// details adds their components to events, asking for all of them at once.
func (c *Catalog) details(ctx context.Context, organization string, events []Event) ([]EventDetail, error) {
	var ids []string
	for i := range events {
		ids = append(ids, events[i].ComponentIDs()...)
	}
	components, err := c.componentsOf(ctx, organization, ids)
	details := make([]EventDetail, len(events))
	for i, event := range events {
		details[i] = EventDetail{Event: event, Components: components}
	}
	return details, err
}
