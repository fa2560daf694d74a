package edition

import (
	"cmp"
	"iter"
	"time"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// State is a snapshot, and the data from which the next snapshot is made.
type State struct {
	Snapshot       Snapshot `json:"snapshot"` // without Events, which are in chunks
	OrganizationID string   `json:"organizationId"`
	FirstMonth     string   `json:"firstMonth"` // first month of the history, yyyy-mm
	Format         int      `json:"format"`     // stateFormat of the program that made the state
	chunks         chunks
}

// stateFormat is increased when a snapshot gets more data of the dashboard, the components or the events. The rendering
// that follows a state of another format reads all these records again.
const stateFormat = 6

// outdated reports whether the program that made the state has another stateFormat.
func (s *State) outdated() bool { return s.Format != stateFormat }

// shown returns the snapshot with its events. It leaves out incidents that begin later. The state has these incidents,
// because the next snapshot is made from the state.
func (s *State) shown() Snapshot {
	snapshot := s.Snapshot
	snapshot.Events = []ShownEvent{}
	for e := range s.chunks.all() {
		if !e.Event.ahead(s.Snapshot.At) {
			snapshot.Events = append(snapshot.Events, *e.Event)
		}
	}
	return snapshot
}

// unlessAhead returns NotFound for an event that visitors do not see because it begins later.
func (s *State) unlessAhead(e *ShownEvent) error {
	if e != nil && e.ahead(s.Snapshot.At) {
		return noFile()
	}
	return nil
}

// active returns the events that have reached their start and are under way.
func (s *State) active() iter.Seq[*ShownEvent] {
	return func(yield func(*ShownEvent) bool) {
		for event := range s.chunks.open() {
			if event.active(s.Snapshot.At) && !yield(event) {
				return
			}
		}
	}
}

// nextStart returns the next time at which an event that is under way by its status reaches its start, or nil.
func (s *State) nextStart() (next *time.Time) {
	for event := range s.chunks.open() {
		if event.Status.Underway() && event.StartAt.After(s.Snapshot.At) && (next == nil || event.StartAt.Before(*next)) {
			next = &event.StartAt
		}
	}
	return next
}

// nextChange returns the next time at which an event reaches its start or a state by hand ends, or nil.
func (s *State) nextChange() *time.Time {
	start, end := s.nextStart(), s.nextEndByHand()
	if start == nil || end != nil && end.Before(*start) {
		return end
	}
	return start
}

// statuses returns, by component, the statuses on the public list that are not operational.
func (s *State) statuses() map[string]ListedStatus {
	statuses := map[string]ListedStatus{}
	for event := range s.active() {
		for _, impact := range event.Impacts {
			switch {
			case impact.Impact == catalog.Operational:
			case event.Type == catalog.Incident:
				statuses[impact.ComponentID] = ListedIncident
			default:
				statuses[impact.ComponentID] = cmp.Or(statuses[impact.ComponentID], ListedMaintenance)
			}
		}
	}
	for i := range s.Snapshot.Components {
		component := &s.Snapshot.Components[i]
		switch component.stateAt(s.Snapshot.At, catalog.Operational) {
		case catalog.Operational:
		case catalog.UnderMaintenance:
			statuses[component.ID] = cmp.Or(statuses[component.ID], ListedMaintenance)
		default:
			statuses[component.ID] = ListedIncident
		}
	}
	return statuses
}

// names returns the names of the components, by id.
func (s *State) names() map[string]string {
	names := make(map[string]string, len(s.Snapshot.Components))
	for _, component := range s.Snapshot.Components {
		names[component.ID] = component.Name
	}
	return names
}
