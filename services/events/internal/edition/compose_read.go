package edition

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

// readAll reads all events of the state, and computes all days and the first month.
func (m *composition) readAll(ctx context.Context) error {
	spans, err := m.read(ctx, []string{""}, m.calendar.Days, m.put)
	if err != nil {
		return err
	}
	for i := range m.state.Snapshot.Components {
		component := &m.state.Snapshot.Components[i]
		component.Days = m.calendar.Tallied(component.Since, component.spans(spans[component.ID]), m.calendar.Days)
	}
	return m.readFirstMonth(ctx, m.scopes()...)
}

// readAdded reads the events and computes the days of the components that the former state does not have.
func (m *composition) readAdded(ctx context.Context) error {
	for i := range m.state.Snapshot.Components {
		component := &m.state.Snapshot.Components[i]
		if m.was.Snapshot.Component(component.ID) != nil {
			continue
		}
		spans, err := m.read(ctx, []string{component.ID}, m.calendar.Days, func(event shownEvent) {
			m.drop(event.Event.ID)
			m.put(event)
		})
		if err != nil {
			return err
		}
		component.Days = m.calendar.Tallied(component.Since, component.spans(spans[component.ID]), m.calendar.Days)
		if err := m.readFirstMonth(ctx, component.ID); err != nil {
			return err
		}
	}
	return nil
}

// read calls visit once with each shown event of the scopes that overlaps the time from the first to the last of the
// days. A scope is the id of a component, or empty for all events. If the last day is today, read also visits later
// events. It returns the spans of the visited events by component.
func (m *composition) read(ctx context.Context, scopes []string, days []uptime.Day, visit func(shownEvent)) (map[string][]uptime.Span, error) {
	if last := days[len(days)-1]; last.Date != m.calendar.Today().Date {
		return m.readBetween(ctx, scopes, days[0].From, &last.To, visit)
	}
	return m.readBetween(ctx, scopes, days[0].From, nil, visit)
}

// readBetween is like read, for the time that begins at from and ends before to. If to is nil, the time has no end.
func (m *composition) readBetween(ctx context.Context, scopes []string, from time.Time, to *time.Time, visit func(shownEvent)) (map[string][]uptime.Span, error) {
	spans := map[string][]uptime.Span{}
	visited := map[string]bool{}
	err := m.records.EventsBetween(ctx, m.state.OrganizationID, scopes, from, to, m.calendar.At, func(event *catalog.Event) {
		shown := m.shown(event)
		if shown.Event == nil || visited[event.ID] {
			return
		}
		visited[event.ID] = true
		collect(spans, event.ID, shown.Spans)
		visit(shown)
	})
	return spans, err
}

// scopes returns the scopes of the events that the dashboard may show.
func (m *composition) scopes() []string {
	return append(find.Values(m.state.Snapshot.Components, func(c ShownComponent) string { return c.ID }), m.state.Snapshot.Dashboard.ID)
}

// readFirstMonth sets FirstMonth to the month in which the oldest shown event of the scopes, or the oldest component,
// began, if this month is earlier than FirstMonth or FirstMonth is empty.
func (m *composition) readFirstMonth(ctx context.Context, scopes ...string) error {
	for _, component := range m.state.Snapshot.Components {
		m.since(component.Since)
	}
	return m.records.OldestEvents(ctx, m.state.OrganizationID, scopes, func(event *catalog.Event) (more bool) {
		if m.shown(event).Event == nil {
			return true
		}
		m.since(event.StartAt)
		return false
	})
}

// leavesFirstMonth reports whether a written event began in the first month of the former state, and begins later now or
// is not shown any more.
func (m *composition) leavesFirstMonth(former, now shownEvent, was *catalog.EventFacts) bool {
	var start time.Time
	switch {
	case former.Event != nil:
		start = former.Event.StartAt
	case was != nil:
		start = was.Start
	default:
		return false
	}
	in := func(at time.Time) bool { return m.calendar.Month(at) <= m.was.FirstMonth }
	return in(start) && (now.Event == nil || !in(now.Event.StartAt))
}

// raiseFirstMonth reads the first month again if leftFirst is set, because the month may be later than that of the
// former state.
func (m *composition) raiseFirstMonth(ctx context.Context) error {
	if !m.leftFirst || m.state.FirstMonth < m.was.FirstMonth {
		return nil
	}
	m.state.FirstMonth = ""
	for _, component := range m.state.Snapshot.Components {
		m.since(component.Since)
	}
	if m.state.FirstMonth == m.was.FirstMonth {
		return nil
	}
	return m.readFirstMonth(ctx, m.scopes()...)
}
