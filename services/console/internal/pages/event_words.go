package pages

import (
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
)

const (
	incident    = "incident"
	maintenance = "maintenance"

	statusUpdate = "update" // status of an entry that leaves the status of the event as it is
	planning     = "planning"
)

// word returns the name of a status, an impact or a type for members. It returns any other name as words.
func word(name string) string {
	switch name {
	case "investigating":
		return "Investigating"
	case "identified":
		return "Identified"
	case "monitoring":
		return "Monitoring"
	case "resolved":
		return "Resolved"
	case planning:
		return "Planned"
	case "started":
		return "Started"
	case "inprogress":
		return "In progress"
	case "verifying":
		return "Verifying"
	case "completed":
		return "Completed"
	case statusUpdate:
		return "Update"
	case "operational":
		return "Operational"
	case "under_maintenance":
		return "Under maintenance"
	case "degraded_performance":
		return "Degraded performance"
	case "partial_outage":
		return "Partial outage"
	case "major_outage":
		return "Major outage"
	}
	return words(name)
}

// statusIcon returns the name of the icon of a status.
func statusIcon(status string) string {
	switch status {
	case "investigating":
		return "find"
	case "identified":
		return "target"
	case "monitoring":
		return "eye"
	case "resolved", "completed":
		return "done"
	case planning:
		return "calendar"
	case "started", "inprogress":
		return "tool"
	case "verifying":
		return "check"
	}
	return "message"
}

func incidentStatuses() []string {
	return []string{"investigating", "identified", "monitoring", "resolved"}
}

func isClosed(status string) bool { return status == "resolved" || status == "completed" }

// nextStatuses returns the statuses that the App interface lets an event have next. Each of them reopens a closed event.
func nextStatuses(status string) []string {
	return map[string][]string{
		"investigating": {"identified", "monitoring", "resolved"},
		"identified":    {"investigating", "monitoring", "resolved"},
		"monitoring":    {"investigating", "identified", "resolved"},
		"resolved":      {"investigating", "identified", "monitoring"},
		planning:        {"started", "inprogress", "completed"},
		"started":       {"inprogress", "verifying", "completed"},
		"inprogress":    {"verifying", "completed"},
		"verifying":     {"inprogress", "completed"},
		"completed":     {"inprogress"},
	}[status]
}

// prepared returns the message that the console prepares for a status.
func prepared(status string) string {
	return map[string]string{
		"investigating": "We are investigating this problem. We will post an update as soon as we know more.",
		"identified":    "We have found the cause, and we are working on a fix.",
		"monitoring":    "A fix is in place. We are watching the results.",
		"resolved":      "This problem is resolved.",
		planning:        "We will carry out maintenance in this time.",
		"started":       "The maintenance has started.",
		"inprogress":    "The maintenance is in progress.",
		"verifying":     "The work is done. We are checking that everything works as it should.",
		"completed":     "The maintenance is complete.",
	}[status]
}

// isPrepared reports whether the message is empty, or one that the console prepares.
func isPrepared(message string) bool {
	statuses := append(incidentStatuses(), planning, "started", "inprogress", "verifying", "completed")
	return message == "" || slices.ContainsFunc(statuses, func(status string) bool { return prepared(status) == message })
}

// notation is the hint of fields for rich texts.
const notation = "You can write **bold**, *italic*, lists with - and [links](https://example.com)."

// typedText returns a rich text in the notation in which members type it.
func typedText(text string) string {
	typed, _ := richtext.Notation(text) // richText keeps a text that the notation cannot express, unless the member changes it
	return typed
}

// richText returns the rich text of a text in the notation. It returns was if the member did not change the text.
func richText(typed, was string) string {
	switch typed {
	case "":
		return ""
	case typedText(was):
		return was
	}
	return richtext.Document(typed)
}

// impacts returns the impacts on a component, from none to the worst.
func impacts() []string {
	return []string{"operational", "under_maintenance", "degraded_performance", "partial_outage", "major_outage"}
}

// classOf returns the CSS class of the state with an impact, and "n" for an unknown impact.
func classOf(impact string) string {
	at := slices.Index(impacts(), impact)
	if at < 0 {
		return "n"
	}
	return []string{"o", "m", "d", "p", "x"}[at]
}

// worst returns the worst impact of the event.
func worst(e app.Event) string {
	found := "operational"
	for _, affected := range e.AffectedComponents {
		if slices.Index(impacts(), affected.Impact) > slices.Index(impacts(), found) {
			found = affected.Impact
		}
	}
	return found
}

// stateOf returns the CSS class of the state that an event is shown with: a closed event is operational again. Like
// dashboards, it never shows an open incident as operational.
func stateOf(e app.Event) string {
	switch {
	case isClosed(e.Status):
		return "o"
	case e.Type == maintenance:
		return "m"
	}
	if state := worst(e); state != "operational" {
		return classOf(state)
	}
	return classOf("degraded_performance")
}
