package channel

import (
	"cmp"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/locale"
)

// statuspageMessage is the body that Atlassian Statuspage posts to webhooks about an incident or a maintenance. The incident
// has the same members as in the files below api/v2 of a dashboard. It has one update, because a message knows only the
// entry of its change. A value is null if a message does not know it.
type statuspageMessage struct {
	Meta     statuspageMeta     `json:"meta"`
	Page     statuspagePage     `json:"page"`
	Incident statuspageIncident `json:"incident"`
}

// statuspageMeta contains only null values, because members, not receivers, remove a webhook.
type statuspageMeta struct {
	Unsubscribe   *string `json:"unsubscribe"`
	Documentation *string `json:"documentation"`
}

type statuspagePage struct {
	ID          string `json:"id"`
	Indicator   string `json:"status_indicator"`
	Description string `json:"status_description"`
}

type statuspageIncident struct {
	ID           string                `json:"id"`
	Name         string                `json:"name"`
	Status       string                `json:"status"`
	CreatedAt    *topic.Time           `json:"created_at"`
	UpdatedAt    topic.Time            `json:"updated_at"`
	MonitoringAt *topic.Time           `json:"monitoring_at"`
	ResolvedAt   *topic.Time           `json:"resolved_at"`
	Impact       string                `json:"impact"`
	Shortlink    *string               `json:"shortlink"` // nil: the dashboard has no URL or does not show the event
	StartedAt    topic.Time            `json:"started_at"`
	PageID       string                `json:"page_id"`
	Updates      []statuspageUpdate    `json:"incident_updates"`
	Components   []statuspageComponent `json:"components"`
	*statuspagePlan
}

// statuspagePlan has the members that only a maintenance has.
type statuspagePlan struct {
	ScheduledFor   *topic.Time `json:"scheduled_for"`
	ScheduledUntil *topic.Time `json:"scheduled_until"`
}

type statuspageUpdate struct {
	ID                   string             `json:"id"`
	Status               string             `json:"status"`
	Body                 string             `json:"body"`
	IncidentID           string             `json:"incident_id"`
	CreatedAt            *topic.Time        `json:"created_at"`
	UpdatedAt            *topic.Time        `json:"updated_at"`
	DisplayAt            *topic.Time        `json:"display_at"`
	AffectedComponents   []statuspageChange `json:"affected_components"` // nil: the update changes no component of the message
	DeliverNotifications bool               `json:"deliver_notifications"`
	CustomTweet          *string            `json:"custom_tweet"`
	TweetID              *string            `json:"tweet_id"`
}

type statuspageChange struct {
	Code      string `json:"code"`
	Name      string `json:"name"`
	OldStatus string `json:"old_status"`
	NewStatus string `json:"new_status"`
}

// statuspageComponent is an affected component. Its status is the impact of the event on it, or operational if the event is over.
type statuspageComponent struct {
	ID                 string  `json:"id"`
	Name               string  `json:"name"`
	Status             string  `json:"status"`
	CreatedAt          *string `json:"created_at"`
	UpdatedAt          *string `json:"updated_at"`
	Position           *int    `json:"position"`
	Description        *string `json:"description"`
	Showcase           bool    `json:"showcase"`
	StartDate          *string `json:"start_date"`
	GroupID            *string `json:"group_id"`
	PageID             string  `json:"page_id"`
	Group              bool    `json:"group"`
	OnlyShowIfDegraded bool    `json:"only_show_if_degraded"`
}

// operational is the state of a component without an impact.
const operational = "operational"

// impactWords are the words of Statuspage for the impacts on a component, from the least to the most severe.
var impactWords = []struct{ impact, event, page, description string }{
	{operational, "none", "none", "All Systems Operational"},
	{"under_maintenance", "none", "maintenance", "Service Under Maintenance"},
	{"degraded_performance", "minor", "minor", "Partially Degraded Service"},
	{"partial_outage", "major", "major", "Partial System Outage"},
	{"major_outage", "critical", "critical", "Major System Outage"},
}

// worstImpact returns the index in impactWords of the worst of the impacts.
func worstImpact(impacts ...string) int {
	worst := 0
	for i, words := range impactWords {
		if slices.Contains(impacts, words.impact) {
			worst = i
		}
	}
	return worst
}

// severityImpact returns the impact of an incident without components. The events service shows the same impact in /api/v2.
func severityImpact(severity string) string {
	switch severity {
	case "":
		return operational
	case "minor_outage":
		return "partial_outage"
	case "major_outage":
		return "major_outage"
	}
	return "degraded_performance"
}

// statuspageWord returns the word of Statuspage for a status.
func statuspageWord(status string) string {
	switch status {
	case "planning":
		return "scheduled"
	case "started", "inprogress":
		return "in_progress"
	}
	return status
}

// closed reports whether an event with the status is over.
func closed(status string) bool { return status == "resolved" || status == "completed" }

