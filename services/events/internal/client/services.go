// Package client calls the other services. Before a component is deleted, client asks the integrations service whether
// an endpoint has no other component. Before a dashboard is created, client asks the identity service for the maximum
// number of dashboards. It also reports the deletion of a component to the services with recipients, subscribers and
// integrations. The report precedes the response to the request that deletes the component, so that later requests do
// not find the component in these services. A report that fails is only logged, because these services also receive
// topic.ComponentDeleted.
package client

import (
	"context"
	"log/slog"
	"sync"

	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// Services implements catalog.OtherServices.
type Services struct {
	peer.Endpoints // client of integrations
	peer.Identity
	services []peer.Recipients
	log      *slog.Logger
}

// NewServices returns a client that reports deleted components to services. The caller sets Endpoints and Identity.
func NewServices(log *slog.Logger, services ...peer.Recipients) Services {
	return Services{services: services, log: log}
}

// ComponentGone implements catalog.OtherServices.
func (s Services) ComponentGone(ctx context.Context, organization, component string) {
	var calls sync.WaitGroup
	for _, service := range s.services {
		calls.Go(func() {
			if err := service.ForgetComponent(ctx, organization, component); err != nil {
				s.log.WarnContext(ctx, "The call about a deleted component failed. The service gets the message only.", "component", component, "error", err)
			}
		})
	}
	calls.Wait()
}

// MaxDashboards implements catalog.OtherServices.
func (s Services) MaxDashboards(ctx context.Context, organization string) (int, error) {
	limits, err := s.Limits(ctx, organization)
	return limits.MaxDashboards, err
}
