// Package cascade tells the services that keep what refers to components that one is
// gone, so that whoever deleted it finds it gone everywhere at once. It is only the
// quick way: topic.ComponentDeleted reaches them too, whatever happens to this call.
package cascade

import (
	"context"
	"log/slog"
	"sync"

	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// Cascade implements catalog.Elsewhere.
type Cascade struct {
	services []peer.Recipients
	log      *slog.Logger
}

// New makes the cascade to the services.
func New(log *slog.Logger, services ...peer.Recipients) Cascade { return Cascade{services, log} }

// ComponentGone implements catalog.Elsewhere.
func (c Cascade) ComponentGone(ctx context.Context, organization, component string) {
	var calls sync.WaitGroup
	for _, service := range c.services {
		calls.Go(func() {
			if err := service.ForgetComponent(ctx, organization, component); err != nil {
				c.log.WarnContext(ctx, "a service learns of a deleted component by message only", "component", component, "error", err)
			}
		})
	}
	calls.Wait()
}
