// Package client sends the requests of the domain to other services. It requests dashboards with their components from
// the events service, and the limits of an organization from the identity service.
package client

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// dashboardLife is how long dashboards are cached.
const dashboardLife = 20 * time.Millisecond

// Services implements endpoint.Services and inbound.Services.
type Services struct {
	*peer.RecentDashboards
	identity peer.Identity
}

// New returns a client of the two services.
func New(events peer.Events, identity peer.Identity, now func() time.Time) Services {
	return Services{peer.NewRecentDashboards(events, dashboardLife, now), identity}
}

// HasIntegrations implements endpoint.Services and inbound.Services.
func (s Services) HasIntegrations(ctx context.Context, organization string) (bool, error) {
	features, err := s.identity.Features(ctx, organization)
	return features.Integrations, err
}

// UniqueEndpoints implements endpoint.Services.
func (s Services) UniqueEndpoints(ctx context.Context, organization string) (int, error) {
	limits, err := s.identity.Limits(ctx, organization)
	return limits.UniqueEndpoints, err
}
