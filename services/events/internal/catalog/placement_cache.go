package catalog

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/cache"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// maxHeld is the maximum number of dashboards and placements together that a process caches, over all organizations. It
// corresponds to about 100 MB.
const maxHeld = 1 << 20

// placementCache caches, for each dashboard, the ids of the components on it and the version of the dashboard. A
// dashboard record grows with its components, so reading it for each request would make requests slower with every
// component.
type placementCache struct {
	dashboards *cache.Sized[string, heldComponents]
}

func newPlacementCache() placementCache {
	return placementCache{cache.NewSized[string, heldComponents](maxHeld, nil)}
}

// heldComponents is the ids of the components on one version of a dashboard. The map never changes.
type heldComponents struct {
	version    int64
	components map[string]bool
}

// cached returns, by the key of the dashboard, the components of the dashboards that are cached in their present version.
// stale has the keys of the other dashboards. The value of each row is the present version of its dashboard.
func (p *placementCache) cached(rows []find.Row) (components map[string]map[string]bool, stale []string) {
	components = make(map[string]map[string]bool, len(rows))
	for _, row := range rows {
		if known, there := p.dashboards.Get(row.Key); there && known.version == row.Values[0] {
			components[row.Key] = known.components
		} else {
			stale = append(stale, row.Key)
		}
	}
	return components, stale
}

// remember caches the components of a dashboard and returns them. A concurrent call may replace them by those of an earlier
// version, which cached then does not return.
func (p *placementCache) remember(d *Dashboard) map[string]bool {
	components := make(map[string]bool, len(d.Components))
	for _, placement := range d.Components {
		components[placement.ComponentID] = true
	}
	p.dashboards.Add(d.ID, heldComponents{d.Version, components}, 1+len(components))
	return components
}

// DashboardsHolding returns, by component, the ids of the organization's dashboards on which the component is placed.
// It reads the versions of all dashboards of the organization from the store, and then only the dashboards that are not
// cached in their present version.
func (c *Catalog) DashboardsHolding(ctx context.Context, organization string, components []string) (map[string][]string, error) {
	rows, err := c.store.Dashboards.Keys(ctx, owned(organization, find.Query{}), FieldVersion)
	if err != nil || len(components) == 0 {
		return nil, err
	}
	held, stale := c.placements.cached(rows)
	if len(stale) > 0 {
		fresh, err := c.store.Dashboards.GetMany(ctx, stale)
		if err != nil {
			return nil, err
		}
		for i := range fresh {
			held[fresh[i].ID] = c.placements.remember(&fresh[i])
		}
	}
	dashboards := make(map[string][]string, len(components))
	for _, row := range rows {
		for _, id := range components {
			if held[row.Key][id] {
				dashboards[id] = append(dashboards[id], row.Key)
			}
		}
	}
	return dashboards, nil
}
