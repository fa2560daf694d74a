package catalog

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Event is an incident or a maintenance. Times are UTC in whole milliseconds.
type Event struct {
	ID             string    `json:"id" audit:"id"`
	LegacyID       int64     `json:"legacyId" audit:"legacyId"`
	OrganizationID string    `json:"organizationId"`
	Type           EventType `json:"type" audit:"type"`
	Status         Status    `json:"status" audit:"status"`
	Title          string    `json:"title" audit:"title"`
	Severity       string    `json:"severity" audit:"severity,null"` // empty: none
	Description    Rich      `json:"description" audit:"description"`
	Impact         Rich      `json:"impact" audit:"impactAnalysis"` // the impact analysis
	Coordinator    Rich      `json:"coordinator" audit:"coordinator"`

	StartAt          time.Time  `json:"startAt" audit:"startAt"`
	EndAt            *time.Time `json:"endAt" audit:"endAt"`                       // the actual end
	ScheduledStartAt *time.Time `json:"scheduledStartAt" audit:"scheduledStartAt"` // planned start of a maintenance
	ScheduledEndAt   *time.Time `json:"scheduledEndAt" audit:"scheduledEndAt"`
	AutoStart        bool       `json:"autoStart" audit:"autoStart"`
	AutoEnd          bool       `json:"autoEnd" audit:"autoEnd"`
	Pauses           []Pause    `json:"pauses"` // in order of From
	// The planned start and the planned end for which the event has been started and ended, by a person or the scheduler.
	// The scheduler does not repeat a step that a person has taken back.
	StartedFor *time.Time `json:"startedFor"`
	EndedFor   *time.Time `json:"endedFor"`
	// RemindedTo is the time up to which reminders are sent, or were past when a change armed the reminders.
	RemindedTo    *time.Time `json:"remindedTo"`
	RemindersSent int64      `json:"remindersSent"`

	Published bool `json:"published" audit:"publish"` // false: a draft, which visitors do not see and nobody is notified of
	// PublishedAt is the time of the last change from a draft to a published event.
	PublishedAt             *time.Time `json:"publishedAt" audit:"publishedAt"`
	Backfilled              bool       `json:"backfilled" audit:"backfilled"`           // created closed, with both times in the past
	ExternalID              string     `json:"externalId" audit:"externalId,null"`      // empty: none; unique in the organization while the event is open
	ReminderMinutes         []int      `json:"reminderMinutes" audit:"reminderMinutes"` // minutes before the planned start of a maintenance
	HiddenFromDashboard     bool       `json:"hiddenFromDashboard" audit:"hiddenFromDashboard"`
	HiddenFromUptimeReports bool       `json:"hiddenFromUptimeReports" audit:"hiddenFromUptimeReports"`

	Links      []Link      `json:"links" audit:"affectedComponents"`
	Timeline   []Entry     `json:"timeline" audit:"timeline,changed"` // in order of creation; see Chronicle
	Notes      []Note      `json:"notes" audit:"notes,changed"`       // internal, oldest first
	PostMortem *PostMortem `json:"postMortem" audit:"postMortem,changed"`
	// StatusEntry is the StatusID of the entry that set Status; empty if no entry did.
	StatusEntry string `json:"statusEntry"`

	// Inbound is the messages of monitoring tools that have changed the event lately, oldest first.
	Inbound []InboundRecord `json:"inbound"`

	EmailSubject string `json:"emailSubject"` // subject of mails about this event, as last given
	// Announced is the channels of the last write that asked for any or for none, without texts. The scheduler notifies them.
	Announced topic.Notify `json:"announced"`
	Source    Source       `json:"source" audit:"source"`
	CreatedBy Author       `json:"createdBy" audit:"createdBy"`
	CreatedAt time.Time    `json:"createdAt" audit:"createdAt"`
	UpdatedAt time.Time    `json:"updatedAt" audit:"updatedAt,quiet"`
	Version   int64        `json:"version" audit:"version,quiet"` // the number of changes
	// ShownVersion and ShownAt are the Version and the time of the last change that dashboards show. ShownAt is zero in
	// an event that is stored without it.
	ShownVersion int64     `json:"shownVersion"`
	ShownAt      time.Time `json:"shownAt"`
}

type Rich struct {
	Text   string          `json:"text"`
	Format richtext.Format `json:"format"`
}

func (r Rich) HTML() string { return richtext.HTML(r.Format, r.Text) }

func (r Rich) Plain() string { return richtext.PlainText(r.Format, r.Text) }

// The most characters of texts on the legacy interface (specification, "Limits").
const (
	BriefText  = 5000 // length of a description or a timeline entry
	BriefExtra = 1000 // length of an impact analysis or a coordinator
)

