package catalog

import (
	"context"
	"math"
	"slices"
)

// Published is what visitors see of the records.
type Published interface {
	// Follow updates what visitors of the dashboards see, after records were written.
	Follow(ctx context.Context, dashboards []string, written ...Written) error
	// Withdraw removes what visitors see of a deleted dashboard.
	Withdraw(ctx context.Context, dashboard string) error
	// Differ reports whether visitors of any dashboard see a difference between two states of an event.
	Differ(before, after *Event) bool
}

// Written is a written record. Exactly one of Component and Event is set, or Dashboard.
type Written struct {
	Dashboard bool
	Component string      // id
	Event     string      // id
	Current   *Event      // nil: the event was deleted
	Former    *EventFacts // the event before the write; nil if it affected no component
}

// Version returns the version of the event. No other version follows a deletion.
func (w Written) Version() int64 {
	if w.Current == nil {
		return math.MaxInt64
	}
	return w.Current.Version
}

// DashboardWritten updates what visitors of a dashboard see. current is nil for a deleted dashboard.
func (c *Catalog) DashboardWritten(ctx context.Context, id string, current *Dashboard) error {
	if current == nil {
		return c.published.Withdraw(ctx, id)
	}
	return c.published.Follow(ctx, []string{id}, Written{Dashboard: true})
}

// publishEvent updates the dashboards that hold a component of the event, or held one by the former rows of its links.
func (c *Catalog) publishEvent(ctx context.Context, id string, former []LinkRow, current *Event) error {
	var organization string
	var components []string
	written := Written{Event: id, Current: current}
	for _, link := range former {
		organization, written.Former = link.OrganizationID, &link.Event
		components = append(components, link.ComponentID)
	}
	if current != nil {
		organization = current.OrganizationID
		components = append(components, current.ComponentIDs()...)
	}
	slices.Sort(components)
	holding, err := c.DashboardsHolding(ctx, organization, slices.Compact(components))
	if err != nil {
		return err
	}
	var dashboards []string
	for _, ids := range holding {
		dashboards = append(dashboards, ids...)
	}
	slices.Sort(dashboards)
	return c.published.Follow(ctx, slices.Compact(dashboards), written)
}
