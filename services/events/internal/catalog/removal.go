package catalog

import (
	"context"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// RemoveComponent deletes a component, its links from events, and its places on
// dashboards; others learn of it by topic.ComponentDeleted.
//
// The component is marked as leaving first: from then on it is nobody's, so no new link to
// it is made. What remains hangs on that write and is repeated until it is done, after a
// crash too; the last step deletes the record and sends the message.
func (c *Catalog) RemoveComponent(ctx context.Context, organization string, legacyID int64) error {
	found, err := c.ComponentByLegacyID(ctx, organization, legacyID)
	if err != nil {
		return err
	}
	_, err = c.store.Components.Update(ctx, found.ID, func(component *Component) ([]topic.Message, error) {
		if component.Leaving {
			return nil, fault.New(fault.NotFound, "There is no such component.")
		}
		component.Leaving = true
		component.UpdatedAt = c.now()
		component.Version++
		return nil, nil
	})
	if err != nil {
		return err
	}
	c.elsewhere.ComponentGone(ctx, organization, found.ID)
	return nil
}

// ComponentWritten brings up to date what follows from a component: the pages that show
// it, or for one that is leaving everything that names it.
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
		Where: []find.Condition{find.Has("components", component.ID)}, Order: []find.Order{{Field: "legacyId"}},
	}), func(event Event) error {
		return c.unlink(ctx, organization, event.ID, func(id string) bool { return id == component.ID })
	})
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
	// Where another process was faster in taking it off, it may not have rendered yet.
	if err := c.renderAll(ctx, dashboards.Items, []string{component.ID}); err != nil {
		return err
	}
	err = c.store.Components.Delete(ctx, component.ID, func(gone *Component) ([]topic.Message, error) {
		return []topic.Message{topic.ComponentDeleted{
			Organization: organization, ComponentID: gone.ID, LegacyID: gone.LegacyID, OccurredAt: c.now(),
		}}, nil
	})
	if fault.Is(err, fault.NotFound) { // another process was faster
		return nil
	}
	return err
}

// unlink takes from an event the links to components that are gone.
func (c *Catalog) unlink(ctx context.Context, organization, eventID string, gone func(componentID string) bool) error {
	_, err := c.revise(ctx, Author{}, organization, eventID, func(r *revision) error {
		kept := slices.DeleteFunc(slices.Clone(r.Links), func(link Link) bool { return gone(link.ComponentID) })
		r.changed = len(kept) < len(r.Links)
		r.Links = kept
		return nil
	})
	if fault.Is(err, fault.NotFound) { // the event is gone itself
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
