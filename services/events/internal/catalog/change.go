package catalog

import (
	"context"
	"maps"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// changeOf is the message that tells of a write: all that receivers are told of the
// event, with its texts rendered, as of this very change. before is nil for a new event.
func (c *Catalog) changeOf(ctx context.Context, before *Event, write *revision) (topic.EventChange, error) {
	event := write.Event
	components, err := c.tellable(ctx, event)
	if err != nil {
		return topic.EventChange{}, err
	}
	change := topic.EventChange{
		ID: newID(), Kind: kindOf(before, event), Organization: event.OrganizationID,
		OccurredAt: write.now, Sequence: event.Version, Event: toldOf(event, components), Notify: topic.Notify{},
	}
	if before != nil && before.Status != event.Status {
		change.Event.PreviousStatus = string(before.Status)
	}
	if entry := write.told; entry != nil {
		change.Entry = &topic.Entry{
			StatusID: entry.StatusID, Status: string(entry.Status), Timestamp: entry.Timestamp,
			Text: entry.Message.Plain(), HTML: entry.Message.HTML(),
		}
	}
	if event.Published && len(components) > 0 {
		maps.Copy(change.Notify, write.notify)
	}
	return change, nil
}

func toldOf(event *Event, components []topic.Component) topic.Event {
	return topic.Event{
		ID: event.ID, LegacyID: event.LegacyID, Type: string(event.Type), Title: event.Title,
		DescriptionText: event.Description.Plain(), DescriptionHTML: event.Description.HTML(),
		ImpactText: event.Impact.Plain(), ImpactHTML: event.Impact.HTML(),
		CoordinatorText: event.Coordinator.Plain(), CoordinatorHTML: event.Coordinator.HTML(),
		Status: string(event.Status), Severity: event.Severity,
		StartAt: event.StartAt, EndAt: event.EndAt,
		ScheduledStartAt: event.ScheduledStartAt, ScheduledEndAt: event.ScheduledEndAt,
		Components: components,
	}
}

// tellable are the affected components that people may be told about, in the order of
// the event's links, each with the dashboards that show it.
func (c *Catalog) tellable(ctx context.Context, event *Event) ([]topic.Component, error) {
	ids := event.ComponentIDs()
	components, err := c.componentsOf(ctx, event.OrganizationID, ids)
	if err != nil {
		return nil, err
	}
	holding, err := c.DashboardsHolding(ctx, event.OrganizationID, ids)
	if err != nil {
		return nil, err
	}
	told := []topic.Component{}
	for _, link := range event.Links {
		component, there := components[link.ComponentID]
		if !there || component.HiddenFromNotifications {
			continue
		}
		dashboards := holding[component.ID]
		if dashboards == nil {
			dashboards = []string{}
		}
		told = append(told, topic.Component{
			ID: component.ID, Name: component.Name, Group: component.Group,
			Impact: string(event.ImpactOn(link)), Dashboards: dashboards,
		})
	}
	return told, nil
}
