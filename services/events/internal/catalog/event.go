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

	StartAt          time.Time  `json:"startAt"`
	EndAt            *time.Time `json:"endAt"`            // the actual end
	ScheduledStartAt *time.Time `json:"scheduledStartAt"` // of a maintenance
	ScheduledEndAt   *time.Time `json:"scheduledEndAt"`
	AutoStart        bool       `json:"autoStart"`
	AutoEnd          bool       `json:"autoEnd"`
	Pauses           []Pause    `json:"pauses"` // in order of From
	// The start and the planned end for which the event has been started and ended, by a person or the scheduler.
	// The scheduler does not repeat a step that a person has taken back.
	StartedFor *time.Time `json:"startedFor"`
	EndedFor   *time.Time `json:"endedFor"`

	Published bool `json:"published"` // false: a draft, which visitors do not see and nobody is notified of
	// PublishedAt is the time of the last change from a draft to a published event.
	PublishedAt             *time.Time `json:"publishedAt"`
	Backfilled              bool       `json:"backfilled"`      // created closed, with both times in the past
	ExternalID              string     `json:"externalId"`      // empty: none; unique in the organization while the event is open
	ReminderMinutes         []int      `json:"reminderMinutes"` // of a maintenance: minutes before the planned start
	HiddenFromDashboard     bool       `json:"hiddenFromDashboard"`
	HiddenFromUptimeReports bool       `json:"hiddenFromUptimeReports"`

	Links      []Link      `json:"links"`
	Timeline   []Entry     `json:"timeline"` // oldest first
	Notes      []Note      `json:"notes"`    // internal, oldest first
	PostMortem *PostMortem `json:"postMortem"`

	EmailSubject string `json:"emailSubject"` // of mails about this event, as last given
	// Announced is the channels of the last Draft.Notify without texts. The scheduler notifies them.
	Announced topic.Notify `json:"announced"`
	Source    Source       `json:"source"`
	CreatedBy Author       `json:"createdBy"`
	CreatedAt time.Time    `json:"createdAt"`
	UpdatedAt time.Time    `json:"updatedAt"`
	Version   int64        `json:"version"` // the number of changes, and the sequence number in messages
	// ShownVersion is the Version of the last change that dashboards show.
	ShownVersion int64 `json:"shownVersion"`
}

type Rich struct {
	Text   string          `json:"text"`
	Format richtext.Format `json:"format"`
}

func (r Rich) HTML() string { return richtext.HTML(r.Format, r.Text) }

func (r Rich) Plain() string { return richtext.PlainText(r.Format, r.Text) }

func (r Rich) IsMarkdown() bool { return r.Format == richtext.Markdown }

type Link struct {
	LegacyID    int64  `json:"legacyId"`
	ComponentID string `json:"componentId"`
	Impact      Impact `json:"impact"` // empty: follows from type and severity of the event
	// StatedAt is the time from which entries may override Impact. nil: all entries may.
	StatedAt *time.Time `json:"statedAt"`
}

type Entry struct {
	StatusID       string            `json:"statusId"` // uuid
	LegacyID       int64             `json:"legacyId"`
	Status         Status            `json:"status"`
	PreviousStatus Status            `json:"previousStatus"` // empty: the entry is no transition
	Impacts        []ComponentImpact `json:"impacts"`        // in force from Timestamp
	Notified       bool              `json:"notified"`       // the write of the entry notified a channel
	Message        Rich              `json:"message"`
	Timestamp      time.Time         `json:"timestamp"` // the time that the message is about; CreatedAt is the time of writing
	Author         Author            `json:"author"`
	CreatedAt      time.Time         `json:"createdAt"`
	EditedAt       *time.Time        `json:"editedAt"`
}

// ComponentImpact is the impact of an event on an affected component.
type ComponentImpact struct {
	ComponentID string `json:"componentId"`
	Impact      Impact `json:"impact"`
}

// Note is an internal remark on an event. Visitors never see it.
type Note struct {
	ID        string     `json:"id"` // uuid
	Text      string     `json:"text"`
	Author    Author     `json:"author"`
	CreatedAt time.Time  `json:"createdAt"`
	EditedAt  *time.Time `json:"editedAt"`
}

// PostMortem explains a closed event.
type PostMortem struct {
	Summary        Rich         `json:"summary"`
	RootCause      *Rich        `json:"rootCause"`
	Impact         *Rich        `json:"impact"`
	Resolution     *Rich        `json:"resolution"`
	LessonsLearned *Rich        `json:"lessonsLearned"`
	ActionItems    []ActionItem `json:"actionItems"`
	Published      bool         `json:"published"` // visitors see it
	PublishedAt    *time.Time   `json:"publishedAt"`
	Author         Author       `json:"author"` // of the first version
	CreatedAt      time.Time    `json:"createdAt"`
	UpdatedAt      time.Time    `json:"updatedAt"`
}

// ActionItem is a task that follows from an event.
type ActionItem struct {
	Text    string  `json:"text"`
	Owner   *string `json:"owner"`
	DueDate *string `json:"dueDate"` // yyyy-mm-dd
	Done    bool    `json:"done"`
}

// End returns the actual end, or the planned end of an event that has no actual end.
func (e *Event) End() *time.Time {
	if e.EndAt != nil {
		return e.EndAt
	}
	return e.ScheduledEndAt
}

func (e *Event) ComponentIDs() []string {
	return each(e.Links, func(link Link) string { return link.ComponentID })
}

func (e *Event) LinkIDs() []int64 {
	return each(e.Links, func(link Link) int64 { return link.LegacyID })
}

// affected returns the ids of the components on which the event has an impact at present.
func (e *Event) affected() []string {
	var ids []string
	for _, link := range e.Links {
		if e.ImpactOn(link) != Operational {
			ids = append(ids, link.ComponentID)
		}
	}
	return ids
}

// DueAt returns the time at which the scheduler starts or ends the event; nil for never.
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

func (e *Event) clone() *Event {
	copied := *e
	copied.Links = slices.Clone(e.Links)
	copied.Timeline = slices.Clone(e.Timeline)
	copied.Notes = slices.Clone(e.Notes)
	return &copied
}

func sameTime(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}

func (e *Event) Open() bool { return !e.Status.closed() }

// Active reports whether a published event has reached its start and is under way by its status.
func (e *Event) Active(now time.Time) bool {
	return e.Published && e.Status.underway() && !e.StartAt.After(now)
}

// Alerts reports whether dashboards show the components of the event as affected, from StartAt on.
func (e *Event) Alerts() bool { return e.Published && !e.HiddenFromDashboard && e.Status.underway() }

// shown is what dashboards show of an event, from StartAt on.
type shown struct {
	Type       EventType
	StartAt    time.Time
	Components []string
}

// shown returns the zero value for an event that no dashboard shows.
func (e *Event) shown() shown {
	if !e.Alerts() {
		return shown{}
	}
	return shown{e.Type, e.StartAt, e.affected()}
}