// renderStatuspage returns the body for a dashboard and components. It shortens the text of the update, and then the list of
// components, until the body fits. status is the state of the dashboard. If it is unknown, the state of the components takes
// its place.
func renderStatuspage(change *topic.EventChange, dashboard topic.Dashboard, components []topic.Component, status topic.PageStatus) ([]byte, error) {
	message := composeStatuspage(change, dashboard, components)
	if status.Indicator == "" {
		var impacts []string
		for _, c := range message.Incident.Components {
			impacts = append(impacts, c.Status)
		}
		words := impactWords[worstImpact(impacts...)]
		status = topic.PageStatus{Indicator: words.page, Description: words.description}
	}
	message.Page = statuspagePage{cmp.Or(dashboard.PublicID, dashboard.ID), status.Indicator, status.Description}
	update := &message.Incident.Updates[0]
	out, err := write(message)
	text := update.Body
	for keep := len(text); err == nil && len(out) > payloadLimit && keep > 0; keep = keep * 3 / 4 {
		update.Body = cut(text, keep)
		out, err = write(message)
	}
	for err == nil && len(out) > payloadLimit && len(message.Incident.Components) > 0 {
		message.Incident.Components = message.Incident.Components[:len(message.Incident.Components)*3/4]
		update.AffectedComponents = update.AffectedComponents[:min(len(update.AffectedComponents), len(message.Incident.Components))]
		out, err = write(message)
	}
	return out, err
}

func composeStatuspage(change *topic.EventChange, dashboard topic.Dashboard, components []topic.Component) statuspageMessage {
	event := &change.Event
	incident := statuspageIncident{
		ID: cmp.Or(event.PublicID, event.ID), Name: locale.OneLine(event.Title), Status: statuspageWord(event.Status), CreatedAt: known(event.CreatedAt),
		UpdatedAt: topic.Time(change.OccurredAt), Shortlink: optional.OrNull(eventURL(dashboard, event, components)),
		StartedAt: topic.Time(event.StartAt), PageID: cmp.Or(dashboard.PublicID, dashboard.ID), Components: []statuspageComponent{},
		Updates: []statuspageUpdate{statuspageUpdateOf(change, components)},
	}
	if change.Kind == topic.IncidentPostMortem {
		incident.Status = "postmortem"
	}
	if closed(event.Status) {
		incident.ResolvedAt = topic.TimeOf(event.EndAt)
	}
	if entry := change.Entry; entry != nil && entry.Status == "monitoring" {
		incident.MonitoringAt = known(entry.Timestamp)
	}
	var impacts []string
	for _, c := range components {
		impacts = append(impacts, c.Impact, c.Worst)
		component := statuspageComponent{ID: cmp.Or(c.PublicID, c.ID), Name: locale.OneLine(c.Name), Status: c.Impact, PageID: incident.PageID}
		if closed(event.Status) {
			component.Status = operational
		}
		incident.Components = append(incident.Components, component)
	}
	if len(components) == 0 {
		impacts = append(impacts, severityImpact(event.Severity))
	}
	incident.Impact = impactWords[worstImpact(impacts...)].event
	if event.Type == "maintenance" {
		incident.Impact = "maintenance"
		incident.statuspagePlan = planOf(event)
	}
	return statuspageMessage{Incident: incident}
}

// planOf returns the planned times of a maintenance. If one is missing, it returns the actual time instead.
func planOf(event *topic.Event) *statuspagePlan {
	return &statuspagePlan{topic.TimeOf(cmp.Or(event.ScheduledStartAt, &event.StartAt)), topic.TimeOf(cmp.Or(event.ScheduledEndAt, event.EndAt))}
}

// statuspageUpdateOf returns the entry of the change. For a change without an entry it returns an update with the
// description, because clients expect that the list has a first element.
func statuspageUpdateOf(change *topic.EventChange, components []topic.Component) statuspageUpdate {
	event, entry := &change.Event, change.Entry
	id := cmp.Or(event.PublicID, event.ID)
	update := statuspageUpdate{
		ID: id, Status: statuspageWord(event.Status), Body: event.DescriptionText, IncidentID: id, CreatedAt: known(event.CreatedAt),
		UpdatedAt: known(change.OccurredAt), DisplayAt: known(change.OccurredAt), DeliverNotifications: true,
	}
	if change.Kind == topic.IncidentPostMortem {
		update.Status = "postmortem"
	}
	if entry == nil {
		return update
	}
	update.ID, update.Body, update.DisplayAt = cmp.Or(entry.PublicID, entry.StatusID), entry.Text, known(entry.Timestamp)
	update.CreatedAt = known(entry.CreatedAt)
	if entry.Status != "update" {
		update.Status = statuspageWord(entry.Status)
	}
	for _, c := range entry.Impacts {
		if at := slices.IndexFunc(components, func(one topic.Component) bool { return one.ID == c.ComponentID }); at >= 0 {
			affected := &components[at]
			update.AffectedComponents = append(update.AffectedComponents, statuspageChange{cmp.Or(affected.PublicID, affected.ID), locale.OneLine(affected.Name), c.Before, c.Impact})
		}
	}
	return update
}

// known returns nil for the zero time, which a change of an older version of the program has.
func known(t time.Time) *topic.Time {
	if t.IsZero() {
		return nil
	}
	return topic.TimeOf(&t)
}
