package catalog

import (
	"context"
	"fmt"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// EventDetail is an event with its affected components and their dashboards. Components has the components that exist,
// by id. Dashboards has the ids of the dashboards with the component, by the id of the component. Dashboards is empty
// in the results of EventByLegacyID and ListEvents, because the legacy interface does not show dashboards.
type EventDetail struct {
	Event
	Components map[string]Component
	Dashboards map[string][]string
	existing   map[string]bool // ids of the organization's dashboards; nil: not loaded, because the event has no DashboardIDs
}

// ShownOn returns the ids of the dashboards on which at least one affected component is placed. For an event without components, it
// returns those of its DashboardIDs that exist.
func (d *EventDetail) ShownOn() []string {
	if len(d.Links) == 0 {
		return existingOf(d.DashboardIDs, d.existing)
	}
	var ids []string
	for _, link := range d.Links {
		ids = append(ids, d.Dashboards[link.ComponentID]...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// existingOf returns those of the dashboards that exist.
func existingOf(dashboards []string, existing map[string]bool) []string {
	return slices.DeleteFunc(slices.Clone(dashboards), func(id string) bool { return !existing[id] })
}

// affected is the components that events name, and the dashboards on which each component is placed.
type affected struct {
	asked      []string
	components map[string]Component
	dashboards map[string][]string
	existing   map[string]bool // ids of the organization's dashboards; nil: not loaded
}

// read loads the components with the ids, and the dashboards on which they are placed. It does nothing if the last load
// asked for all of the ids.
func (a *affected) read(ctx context.Context, c *Catalog, organization string, ids []string) error {
	if !slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(a.asked, id) }) {
		return nil
	}
	a.asked = ids
	return together(
		func() (err error) {
			a.components, err = c.store.ComponentsOf(ctx, organization, ids)
			return err
		},
		func() (err error) {
			a.dashboards, err = c.DashboardsHolding(ctx, organization, ids)
			return err
		},
	)
}

func (a *affected) detail(event Event) EventDetail {
	return EventDetail{event, a.components, a.dashboards, a.existing}
}

// readDashboards loads the ids of the organization's dashboards, unless they are loaded already or no event has
// DashboardIDs.
func (a *affected) readDashboards(ctx context.Context, c *Catalog, organization string, events ...Event) error {
	if a.existing != nil || !slices.ContainsFunc(events, func(e Event) bool { return len(e.DashboardIDs) > 0 }) {
		return nil
	}
	rows, err := c.store.Dashboards.Keys(ctx, owned(organization, find.Query{}))
	a.existing = make(map[string]bool, len(rows))
	for _, row := range rows {
		a.existing[row.Key] = true
	}
	return err
}

// check returns a fault if a new link (LegacyID 0) names a component that the organization does not have. It also returns a
// fault if the DashboardIDs differ from former and are not valid, see checkDashboardIDs.
func (a *affected) check(event *Event, former ...string) error {
	if !slices.Equal(event.DashboardIDs, former) {
		if err := checkDashboardIDs(event.DashboardIDs, a.existing); err != nil {
			return err
		}
	}
	for i, link := range event.Links {
		if _, there := a.components[link.ComponentID]; link.LegacyID == 0 && !there {
			return fault.Field(fmt.Sprintf("affectedComponents[%d].componentId", i), "must be a component of the organization")
		}
	}
	return nil
}

// concernsAnybody reports whether messages about the event may have recipients. It returns true if the messages may name a
// component, or if the event has no components and at least one of its DashboardIDs exists.
func (a *affected) concernsAnybody(event *Event) bool {
	return len(a.nameable(event)) > 0 || len(event.Links) == 0 && len(existingOf(event.DashboardIDs, a.existing)) > 0
}

// nameable returns the affected components that messages may name, with the ids of the dashboards on which each is
// placed.
func (a *affected) nameable(event *Event) []topic.Component {
	out := []topic.Component{}
	for _, link := range event.Links {
		component, there := a.components[link.ComponentID]
		if !there || component.HiddenFromNotifications {
			continue
		}
		out = append(out, topic.Component{
			ID: component.ID, PublicID: component.PublicID, Name: component.Name, Group: component.Group,
			Impact: string(event.ImpactOn(link)), Worst: string(event.WorstImpact(link)), Hidden: component.Hidden, Dashboards: append([]string{}, a.dashboards[component.ID]...),
		})
	}
	return out
}
