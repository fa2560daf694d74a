package catalog

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

// Health is the state of a component. Status is the worst of the impacts of its active events and of its state by hand.
// EventIDs is the ids of its active events.
type Health struct {
	Status   Impact
	EventIDs []string
}

// Healths returns the health of the components that active events affect or that have a state by hand, by id.
func (c *Catalog) Healths(ctx context.Context, organization string) (map[string]Health, error) {
	healths := map[string]Health{}
	now := c.now()
	err := c.store.Events.Each(ctx, owned(organization, find.Query{Where: []find.Condition{find.Eq(FieldOpen, true)}}), func(event Event) error {
		if !event.Active(now) {
			return nil
		}
		for _, link := range event.Links {
			health := healths[link.ComponentID]
			if impact := event.ImpactOn(link); impact.Worse(health.Status) {
				health.Status = impact
			}
			health.EventIDs = append(health.EventIDs, event.ID)
			healths[link.ComponentID] = health
		}
		return nil
	})
	if err == nil {
		err = c.addOverrides(ctx, organization, healths)
	}
	return healths, err
}