// Brief returns the text as the legacy interface shows it: as it is stored, or the beginning of its plain text if it has
// more characters than limit. A client can send it back unchanged.
func (r Rich) Brief(limit int) string {
	if utf8.RuneCountInString(r.Text) <= limit {
		return r.Text
	}
	text := []rune(cmp.Or(r.Plain(), strings.TrimSpace(r.Text)))
	return string(text[:min(len(text), limit)])
}

// BriefDescription returns the title for an event without a description, because each legacy event has a description.
func (e *Event) BriefDescription() string { return cmp.Or(e.Description.Brief(BriefText), e.Title) }

func (r Rich) IsMarkdown() bool { return r.Format == richtext.Markdown }

type Link struct {
	LegacyID    int64  `json:"legacyId"`
	ComponentID string `json:"componentId" audit:"componentId"`
	Impact      Impact `json:"impact" audit:"impact,null"` // empty: follows from type and severity of the event
	// StatedAt is the time from which entries may override Impact. nil: all entries may.
	StatedAt *time.Time `json:"statedAt"`
}

type Entry struct {
	StatusID       string            `json:"statusId" audit:"statusId"` // uuid
	LegacyID       int64             `json:"legacyId"`
	Status         Status            `json:"status" audit:"status"`
	PreviousStatus Status            `json:"previousStatus" audit:"previousStatus,null"` // empty: the entry is no transition
	Impacts        []ComponentImpact `json:"impacts" audit:"componentImpacts"`           // in force from Timestamp
	Notified       bool              `json:"notified" audit:"notified"`                  // the write of the entry notified a channel
	Message        Rich              `json:"message" audit:"message"`
	Timestamp      time.Time         `json:"timestamp" audit:"timestamp"` // the time that the message is about; CreatedAt is the time of writing
	Author         Author            `json:"author" audit:"author"`
	CreatedAt      time.Time         `json:"createdAt" audit:"createdAt"`
	EditedAt       *time.Time        `json:"editedAt" audit:"editedAt"`
}

// ComponentImpact is the impact of an event on an affected component.
type ComponentImpact struct {
	ComponentID string `json:"componentId" audit:"componentId"`
	Impact      Impact `json:"impact" audit:"impact"`
}

// Note is an internal remark on an event. Visitors never see it.
type Note struct {
	ID        string     `json:"id" audit:"noteId"` // uuid
	Text      string     `json:"text" audit:"note"`
	Author    Author     `json:"author" audit:"author"`
	CreatedAt time.Time  `json:"createdAt" audit:"createdAt"`
	EditedAt  *time.Time `json:"editedAt" audit:"editedAt"`
}

// PostMortem explains a closed event.
type PostMortem struct {
	Summary        Rich         `json:"summary" audit:"summary"`
	RootCause      *Rich        `json:"rootCause" audit:"rootCause"`
	Impact         *Rich        `json:"impact" audit:"impact"`
	Resolution     *Rich        `json:"resolution" audit:"resolution"`
	LessonsLearned *Rich        `json:"lessonsLearned" audit:"lessonsLearned"`
	ActionItems    []ActionItem `json:"actionItems" audit:"actionItems"`
	Published      bool         `json:"published" audit:"published"` // visitors see it
	PublishedAt    *time.Time   `json:"publishedAt" audit:"publishedAt"`
	Author         Author       `json:"author" audit:"author"` // author of the first version
	CreatedAt      time.Time    `json:"createdAt" audit:"createdAt"`
	UpdatedAt      time.Time    `json:"updatedAt" audit:"updatedAt"`
}

// ActionItem is a task that follows from an event.
type ActionItem struct {
	Text    string  `json:"text" audit:"text"`
	Owner   *string `json:"owner" audit:"owner"`
	DueDate *string `json:"dueDate" audit:"dueDate"` // yyyy-mm-dd
	Done    bool    `json:"done" audit:"done"`
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

// OpenExternalID returns nil for an event that is closed or has no external id. The store keeps it unique.
func (e *Event) OpenExternalID() any {
	if e.ExternalID == "" || !e.Open() {
		return nil
	}
	return e.ExternalID
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

func (e *Event) Open() bool { return !e.Status.Closed() }

// Active reports whether a published event has reached its start and is under way by its status.
func (e *Event) Active(now time.Time) bool {
	return e.Published && e.Status.Underway() && !e.StartAt.After(now)
}

// Alerts reports whether dashboards show the components of the event as affected, from StartAt on.
func (e *Event) Alerts() bool { return e.Published && !e.HiddenFromDashboard && e.Status.Underway() }
