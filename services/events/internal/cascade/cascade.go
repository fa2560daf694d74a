// Package cascade reports the deletion of a component to other services before the caller gets the response. So the
// caller no longer finds the component there. A call that fails is logged only, because topic.ComponentDeleted reports
// the deletion too. Before a deletion, the package asks the integrations service whether an endpoint needs the component.
// Before the creation of a dashboard, it asks the identity service for the limit.
package cascade

import (
	"context"
	"log/slog"
	"sync"

	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// Cascade implements catalog.OtherServices.
type Cascade struct {
	peer.Endpoints // client of integrations
	peer.Identity
	services []peer.Recipients
	log      *slog.Logger
}

func New(log *slog.Logger, services ...peer.Recipients) Cascade {
	return Cascade{services: services, log: log}
}

func (c Cascade) ComponentGone(ctx context.Context, organization, component string) {
	var calls sync.WaitGroup
	for _, service := range c.services {
		calls.Go(func() {
			if err := service.ForgetComponent(ctx, organization, component); err != nil {
				c.log.WarnContext(ctx, "The call about a deleted component failed. The service gets the message only.", "component", component, "error", err)
			}
		})
	}
	calls.Wait()
}

// MaxDashboards implements catalog.OtherServices.
func (c Cascade) MaxDashboards(ctx context.Context, organization string) (int, error) {
	limits, err := c.Limits(ctx, organization)
	return limits.MaxDashboards, err
}
