package catalog

import (
	"cmp"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Event is an incident or a maintenance. Times are UTC in whole milliseconds.
type Event struct {
	ID             string    `json:"id" audit:"id"`
	LegacyID       int64     `json:"legacyId" audit:"legacyId"`
	OrganizationID string    `json:"organizationId"`
	PublicID       string    `json:"publicId" audit:"publicId,null"` // see ShownID; unique in the organization
	Type           EventType `json:"type" audit:"type"`
	Status         Status    `json:"status" audit:"status"`
	Title          string    `json:"title" audit:"title"`
	Severity       string    `json:"severity" audit:"severity,null"` // empty: none
	Description    Rich      `json:"description" audit:"description"`
	Impact         Rich      `json:"impact" audit:"impactAnalysis"` // the text of the impact analysis
	Coordinator    Rich      `json:"coordinator" audit:"coordinator"`

	StartAt          time.Time  `json:"startAt" audit:"startAt"`
	EndAt            *time.Time `json:"endAt" audit:"endAt"`                       // the actual end
	ScheduledStartAt *time.Time `json:"scheduledStartAt" audit:"scheduledStartAt"` // planned start of a maintenance
	ScheduledEndAt   *time.Time `json:"scheduledEndAt" audit:"scheduledEndAt"`
	AutoStart        bool       `json:"autoStart" audit:"autoStart"`
	AutoEnd          bool       `json:"autoEnd" audit:"autoEnd"`
	Pauses           []Pause    `json:"pauses"` // in order of From
	// ClosedAt is the time of the write that closed the event. It is nil for an open event, and for an event that was
	// created closed.
	ClosedAt *time.Time `json:"closedAt"`
	// StartedFor and EndedFor are the planned start and the planned end that are done. The scheduler does not start or
	// end the event for these times any more, even if a person has undone the step.
	StartedFor *time.Time `json:"startedFor"`
	EndedFor   *time.Time `json:"endedFor"`
	// RemindedTo is the time of the last reminder, or of the last change that armed the reminders. Only reminders that
	// are due after it are sent.
	RemindedTo    *time.Time `json:"remindedTo"`
	RemindersSent int64      `json:"remindersSent"`

	Published bool `json:"published" audit:"publish"` // false: a draft, which visitors do not see and nobody is notified of
	// PublishedAt is the time at which the event was created as published, or was last changed from a draft. nil: never.
	PublishedAt             *time.Time `json:"publishedAt" audit:"publishedAt"`
	Backfilled              bool       `json:"backfilled" audit:"backfilled"`           // the event was created or last imported as closed, with start and end in the past
	ExternalID              string     `json:"externalId" audit:"externalId,null"`      // empty: none; unique in the organization while the event is open
	ReminderMinutes         []int      `json:"reminderMinutes" audit:"reminderMinutes"` // minutes before the planned start of a maintenance
	HiddenFromDashboard     bool       `json:"hiddenFromDashboard" audit:"hiddenFromDashboard"`
	HiddenFromUptimeReports bool       `json:"hiddenFromUptimeReports" audit:"hiddenFromUptimeReports"`

	Links []Link `json:"links" audit:"affectedComponents"`
	// DashboardIDs is the dashboards of an event without Links. An event with Links is on the dashboards of its components.
	DashboardIDs []string    `json:"dashboardIds" audit:"dashboardIds"`
	Timeline     []Entry     `json:"timeline" audit:"timeline,changed"` // in order of creation; see Chronicle
	Notes        []Note      `json:"notes" audit:"notes,changed"`       // internal, oldest first
	PostMortem   *PostMortem `json:"postMortem" audit:"postMortem,changed"`
	// StatusEntry is the StatusID of the entry that set Status; empty if no entry did.
	StatusEntry string `json:"statusEntry"`

	// Inbound records the recent messages of monitoring tools that have changed the event, oldest first.
	Inbound []InboundRecord `json:"inbound"`
	// ReportedAt is Inbound.ReceivedAt of the message that created the event; nil if it did not wait, or no message did.
	ReportedAt *time.Time `json:"reportedAt"`

	EmailSubject string `json:"emailSubject"` // subject of mails about this event, from the last request that had a subject
	// Announced is the channels that the scheduler notifies: those of the last write that chose channels, without its
	// texts.
	Announced topic.Notify `json:"announced"`
	Source    Source       `json:"source" audit:"source"`
	Import    *ImportMark  `json:"import" audit:"import"` // nil: the event was not imported
	CreatedBy Author       `json:"createdBy" audit:"createdBy"`
	CreatedAt time.Time    `json:"createdAt" audit:"createdAt"`
	UpdatedAt time.Time    `json:"updatedAt" audit:"updatedAt,quiet"`
	Version   int64        `json:"version" audit:"version,quiet"` // the number of changes
	// ShownVersion and ShownAt are the Version and the time of the last change that visitors of dashboards see.
	ShownVersion int64     `json:"shownVersion"`
	ShownAt      time.Time `json:"shownAt"`
}

// BriefDescription returns the description for the legacy interface. If the event has no description, it returns the
// title, because each event of the legacy interface must have a description.
func (e *Event) BriefDescription() string { return cmp.Or(e.Description.Brief(BriefText), e.Title) }

type Link struct {
	LegacyID    int64  `json:"legacyId"`
	ComponentID string `json:"componentId" audit:"componentId"`
	Impact      Impact `json:"impact" audit:"impact,null"` // empty: the default for type and severity of the event
	// StatedAt is the time at which Impact was stated. Impact overrides the impacts of timeline entries that were
	// written until then. Later entries override Impact. nil: all entries override Impact.
	StatedAt *time.Time `json:"statedAt"`
}

type Entry struct {
	StatusID       string            `json:"statusId" audit:"statusId"` // uuid
	LegacyID       int64             `json:"legacyId"`
	PublicID       string            `json:"publicId" audit:"publicId,null"` // see ShownID
	ImportKey      string            `json:"importKey"`                      // key of the entry in an import; empty: the entry was not imported
	Status         Status            `json:"status" audit:"status"`
	PreviousStatus Status            `json:"previousStatus" audit:"previousStatus,null"` // status before the entry; empty: no change, or the first entry of a new event
	Impacts        []ComponentImpact `json:"impacts" audit:"componentImpacts"`           // impacts on components, from Timestamp on
	Notified       bool              `json:"notified" audit:"notified"`                  // the write of the entry notified at least one channel
	Message        Rich              `json:"message" audit:"message"`
	Timestamp      time.Time         `json:"timestamp" audit:"timestamp"` // the time that the message describes; CreatedAt is the time of the write
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
	Imported  bool       `json:"imported"`
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

// ActionItem is a task in a post-mortem.
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
	return find.Values(e.Links, func(link Link) string { return link.ComponentID })
}

func (e *Event) LinkIDs() []int64 {
	return find.Values(e.Links, func(link Link) int64 { return link.LegacyID })
}

// OpenExternalID returns the external id of an open event. It returns nil for an event that is closed or has no
// external id. A unique index of the store uses it.
func (e *Event) OpenExternalID() any {
	if e.ExternalID == "" || !e.Open() {
		return nil
	}
	return e.ExternalID
}

func (e *Event) clone() *Event {
	copied := *e
	copied.Links = slices.Clone(e.Links)
	copied.DashboardIDs = slices.Clone(e.DashboardIDs)
	copied.Timeline = slices.Clone(e.Timeline)
	copied.Notes = slices.Clone(e.Notes)
	copied.Pauses = slices.Clone(e.Pauses)
	copied.ReminderMinutes = slices.Clone(e.ReminderMinutes)
	copied.Inbound = slices.Clone(e.Inbound)
	return &copied
}

func sameTime(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}

func (e *Event) Open() bool { return !e.Status.Closed() }

// Active reports whether the event is published, has a status that is under way and has reached its start.
func (e *Event) Active(now time.Time) bool {
	return e.Published && e.Status.Underway() && !e.StartAt.After(now)
}

// Alerts reports whether dashboards show the components of the event as affected once StartAt is reached.
func (e *Event) Alerts() bool { return e.Published && !e.HiddenFromDashboard && e.Status.Underway() }

// InboundRecord is a message that has changed the event, and its result.
type InboundRecord struct {
	ID     string        `json:"id"`
	Result InboundResult `json:"result"`
	At     time.Time     `json:"at"`
}

// InboundResult says what a message of a monitoring tool has done to an event.
type InboundResult string

const (
	InboundCreated  InboundResult = "created"
	InboundUpdated  InboundResult = "updated"
	InboundResolved InboundResult = "resolved"
	InboundReopened InboundResult = "reopened"
	InboundIgnored  InboundResult = "ignored"
)

// Pause is a time in which an event was closed before it was reopened.
type Pause struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Chronicle returns the timeline in order of timestamp. Entries with the same timestamp are in order of creation, as in
// Timeline.
func (e *Event) Chronicle() []Entry {
	return slices.SortedStableFunc(slices.Values(e.Timeline), func(a, b Entry) int { return a.Timestamp.Compare(b.Timestamp) })
}

// EntryOf returns the timeline entry with the id, or NotFound.
func (e *Event) EntryOf(statusID string) (Entry, error) {
	at, err := e.entryAt(statusID)
	if err != nil {
		return Entry{}, err
	}
	return e.Timeline[at], nil
}

func (e *Event) entryAt(statusID string) (int, error) {
	at := slices.IndexFunc(e.Timeline, func(entry Entry) bool { return entry.StatusID == statusID })
	if at < 0 {
		return at, fault.New(fault.NotFound, "The event has no such timeline entry.")
	}
	return at, nil
}
