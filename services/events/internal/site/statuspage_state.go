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

// overall is the state of a whole dashboard.
type overall struct {
	State    catalog.Impact // the worst state of the components; at least UnderMaintenance while a maintenance is open
	Incident bool           // an incident is open
}

func overallOf(s *edition.Snapshot) overall {
	var of overall
	var states []catalog.Impact
	for i := range s.Components {
		states = append(states, s.Components[i].State)
	}
	for i := range s.Events {
		switch event := &s.Events[i]; {
		case !isOpen(s, event):
		case event.Type == catalog.Maintenance:
			states = append(states, catalog.UnderMaintenance)
		default:
			of.Incident = true
		}
	}
	of.State = worst(states...)
	return of
}

// unexplained reports whether an incident is open although all components are operational or under maintenance.
func (o overall) unexplained() bool {
	return o.Incident && (o.State == catalog.Operational || o.State == catalog.UnderMaintenance)
}

// word returns the key of the word that describes the state.
func (o overall) word() string {
	if o.unexplained() {
		return "state.incident"
	}
	return "state." + string(o.State)
}

// level returns the state whose colour is shown. It is Degraded if the state is unexplained.
func (o overall) level() catalog.Impact {
	if o.unexplained() {
		return catalog.Degraded
	}
	return o.State
}

// pageStatus is the status of the page in the read interface of Statuspage.
type pageStatus struct {
	Indicator   string `json:"indicator"`
	Description string `json:"description"`
}

func pageStatusOf(s *edition.Snapshot) pageStatus {
	of := overallOf(s)
	if of.unexplained() {
		return pageStatus{"minor", "Minor Service Outage"}
	}
	switch of.State {
	case catalog.UnderMaintenance:
		return pageStatus{"maintenance", "Service Under Maintenance"}
	case catalog.Degraded:
		return pageStatus{"minor", "Partially Degraded Service"}
	case catalog.PartialOutage:
		return pageStatus{"major", "Partial System Outage"}
	case catalog.MajorOutage:
		return pageStatus{"critical", "Major System Outage"}
	}
	return pageStatus{"none", "All Systems Operational"}
}
