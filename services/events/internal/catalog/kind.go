package catalog

import (
	"reflect"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// kindOf returns the kind of a change. before is nil for a new event. A change of the type has a kind of the new type.
func kindOf(before, after *Event) topic.Kind {
	published := before != nil && !before.Published && after.Published
	if after.Type == Incident {
		switch {
		case before == nil, published:
			return topic.IncidentCreated
		case after.Status.closed() && !before.Status.closed():
			return topic.IncidentResolved
		case before.Status.closed() && !after.Status.closed():
			return topic.IncidentReopened
		case after.PostMortem.visible() && !reflect.DeepEqual(before.PostMortem, after.PostMortem):
			return topic.IncidentPostMortem
		}
		return topic.IncidentUpdated
	}
	switch {
	case published:
		return topic.MaintenanceScheduled
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
