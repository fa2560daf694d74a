package catalog

import (
	"context"
	"maps"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// affected is the components that events name, and the dashboards that hold each of them.
type affected struct {
	asked      []string
	components map[string]Component
	dashboards map[string][]string
}

// read loads the components of the event, unless it has loaded them.
func (a *affected) read(ctx context.Context, c *Catalog, event *Event) error {
	ids := event.ComponentIDs()
	if !slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(a.asked, id) }) {
		return nil
	}
	a.asked = ids
	return together(
		func() (err error) { a.components, err = c.componentsOf(ctx, event.OrganizationID, ids); return err },
		func() (err error) {
			a.dashboards, err = c.DashboardsHolding(ctx, event.OrganizationID, ids)
			return err
		},
	)
}

// check refuses new links to components that the organization does not have.
func (a *affected) check(event *Event) error {
	for _, link := range event.Links {
		if _, there := a.components[link.ComponentID]; link.LegacyID == 0 && !there {
			return fault.Field("componentId", "must be a component of the organization")
		}
	}
	return nil
}

// change returns the message about a write: everything that receivers get to know of the event, with its texts
// rendered, as of this change. before is nil for a new event.
func (a *affected) change(before *Event, draft *Draft) topic.EventChange {
	event := draft.Event
	change := topic.EventChange{
		ID: newID(), Kind: kindOf(before, event), Organization: event.OrganizationID, OccurredAt: draft.Now,
		Sequence: event.Version, Notify: topic.Notify{}, Event: topic.Event{
			ID: event.ID, LegacyID: event.LegacyID, Type: string(event.Type), Title: event.Title,
			DescriptionText: event.Description.Plain(), DescriptionHTML: event.Description.HTML(),
			ImpactText: event.Impact.Plain(), ImpactHTML: event.Impact.HTML(),
			CoordinatorText: event.Coordinator.Plain(), CoordinatorHTML: event.Coordinator.HTML(),
			Status: string(event.Status), Severity: event.Severity, StartAt: event.StartAt, EndAt: event.EndAt,
			ScheduledStartAt: event.ScheduledStartAt, ScheduledEndAt: event.ScheduledEndAt, Components: a.notified(event),
		},
	}
	if before != nil && before.Status != event.Status {
		change.Event.PreviousStatus = string(before.Status)
	}
	if entry := draft.entry; entry != nil {
		change.Entry = &topic.Entry{
			StatusID: entry.StatusID, Status: string(entry.Status), Timestamp: entry.Timestamp,
			Text: entry.Message.Plain(), HTML: entry.Message.HTML(),
		}
	}
	if event.Visible() && len(change.Event.Components) > 0 {
		maps.Copy(change.Notify, draft.notify)
	}
	return change
}

// notified returns the affected components that notifications may name, in the order of the links, each with the
// dashboards that hold it.
func (a *affected) notified(event *Event) []topic.Component {
	out := []topic.Component{}
	for _, link := range event.Links {
		component, there := a.components[link.ComponentID]
		if !there || component.HiddenFromNotifications {
			continue
		}
		out = append(out, topic.Component{
			ID: component.ID, Name: component.Name, Group: component.Group,
			Impact: string(event.ImpactOn(link)), Dashboards: append([]string{}, a.dashboards[component.ID]...),
		})
	}
	return out
}
