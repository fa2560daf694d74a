package site

import (
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
)

// worst returns the worst of the states, or catalog.Operational if there are none.
func worst(states ...catalog.Impact) catalog.Impact {
	out := catalog.Operational
	for _, state := range states {
		if state.Worse(out) {
			out = state
		}
	}
	return out
}

// isOpen reports whether an event has begun at the time of the snapshot and is not closed. A maintenance in planning
// has not begun, even after its planned start.
func isOpen(s *edition.Snapshot, event *edition.ShownEvent) bool {
	return event.Status.Underway() && !event.StartAt.After(s.At)
}

// overallWord returns the key of the word that describes the state of a dashboard.
func overallWord(of edition.Overall) string {
	if of.Unexplained() {
		return "state.incident"
	}
	return "state." + string(of.State)
}

// overallLevel returns the state whose colour is shown. It is Degraded if the state is unexplained.
func overallLevel(of edition.Overall) catalog.Impact {
	if of.Unexplained() {
		return catalog.Degraded
	}
	return of.State
}

// pageStatus is the status of the page in the read interface of Statuspage.
type pageStatus struct {
	Indicator   edition.Indicator `json:"indicator"`
	Description string            `json:"description"`
}

func pageStatusOf(s *edition.Snapshot) pageStatus {
	of := s.Overall()
	return pageStatus{of.Indicator(), of.Description()}
}
