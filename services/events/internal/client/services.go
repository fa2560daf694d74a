// Package client calls the other services. It asks the integrations service before the deletion of a component whether an
// endpoint needs the component, and the identity service before the creation of a dashboard for the limit. It reports the
// deletion of a component to the services of recipients before the caller gets the response, so the caller no longer
// finds the component there. A report that fails is logged only, because topic.ComponentDeleted reports the deletion too.
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
