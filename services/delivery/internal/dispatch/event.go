package dispatch

import (
	"context"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/cache"
	"github.com/bellbuoy/bellbuoy/libs/failurelog"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	stateLife    = time.Second     // how long the state of an event is cached
	stateTimeout = 2 * time.Second // default of Parts.StateTimeout
	maxStates    = 10_000
)

// stateUnknown never changes.
var stateUnknown = failurelog.Cause{Message: "The states of events are unknown. Their waiting deliveries are sent.", Of: "events"}

// Events is a client of the events service.
type Events interface {
	// EventState returns fault.NotFound if the organization has no event with the id.
	EventState(ctx context.Context, organization, id string) (topic.EventState, error)
	// ComponentsByID returns those components of the organization that exist, by id.
	ComponentsByID(ctx context.Context, organization string, ids []string) (map[string]topic.ComponentRecord, error)
	// Dashboards returns those dashboards of the organization that exist.
	Dashboards(ctx context.Context, organization string, ids []string) ([]topic.DashboardRecord, error)
}

// eventStates requests and caches the states of events whose deliveries waited for a retry. Many deliveries of an event
// are due at the same time, and share one request to the events service. First attempts from a shard cause no request,
// because they follow the change at once.
type eventStates struct {
	events  Events
	timeout time.Duration // time limit of one request
	outages *failurelog.Log
	known   *cache.Recent[eventKey, *topic.EventState]
}

type eventKey struct{ organization, event string }

// of returns the state of m's event. It returns nil if m has no stored row (it did not wait for a retry), or if the row
// has no event. It also returns nil if the events service does not respond. The message is then sent, because
// deliveries must not depend on that service.
func (e *eventStates) of(m *member) *topic.EventState {
	if m.row == nil || m.row.EventID == "" {
		return nil
	}
	key := eventKey{m.shard.organization, m.row.EventID}
	return e.known.Get(key, func() *topic.EventState { return e.fetch(m.shard.trace, key) })
}

func (e *eventStates) fetch(ctx context.Context, key eventKey) *topic.EventState {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	state, err := e.events.EventState(ctx, key.organization, key.event)
	if err != nil && !fault.Is(err, fault.NotFound) {
		e.outages.Failed(ctx, stateUnknown, err, "organization", key.organization)
		return nil
	}
	e.outages.Over(ctx, stateUnknown)
	return &state
}

// withdrawn reports whether nobody may be notified of the change of an event any more: the event is not published, messages
// may name none of the components of the change, or none of the dashboards of an event without components shows it. A nil
// state is unknown, and withdrawn returns false. The state of a deleted event is empty.
func withdrawn(state *topic.EventState, change *topic.EventChange) bool {
	if state == nil || !state.Published {
		return state != nil
	}
	components, dashboards := change.Event.Components, change.Event.Dashboards
	return len(components) > 0 && len(nameable(state, components)) == 0 || len(dashboards) > 0 && len(shownOn(dashboards, state)) == 0
}

// shownOn returns those of the dashboards that still show the event, which has no components. If state is nil or lists no
// dashboards of the event (ShownOn is nil), it returns all dashboards.
func shownOn(dashboards []string, state *topic.EventState) []string {
	if state == nil || state.ShownOn == nil {
		return dashboards
	}
	return slices.DeleteFunc(slices.Clone(dashboards), func(id string) bool { return !slices.Contains(state.ShownOn, id) })
}

// nameable returns those components that messages may still name. If the state is unknown, it returns all of them.
func nameable(state *topic.EventState, components []topic.Component) []topic.Component {
	if state == nil {
		return components
	}
	return slices.DeleteFunc(slices.Clone(components), func(c topic.Component) bool { return !slices.Contains(state.Components, c.ID) })
}

// dashboardsOf returns the ids of the dashboards that show the component. If state is nil or lists no dashboards, it returns
// those that showed the component at the time of the change.
func dashboardsOf(c topic.Component, state *topic.EventState) []string {
	if state == nil || state.Dashboards == nil {
		return c.Dashboards
	}
	return state.Dashboards[c.ID]
}
