package app

import (
	"context"
	"encoding/json"
	"net/url"
	"time"
)

const (
	events   = "events"
	delivery = "delivery"

	eventsPath = "/app/events"
)

// Events is a page of a list of events.
type Events struct {
	Events    []Event `json:"events"`
	NextToken *string `json:"nextToken"`
}

// Event is an incident or a maintenance.
type Event struct {
	ID                      string          `json:"id"`
	Type                    string          `json:"type"`
	Title                   string          `json:"title"`
	Description             *string         `json:"description"`
	ImpactAnalysis          *string         `json:"impactAnalysis"`
	Coordinator             *string         `json:"coordinator"`
	Status                  string          `json:"status"`
	Severity                string          `json:"severity"`
	StartAt                 time.Time       `json:"startAt"`
	EndAt                   *time.Time      `json:"endAt"`
	ScheduledStartAt        *time.Time      `json:"scheduledStartAt"`
	ScheduledEndAt          *time.Time      `json:"scheduledEndAt"`
	AutoStart               bool            `json:"autoStart"`
	AutoEnd                 bool            `json:"autoEnd"`
	ReminderMinutes         []int           `json:"reminderMinutes"`
	Publish                 bool            `json:"publish"`
	AffectedComponents      []Affected      `json:"affectedComponents"`
	DashboardIDs            []string        `json:"dashboardIds"`
	NotifyLater             map[string]bool `json:"notifyLater"` // channels that the scheduler notifies
	HiddenFromDashboard     bool            `json:"hiddenFromDashboard"`
	HiddenFromUptimeReports bool            `json:"hiddenFromUptimeReports"`
	Source                  string          `json:"source"`
	CreatedBy               Author          `json:"createdBy"`
	UpdatedAt               time.Time       `json:"updatedAt"`
	Version                 int64           `json:"version"`
}

// Affected is a component that an event affects.
type Affected struct {
	ComponentID string `json:"componentId"`
	Name        string `json:"name"`
	Impact      string `json:"impact"`
}

// Author is who wrote something.
type Author struct {
	Name string `json:"name"`
}

// EventResult is one event.
type EventResult struct {
	Event EventDetail `json:"event"`
}

// EventDetail is an event with its timeline, notes and post-mortem.
type EventDetail struct {
	Event
	Timeline   []Entry     `json:"timeline"`
	Notes      []Note      `json:"notes"`
	PostMortem *PostMortem `json:"postMortem"`
}

// Entry is an entry of the timeline of an event.
type Entry struct {
	StatusID       string     `json:"statusId"`
	Status         string     `json:"status"`
	PreviousStatus string     `json:"previousStatus"`
	Message        string     `json:"message"`
	Timestamp      time.Time  `json:"timestamp"`
	Author         Author     `json:"author"`
	Notified       bool       `json:"notified"`
	EditedAt       *time.Time `json:"editedAt"`
}

// Note is an internal note of an event.
type Note struct {
	NoteID    string     `json:"noteId"`
	Note      string     `json:"note"`
	Author    Author     `json:"author"`
	CreatedAt time.Time  `json:"createdAt"`
	EditedAt  *time.Time `json:"editedAt"`
}

// PostMortem is the report after the end of an event.
type PostMortem struct {
	Summary        string       `json:"summary"`
	RootCause      *string      `json:"rootCause"`
	Impact         *string      `json:"impact"`
	Resolution     *string      `json:"resolution"`
	LessonsLearned *string      `json:"lessonsLearned"`
	ActionItems    []ActionItem `json:"actionItems"`
	Published      bool         `json:"published"`
	UpdatedAt      time.Time    `json:"updatedAt"`
}

// ActionItem is something to do after an event.
type ActionItem struct {
	Text    string  `json:"text"`
	Owner   *string `json:"owner"`
	DueDate *string `json:"dueDate"`
	Done    bool    `json:"done"`
}

func eventPath(id string) string { return eventsPath + "/" + url.PathEscape(id) }

// Events lists the events that match the query, the newest start first.
func (c *Caller) Events(ctx context.Context, query url.Values) (Events, error) {
	return call[Events](ctx, c, request{service: events, method: "GET", path: eventsPath, query: query})
}

