package edition

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

const (
	withdrawnDays = 30  // a maintenance stays in Withdrawn for this many days after its planned end
	maxWithdrawn  = 500 // maximum length of Withdrawn, because the head of each edition stores it
)

// leaveMissing finds the events of the former state that the present state does not have: their components were hidden
// or removed from the dashboard, the events are not recent any more, or readAll did not find them. It calls leaveFeeds
// for these events, and withdraw for the recent ones. It also withdraws a recent maintenance that has become an
// incident.
func (m *composition) leaveMissing() {
	if m.was == nil {
		return
	}
	types := map[string]catalog.EventType{}
	for e := range m.state.chunks.all() {
		types[e.Event.ID] = e.Event.Type
	}
	since := m.recentFrom()
	for e := range m.was.chunks.all() {
		if _, shown := types[e.Event.ID]; !shown {
			m.leaveFeeds(e.Event)
		}
		if types[e.Event.ID] != catalog.Maintenance && e.Event.recent(since) {
			m.withdraw(e.Event)
		}
	}
}

// withdraw adds e to Withdrawn if e is a maintenance, so that calendars show it as cancelled. Visitors do not see e any more.
func (m *composition) withdraw(e *ShownEvent) {
	if e.Type != catalog.Maintenance {
		return
	}
	s := &m.state.Snapshot
	s.Withdrawn = append(s.Withdrawn, ShownEvent{
		ID: e.ID, Type: e.Type, Status: e.Status, Title: e.Title, StartAt: e.StartAt, EndAt: e.EndAt,
		ScheduledStartAt: e.ScheduledStartAt, ScheduledEndAt: e.ScheduledEndAt, CreatedAt: e.CreatedAt, UpdatedAt: s.At,
		Version: e.Version + s.Raised[e.ID] + 1, Description: catalog.Rich{Format: e.Description.Format}, Impacts: []ShownImpact{}, Entries: []ShownEntry{},
	})
	delete(s.Raised, e.ID)
}

// restore removes a maintenance that visitors see again from Withdrawn. Calendar programs ignore a version that is not
// greater than that of the cancellation. The version of the event may be smaller, because hiding a component does not
// change the event. So restore stores in Raised the number that maintenance.ics adds to the version.
func (m *composition) restore(e *ShownEvent) {
	s := &m.state.Snapshot
	at := slices.IndexFunc(s.Withdrawn, func(w ShownEvent) bool { return w.ID == e.ID })
	if at < 0 || e.Type != catalog.Maintenance {
		return
	}
	if more := s.Withdrawn[at].Version + 1 - e.Version; more > 0 {
		s.Raised[e.ID] = more
	}
	s.Withdrawn = slices.Delete(s.Withdrawn, at, at+1)
}

// forgetWithdrawn removes the maintenances from Withdrawn whose planned end is more than withdrawnDays ago, and keeps
// only the last maxWithdrawn of the others. It removes the numbers from Raised whose events are not in the state.
func (m *composition) forgetWithdrawn() {
	s := &m.state.Snapshot
	s.Withdrawn = slices.DeleteFunc(s.Withdrawn, func(e ShownEvent) bool {
		planned := *cmp.Or(e.ScheduledEndAt, e.EndAt, &e.StartAt)
		return planned.AddDate(0, 0, withdrawnDays).Before(s.At)
	})
	s.Withdrawn = s.Withdrawn[max(0, len(s.Withdrawn)-maxWithdrawn):]
	maps.DeleteFunc(s.Raised, func(id string, _ int64) bool { return m.state.chunks.get(id).Event == nil })
}

// dateFeeds sets FeedChangedAt to the time of the snapshot for the feeds that are new, or whose address or text about
// the dashboard or the component differs from the former state.
func (m *composition) dateFeeds() {
	s := &m.state.Snapshot
	names := map[string]string{}
	all := m.was == nil || s.FeedChangedAt.IsZero() || feedTexts(&m.was.Snapshot) != feedTexts(s)
	if all {
		s.FeedChangedAt = s.At
	} else {
		for _, c := range m.was.Snapshot.Components {
			names[c.ID] = c.Name
		}
	}
	for i := range s.Components {
		if c := &s.Components[i]; names[c.ID] != c.Name {
			c.FeedChangedAt = s.At
		}
	}
}

func feedTexts(s *Snapshot) [5]string {
	return [5]string{s.URL, s.FeedKey, s.Dashboard.Name, s.Dashboard.Description, s.Dashboard.Locale}
}

// leaveFeeds sets FeedChangedAt of the feeds with items of an event that is removed or replaced, unless a later time is
// set. The new value is the time at which the newest item of the event became older than FeedDays, but at the latest
// the time of the snapshot.
func (m *composition) leaveFeeds(e *ShownEvent) {
	newest := e.itemAt()
	if e.ahead(m.was.Snapshot.At) || newest == nil {
		return
	}
	s := &m.state.Snapshot
	at := uptime.Earlier(s.At, newest.AddDate(0, 0, FeedDays))
	s.FeedChangedAt = uptime.Later(s.FeedChangedAt, at)
	for _, impact := range e.Impacts {
		if c := m.state.Snapshot.Component(impact.ComponentID); c != nil {
			c.FeedChangedAt = uptime.Later(c.FeedChangedAt, at)
		}
	}
}

// itemAt returns the time of the newest feed item of the event, or nil if the event has no item. Each entry that was
// not imported is an item. An event without entries is one item, unless the event was imported.
func (e *ShownEvent) itemAt() *time.Time {
	if len(e.Entries) == 0 && !e.Imported {
		return &e.CreatedAt
	}
	for i := range e.Entries {
		if !e.Entries[i].Imported {
			return &e.Entries[i].Timestamp
		}
	}
	return nil
}
