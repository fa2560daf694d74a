package edition

import (
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

// FeedDays is how many days an item stays in a feed.
const FeedDays = 90

// Snapshot is the data of the public files of a dashboard, except older events (see Extra). It has no drafts, hidden
// events, incidents before their start, hidden components, notes and authors, so no file can show them.
type Snapshot struct {
	Edition    int64             `json:"edition"` // number of the edition; increases with each edition
	At         time.Time         `json:"at"`      // the time for which the states and the days were computed
	URL        string            `json:"url"`     // the canonical address, without a final slash; see catalog.Addresses.URL
	Dashboard  catalog.Dashboard `json:"dashboard"`
	Components []ShownComponent  `json:"components"` // in the order of the page
	// Events is the open and planned events, and those that began or ended within the last 90 days; the newest first.
	Events []ShownEvent `json:"events"`
	// Withdrawn is the maintenances that visitors have seen and do not see any more, until 30 days after their planned
	// end, at most the last 500. They have no text other than the title. Their Version is greater than all versions
	// that visitors have seen.
	Withdrawn []ShownEvent `json:"withdrawn"`
	// Raised is, by id of a maintenance that was withdrawn and is shown again, the number that maintenance.ics adds to
	// its Version.
	Raised map[string]int64 `json:"raised"`
	// FeedChangedAt is the date of a feed without items, unless an item of Events expired later. A feed with items ignores
	// it.
	FeedChangedAt time.Time `json:"feedChangedAt"`
	// Months is the months that have a page of history, the newest first, as yyyy-mm in the dashboard's zone.
	Months []string `json:"months"`
	// FeedKey is the value of the query parameter "key" that gives access to the feeds of a private page; empty on a
	// public page.
	FeedKey string `json:"feedKey"`
}

// Component returns the component with the id; nil if the dashboard does not show it.
func (s *Snapshot) Component(id string) *ShownComponent {
	at := slices.IndexFunc(s.Components, func(c ShownComponent) bool { return c.ID == id })
	if at < 0 {
		return nil
	}
	return &s.Components[at]
}

// ShownComponent is a component as visitors see it.
type ShownComponent struct {
	ID          string         `json:"id"`
	LegacyID    int64          `json:"legacyId"`
	PublicID    string         `json:"publicId"` // empty: none
	Name        string         `json:"name"`
	Group       string         `json:"group"` // the group of the placement, or else the component's own
	Description string         `json:"description"`
	State       catalog.Impact `json:"state"` // the worst of the impacts of active events and of the state by hand
	Since       time.Time      `json:"since"` // uptime is not measured before this time
	UpdatedAt   time.Time      `json:"updatedAt"`
	ByHand      *ShownOverride `json:"byHand"`  // nil: none
	Counted     []Span         `json:"counted"` // times in which states by hand count in the uptime
	// FeedChangedAt is like Snapshot.FeedChangedAt, for the feed of the component.
	FeedChangedAt time.Time            `json:"feedChangedAt"`
	Days          []uptime.AffectedDay `json:"days"` // days of the last 12 months on which the component was affected, the oldest first
	// Uptime is the uptime in percent over the days of the bar, with the dashboard's weight of a partial outage. It is
	// nil if nothing but maintenance was measured.
	Uptime *float64 `json:"uptime"`
}

// ShownEvent is an event as visitors see it.
type ShownEvent struct {
	ID          string            `json:"id"`
	PublicID    string            `json:"publicId"` // empty: none
	Type        catalog.EventType `json:"type"`
	Status      catalog.Status    `json:"status"`
	Severity    string            `json:"severity"` // empty: none
	Imported    bool              `json:"imported"` // the event comes from another product
	Title       string            `json:"title"`
	Description catalog.Rich      `json:"description"`
	Analysis    catalog.Rich      `json:"impactAnalysis"`
	Impacts     []ShownImpact     `json:"impacts"` // the present impacts, or the last ones of a closed event; without hidden components; none for an event without components

	StartAt          time.Time  `json:"startAt"`
	EndAt            *time.Time `json:"endAt"` // the actual end
	ScheduledStartAt *time.Time `json:"scheduledStartAt"`
	ScheduledEndAt   *time.Time `json:"scheduledEndAt"`

	Entries    []ShownEntry     `json:"entries"` // the newest first
	PostMortem *ShownPostMortem `json:"postMortem"`
	CreatedAt  time.Time        `json:"createdAt"`
	UpdatedAt  time.Time        `json:"updatedAt"`
	Version    int64            `json:"version"`
}

// Cancelled reports whether the event is a maintenance that never took place, because its status changed from planning
// to completed. EventEdit.Move gives it the same start and end.
func (e *ShownEvent) Cancelled() bool {
	return e.Type == catalog.Maintenance && e.Status == catalog.Completed && e.EndAt != nil && !e.StartAt.Before(*e.EndAt)
}

// ShownImpact is the impact of an event on a component.
type ShownImpact struct {
	ComponentID string         `json:"componentId"`
	Name        string         `json:"name"`
	Impact      catalog.Impact `json:"impact"`
	Worst       catalog.Impact `json:"worst"` // the worst impact during the whole event
}

// ShownEntry is an entry of a timeline as visitors see it.
type ShownEntry struct {
	StatusID  string         `json:"statusId"`
	PublicID  string         `json:"publicId"` // empty: none
	Status    catalog.Status `json:"status"`   // StatusUpdate for an entry without a transition
	InForce   catalog.Status `json:"inForce"`  // the status of the event from this entry on
	Imported  bool           `json:"imported"` // the entry comes from another product; no feed has it
	Message   catalog.Rich   `json:"message"`
	Impacts   []ShownChange  `json:"impacts"` // the impacts that the entry states; if it closes the event, the ends of all impacts
	Notified  bool           `json:"notified"`
	Timestamp time.Time      `json:"timestamp"`
	CreatedAt time.Time      `json:"createdAt"`
	UpdatedAt time.Time      `json:"updatedAt"`
}

// ShownChange is a change of the impact of an event on a component by a timeline entry.
type ShownChange struct {
	ComponentID string         `json:"componentId"`
	Before      catalog.Impact `json:"before"` // the impact before the entry
	Impact      catalog.Impact `json:"impact"`
}

// ShownPostMortem is a published post-mortem.
type ShownPostMortem struct {
	Summary        catalog.Rich         `json:"summary"`
	RootCause      *catalog.Rich        `json:"rootCause"`
	Impact         *catalog.Rich        `json:"impact"`
	Resolution     *catalog.Rich        `json:"resolution"`
	LessonsLearned *catalog.Rich        `json:"lessonsLearned"`
	ActionItems    []catalog.ActionItem `json:"actionItems"` // without owners
	PublishedAt    time.Time            `json:"publishedAt"`
}

// ShownMonth is a month of the history. It also has the events that are too old for Snapshot.Events.
type ShownMonth struct {
	Month   string              `json:"month"`   // yyyy-mm
	Events  []ShownEvent        `json:"events"`  // the events that overlap the month, the newest first
	Uptimes map[string]*float64 `json:"uptimes"` // percentages by the id of the component; nil if nothing but maintenance was measured
}