// Event returns an event.
func (c *Caller) Event(ctx context.Context, id string) (EventResult, error) {
	return call[EventResult](ctx, c, request{service: events, method: "GET", path: eventPath(id)})
}

// Channels says on which channels recipients are notified.
type Channels struct {
	Email    bool `json:"email"`
	SMS      bool `json:"sms"`
	WhatsApp bool `json:"whatsapp"`
	Webhook  bool `json:"webhook"`
	Teams    bool `json:"teams"`
	GChat    bool `json:"gchat"`
	Slack    bool `json:"slack"`
	Discord  bool `json:"discord"`
}

// AffectedChange is a component of a new or changed event. Without an Impact, the type and the severity set it.
type AffectedChange struct {
	ComponentID string `json:"componentId"`
	Impact      string `json:"impact,omitempty"`
}

// EventChange is a new event or a change of an event. In a change, a member that is nil keeps its value. DashboardIDs are
// the dashboards of an event without components.
type EventChange struct {
	Title                   *string           `json:"title,omitempty"`
	Description             *Nullable         `json:"description,omitempty"`
	ImpactAnalysis          *Nullable         `json:"impactAnalysis,omitempty"`
	Coordinator             *Nullable         `json:"coordinator,omitempty"`
	Severity                *Nullable         `json:"severity,omitempty"`
	AffectedComponents      *[]AffectedChange `json:"affectedComponents,omitempty"`
	DashboardIDs            *[]string         `json:"dashboardIds,omitempty"`
	StartAt                 *time.Time        `json:"startAt,omitempty"`
	EndAt                   *time.Time        `json:"endAt,omitempty"`
	ScheduledStartAt        *time.Time        `json:"scheduledStartAt,omitempty"`
	ScheduledEndAt          *time.Time        `json:"scheduledEndAt,omitempty"`
	AutoStart               *bool             `json:"autoStart,omitempty"`
	AutoEnd                 *bool             `json:"autoEnd,omitempty"`
	ReminderMinutes         *[]int64          `json:"reminderMinutes,omitempty"`
	HiddenFromDashboard     *bool             `json:"hiddenFromDashboard,omitempty"`
	HiddenFromUptimeReports *bool             `json:"hiddenFromUptimeReports,omitempty"`
	Publish                 *bool             `json:"publish,omitempty"`
	Notify                  *Channels         `json:"notify,omitempty"`
	NotifyLater             *Channels         `json:"notifyLater,omitempty"`
}

// Nullable is a text that is null in JSON if it is empty.
type Nullable string

// MarshalJSON implements json.Marshaler.
func (n Nullable) MarshalJSON() ([]byte, error) {
	if n == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(n))
}

// NewEvent is an event to create.
type NewEvent struct {
	EventChange
	Type                   string `json:"type"`
	Status                 string `json:"status,omitempty"`
	InitialTimelineMessage string `json:"initialTimelineMessage,omitempty"`
}

// AddEvent creates an event.
func (c *Caller) AddEvent(ctx context.Context, in NewEvent) (EventResult, error) {
	return call[EventResult](ctx, c, request{service: events, method: "POST", path: eventsPath, body: in})
}

// ChangeEvent changes an event that has the version. With version 0, the event may have any version.
func (c *Caller) ChangeEvent(ctx context.Context, id string, version int64, in EventChange) (EventResult, error) {
	return call[EventResult](ctx, c, request{service: events, method: "PATCH", path: eventPath(id), version: version, body: in})
}

// DeleteEvent deletes an event that has the version.
func (c *Caller) DeleteEvent(ctx context.Context, id string, version int64) (struct{}, error) {
	return call[struct{}](ctx, c, request{service: events, method: "DELETE", path: eventPath(id), version: version})
}

// ImpactChange is the impact on a component from the time of a timeline entry on.
type ImpactChange struct {
	ComponentID string `json:"componentId"`
	Impact      string `json:"impact"`
}

// NewEntry is an entry to add to a timeline.
type NewEntry struct {
	Message          string         `json:"message"`
	Status           string         `json:"status,omitempty"`
	Timestamp        *time.Time     `json:"timestamp,omitempty"`
	ComponentImpacts []ImpactChange `json:"componentImpacts,omitempty"`
	Notify           *Channels      `json:"notify,omitempty"`
}

