package channel

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	pageStateKept    = time.Second     // how long the state of a dashboard is kept for a change
	pageStateTimeout = 2 * time.Second // time limit of one request for a state
	maxPageStates    = 10_000
)

// PageStatus returns the present state of a dashboard of an organization.
type PageStatus func(ctx context.Context, organization, dashboard string) (topic.PageStatus, error)

// pageStates requests and caches the states of dashboards. For pageStateKept, the messages of a change share one request for
// each dashboard. A change is published after the pages of its dashboards were rendered, so the state is never older than the
// change.
type pageStates struct {
	ask PageStatus

	mu    sync.Mutex
	known map[pageStateKey]pageState
}

type pageStateKey struct{ change, dashboard string }

type pageState struct {
	requestedAt time.Time
	get         func() topic.PageStatus
}

// present returns the state of a dashboard now. It returns the zero value if the events service does not respond, because
// deliveries must not depend on that service.
func (p *pageStates) present(ctx context.Context, change *topic.EventChange, dashboard string) topic.PageStatus {
	key, now := pageStateKey{change.ID, dashboard}, time.Now()
	p.mu.Lock()
	state := p.known[key]
	if now.Sub(state.requestedAt) > pageStateKept {
		if len(p.known) >= maxPageStates {
			maps.DeleteFunc(p.known, func(_ pageStateKey, other pageState) bool { return now.Sub(other.requestedAt) > pageStateKept })
		}
		state = pageState{now, sync.OnceValue(func() topic.PageStatus {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pageStateTimeout)
			defer cancel()
			status, err := p.ask(ctx, change.Organization, dashboard)
			if err != nil {
				return topic.PageStatus{}
			}
			return status
		})}
		p.known[key] = state
	}
	p.mu.Unlock()
	return state.get()
}
