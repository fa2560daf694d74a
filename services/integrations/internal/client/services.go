// Package client calls other services for the domain: events for dashboards with their components,
// identity for the limits of an organization. It does not cache, so that a caller can use a component that
// was created one call before. The exceptions are names and URLs of dashboards, which are cached for 20 ms,
// because delivery resolves hundreds of shards of one event at the same time.
package client

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
)

const (
	cacheTTL  = 20 * time.Millisecond
	cacheSize = 10_000 // dashboards
)

// Services implements endpoint.Services.
type Services struct {
	events   peer.Events
	identity peer.Identity
	now      func() time.Time

	mu    sync.Mutex
	cache map[key]entry
}

type key struct{ organization, dashboard string }

type entry struct {
	dashboard endpoint.Dashboard
	until     time.Time
}

// New returns a client of the two services.
func New(events peer.Events, identity peer.Identity, now func() time.Time) *Services {
	return &Services{events: events, identity: identity, now: now, cache: map[key]entry{}}
}

// Dashboard implements endpoint.Services.
func (s *Services) Dashboard(ctx context.Context, organization, id string) (endpoint.Dashboard, error) {
	found, err := s.events.Dashboard(ctx, organization, id)
	return dashboardOf(found), err
}

func dashboardOf(found peer.Dashboard) endpoint.Dashboard {
	dashboard := endpoint.Dashboard{ID: found.ID, Name: found.Name, Slug: found.Slug, URL: found.URL, Timezone: found.Timezone, Locale: found.Locale}
	for _, component := range found.Components {
		dashboard.Components = append(dashboard.Components, component.ID)
		known := endpoint.Component{ID: component.ID, Name: component.Name, Group: component.Group}
		if !component.Hidden {
			dashboard.Shown = append(dashboard.Shown, known)
		}
		if !component.HiddenFromNotifications {
			dashboard.Named = append(dashboard.Named, known)
		}
	}
	return dashboard
}

// PublicDashboard implements endpoint.Services.
func (s *Services) PublicDashboard(ctx context.Context, at endpoint.Site) (endpoint.Public, error) {
	found, err := s.events.PublicDashboard(ctx, peer.PublicAddress(at))
	if err != nil {
		return endpoint.Public{}, err
	}
	features, err := s.identity.Features(ctx, found.Organization)
	return endpoint.Public{
		Dashboard: dashboardOf(found.Dashboard), Organization: found.Organization, Channels: found.Channels, Integrations: features.Integrations,
	}, err
}

// Dashboards implements endpoint.Services.
func (s *Services) Dashboards(ctx context.Context, organization string, ids []string) (map[string]endpoint.Dashboard, error) {
	known := map[string]endpoint.Dashboard{}
	var unknown []string
	s.mu.Lock()
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		if e, found := s.cache[key{organization, id}]; found && !s.now().After(e.until) {
			known[id] = e.dashboard
		} else {
			unknown = append(unknown, id)
		}
	}
	s.mu.Unlock()
	if len(unknown) == 0 {
		return known, nil
	}
	until := s.now().Add(cacheTTL)
	found, err := s.events.Dashboards(ctx, organization, unknown)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.cache)+len(found) > cacheSize {
		clear(s.cache)
	}
	// A dashboard that does not exist is not cached, because it may be created at any time.
	for _, f := range found {
		known[f.ID] = endpoint.Dashboard{ID: f.ID, Name: f.Name, URL: f.URL, Timezone: f.Timezone, Locale: f.Locale}
		s.cache[key{organization, f.ID}] = entry{known[f.ID], until}
	}
	return known, err
}

// UniqueEndpoints implements endpoint.Services.
func (s *Services) UniqueEndpoints(ctx context.Context, organization string) (int, error) {
	limits, err := s.identity.Limits(ctx, organization)
	return limits.UniqueEndpoints, err
}
