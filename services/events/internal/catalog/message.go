package catalog

import (
	"maps"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// change returns the message about a write: the event as of this change, with its texts rendered. before is nil for
// a new event.
func (a *affected) change(before *Event, draft *EventEdit) topic.EventChange {
	event := draft.Event
	change := topic.EventChange{
		ID: newID(), Kind: draft.kind(before), Organization: event.OrganizationID, OccurredAt: draft.Now,
		Sequence: event.sequence(), Notify: topic.Notify{}, Event: messageEvent(event),
	}
	change.Event.Hidden, change.Event.Components = event.HiddenFromDashboard, a.nameable(event)
	if before != nil && before.Status != event.Status && !draft.published() {
		change.Event.PreviousStatus = string(before.Status)
	}
	entry := draft.entry
	if chronicle := event.Chronicle(); draft.published() && len(chronicle) > 0 {
		entry = &chronicle[len(chronicle)-1]
	}
	if entry != nil {
		change.Entry = &topic.Entry{
			StatusID: entry.StatusID, Status: string(entry.Status), Timestamp: entry.Timestamp,
			Text: entry.Message.Plain(), HTML: entry.Message.HTML(),
		}
	}
	maps.Copy(change.Notify, draft.notify)
	return change
}

// messageEvent returns what messages show of an event besides its components.
func messageEvent(e *Event) topic.Event {
	return topic.Event{
		ID: e.ID, LegacyID: e.LegacyID, Type: string(e.Type), Title: e.Title,
		DescriptionText: e.Description.Plain(), DescriptionHTML: e.Description.HTML(),
		ImpactText: e.Impact.Plain(), ImpactHTML: e.Impact.HTML(),
		CoordinatorText: e.Coordinator.Plain(), CoordinatorHTML: e.Coordinator.HTML(),
		Status: string(e.Status), Severity: e.Severity, StartAt: e.StartAt, EndAt: e.EndAt,
		ScheduledStartAt: e.ScheduledStartAt, ScheduledEndAt: e.ScheduledEndAt,
	}
}
