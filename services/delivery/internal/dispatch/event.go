package dispatch

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/failurelog"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	stateKept    = time.Second     // how long the state of an event is used
	stateTimeout = 2 * time.Second // time limit of one request for a state
	maxStates    = 10_000
)

// stateUnknown never changes.
var stateUnknown = failurelog.Cause{Message: "The states of events are unknown. Their waiting deliveries are sent.", Of: "events"}

// Events is the events service.
type Events interface {
	// EventState returns fault.NotFound unless the event is one of the organization.
	EventState(ctx context.Context, organization, id string) (topic.EventState, error)
}

// eventStates returns the states of the events whose deliveries waited. Many deliveries of an event are due together, so
// they share one request to the events service. First attempts that did not wait cause no request, because they follow
// the change at once.
type eventStates struct {
	events  Events
	outages *failurelog.Log

	mu    sync.Mutex
	known map[eventKey]eventState
}

type eventKey struct{ organization, event string }

type eventState struct {
	requestedAt time.Time
	get         func() *topic.EventState
}

// of returns the state of m's event, or nil if m did not wait, has no event, or if the events service does not respond:
// messages are sent while that service is down, because delivery must not depend on it.
func (e *eventStates) of(m *member) *topic.EventState {
	if m.row == nil || m.row.EventID == "" {
		return nil
	}
	key, now := eventKey{m.shard.organization, m.row.EventID}, time.Now()
	e.mu.Lock()
	state := e.known[key]
	if now.Sub(state.requestedAt) > stateKept {
		if len(e.known) >= maxStates {
			maps.DeleteFunc(e.known, func(_ eventKey, other eventState) bool { return now.Sub(other.requestedAt) > stateKept })
		}
		state = eventState{now, sync.OnceValue(func() *topic.EventState { return e.fetch(m.shard.trace, key) })}
		e.known[key] = state
	}
	e.mu.Unlock()
	return state.get()
}

func (e *eventStates) fetch(ctx context.Context, key eventKey) *topic.EventState {
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	state, err := e.events.EventState(ctx, key.organization, key.event)
	if err != nil && !fault.Is(err, fault.NotFound) {
		e.outages.Failed(ctx, stateUnknown, err, "organization", key.organization)
		return nil
	}
	e.outages.Over(ctx, stateUnknown)
	return &state
}

// withdrawn reports whether nobody may be notified of the components any more. A nil state is unknown. The state of a
// deleted event is empty.
func withdrawn(state *topic.EventState, components []topic.Component) bool {
	return state != nil && (!state.Published || len(components) > 0 && len(nameable(state, components)) == 0)
}

// nameable returns the components that messages may still name.
func nameable(state *topic.EventState, components []topic.Component) []topic.Component {
	if state == nil {
		return components
	}
	return slices.DeleteFunc(slices.Clone(components), func(c topic.Component) bool { return !slices.Contains(state.Components, c.ID) })
}

// dashboardsOf returns the dashboards that show the component. If the state does not list them, it returns the dashboards at
// the time of the change.
func dashboardsOf(c topic.Component, state *topic.EventState) []string {
	if state == nil || state.Dashboards == nil {
		return c.Dashboards
	}
	return state.Dashboards[c.ID]
}
