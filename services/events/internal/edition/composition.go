package edition

import (
	"maps"
	"time"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

const recentDays = 90 // a snapshot has the closed events of this many days, and all open events

// composition makes the next state of a dashboard from the former state.
//
// Every writer of a record renders the pages that show the record, and passes the record. So the data of other records
// in the former state are right, or the writers of those records correct them. A write therefore costs about the same
// for any number of events. Events are read only if there is no former state of the present format, if the time zone of
// the dashboard or Since of a component changes, if a component is added, if the first month may be later, or if days
// are computed again for which the state does not have all events.
type composition struct {
	records  *catalog.Store
	was      *State // former state; nil: none
	state    State
	calendar uptime.Calendar
	names    map[string]string // names of the shown components, by id
	loaded   bool              // prepareFrom has set the dashboard and the components; false: they are those of the former state
	aliased  bool              // the aliases of the dashboard were changed
	changed  bool
	redo     map[string]bool // the dates of the days that retally computes again
	allDays  bool            // all days may differ from the former state

	leftFirst bool // the first month of the former state may have lost its events and components
}

// begin returns a composition with the dashboard and its components. It does not compute states, days and uptimes.
func (e *Editions) begin(was *State, dashboard catalog.Dashboard, organization string, components []ShownComponent, now time.Time) *composition {
	m := &composition{records: &e.records, was: was, calendar: e.calendars.At(now, dashboard.Zone()), names: map[string]string{}, redo: map[string]bool{}}
	for _, component := range components {
		m.names[component.ID] = component.Name
	}
	m.state = State{OrganizationID: organization, Format: stateFormat}
	m.state.Snapshot = Snapshot{At: now, Dashboard: shownDashboard(dashboard, m.names), Components: components, Withdrawn: []ShownEvent{}, Raised: map[string]int64{}}
	if was != nil {
		m.state.Snapshot.FeedChangedAt = was.Snapshot.FeedChangedAt
		m.state.Snapshot.Withdrawn = append(m.state.Snapshot.Withdrawn, was.Snapshot.Withdrawn...)
		maps.Copy(m.state.Snapshot.Raised, was.Snapshot.Raised)
	}
	return m
}

// shown returns the event as the dashboard shows it, or the zero shownEvent if the dashboard does not show it.
func (m *composition) shown(e *catalog.Event) shownEvent {
	return shownOn(e, m.state.Snapshot.Dashboard.ID, m.names)
}

// recentFrom returns the start of the day recentDays ago. A snapshot has the closed events that began or ended after
// this time.
func (m *composition) recentFrom() time.Time { return m.calendar.Last(recentDays + 1)[0].From }

// stale reports whether the components' days with this date may differ from those of the former state.
func (m *composition) stale(date string) bool { return m.allDays || m.redo[date] }

// put adds a recent event to the state and calls restore. It ignores an event that is not recent.
func (m *composition) put(event shownEvent) {
	if event.Event.recent(m.recentFrom()) {
		m.state.chunks = m.state.chunks.with(event)
		m.restore(event.Event)
	}
}

// drop removes an event from the state. It does nothing if the state does not have the event.
func (m *composition) drop(id string) {
	if at, _ := m.state.chunks.find(id); at >= 0 {
		m.state.chunks = m.state.chunks.without(at, func(e shownEvent) bool { return e.Event.ID == id })
	}
}

func (m *composition) since(at time.Time) {
	if month := m.calendar.Month(at); m.state.FirstMonth == "" || month < m.state.FirstMonth {
		m.state.FirstMonth = month
	}
}
