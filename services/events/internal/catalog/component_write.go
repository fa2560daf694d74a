package catalog

import (
	"cmp"
	"context"
	"reflect"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// CreateComponent stores a component and adds it to the dashboards with the ids, or to the organization's first
// dashboard if dashboards is nil. The dashboards are written first. If the process dies before the last write, a
// dashboard has a Placement of a component that does not exist, and every reader ignores this Placement.
func (c *Catalog) CreateComponent(ctx context.Context, command Command, dashboards []string, fill func(*Component) error) (Component, error) {
	now := c.now()
	component := Component{
		ID: topic.NewID(), OrganizationID: command.Organization, ExternalRefs: []string{}, CreatedAt: now, UpdatedAt: now, Version: 1,
	}
	if err := cmp.Or(fill(&component), component.check(now, new(Component))); err != nil {
		return Component{}, err
	}
	err := cmp.Or(c.checkUnique(ctx, &component), c.checkDashboards(ctx, command.Organization, dashboards))
	if err != nil {
		return Component{}, err
	}
	if component.LegacyID, err = c.store.Next(ctx, componentIDs, 1); err != nil {
		return Component{}, err
	}
	joined, err := c.joinAll(ctx, command.Organization, dashboards, component.ID)
	if err == nil {
		err = c.store.Components.Insert(ctx, component, audit.Entry(audit.From(ctx), command.Action, now, nil, &component)...)
	}
	if fault.Is(err, fault.Conflict) { // another component with the public id or one of the references was stored meanwhile
		err = cmp.Or(c.checkUnique(ctx, &component), err)
	}
	if fault.Is(err, fault.Conflict) || fault.Is(err, fault.Invalid) {
		for _, id := range joined {
			err = cmp.Or(c.unplace(ctx, id, component.ID), err)
		}
	}
	return component, err
}

// checkUnique returns a Conflict if another component of the organization has the public id or an external reference of
// component. The fault names the id or the reference.
func (c *Catalog) checkUnique(ctx context.Context, component *Component) error {
	if component.PublicID != "" {
		found, err := c.store.Components.Find(ctx, owned(component.OrganizationID, find.Query{
			Where: []find.Condition{find.Eq(FieldPublicID, component.PublicID)}, Limit: 1,
		}))
		if err != nil {
			return err
		}
		if len(found.Items) > 0 && found.Items[0].ID != component.ID {
			return fault.New(fault.Conflict, "publicId: Another component has %q.", component.PublicID)
		}
	}
	if len(component.ExternalRefs) == 0 {
		return nil
	}
	found, err := c.store.Components.Find(ctx, owned(component.OrganizationID, find.Query{
		Where: []find.Condition{find.Has(FieldExternalRefs, component.ExternalRefs...)},
	}))
	for _, other := range found.Items {
		for _, ref := range component.ExternalRefs {
			if other.ID != component.ID && slices.Contains(other.ExternalRefs, ref) {
				return fault.New(fault.Conflict, "externalRefs: Another component has %q.", ref)
			}
		}
	}
	return err
}

// ChangeComponent applies change to a component and stores the result. It stores nothing if change makes no difference.
func (c *Catalog) ChangeComponent(ctx context.Context, command Command, id string, change func(*Component) error) (Component, error) {
	var wanted Component
	changed, err := c.store.Components.Update(ctx, id, func(component *Component) ([]topic.Message, error) {
		if component.Leaving || component.OrganizationID != command.Organization {
			return nil, noComponent()
		}
		if err := command.checkVersion(component.Version); err != nil {
			return nil, err
		}
		before := component.clone()
		now := c.now()
		if err := cmp.Or(change(component), component.check(now, before), component.settleOverride(before.Override, command.Author, now)); err != nil {
			return nil, err
		}
		if reflect.DeepEqual(before, component) {
			return nil, fault.ErrUnchanged
		}
		component.touch(now)
		wanted = *component
		after := component
		if component.Leaving {
			after = nil
		}
		return audit.Entry(audit.From(ctx), command.Action, component.UpdatedAt, before, after), nil
	})
	switch {
	case fault.Is(err, fault.NotFound):
		err = noComponent()
	case fault.Is(err, fault.Conflict) && wanted.ID != "":
		err = cmp.Or(c.checkUnique(ctx, &wanted), err)
	}
	return changed, err
}

// DeleteComponent deletes a component that is not in use. It returns a Conflict if an active event names the component, or
// if an endpoint has no other component. A link to the component that is made after these checks is removed together with
// the component, see RemoveComponent.
func (c *Catalog) DeleteComponent(ctx context.Context, command Command, id string) error {
	component, err := c.Component(ctx, command.Organization, id)
	if err == nil {
		err = command.checkVersion(component.Version)
	}
	if err != nil {
		return err
	}
	if err := c.checkUnaffected(ctx, component); err != nil {
		return err
	}
	only, err := c.others.IsOnlyComponent(ctx, command.Organization, id)
	if err == nil && only {
		err = fault.New(fault.Conflict, "This component is the only one of an endpoint. Delete the endpoint or give it another component first.")
	}
	if err != nil {
		return err
	}
	return c.remove(ctx, command, id, func() error { return c.checkUnaffected(ctx, component) })
}

// checkUnaffected returns a Conflict if an active event names the component.
func (c *Catalog) checkUnaffected(ctx context.Context, component Component) error {
	healths, err := c.Healths(ctx, component.OrganizationID)
	if err == nil && len(healths[component.ID].EventIDs) > 0 {
		err = fault.New(fault.Conflict, "An active event names this component. Resolve the event or remove the component from it first.")
	}
	return err
}

// RemoveComponent deletes a component, the links of events to it, its placements on dashboards, its ids in templates and
// its aliases. The first write sets Leaving. From then on no query finds the component, so a later write cannot link to
// it. The store then calls ComponentWritten, which does all other steps. The store repeats the call until the call
// succeeds. The last step deletes the record and publishes topic.ComponentDeleted.
func (c *Catalog) RemoveComponent(ctx context.Context, command Command, id string) error {
	return c.remove(ctx, command, id, func() error { return nil })
}

// remove removes a component as RemoveComponent says. It calls check within the first write, so that little time passes
// between the check and the write. It returns the error of check.
func (c *Catalog) remove(ctx context.Context, command Command, id string, check func() error) error {
	_, err := c.ChangeComponent(ctx, command, id, func(component *Component) error {
		component.Leaving = true
		return check()
	})
	if err == nil {
		c.others.ComponentGone(ctx, command.Organization, id)
	}
	return err
}

// ComponentWritten renders the pages that show a component. If the component is leaving, it completes the removal.
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
	return c.published.Follow(ctx, dashboardKeys(dashboards), Written{Component: id})
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
	if err := cmp.Or(c.forgetInTemplates(ctx, organization, component.ID), c.DropAliasesTo(ctx, FieldComponent, component.ID)); err != nil {
		return err
	}
	// Another process may have removed the placement without rendering the page yet.
	if err := c.published.Follow(ctx, dashboardKeys(dashboards.Items), Written{Component: component.ID}); err != nil {
		return err
	}
	err = c.store.Components.Delete(ctx, component.ID, func(gone *Component) ([]topic.Message, error) {
		return []topic.Message{topic.ComponentDeleted{
			Organization: organization, ComponentID: gone.ID, LegacyID: gone.LegacyID, OccurredAt: c.now(),
		}}, nil
	})
	return fault.UnlessMissing(err) // another process may have deleted it
}

// unlink removes the links of an event to the components gone. It calls writeEvent and not ChangeEvent, because
// EventWritten calls unlink within the shared run of ChangeEvent, and a second ChangeEvent would wait for the end of this
// run.
func (c *Catalog) unlink(ctx context.Context, organization, eventID string, gone ...string) error {
	write := &eventWrite{command: Command{Organization: organization}, change: func(d *EventEdit) error {
		for _, id := range gone {
			d.RemoveComponent(id)
		}
		return nil
	}}
	err := c.writeEvent(ctx, eventID, []*eventWrite{write})
	return fault.UnlessMissing(cmp.Or(err, write.err)) // the event may have been deleted
}

func noComponent() error { return fault.New(fault.NotFound, "There is no such component.") }
