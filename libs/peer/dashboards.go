package peer

import (
	"context"
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// maxRecentDashboards bounds the dashboards that RecentDashboards caches.
const maxRecentDashboards = 10_000

// RecentDashboards is the client of the events service with a short cache for DashboardsByID. Integrations and subscribers
// need the cache, because delivery resolves the recipients of hundreds of shards of one event at the same time. The other
// methods do not use the cache: a caller must be able to subscribe to a component that was created one call before.
type RecentDashboards struct {
	Events
	life  time.Duration
	now   func() time.Time
	cache *lru.Cache[dashboardKey, recentDashboard]
}

type dashboardKey struct{ organization, id string }

type recentDashboard struct {
	topic.DashboardRecord
	until time.Time
}

// NewRecentDashboards returns a client that caches each dashboard for the duration life.
func NewRecentDashboards(events Events, life time.Duration, now func() time.Time) *RecentDashboards {
	cache, _ := lru.New[dashboardKey, recentDashboard](maxRecentDashboards) // fails only for a size below 1
	return &RecentDashboards{Events: events, life: life, now: now, cache: cache}
}

// DashboardsByID returns the dashboards that exist, by id. It does not cache a dashboard that does not exist, because it may
// be created at any time.
func (d *RecentDashboards) DashboardsByID(ctx context.Context, organization string, ids []string) (map[string]topic.DashboardRecord, error) {
	known, now := make(map[string]topic.DashboardRecord, len(ids)), d.now()
	var unknown []string
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		if recent, found := d.cache.Get(dashboardKey{organization, id}); found && !now.After(recent.until) {
			known[id] = recent.DashboardRecord
		} else {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) == 0 {
		return known, nil
	}
	found, err := d.Dashboards(ctx, organization, unknown)
	for _, dashboard := range found {
		known[dashboard.ID] = dashboard
		d.cache.Add(dashboardKey{organization, dashboard.ID}, recentDashboard{dashboard, now.Add(d.life)})
	}
	return known, err
}
