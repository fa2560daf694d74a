package catalog

import (
	"context"
	"sync"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

// maxHeld bounds the placements that a process caches, over all organizations. It corresponds to about 100 MB.
const maxHeld = 1 << 20

// placementCache caches, for each dashboard, the ids of the components on it and the version of the dashboard. A
// dashboard record grows with its components, so reading it for each request would make requests slower with every
// component. The zero value is an empty cache.
type placementCache struct {
	mu         sync.Mutex
	dashboards map[string]heldComponents
	size       int
}

// heldComponents is the ids of the components on one version of a dashboard.
type heldComponents struct {
	version    int64
	components map[string]bool
}

// stale returns the keys of the dashboards that are not cached in their present version. The value of a row is the
// version of the dashboard.
func (p *placementCache) stale(rows []find.Row) (keys []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, row := range rows {
		if known, there := p.dashboards[row.Key]; !there || known.version != row.Values[0] {
			keys = append(keys, row.Key)
		}
	}
	return keys
}

func (p *placementCache) remember(dashboards []Dashboard) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range dashboards {
		d := &dashboards[i]
		if p.dashboards[d.ID].version > d.Version {
			continue // another call has cached a later version meanwhile
		}
		components := make(map[string]bool, len(d.Components))
		for _, placement := range d.Components {
			components[placement.ComponentID] = true
		}
		if p.size += len(components) - len(p.dashboards[d.ID].components); p.dashboards == nil || p.size > maxHeld {
			p.dashboards, p.size = map[string]heldComponents{}, len(components)
		}
		p.dashboards[d.ID] = heldComponents{d.Version, components}
	}
}

// DashboardsHolding returns, by component, the ids of the organization's dashboards on which the component is placed.
// It asks the store for the versions of the dashboards, and reads only the dashboards that are not cached in this
// version.
func (c *Catalog) DashboardsHolding(ctx context.Context, organization string, components []string) (map[string][]string, error) {
	rows, err := c.store.Dashboards.Keys(ctx, owned(organization, find.Query{}), FieldVersion)
	if err != nil || len(components) == 0 {
		return nil, err
	}
	var fresh []Dashboard
	if stale := c.placements.stale(rows); len(stale) > 0 {
		if fresh, err = c.store.Dashboards.GetMany(ctx, stale); err != nil {
			return nil, err
		}
		c.placements.remember(fresh)
	}
	return c.placements.holding(rows, components), nil
}

func (p *placementCache) holding(rows []find.Row, components []string) map[string][]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	dashboards := make(map[string][]string, len(components))
	for _, row := range rows {
		held := p.dashboards[row.Key].components
		for _, id := range components {
			if held[id] {
				dashboards[id] = append(dashboards[id], row.Key)
			}
		}
	}
	return dashboards
}
