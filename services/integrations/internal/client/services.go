// Package client sends the requests of the domains to other services. The events service returns dashboards and applies
// messages of monitoring tools. The identity service returns the limits and features of an organization.
package client

import (
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/bellbuoy/bellbuoy/libs/peer"
)

const (
	// dashboardLife is how long DashboardsByID caches a dashboard.
	dashboardLife = 20 * time.Millisecond
	// planLife is how long HasIntegrations returns true for an organization without another request to the identity service. A
	// monitoring tool can send hundreds of messages in a second, and each of them needs the plan.
	planLife = time.Second
	// maxPlans is the maximum number of organizations whose plan is cached.
	maxPlans = 10_000
)

// Services implements endpoint.Services and inbound.Services.
type Services struct {
	*peer.RecentDashboards
	identity peer.Identity
	now      func() time.Time
	included *lru.Cache[string, time.Time] // by organization: until when HasIntegrations returns true without a request
}

// New returns a client of the events service and the identity service.
func New(events peer.Events, identity peer.Identity, now func() time.Time) (Services, error) {
	included, err := lru.New[string, time.Time](maxPlans)
	return Services{peer.NewRecentDashboards(events, dashboardLife, now), identity, now, included}, err
}

// HasIntegrations implements endpoint.Services and inbound.Services. After a response that the plan includes
// integrations, it returns true for planLife without a request. Otherwise each call requests the features.
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
