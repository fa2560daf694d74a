// Package client sends the requests of the domain to other services. It requests dashboards with their components from
// the events service, and the limits of an organization from the identity service.
package client

import (
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/bellbuoy/bellbuoy/libs/peer"
)

const (
	// dashboardLife is how long dashboards are cached.
	dashboardLife = 20 * time.Millisecond
	// planLife is how long HasIntegrations returns true without a request to the identity service. A monitoring tool can
	// send hundreds of messages in a second.
	planLife = time.Second
	// maxPlans is the maximum number of organizations whose plan is cached.
	maxPlans = 10_000
)

// Services implements endpoint.Services and inbound.Services.
type Services struct {
	*peer.RecentDashboards
	identity peer.Identity
	now      func() time.Time
	included *lru.Cache[string, time.Time] // by organization, until when its plan is known to include integrations
}

// New returns a client of the two services.
func New(events peer.Events, identity peer.Identity, now func() time.Time) (Services, error) {
	included, err := lru.New[string, time.Time](maxPlans)
	return Services{peer.NewRecentDashboards(events, dashboardLife, now), identity, now, included}, err
}

// HasIntegrations implements endpoint.Services and inbound.Services. It asks the identity service at most once in
// planLife if the plan includes integrations, and each time if not.
func (s Services) HasIntegrations(ctx context.Context, organization string) (bool, error) {
	now := s.now()
	if until, known := s.included.Get(organization); known && now.Before(until) {
		return true, nil
	}
	features, err := s.identity.Features(ctx, organization)
	if err == nil && features.Integrations {
		s.included.Add(organization, now.Add(planLife))
	}
	return features.Integrations, err
}

// UniqueEndpoints implements endpoint.Services.
func (s Services) UniqueEndpoints(ctx context.Context, organization string) (int, error) {
	limits, err := s.identity.Limits(ctx, organization)
	return limits.UniqueEndpoints, err
}
