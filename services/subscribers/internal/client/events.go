// Package client calls other services for the domain.
package client

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

const (
	cacheTTL  = time.Second
	cacheSize = 10_000 // dashboards
)

// Events implements audience.Events with the events service. Only DashboardsByID caches, because delivery resolves hundreds
// of shards of one event at the same time.
type Events struct {
	peer peer.Events
	now  func() time.Time

	mu    sync.Mutex
	cache map[key]entry
}

type key struct{ organization, dashboard string }

type entry struct {
	dashboard audience.Dashboard
	until     time.Time
}

// NewEvents returns a client of the events service.
func NewEvents(events peer.Events, now func() time.Time) *Events {
	return &Events{peer: events, now: now, cache: map[key]entry{}}
}

// ComponentsByID implements audience.Events.
func (e *Events) ComponentsByID(ctx context.Context, organization string, ids []string) (map[string]audience.Component, error) {
	found, err := e.peer.Components(ctx, organization, peer.ComponentQuery{IDs: ids})
	components := make(map[string]audience.Component, len(found))
	for _, f := range found {
		components[f.ID] = componentOf(f)
	}
	return components, err
}

func componentOf(f peer.Component) audience.Component {
	return audience.Component{
		ID: f.ID, LegacyID: f.LegacyID, Name: f.Name, Description: f.Description, Group: f.Group,
		Hidden: f.Hidden, HiddenFromNotifications: f.HiddenFromNotifications, Dashboards: f.Dashboards,
	}
}

// ComponentIDs implements audience.Events.
func (e *Events) ComponentIDs(ctx context.Context, organization string, where []find.Condition) ([]string, error) {
	found, err := e.peer.Components(ctx, organization, peer.ComponentQuery{Where: where})
	ids := make([]string, len(found))
	for i, component := range found {
		ids[i] = component.ID
	}
	return ids, err
}

// Dashboard implements audience.Events.
func (e *Events) Dashboard(ctx context.Context, organization, id string) (audience.Dashboard, error) {
	found, err := e.peer.Dashboard(ctx, organization, id)
	return dashboardOf(found), err
}

// FirstDashboard implements audience.Events.
func (e *Events) FirstDashboard(ctx context.Context, organization string) (audience.Dashboard, error) {
	found, err := e.peer.FirstDashboard(ctx, organization)
	return dashboardOf(found), err
}

func dashboardOf(f peer.Dashboard) audience.Dashboard {
	dashboard := audience.Dashboard{ID: f.ID, Name: f.Name, Slug: f.Slug, URL: f.URL, Timezone: f.Timezone, Locale: f.Locale}
	for _, component := range f.Components {
		dashboard.Components = append(dashboard.Components, componentOf(component))
	}
	return dashboard
}

// DashboardsByID implements audience.Events. A dashboard that does not exist is not cached, because it may be created at any
// time.
func (e *Events) DashboardsByID(ctx context.Context, organization string, ids []string) (map[string]audience.Dashboard, error) {
	known := make(map[string]audience.Dashboard, len(ids))
	var unknown []string
	e.mu.Lock()
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		if cached, found := e.cache[key{organization, id}]; found && e.now().Before(cached.until) {
			known[id] = cached.dashboard
		} else {
			unknown = append(unknown, id)
		}
	}
	e.mu.Unlock()
	if len(unknown) == 0 {
		return known, nil
	}
	found, err := e.peer.Dashboards(ctx, organization, unknown)
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.cache)+len(found) > cacheSize {
		clear(e.cache)
	}
	for _, f := range found {
		known[f.ID] = dashboardOf(f)
		e.cache[key{organization, f.ID}] = entry{known[f.ID], e.now().Add(cacheTTL)}
	}
	return known, err
}
