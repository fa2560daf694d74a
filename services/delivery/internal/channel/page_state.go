package channel

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/cache"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	pageStateLife    = time.Second     // how long the state of a dashboard is kept for a change
	pageStateTimeout = 2 * time.Second // time limit of one request for a state
	maxPageStates    = 10_000
)

// PageStatus returns the present state of a dashboard of an organization.
type PageStatus func(ctx context.Context, organization, dashboard string) (topic.PageStatus, error)

// pageStates requests and caches the states of dashboards. For pageStateLife, the messages of a change share one request for
// each dashboard. A change is published after the pages of its dashboards were rendered, so the state is never older than the
// change.
type pageStates struct {
	ask   PageStatus
	known *cache.Recent[pageStateKey, topic.PageStatus]
}

type pageStateKey struct{ change, dashboard string }

func newPageStates(ask PageStatus) *pageStates {
	return &pageStates{ask, cache.NewRecent[pageStateKey, topic.PageStatus](pageStateLife, maxPageStates, time.Now)}
}

// present returns the state of a dashboard now. It returns the zero value if the events service does not respond, because
// deliveries must not depend on that service.
func (p *pageStates) present(ctx context.Context, change *topic.EventChange, dashboard string) topic.PageStatus {
	return p.known.Get(pageStateKey{change.ID, dashboard}, func() topic.PageStatus {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pageStateTimeout)
		defer cancel()
		status, err := p.ask(ctx, change.Organization, dashboard)
		if err != nil {
			return topic.PageStatus{}
		}
		return status
	})
}
