package catalog

import (
	"context"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

// EventID returns the id of the organization's event with the legacy id, or NotFound.
func (c *Catalog) EventID(ctx context.Context, organization string, legacyID int64) (string, error) {
	event, err := byLegacyID[Event](ctx, c.store.Events, organization, legacyID)
	return event.ID, err
}

// EventByLegacyID returns the organization's event with the legacy id, or NotFound.
func (c *Catalog) EventByLegacyID(ctx context.Context, organization string, legacyID int64) (EventDetail, error) {
	event, err := byLegacyID[Event](ctx, c.store.Events, organization, legacyID)
	if err != nil {
		return EventDetail{}, err
	}
	components, err := c.componentsOf(ctx, organization, event.ComponentIDs())
	return EventDetail{Event: event, Components: components}, err
}

// ListEvents returns events of the organization and the total number of them.
func (c *Catalog) ListEvents(ctx context.Context, organization string, query find.Query) ([]EventDetail, int64, error) {
	query.Scan = eventsIndex(query)
	events, total, err := listed[Event](ctx, c.store.Events, owned(organization, query))
	if err != nil {
		return nil, 0, err
	}
	var ids []string
	for i := range events {
		ids = append(ids, events[i].ComponentIDs()...)
	}
	components, err := c.componentsOf(ctx, organization, ids)
	details := make([]EventDetail, len(events))
	for i, event := range events {
		details[i] = EventDetail{Event: event, Components: components}
	}
	return details, total, err
}

// eventsIndex returns the index of a condition on ids or children, which few events satisfy, else the query's own.
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

func eventsOf[R any](ctx context.Context, rows Rows[R], organization string, where []find.Condition, event func(R) string) ([]string, error) {
	var ids []string
	query := owned(organization, find.Query{Where: where, Order: []find.Order{{Field: FieldLegacyID}}, Scan: IndexLegacyID})
	err := rows.Each(ctx, query, func(row R) error {
		ids = append(ids, event(row))
		return nil
	})
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// LinkDetail is a link of an event with its component.
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

// ListLinks returns links of the organization's events and the total number of them.
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
		if component, there := components[row.ComponentID]; there { // else it is being removed
			details = append(details, LinkDetail{LinkRow: row, Component: component})
		}
	}
	return details, total, err
}

// ListUpdates returns timeline entries of the organization's events and the total number of them.
func (c *Catalog) ListUpdates(ctx context.Context, organization string, query find.Query) ([]UpdateRow, int64, error) {
	return listed[UpdateRow](ctx, c.store.Updates, owned(organization, query))
}
