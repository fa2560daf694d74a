package catalog

import (
	"cmp"
	"context"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// RemoveComponent deletes a component, its links from events, and its places on dashboards. topic.ComponentDeleted
// reports the deletion to other services.
//
// The first write sets Leaving. From then on no query finds the component, so no new link to it is made. The other
// steps follow from that write and are repeated until they are done, also after a crash. The last step deletes the
// record and publishes the message.
func (c *Catalog) RemoveComponent(ctx context.Context, command Command, id string) error {
	_, err := c.updateComponent(ctx, command, id, func(component *Component) error {
		component.Leaving = true
		return nil
	})
	if err == nil {
		c.elsewhere.ComponentGone(ctx, command.Organization, id)
	}
	return err
}

// ComponentWritten renders the pages that show a component. For a component that is leaving it completes the
// removal.
func (c *Catalog) ComponentWritten(ctx context.Context, id string, current *Component) error {
	switch {
	case current == nil:
		return nil
	case current.Leaving:
		return c.finishRemoval(ctx, current)
	}
	dashboards, err := c.dashboardsShowing(ctx, current.OrganizationID, []string{id})
	if err != nil {
		return err
	}
	return c.renderAll(ctx, dashboards, []string{id})
}

func (c *Catalog) finishRemoval(ctx context.Context, component *Component) error {
	organization := component.OrganizationID
	err := c.store.Events.Each(ctx, owned(organization, find.Query{
		Where: []find.Condition{find.Has(FieldComponents, component.ID)}, Order: []find.Order{{Field: FieldLegacyID}},
	}), func(event Event) error { return c.unlink(ctx, organization, event.ID, component.ID) })
	if err != nil {
		return err
	}
	dashboards, err := c.store.Dashboards.Find(ctx, owned(organization, find.Query{}))
	if err != nil {
		return err
	}
	for _, dashboard := range dashboards.Items {
		if err := c.unplace(ctx, dashboard.ID, component.ID); err != nil {
			return err
		}
	}
	// A process that removed the placement before this one may not have rendered the page yet.
	if err := c.renderAll(ctx, dashboards.Items, []string{component.ID}); err != nil {
		return err
	}
	err = c.store.Components.Delete(ctx, component.ID, func(gone *Component) ([]topic.Message, error) {
		return []topic.Message{topic.ComponentDeleted{
			Organization: organization, ComponentID: gone.ID, LegacyID: gone.LegacyID, OccurredAt: c.now(),
		}}, nil
	})
	if fault.Is(err, fault.NotFound) { // another process has deleted it
		return nil
	}
	return err
}

// unlink removes an event's links to components that no longer exist. It bypasses the queue of ChangeEvent,
// because EventWritten calls it within a run of that queue.
func (c *Catalog) unlink(ctx context.Context, organization, eventID string, gone ...string) error {
	write := &eventWrite{command: Command{Organization: organization}, change: func(d *Draft) error {
		for _, id := range gone {
			d.RemoveComponent(id)
		}
		return nil
	}}
	err := cmp.Or(c.writeEvent(ctx, eventID, []*eventWrite{write}), write.err)
	if fault.Is(err, fault.NotFound) { // the event was deleted
		return nil
	}
	return err
}

func (c *Catalog) unplace(ctx context.Context, dashboardID, componentID string) error {
	_, err := c.store.Dashboards.Update(ctx, dashboardID, func(d *Dashboard) ([]topic.Message, error) {
		kept := slices.DeleteFunc(slices.Clone(d.Components), func(p Placement) bool { return p.ComponentID == componentID })
		if len(kept) == len(d.Components) {
			return nil, fault.ErrUnchanged
		}
		d.Components = kept
		d.touch(c.now())
		return nil, nil
	})
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}
