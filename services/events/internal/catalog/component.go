package catalog

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Component is something whose state is shown: the legacy interface's service.
type Component struct {
	ID                      string    `json:"id"`
	LegacyID                int64     `json:"legacyId"`
	OrganizationID          string    `json:"organizationId"`
	Name                    string    `json:"name"`
	Description             string    `json:"description"`
	Group                   string    `json:"group"`
	Hidden                  bool      `json:"hidden"`                  // not on any dashboard
	HiddenFromNotifications bool      `json:"hiddenFromNotifications"` // nobody is told about it
	Position                int64     `json:"position"`
	ExternalRefs            []string  `json:"externalRefs"`
	CreatedAt               time.Time `json:"createdAt"`
	UpdatedAt               time.Time `json:"updatedAt"`
	Version                 int64     `json:"version"`
	// Leaving: it is being removed, and is nobody's any more (removal.go).
	Leaving bool `json:"leaving"`
}

// ComponentPatch says what a write wants of a component; nil keeps what is there.
type ComponentPatch struct {
	Name                    *string
	Description             *string
	Group                   *string
	Hidden                  *bool
	HiddenFromNotifications *bool
}

// DefaultGroup is the group of a component for which none was named.
const DefaultGroup = "default"

// apply changes the component and reports whether anything is different now.
func (p ComponentPatch) apply(c *Component) (changed bool, err error) {
	if p.Name != nil && strings.TrimSpace(*p.Name) == "" {
		return false, fault.Field("name", "This field may not be blank.")
	}
	group := p.Group
	if group != nil && strings.TrimSpace(*group) == "" {
		none := DefaultGroup
		group = &none
	}
	put(&changed, &c.Name, p.Name)
	put(&changed, &c.Description, p.Description)
	put(&changed, &c.Group, group)
	put(&changed, &c.Hidden, p.Hidden)
	put(&changed, &c.HiddenFromNotifications, p.HiddenFromNotifications)
	return changed, nil
}

// put sets a field to a value that was sent and notes whether that changed it.
func put[V comparable](changed *bool, field *V, sent *V) {
	if sent != nil && *sent != *field {
		*field = *sent
		*changed = true
	}
}

// AddComponent makes a component and puts it on the organization's first dashboard.
// The dashboard comes first: should the process die before the component is there, the
// dashboard names one that does not exist, which everybody disregards.
func (c *Catalog) AddComponent(ctx context.Context, organization string, patch ComponentPatch) (Component, error) {
	now := c.now()
	component := Component{
		ID: newID(), OrganizationID: organization, Group: DefaultGroup, ExternalRefs: []string{},
		CreatedAt: now, UpdatedAt: now, Version: 1,
	}
	if _, err := patch.apply(&component); err != nil {
		return Component{}, err
	}
	var err error
	if component.LegacyID, err = c.store.Next(ctx, componentIDs, 1); err != nil {
		return Component{}, err
	}
	if err := c.join(ctx, organization, component.ID); err != nil {
		return Component{}, err
	}
	return component, c.store.Components.Insert(ctx, component)
}

// join puts a component on the organization's first dashboard, if there is one. Those that
// are made at once join in one write.
func (c *Catalog) join(ctx context.Context, organization, id string) error {
	_, err := c.joins.share(ctx, organization, []string{id}, func(ctx context.Context, ids []string) (struct{}, error) {
		first, err := c.store.Dashboards.Find(ctx, owned(organization, find.Query{Limit: 1}))
		if err != nil || len(first.Items) == 0 {
			return struct{}{}, err
		}
		_, err = c.store.Dashboards.Update(ctx, first.Items[0].ID, func(d *Dashboard) ([]topic.Message, error) {
			next := d.nextPosition()
			for i, id := range ids {
				d.Components = append(d.Components, Placement{ComponentID: id, Position: next + int64(i)})
			}
			d.touch(c.now())
			return nil, nil
		})
		return struct{}{}, err
	})
	return err
}

// ChangeComponent changes what was sent of the component with the legacy id.
func (c *Catalog) ChangeComponent(ctx context.Context, organization string, legacyID int64, patch ComponentPatch) (Component, error) {
	found, err := c.ComponentByLegacyID(ctx, organization, legacyID)
	if err != nil {
		return Component{}, err
	}
	return c.store.Components.Update(ctx, found.ID, func(component *Component) ([]topic.Message, error) {
		if component.Leaving {
			return nil, fault.New(fault.NotFound, "There is no such component.")
		}
		changed, err := patch.apply(component)
		if err != nil {
			return nil, err
		}
		if !changed {
			return nil, fault.ErrUnchanged
		}
		component.UpdatedAt = c.now()
		component.Version++
		return nil, nil
	})
}

// ComponentByLegacyID finds one of the organization's components, or NotFound.
func (c *Catalog) ComponentByLegacyID(ctx context.Context, organization string, legacyID int64) (Component, error) {
	return byLegacyID[Component](ctx, c.store.Components, organization, legacyID)
}

// ListComponents finds components of the organization and counts them all.
func (c *Catalog) ListComponents(ctx context.Context, organization string, query find.Query) ([]Component, int64, error) {
	return listed[Component](ctx, c.store.Components, owned(organization, query))
}

// PageOfComponents is a page of the organization's components by age.
func (c *Catalog) PageOfComponents(ctx context.Context, organization string, limit int, after string) (find.Page[Component], error) {
	return c.store.Components.Find(ctx, owned(organization, find.Query{Limit: limit, After: after}))
}

// ComponentsByLegacyID finds those of the ids that the organization has, in order of id.
func (c *Catalog) ComponentsByLegacyID(ctx context.Context, organization string, ids []int64) ([]Component, error) {
	page, err := c.store.Components.Find(ctx, owned(organization, find.Query{
		Where: []find.Condition{find.In("legacyId", ids...)}, Order: []find.Order{{Field: "legacyId"}},
	}))
	return page.Items, err
}

// ComponentsByID finds those of the ids that the organization has, in order of legacy id.
func (c *Catalog) ComponentsByID(ctx context.Context, organization string, ids []string) ([]Component, error) {
	found, err := c.store.Components.GetMany(ctx, ids)
	found = slices.DeleteFunc(found, func(component Component) bool {
		return component.Leaving || component.OrganizationID != organization
	})
	slices.SortFunc(found, func(a, b Component) int { return int(a.LegacyID - b.LegacyID) })
	return slices.CompactFunc(found, func(a, b Component) bool { return a.ID == b.ID }), err
}

// ComponentsWhere finds the organization's components for which all conditions hold, in
// order of legacy id.
func (c *Catalog) ComponentsWhere(ctx context.Context, organization string, where []find.Condition) ([]Component, error) {
	page, err := c.store.Components.Find(ctx, owned(organization, find.Query{
		Where: where, Order: []find.Order{{Field: "legacyId"}}, Scan: "org_legacy",
	}))
	return page.Items, err
}

// componentsOf are the components of ids by their id; those that are gone or leaving
// are not among them.
func (c *Catalog) componentsOf(ctx context.Context, organization string, ids []string) (map[string]Component, error) {
	// The events of a page name the same few many times.
	found, err := c.ComponentsByID(ctx, organization, slices.Compact(slices.Sorted(slices.Values(ids))))
	if err != nil {
		return nil, err
	}
	byID := make(map[string]Component, len(found))
	for _, component := range found {
		byID[component.ID] = component
	}
	return byID, nil
}
