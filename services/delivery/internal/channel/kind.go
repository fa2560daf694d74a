package channel

import (
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// statusWord returns the word for the status of an event.
func statusWord(event *topic.Event) string {
	if event.Status == "planning" {
		return "Planned"
	}
	return words(event.Status)
}

// kindWord returns a word for a kind that the event's status does not show, else "".
func kindWord(kind topic.Kind) string {
	switch kind {
	case topic.IncidentPostMortem:
		return "post-mortem published"
	case topic.IncidentReopened, topic.MaintenanceReopened:
		return "reopened"
	case topic.MaintenanceReschedule:
		return "rescheduled"
	case topic.MaintenanceReminder:
		return "reminder"
	}
	return ""
}

// statusLine returns the status, and the kind if the status does not show it.
func statusLine(change *topic.EventChange) string {
	if word := kindWord(change.Kind); word != "" {
		return statusWord(&change.Event) + " (" + word + ")"
	}
	return statusWord(&change.Event)
}

// headline returns the status and the title in one line. The headline of a reminder has the time of the start.
func headline(change *topic.EventChange) string {
	event := &change.Event
	title := oneLine(event.Title)
	switch change.Kind {
	case topic.MaintenanceReminder:
		return "Reminder: " + title + " starts at " + mailTime(event.ScheduledStartAt)
	case topic.IncidentPostMortem:
		return "Post-mortem: " + title
	}
	return statusWord(event) + ": " + title
}

// shortStatus returns the type and the status for a text message. A planned maintenance has its start.
func shortStatus(change *topic.EventChange) string {
	event := &change.Event
	word := kindWord(change.Kind)
	if word == "" {
		word = strings.ToLower(statusWord(event))
	}
	if event.Status == "planning" && event.ScheduledStartAt != nil {
		word += ", starts " + cardTime(*event.ScheduledStartAt)
	}
	return event.Type + " " + word
}

// eventURL returns the URL of the event's page on the dashboard. It returns "" if the dashboard does not show
// the event, or none of the components.
func eventURL(dashboard topic.Dashboard, event *topic.Event, components []topic.Component) string {
	shown := len(components) == 0 || slices.ContainsFunc(components, func(c topic.Component) bool { return !c.Hidden })
	if dashboard.URL == "" || event.Hidden || !shown {
		return ""
	}
	return strings.TrimSuffix(dashboard.URL, "/") + "/events/" + event.ID
}
