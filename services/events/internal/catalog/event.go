package catalog

import (
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Event is an incident or a maintenance. Times are UTC in whole milliseconds.
type Event struct {
	ID             string    `json:"id"`
	LegacyID       int64     `json:"legacyId"`
	OrganizationID string    `json:"organizationId"`
	Type           EventType `json:"type"`
	Status         Status    `json:"status"`
	Title          string    `json:"title"`
	Severity       string    `json:"severity"` // empty: none
	Description    Rich      `json:"description"`
	Impact         Rich      `json:"impact"` // the impact analysis
	Coordinator    Rich      `json:"coordinator"`

	StartAt time.Time  `json:"startAt"`
	EndAt   *time.Time `json:"endAt"` // the actual end
	// The plan of a maintenance.
	ScheduledStartAt *time.Time `json:"scheduledStartAt"`
	ScheduledEndAt   *time.Time `json:"scheduledEndAt"`
	AutoStart        bool       `json:"autoStart"`
	AutoEnd          bool       `json:"autoEnd"`
	// StartedFor and EndedFor are the start and the planned end for which the event has been started and ended, by
	// a person or the scheduler. The scheduler does not repeat a step that a person has taken back.
	StartedFor *time.Time `json:"startedFor"`
	EndedFor   *time.Time `json:"endedFor"`

	Published               bool `json:"published"` // false: a draft, which visitors do not see and nobody is notified of
	HiddenFromDashboard     bool `json:"hiddenFromDashboard"`
	HiddenFromUptimeReports bool `json:"hiddenFromUptimeReports"`

	Links    []Link  `json:"links"`
	Timeline []Entry `json:"timeline"` // oldest first

	EmailSubject string `json:"emailSubject"` // of mails about this event, as last given
	// Announced is the channels of the last write that called Draft.Notify, without the texts that were for that
	// write only. The scheduler notifies the same channels.
	Announced topic.Notify `json:"announced"`
	Source    Source       `json:"source"`
	CreatedBy Author       `json:"createdBy"`
	CreatedAt time.Time    `json:"createdAt"`
	UpdatedAt time.Time    `json:"updatedAt"`
	// Version counts the changes. It is the sequence number in the message about a change.
	Version int64 `json:"version"`
	// ShownVersion is the Version of the last change of what dashboards show of the event.
	ShownVersion int64 `json:"shownVersion"`
}

// Rich is a text as it was sent, with its format.
type Rich struct {
	Text   string          `json:"text"`
	Format richtext.Format `json:"format"`
}

// HTML returns the text as safe HTML.
func (r Rich) HTML() string { return richtext.HTML(r.Format, r.Text) }

// Plain returns the text without markup.
func (r Rich) Plain() string { return richtext.PlainText(r.Format, r.Text) }

// IsMarkdown reports whether the format is Markdown.
func (r Rich) IsMarkdown() bool { return r.Format == richtext.Markdown }

// Link is a component that an event affects.
type Link struct {
	LegacyID    int64  `json:"legacyId"`
	ComponentID string `json:"componentId"`
	Impact      Impact `json:"impact"` // empty: follows from type and severity of the event
}

// Entry is an entry of an event's timeline.
type Entry struct {
	StatusID  string     `json:"statusId"` // uuid
	LegacyID  int64      `json:"legacyId"`
	Status    Status     `json:"status"`
	Message   Rich       `json:"message"`
	Timestamp time.Time  `json:"timestamp"` // the time that the message is about; CreatedAt is the time of writing
	Author    Author     `json:"author"`
	CreatedAt time.Time  `json:"createdAt"`
	EditedAt  *time.Time `json:"editedAt"`
}

// End returns the actual end, or the planned end of an event that has no actual end.
func (e *Event) End() *time.Time {
	if e.EndAt != nil {
		return e.EndAt
	}
	return e.ScheduledEndAt
}

// ComponentIDs returns the affected components.
func (e *Event) ComponentIDs() []string {
	ids := make([]string, len(e.Links))
	for i, link := range e.Links {
		ids[i] = link.ComponentID
	}
	return ids
}

// LinkIDs returns the legacy ids of the links.
func (e *Event) LinkIDs() []int64 {
	ids := make([]int64, len(e.Links))
	for i, link := range e.Links {
		ids[i] = link.LegacyID
	}
	return ids
}

// ImpactOn returns the impact of the event on the component of one of its links.
func (e *Event) ImpactOn(link Link) Impact {
	if link.Impact != "" {
		return link.Impact
	}
	return defaultImpact(e.Type, e.Severity)
}

// DueAt returns the time at which the scheduler starts or ends the event; nil for never.
func (e *Event) DueAt() *time.Time {
	switch {
	case e.Type != Maintenance || !e.Visible():
		return nil
	case e.AutoStart && e.Status == Planning && !sameTime(e.StartedFor, &e.StartAt):
		return &e.StartAt
	case e.AutoEnd && e.Status.underway() && !sameTime(e.EndedFor, e.ScheduledEndAt):
		return e.ScheduledEndAt
	}
	return nil
}

func (e *Event) linked(componentID string) bool {
	return slices.ContainsFunc(e.Links, func(link Link) bool { return link.ComponentID == componentID })
}

// clone returns a copy with links and timeline of its own.
func (e *Event) clone() *Event {
	copied := *e
	copied.Links = slices.Clone(e.Links)
	copied.Timeline = slices.Clone(e.Timeline)
	return &copied
}

func sameTime(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}
