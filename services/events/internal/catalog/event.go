package catalog

import (
	"cmp"
	"slices"
	"strings"
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
	// StartedFor and EndedFor are the start and the planned end that have been acted on, by a
	// person or the clock: what somebody takes back afterwards the clock does not repeat.
	StartedFor *time.Time `json:"startedFor"`
	EndedFor   *time.Time `json:"endedFor"`

	Published               bool `json:"published"` // false: a draft, invisible and silent
	HiddenFromDashboard     bool `json:"hiddenFromDashboard"`
	HiddenFromUptimeReports bool `json:"hiddenFromUptimeReports"`

	Links    []Link  `json:"links"`
	Timeline []Entry `json:"timeline"` // oldest first

	EmailSubject string `json:"emailSubject"` // of this event's mails, as last given
	// Announced is whom the last write that said anything of notifications told, without the
	// words that were for that once: the clock tells the same.
	Announced topic.Notify `json:"announced"`
	Source    Source       `json:"source"`
	CreatedBy Author       `json:"createdBy"`
	CreatedAt time.Time    `json:"createdAt"`
	UpdatedAt time.Time    `json:"updatedAt"`
	// Version counts the writes; it is also the sequence number of the change each is told by.
	Version int64 `json:"version"`
}

// Rich is a text as it was sent, and how it is to be read.
type Rich struct {
	Text   string          `json:"text"`
	Format richtext.Format `json:"format"`
}

// HTML and Plain are what people are shown of it.
func (r Rich) HTML() string { return richtext.HTML(r.Format, r.Text) }

// Plain: see HTML.
func (r Rich) Plain() string { return richtext.PlainText(r.Format, r.Text) }

// IsMarkdown is the legacy interface's _md flag.
func (r Rich) IsMarkdown() bool { return r.Format == richtext.Markdown }

// Source is where an event came from.
type Source string

const (
	SourceApp       Source = "app"
	SourceLegacy    Source = "legacy"
	SourceInbound   Source = "inbound"
	SourceScheduler Source = "scheduler"
)

// Link ties an event to a component it affects.
type Link struct {
	LegacyID    int64  `json:"legacyId"`
	ComponentID string `json:"componentId"`
	Impact      Impact `json:"impact"` // empty: follows from the event's severity
}

// Entry is an update in an event's timeline.
type Entry struct {
	StatusID  string     `json:"statusId"` // uuid
	LegacyID  int64      `json:"legacyId"`
	Status    Status     `json:"status"`
	Message   Rich       `json:"message"`
	Timestamp time.Time  `json:"timestamp"` // what it speaks of; CreatedAt is when it was written
	Author    Author     `json:"author"`
	CreatedAt time.Time  `json:"createdAt"`
	EditedAt  *time.Time `json:"editedAt"`
}

// maxDerivedTitle is how much of its description is a legacy event's title, in characters.
const maxDerivedTitle = 80

// titleOf takes it from what people read of the description, not from its markup.
func titleOf(description Rich) string {
	title := cmp.Or(description.Plain(), strings.TrimSpace(description.Text))
	if runes := []rune(title); len(runes) > maxDerivedTitle {
		title = string(runes[:maxDerivedTitle])
	}
	return strings.TrimSpace(title)
}

// End is the one end that the legacy interface knows: the actual one, else the planned.
func (e *Event) End() *time.Time {
	if e.EndAt != nil {
		return e.EndAt
	}
	return e.ScheduledEndAt
}

// Auto is the legacy interface's one flag for both.
func (e *Event) Auto() bool { return e.AutoStart && e.AutoEnd }

// ComponentIDs are the affected components.
func (e *Event) ComponentIDs() []string {
	ids := make([]string, len(e.Links))
	for i, link := range e.Links {
		ids[i] = link.ComponentID
	}
	return ids
}

// LinkIDs are the legacy ids of its links.
func (e *Event) LinkIDs() []int64 {
	ids := make([]int64, len(e.Links))
	for i, link := range e.Links {
		ids[i] = link.LegacyID
	}
	return ids
}

// ImpactOn is what the event does to the component of one of its links.
func (e *Event) ImpactOn(link Link) Impact {
	if link.Impact != "" {
		return link.Impact
	}
	return defaultImpact(e.Type, e.Severity)
}

// Open: it is not resolved or completed.
func (e *Event) Open() bool { return !e.Status.closed() }

// ActiveAt: a visitor is told at that time that it is going on.
func (e *Event) ActiveAt(now time.Time) bool {
	return e.Published && e.Status.underway() && !e.StartAt.After(now)
}

// DueAt is when the clock is to start or end the event by itself; nil for never.
func (e *Event) DueAt() *time.Time {
	switch {
	case e.Type != Maintenance || !e.Published:
		return nil
	case e.AutoStart && e.Status == Planning && !sameTime(e.StartedFor, &e.StartAt):
		return &e.StartAt
	case e.AutoEnd && e.Status.underway() && !sameTime(e.EndedFor, e.ScheduledEndAt):
		return e.ScheduledEndAt
	}
	return nil
}

func (e *Event) link(legacyID int64) int {
	return slices.IndexFunc(e.Links, func(link Link) bool { return link.LegacyID == legacyID })
}

func (e *Event) linked(componentID string) bool {
	return slices.ContainsFunc(e.Links, func(link Link) bool { return link.ComponentID == componentID })
}

func (e *Event) entry(legacyID int64) int {
	return slices.IndexFunc(e.Timeline, func(entry Entry) bool { return entry.LegacyID == legacyID })
}

// copyOf keeps what the event was while a write changes it in place.
func copyOf(e *Event) *Event {
	before := *e
	before.Links = slices.Clone(e.Links)
	before.Timeline = slices.Clone(e.Timeline)
	return &before
}

func sameTime(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}
