package catalog

import (
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// EventType is incident or maintenance.
type EventType string

const (
	Incident    EventType = "incident"
	Maintenance EventType = "maintenance"
)

// Status is where an event stands; the vocabularies of both interfaces are one.
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

	// StatusUpdate is a timeline entry's only: it tells something without a transition.
	StatusUpdate Status = "update"
)

// Statuses are those an event of the type may have, in the order of its life.
func (t EventType) Statuses() []Status {
	switch t {
	case Incident:
		return []Status{Investigating, Identified, Monitoring, Resolved}
	case Maintenance:
		return []Status{Planning, Started, InProgress, Verifying, Completed}
	}
	return nil
}

func (t EventType) allows(s Status) bool { return slices.Contains(t.Statuses(), s) }

// closed: nothing is going on any more.
func (s Status) closed() bool { return s == Resolved || s == Completed }

// underway: a visitor is told that something is going on. A maintenance that is only
// planned is not, whatever the time.
func (s Status) underway() bool { return !s.closed() && s != Planning }

// Impact is what an event does to a component, and the state a component is in.
type Impact string

const (
	Operational      Impact = "operational"
	UnderMaintenance Impact = "under_maintenance"
	Degraded         Impact = "degraded_performance"
	PartialOutage    Impact = "partial_outage"
	MajorOutage      Impact = "major_outage"
)

// worse reports whether i is more serious than other.
func (i Impact) worse(other Impact) bool {
	order := []Impact{Operational, UnderMaintenance, Degraded, PartialOutage, MajorOutage}
	return slices.Index(order, i) > slices.Index(order, other)
}

// defaultImpact is what an event does where nobody said.
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

// kindOf names what a write did to an event, as receivers are told; before is nil for
// a new one. A change of type counts by what the event is now.
func kindOf(before, after *Event) topic.Kind {
	if after.Type == Incident {
		switch {
		case before == nil:
			return topic.IncidentCreated
		case after.Status.closed() && !before.Status.closed():
			return topic.IncidentResolved
		case before.Status.closed() && !after.Status.closed():
			return topic.IncidentReopened
		}
		return topic.IncidentUpdated
	}
	switch {
	case after.Status == Completed && (before == nil || !before.Status.closed()):
		return topic.MaintenanceCompleted
	case after.Status.underway() && (before == nil || before.Status == Planning):
		return topic.MaintenanceStarted
	case before == nil:
		return topic.MaintenanceScheduled
	case before.Status.closed() && !after.Status.closed():
		return topic.MaintenanceReopened
	case !sameTime(before.ScheduledStartAt, after.ScheduledStartAt), !sameTime(before.ScheduledEndAt, after.ScheduledEndAt):
		return topic.MaintenanceReschedule
	}
	return topic.MaintenanceUpdated
}
