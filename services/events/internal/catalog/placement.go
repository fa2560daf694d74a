package catalog

import (
	"context"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Placement is the place of a component on a dashboard.
type Placement struct {
	ComponentID string `json:"componentId" audit:"componentId"`
	GroupName   string `json:"groupName" audit:"groupName,null"` // empty: the dashboard uses the group of the component
	Position    int64  `json:"position" audit:"position"`
}

func (d *Dashboard) nextPosition() int64 {
	var next int64
	for _, placement := range d.Components {
		next = max(next, placement.Position+1)
	}
	return next
}

func (d *Dashboard) ComponentIDs() []string {
	return find.Values(d.Components, func(placement Placement) string { return placement.ComponentID })
}

// ReplacePlacements replaces the placements of a dashboard by the placements that read returns, in their order. It checks
// them with Place.
func (c *Catalog) ReplacePlacements(ctx context.Context, command Command, id string, read func() ([]Placement, error)) (Dashboard, error) {
	dashboard, err := c.ChangeDashboard(ctx, command.As(ActionComponentsUpdate), id, func(d *Dashboard) error {
		placements, err := read()
		if err == nil {
			d.Components, err = c.Place(ctx, command.Organization, d.Components, placements)
		}
		return err
	})
	if err != nil {
		return dashboard, err
	}
	// A component may have been removed from all dashboards after Place read it and before the dashboard was written.
	there, err := c.ComponentsOn(ctx, command.Organization, []Dashboard{dashboard})
	if err != nil || len(there) == len(dashboard.Components) {
		return dashboard, err
	}
	for _, placement := range dashboard.Components {
		if _, exists := there[placement.ComponentID]; !exists {
			if err := c.unplace(ctx, id, placement.ComponentID); err != nil {
				return dashboard, err
			}
		}
	}
	return c.Dashboard(ctx, command.Organization, id)
}

// Place checks the wanted placements and returns them. It numbers Position in their order. former is the placements of the
// dashboard before the change. Place does not check a group name by the rules for one line if the component has this name
// in former, because the name may be from before these rules. If a group name is blank or names the component's own
// group, Place returns an empty GroupName, so that the dashboard follows a later change of that group.
func (c *Catalog) Place(ctx context.Context, organization string, former, wanted []Placement) ([]Placement, error) {
	known, err := c.store.ComponentsOf(ctx, organization, find.Values(wanted, func(placement Placement) string { return placement.ComponentID }))
	if err != nil {
		return nil, err
	}
	formerGroups := make(map[string]string, len(former))
	for _, placement := range former {
		formerGroups[placement.ComponentID] = placement.GroupName
	}
	placed, seen := make([]Placement, len(wanted)), make(map[string]bool, len(wanted))
	for i, placement := range wanted {
		field := "components[" + strconv.Itoa(i) + "]"
		component, there := known[placement.ComponentID]
		switch {
		case !there:
			return nil, fault.Field(field+".componentId", "must be a component of the organization")
		case seen[component.ID]:
			return nil, fault.Field(field+".componentId", "must not name a component again")
		case utf8.RuneCountInString(placement.GroupName) > maxGroupName:
			return nil, fault.Field(field+".groupName", "must be at most %d characters", maxGroupName)
		case blank(placement.GroupName) || placement.GroupName == component.Group:
			placement.GroupName = ""
		}
		if err := checkChangedLine(field+".groupName", placement.GroupName, formerGroups[component.ID]); err != nil {
			return nil, err
		}
		seen[component.ID] = true
		placed[i] = Placement{ComponentID: component.ID, GroupName: placement.GroupName, Position: int64(i)}
	}
	return placed, nil
}

// dashboardsShowing returns the organization's dashboards on which any of the components is placed.
func (c *Catalog) dashboardsShowing(ctx context.Context, organization string, components []string) ([]Dashboard, error) {
	if len(components) == 0 {
		return nil, nil
	}
	page, err := c.store.Dashboards.Find(ctx, owned(organization, find.Query{
		Where: []find.Condition{find.Has(FieldComponents, components...)},
	}))
	return page.Items, err
}

func (c *Catalog) ComponentsOn(ctx context.Context, organization string, dashboards []Dashboard) (map[string]Component, error) {
	var ids []string
	for _, dashboard := range dashboards {
		ids = append(ids, dashboard.ComponentIDs()...)
	}
	return c.store.ComponentsOf(ctx, organization, ids)
}

// checkDashboards returns a fault for the first id that is not the id of a dashboard of the organization, or occurs twice.
func (c *Catalog) checkDashboards(ctx context.Context, organization string, ids []string) error {
	known, err := c.DashboardsByID(ctx, organization, ids)
	if err != nil {
		return err
	}
	for i, id := range ids {
		switch {
		case !slices.Contains(dashboardKeys(known), id):
			return noDashboardAt(i)
		case slices.Contains(ids[:i], id):
			return fault.Field("dashboardIds["+strconv.Itoa(i)+"]", "must not be named twice")
		}
	}
	return nil
}

func noDashboardAt(i int) error {
	return fault.Field("dashboardIds["+strconv.Itoa(i)+"]", "must be a dashboard of the organization")
}

// joinAll adds a component to the dashboards with the ids, or to the organization's first dashboard if ids is nil. It
// returns the ids of the dashboards to which the component was added, also together with an error.
func (c *Catalog) joinAll(ctx context.Context, organization string, ids []string, component string) (joined []string, err error) {
	if ids == nil {
		first, err := c.join(ctx, organization, "", component)
		return []string{first}, err
	}
	for i, id := range ids {
		_, err := c.join(ctx, organization, id, component)
		if fault.Is(err, fault.NotFound) { // the dashboard was deleted meanwhile
			err = noDashboardAt(i)
		}
		if err != nil {
			return joined, err
		}
		joined = append(joined, id)
	}
	return joined, nil
}

// join adds the component with the id to a dashboard, and returns the id of the dashboard. If dashboard is empty, join uses
// the first dashboard of the organization, and returns an empty id if the organization has none. Concurrent calls for a
// dashboard share a write.
func (c *Catalog) join(ctx context.Context, organization, dashboard, id string) (string, error) {
	return Share(ctx, &c.joins, organization+"/"+dashboard, []string{id}, func(ctx context.Context, ids []string) (string, error) {
		if dashboard == "" {
			first, err := c.store.Dashboards.Find(ctx, owned(organization, find.Query{Limit: 1}))
			if err != nil || len(first.Items) == 0 {
				return "", err
			}
			dashboard = first.Items[0].ID
		}
		written, err := c.store.Dashboards.Update(ctx, dashboard, func(d *Dashboard) ([]topic.Message, error) {
			next := d.nextPosition()
			for i, id := range ids {
				d.Components = append(d.Components, Placement{ComponentID: id, Position: next + int64(i)})
			}
			d.touch(c.now())
			return nil, nil
		})
		return written.ID, err
	})
}

// unplace removes a component from a dashboard. It returns nil if the dashboard does not exist.
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
	return fault.UnlessMissing(err)
}
