package edition

import (
	"maps"
	"time"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

const recentDays = 90 // days whose events a snapshot has

// composition makes the state of a dashboard that follows from the former one.
//
// Every writer of a record renders the pages that show it, and passes the written record. So all that the former state
// has of other records is right, or their writer corrects it, and a write costs about the same for any number of
// events. Events are read only if the zone, the components or their beginnings change, and if an event is written that ended before the
// time for which the state has all events.
type composition struct {
	records  *catalog.Store
	was      *State // nil: none
	state    State
	calendar uptime.Calendar
	names    map[string]string // names of the shown components, by id
	loaded   bool              // the dashboard and the components were read
	changed  bool
	redo     map[string]bool // the dates whose numbers are computed again
	allDays  bool            // the days of all dates may differ from the former state
}

// begin returns a composition with the dashboard and its components; the components have no numbers yet.
func (e *Editions) begin(was *State, dashboard catalog.Dashboard, organization string, components []ShownComponent, now time.Time) *composition {
	m := &composition{records: &e.records, was: was, calendar: uptime.NewCalendar(now, dashboard.Zone()), names: map[string]string{}, redo: map[string]bool{}}
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

// recentFrom returns the time since which a snapshot has all events.
func (m *composition) recentFrom() time.Time { return m.calendar.Last(recentDays + 1)[0].From }

// stale reports whether the days of a date may differ from the former state.
func (m *composition) stale(date string) bool { return m.allDays || m.redo[date] }

// put adds an event to the state, unless the event ended too long ago.
func (m *composition) put(event shownEvent) {
	if event.Event.recent(m.recentFrom()) {
		m.state.chunks = m.state.chunks.with(event)
		m.restore(event.Event)
	}
}

// drop removes an event and returns what the state had of it.
func (m *composition) drop(id string) shownEvent {
	at, in := m.state.chunks.find(id)
	if at < 0 {
		return shownEvent{}
	}
	former := m.state.chunks[at].events[in]
	m.state.chunks = m.state.chunks.without(at, func(e shownEvent) bool { return e.Event.ID == id })
	return former
}

func (m *composition) since(at time.Time) {
	if month := m.calendar.Month(at); m.state.FirstMonth == "" || month < m.state.FirstMonth {
		m.state.FirstMonth = month
	}
}
