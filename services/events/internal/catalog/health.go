package catalog

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

func (c *Catalog) openEvents(ctx context.Context, organization string) ([]Event, error) {
	var events []Event
	err := c.store.Events.Each(ctx, owned(organization, find.Query{Where: []find.Condition{find.Eq(FieldOpen, true)}}), func(event Event) error {
		events = append(events, event)
		return nil
	})
	return events, err
}

// Health is the worst impact of the active events of a component, and the ids of these events.
type Health struct {
	Status   Impact
	EventIDs []string
}

// Healths returns the health of the components that active events affect, by id.
func (c *Catalog) Healths(ctx context.Context, organization string) (map[string]Health, error) {
	events, err := c.openEvents(ctx, organization)
	healths := map[string]Health{}
	now := c.now()
	for i := range events {
		if !events[i].Active(now) {
			continue
		}
		for _, link := range events[i].Links {
			health := healths[link.ComponentID]
			if impact := events[i].ImpactOn(link); impact.Worse(health.Status) {
				health.Status = impact
			}
			health.EventIDs = append(health.EventIDs, events[i].ID)
			healths[link.ComponentID] = health
		}
	}
	return healths, err
}
