package catalog

import (
	"slices"

	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

type EventType string

const (
	Incident    EventType = "incident"
	Maintenance EventType = "maintenance"
)

type Status string

const (
	Investigating Status = "investigating"
	Identified    Status = "identified"
	Monitoring    Status = "monitoring"
	Resolved      Status = "resolved"

	Planning   Status = "planning"
	Started    Status = "started"
	InProgress Status = "inprogress"
	Verifying  Status = "verifying"
	Completed  Status = "completed"

	StatusUpdate Status = "update" // status of a timeline entry that does not change the status of the event; no event has this status
)

func (t EventType) allows(s Status) bool {
	switch t {
	case Incident:
		return slices.Contains([]Status{Investigating, Identified, Monitoring, Resolved}, s)
	case Maintenance:
		return slices.Contains([]Status{Planning, Started, InProgress, Verifying, Completed}, s)
	}
	return false
}

func (s Status) Closed() bool { return s == Resolved || s == Completed }

// Underway reports whether the status is neither closed nor planning. A maintenance in planning is not under way, even
// after its planned start.
func (s Status) Underway() bool { return !s.Closed() && s != Planning }

// Impact is the effect of an event on a component, and the status of a component.
type Impact = uptime.Impact

const (
	Operational      = uptime.Operational
	UnderMaintenance = uptime.UnderMaintenance
	Degraded         = uptime.Degraded
	PartialOutage    = uptime.PartialOutage
	MajorOutage      = uptime.MajorOutage
)

// SeverityImpact returns the impact of an incident without components: Operational if severity is empty, or else the
// default impact for the severity.
func SeverityImpact(severity string) Impact {
	if severity == "" {
		return Operational
	}
	return defaultImpact(Incident, severity)
}

func defaultImpact(t EventType, severity string) Impact {
	switch {
	case t == Maintenance:
		return UnderMaintenance
	case severity == "minor_outage":
		return PartialOutage
	case severity == "major_outage":
		return MajorOutage
	}
	return Degraded
}
