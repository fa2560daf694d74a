package catalog

import (
	"cmp"
	"context"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// EventID returns the id of the organization's event with the legacy id, or NotFound.
func (c *Catalog) EventID(ctx context.Context, organization string, legacyID int64) (string, error) {
	event, err := byLegacyID[Event](ctx, c.store.Events, organization, legacyID)
	return event.ID, err
}

// Event returns the organization's event with the id, or NotFound.
func (c *Catalog) Event(ctx context.Context, organization, id string) (EventDetail, error) {
	event, err := c.store.EventOf(ctx, organization, id)
	if err != nil {
		return EventDetail{}, err
	}
	var near affected
	err = cmp.Or(near.read(ctx, c, event.OrganizationID, event.ComponentIDs()), near.readDashboards(ctx, c, event.OrganizationID, event))
	return near.detail(event), err
}

// EventByLegacyID returns the organization's event with the legacy id, without Dashboards, or NotFound.
func (c *Catalog) EventByLegacyID(ctx context.Context, organization string, legacyID int64) (EventDetail, error) {
	event, err := byLegacyID[Event](ctx, c.store.Events, organization, legacyID)
	if err != nil {
		return EventDetail{}, err
	}
	components, err := c.store.ComponentsOf(ctx, organization, event.ComponentIDs())
	return EventDetail{Event: event, Components: components}, err
}

// ListEvents returns the events that the query finds, page by page, without Dashboards. It also returns the number of events
// that the query finds without its Limit and Offset.
func (c *Catalog) ListEvents(ctx context.Context, organization string, query find.Query) (Pages[EventDetail], int64, error) {
	query.Scan = eventsIndex(query)
	return listed(ctx, c.store.Events, organization, query, func(e *Event) int64 { return e.LegacyID }, func(events []Event) ([]EventDetail, error) {
		var ids []string
		for i := range events {
			ids = append(ids, events[i].ComponentIDs()...)
		}
		components, err := c.store.ComponentsOf(ctx, organization, ids)
		return find.Values(events, func(event Event) EventDetail { return EventDetail{Event: event, Components: components} }), err
	})
}

// eventsIndex returns the index for a condition of the query on ids, links or components, because few events satisfy such a
// condition. If the query has no such condition, eventsIndex returns Scan of the query.
func eventsIndex(query find.Query) string {
	best := query.Scan
	for _, condition := range query.Where {
		switch {
		case condition.Field == FieldID && (condition.Op == find.OpEq || condition.Op == find.OpIn):
			return IndexID
		case condition.Field == FieldLinks && condition.Op == find.OpHas:
			best = IndexLink
		case condition.Field == FieldComponents && condition.Op == find.OpHas && best != IndexLink:
			best = IndexComponent
		}
	}
	return best
}

// EventsWithUpdate returns the ids of the events that have a timeline entry which satisfies all conditions.
func (c *Catalog) EventsWithUpdate(ctx context.Context, organization string, where []find.Condition) ([]string, error) {
	return eventsOf(ctx, c.store.Updates, organization, where, func(row UpdateRow) string { return row.EventID })
}

// EventsWithLink returns the ids of the events that have a link which satisfies all conditions.
func (c *Catalog) EventsWithLink(ctx context.Context, organization string, where []find.Condition) ([]string, error) {
	return eventsOf(ctx, c.store.Links, organization, where, func(row LinkRow) string { return row.EventID })
}

func eventsOf[R any](ctx context.Context, rows Collection[R], organization string, where []find.Condition, event func(R) string) ([]string, error) {
	var ids []string
	query := owned(organization, find.Query{Where: where, Order: []find.Order{{Field: FieldLegacyID}}, Scan: IndexLegacyID})
	err := rows.Each(ctx, query, func(row R) error {
		ids = append(ids, event(row))
		return nil
	})
	slices.Sort(ids)
	return slices.Compact(ids), err
}

type LinkDetail struct {
	LinkRow
	Component Component
}

// Link returns the organization's link with the legacy id, or NotFound.
func (c *Catalog) Link(ctx context.Context, organization string, legacyID int64) (LinkRow, error) {
	return byLegacyID[LinkRow](ctx, c.store.Links, organization, legacyID)
}

// Update returns the organization's timeline entry with the legacy id, or NotFound.
func (c *Catalog) Update(ctx context.Context, organization string, legacyID int64) (UpdateRow, error) {
	return byLegacyID[UpdateRow](ctx, c.store.Updates, organization, legacyID)
}

// ListLinks returns the links that the query finds, page by page, and their number, as ListEvents does. The pages lack the
// links to components that are being removed, but the number includes them.
func (c *Catalog) ListLinks(ctx context.Context, organization string, query find.Query) (Pages[LinkDetail], int64, error) {
	return listed(ctx, c.store.Links, organization, query, func(l *LinkRow) int64 { return l.LegacyID }, func(rows []LinkRow) ([]LinkDetail, error) {
		components, err := c.store.ComponentsOf(ctx, organization, find.Values(rows, func(row LinkRow) string { return row.ComponentID }))
		details := make([]LinkDetail, 0, len(rows))
		for _, row := range rows {
			if component, there := components[row.ComponentID]; there { // else the component is being removed
				details = append(details, LinkDetail{LinkRow: row, Component: component})
			}
		}
		return details, err
	})
}

// ListUpdates returns the timeline entries that the query finds, page by page, and their number, as ListEvents does.
func (c *Catalog) ListUpdates(ctx context.Context, organization string, query find.Query) (Pages[UpdateRow], int64, error) {
	return listed(ctx, c.store.Updates, organization, query, func(u *UpdateRow) int64 { return u.LegacyID }, whole[UpdateRow])
}

// EventOf returns the organization's event with the id, or NotFound.
func (s *Store) EventOf(ctx context.Context, organization, id string) (Event, error) {
	event, err := s.Events.Get(ctx, id)
	if fault.Is(err, fault.NotFound) || err == nil && event.OrganizationID != organization {
		err = noEvent()
	}
	return event, err
}

// EventWithLegacyID returns a page with the organization's event that has the legacy id, or an empty page.
func (c *Catalog) EventWithLegacyID(ctx context.Context, organization string, id int64) (page find.Page[EventDetail], err error) {
	found, err := c.store.Events.Find(ctx, owned(organization, find.Query{Where: []find.Condition{find.Eq(FieldLegacyID, id)}, Limit: 1}))
	if err == nil {
		page.Items, err = c.details(ctx, organization, found.Items)
	}
	return page, err
}
