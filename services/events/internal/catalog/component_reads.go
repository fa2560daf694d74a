package catalog

import (
	"context"
	"maps"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

// Component returns the organization's component with the id, or NotFound.
func (c *Catalog) Component(ctx context.Context, organization, id string) (Component, error) {
	found, err := c.ComponentsByID(ctx, organization, []string{id})
	if err == nil && len(found) == 0 {
		err = noComponent()
	}
	return append(found, Component{})[0], err
}

// ComponentID returns the id of the organization's component with the legacy id, or NotFound.
func (c *Catalog) ComponentID(ctx context.Context, organization string, legacyID int64) (string, error) {
	component, err := byLegacyID[Component](ctx, c.store.Components, organization, legacyID)
	return component.ID, err
}

// ListComponents returns the components that the query finds, page by page, and their number, as ListEvents does.
func (c *Catalog) ListComponents(ctx context.Context, organization string, query find.Query) (Pages[Component], int64, error) {
	return listed(ctx, c.store.Components, organization, query, func(c *Component) int64 { return c.LegacyID }, whole[Component])
}

// ComponentsByID returns the organization's components with the ids, in order of legacy id.
func (c *Catalog) ComponentsByID(ctx context.Context, organization string, ids []string) ([]Component, error) {
	found, err := c.store.ComponentsOf(ctx, organization, ids)
	return slices.SortedFunc(maps.Values(found), func(a, b Component) int { return int(a.LegacyID - b.LegacyID) }), err
}

// ComponentsWhere returns the organization's components that satisfy all conditions, in order of legacy id.
func (c *Catalog) ComponentsWhere(ctx context.Context, organization string, where []find.Condition) ([]Component, error) {
	page, err := c.store.Components.Find(ctx, owned(organization, find.Query{
		Where: where, Order: []find.Order{{Field: FieldLegacyID}}, Scan: IndexLegacyID,
	}))
	return page.Items, err
}

// ComponentKeys returns the ids of components.
func ComponentKeys(components []Component) []string {
	return find.Values(components, func(component Component) string { return component.ID })
}

// ComponentsOf returns the organization's components with the ids, by id. ids may contain an id several times.
func (s *Store) ComponentsOf(ctx context.Context, organization string, ids []string) (map[string]Component, error) {
	found, err := s.Components.GetMany(ctx, slices.Compact(slices.Sorted(slices.Values(ids))))
	byID := make(map[string]Component, len(found))
	for _, component := range found {
		if !component.Leaving && component.OrganizationID == organization {
			byID[component.ID] = component
		}
	}
	return byID, err
}
