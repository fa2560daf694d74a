package site

import (
	"cmp"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
)

// statusEvent is an incident in the format of Statuspage.
type statusEvent struct {
	ID           string            `json:"id"`
	Name         string            `json:"name"`
	Status       string            `json:"status"`
	CreatedAt    *string           `json:"created_at"`
	UpdatedAt    *string           `json:"updated_at"`
	MonitoringAt *string           `json:"monitoring_at"`
	ResolvedAt   *string           `json:"resolved_at"`
	Impact       string            `json:"impact"`
	Shortlink    string            `json:"shortlink"`
	StartedAt    *string           `json:"started_at"`
	PageID       string            `json:"page_id"`
	Updates      []statusUpdate    `json:"incident_updates"`
	Components   []statusComponent `json:"components"`
}

// statusMaintenance is a maintenance in the format of Statuspage.
type statusMaintenance struct {
	statusEvent
	ScheduledFor   *string `json:"scheduled_for"`
	ScheduledUntil *string `json:"scheduled_until"`
}

type statusUpdate struct {
	ID                   string          `json:"id"`
	Status               string          `json:"status"`
	Body                 string          `json:"body"`
	IncidentID           string          `json:"incident_id"`
	CreatedAt            *string         `json:"created_at"`
	UpdatedAt            *string         `json:"updated_at"`
	DisplayAt            *string         `json:"display_at"`
	AffectedComponents   []statusChanged `json:"affected_components"` // nil: the update changes no component
	DeliverNotifications bool            `json:"deliver_notifications"`
	CustomTweet          *string         `json:"custom_tweet"`
	TweetID              *string         `json:"tweet_id"`
}

type statusChanged struct {
	Code      string          `json:"code"`
	Name      string          `json:"name"`
	OldStatus *catalog.Impact `json:"old_status"` // nil: unknown
	NewStatus catalog.Impact  `json:"new_status"`
}

// statusWord returns the word of Statuspage for a status.
func statusWord(status catalog.Status) string {
	switch status {
	case catalog.Planning:
		return "scheduled"
	case catalog.Started, catalog.InProgress:
		return "in_progress"
	}
	return string(status)
}

func statusEventOf(s *edition.Snapshot, event *edition.ShownEvent, components map[string]statusComponent, texts *texts) any {
	of := statusEvent{
		ID: catalog.ShownID(event.PublicID, event.ID), Name: richtext.Line(event.Title), Status: statusWord(event.Status), CreatedAt: stamp(&event.CreatedAt), UpdatedAt: stamp(&event.UpdatedAt),
		MonitoringAt: monitoringAt(event), Impact: impactWord(event), Shortlink: eventURL(s, event.ID), StartedAt: stamp(&event.StartAt),
		PageID: pageID(s), Updates: statusUpdatesOf(event, components, texts), Components: []statusComponent{},
	}
	if event.Status.Closed() {
		of.ResolvedAt = stamp(event.EndAt)
	}
	if event.Status == catalog.Resolved && event.PostMortem != nil {
		of.Status = "postmortem"
	}
	for _, impact := range event.Impacts {
		component, shown := components[impact.ComponentID]
		if !shown { // the dashboard does not show the component any more
			component = statusComponent{ID: impact.ComponentID, Name: richtext.Line(impact.Name), Status: worst(impact.Impact), PageID: pageID(s)}
		}
		of.Components = append(of.Components, component)
	}
	if event.Type == catalog.Incident {
		return of
	}
	start, end := plannedTimes(event)
	return statusMaintenance{of, stamp(start), stamp(end)}
}

// plannedTimes returns the planned times of a maintenance. It returns the actual start or end instead of a planned time
// that is missing. end may be nil.
func plannedTimes(event *edition.ShownEvent) (start, end *time.Time) {
	return cmp.Or(event.ScheduledStartAt, &event.StartAt), cmp.Or(event.ScheduledEndAt, event.EndAt)
}

// monitoringAt returns the time of the newest entry with the status monitoring, or nil.
func monitoringAt(event *edition.ShownEvent) *string {
	at := slices.IndexFunc(event.Entries, func(entry edition.ShownEntry) bool { return entry.Status == catalog.Monitoring })
	if at < 0 {
		return nil
	}
	return stamp(&event.Entries[at].Timestamp)
}

// impactWord returns the word of Statuspage for the worst impact during the whole incident, or "maintenance" for a
// maintenance. An incident without components has the impact of its severity.
func impactWord(event *edition.ShownEvent) string {
	if event.Type == catalog.Maintenance {
		return "maintenance"
	}
	states := []catalog.Impact{catalog.SeverityImpact(event.Severity)}
	if len(event.Impacts) > 0 {
		states = nil
	}
	for _, impact := range event.Impacts {
		states = append(states, impact.Impact, impact.Worst)
	}
	switch worst(states...) {
	case catalog.Degraded:
		return "minor"
	case catalog.PartialOutage:
		return "major"
	case catalog.MajorOutage:
		return "critical"
	}
	return "none"
}

// statusUpdatesOf returns the entries, the newest first. If the event has no entries, it returns one update with the
// description, because clients expect that the list has a first element. components has the shown components by id.
func statusUpdatesOf(event *edition.ShownEvent, components map[string]statusComponent, texts *texts) []statusUpdate {
	id := catalog.ShownID(event.PublicID, event.ID)
	if len(event.Entries) == 0 {
		return []statusUpdate{{
			ID: id, Status: statusWord(event.Status), Body: texts.plain.of(event.Description), IncidentID: id,
			CreatedAt: stamp(&event.CreatedAt), UpdatedAt: stamp(&event.UpdatedAt), DisplayAt: stamp(&event.CreatedAt),
		}}
	}
	affected := map[string]statusChanged{}
	for _, impact := range event.Impacts {
		affected[impact.ComponentID] = statusChanged{Code: cmp.Or(components[impact.ComponentID].ID, impact.ComponentID), Name: richtext.Line(impact.Name)}
	}
	var updates []statusUpdate
	for _, entry := range event.Entries {
		status := entry.Status
		if status == catalog.StatusUpdate {
			status = entry.InForce
		}
		updates = append(updates, statusUpdate{
			ID: catalog.ShownID(entry.PublicID, entry.StatusID), Status: statusWord(status), Body: texts.plain.of(entry.Message), IncidentID: id,
			CreatedAt: stamp(&entry.CreatedAt), UpdatedAt: stamp(&entry.UpdatedAt), DisplayAt: stamp(&entry.Timestamp),
			AffectedComponents: changedBy(entry, affected), DeliverNotifications: entry.Notified,
		})
	}
	return updates
}

// changedBy returns the changes of an entry on the affected components. affected has their ids and names.
func changedBy(entry edition.ShownEntry, affected map[string]statusChanged) []statusChanged {
	var changes []statusChanged
	for _, impact := range entry.Impacts {
		change, shown := affected[impact.ComponentID]
		if !shown {
			continue
		}
		change.OldStatus, change.NewStatus = optional.OrNull(impact.Before), impact.Impact
		changes = append(changes, change)
	}
	return changes
}
