package channel

import (
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/locale"
)

// changeWord returns a word for a kind of change that the event's status does not show. For the other kinds it returns
// "".
func changeWord(l *locale.Locale, kind topic.Kind) string {
	switch kind {
	case topic.IncidentPostMortem, topic.IncidentReopened, topic.MaintenanceReopened, topic.MaintenanceReschedule, topic.MaintenanceReminder:
		return l.Name("change", string(kind))
	}
	return ""
}

// statusLine returns the event's status. It adds the kind of change if the status does not show it.
func statusLine(l *locale.Locale, change *topic.EventChange) string {
	status := l.Name("status", change.Event.Status)
	if word := changeWord(l, change.Kind); word != "" {
		return l.Word("event.status", "status", status, "change", word)
	}
	return status
}

// headline returns the status and the title in one line. For a reminder of a maintenance it returns the title and the start
// time, for a post-mortem the title and words about the post-mortem.
func headline(l *locale.Locale, change *topic.EventChange, zone string) string {
	event := &change.Event
	title := locale.OneLine(event.Title)
	switch change.Kind {
	case topic.MaintenanceReminder:
		return l.Word("event.reminder", "title", title, "time", l.Time(event.ScheduledStartAt, zone))
	case topic.IncidentPostMortem:
		return l.Word("event.post_mortem", "title", title)
	}
	return l.Word("event.headline", "status", l.Name("status", event.Status), "title", title)
}

// shortStatus returns the event's type for a text message, with the result of changeWord, or with the status if that result
// is empty. For a planned maintenance it adds the start time.
func shortStatus(l *locale.Locale, change *topic.EventChange, zone string) string {
	event := &change.Event
	status := changeWord(l, change.Kind)
	if status == "" {
		status = strings.ToLower(l.Name("status", event.Status))
	}
	if event.Status == "planning" && event.ScheduledStartAt != nil {
		status = l.Word("text.start", "status", status, "time", l.ShortTime(event.ScheduledStartAt, zone))
	}
	return l.Word("text.event", "type", l.Name("type", event.Type), "status", status)
}

// eventURL returns the URL of the event's page on the dashboard. It returns "" if the dashboard has no URL, if the
// event is hidden, or if there are components and the dashboard shows none of them.
func eventURL(dashboard topic.Dashboard, event *topic.Event, components []topic.Component) string {
	shown := len(components) == 0 || slices.ContainsFunc(components, func(c topic.Component) bool {
		return !c.Hidden && slices.Contains(c.Dashboards, dashboard.ID)
	})
	if dashboard.URL == "" || event.Hidden || !shown {
		return ""
	}
	return strings.TrimSuffix(dashboard.URL, "/") + "/events/" + event.ID
}