// EntryResult is a new entry.
type EntryResult struct {
	TimelineEntry Entry `json:"timelineEntry"`
}

// AddEntry adds an entry to the timeline of an event that has the version. With version 0, the event may have any
// version.
func (c *Caller) AddEntry(ctx context.Context, id string, version int64, in NewEntry) (EntryResult, error) {
	return call[EntryResult](ctx, c, request{service: events, method: "POST", path: eventPath(id) + "/timeline", version: version, body: in})
}

// EntryChange replaces the text and the time of an entry.
type EntryChange struct {
	Message   string     `json:"message"`
	Timestamp *time.Time `json:"timestamp,omitempty"`
}

func entryPath(id, entry string) string {
	return eventPath(id) + "/timeline/" + url.PathEscape(entry)
}

// CorrectEntry replaces an entry of an event that has the version. It notifies nobody.
func (c *Caller) CorrectEntry(ctx context.Context, id, entry string, version int64, in EntryChange) (struct{}, error) {
	return call[struct{}](ctx, c, request{service: events, method: "PUT", path: entryPath(id, entry), version: version, body: in})
}

// DeleteEntry deletes an entry of an event that has the version.
func (c *Caller) DeleteEntry(ctx context.Context, id, entry string, version int64) (struct{}, error) {
	return call[struct{}](ctx, c, request{service: events, method: "DELETE", path: entryPath(id, entry), version: version})
}

// Reopening is the input of Reopen.
type Reopening struct {
	Message string    `json:"message"`
	Status  string    `json:"status,omitempty"`
	Notify  *Channels `json:"notify,omitempty"`
}

// Reopen opens a closed event that has the version again.
func (c *Caller) Reopen(ctx context.Context, id string, version int64, in Reopening) (EntryResult, error) {
	return call[EntryResult](ctx, c, request{service: events, method: "POST", path: eventPath(id) + "/reopen", version: version, body: in})
}

// NoteText is the text of a note.
type NoteText struct {
	Note string `json:"note"`
}

func notePath(id, note string) string { return eventPath(id) + "/notes/" + url.PathEscape(note) }

// AddNote adds a note to an event.
func (c *Caller) AddNote(ctx context.Context, id string, in NoteText) (struct{}, error) {
	return call[struct{}](ctx, c, request{service: events, method: "POST", path: eventPath(id) + "/notes", body: in})
}

// ChangeNote replaces a note of an event that has the version.
func (c *Caller) ChangeNote(ctx context.Context, id, note string, version int64, in NoteText) (struct{}, error) {
	return call[struct{}](ctx, c, request{service: events, method: "PUT", path: notePath(id, note), version: version, body: in})
}

// DeleteNote deletes a note of an event that has the version.
func (c *Caller) DeleteNote(ctx context.Context, id, note string, version int64) (struct{}, error) {
	return call[struct{}](ctx, c, request{service: events, method: "DELETE", path: notePath(id, note), version: version})
}

// PostMortemChange replaces the report after the end of an event.
type PostMortemChange struct {
	Summary        string       `json:"summary"`
	RootCause      string       `json:"rootCause"`
	Impact         string       `json:"impact"`
	Resolution     string       `json:"resolution"`
	LessonsLearned string       `json:"lessonsLearned"`
	ActionItems    []ActionItem `json:"actionItems"`
	Published      bool         `json:"published"`
	Notify         *Channels    `json:"notify,omitempty"`
}

// SetPostMortem replaces the report of an event that has the version. With version 0, the event may have any version.
func (c *Caller) SetPostMortem(ctx context.Context, id string, version int64, in PostMortemChange) (struct{}, error) {
	return call[struct{}](ctx, c, request{service: events, method: "PUT", path: eventPath(id) + "/post-mortem", version: version, body: in})
}

// DeletePostMortem deletes the report of an event that has the version.
func (c *Caller) DeletePostMortem(ctx context.Context, id string, version int64) (struct{}, error) {
	return call[struct{}](ctx, c, request{service: events, method: "DELETE", path: eventPath(id) + "/post-mortem", version: version})
}
