package catalog

import (
	"context"
	"errors"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

// errFound ends a search.
var errFound = errors.New("catalog: found")

// readAll makes events and days from the records.
func (m *composition) readAll(ctx context.Context) error {
	spans, err := m.read(ctx, []string{""}, m.calendar.Days, m.put)
	if err != nil {
		return err
	}
	for i := range m.state.Snapshot.Components {
		component := &m.state.Snapshot.Components[i]
		component.Days = m.calendar.Tallied(component.Since, spans[component.ID], m.calendar.Days)
	}
	return m.readFirstMonth(ctx, "")
}

// readAdded adds the events and days of components that the former state does not have.
func (m *composition) readAdded(ctx context.Context) error {
	for i := range m.state.Snapshot.Components {
		component := &m.state.Snapshot.Components[i]
		if m.was.component(component.ID) != nil {
			continue
		}
		spans, err := m.read(ctx, []string{component.ID}, m.calendar.Days, func(event shownEvent) {
			m.drop(event.Event.ID)
			m.put(event)
		})
		if err != nil {
			return err
		}
		component.Days = m.calendar.Tallied(component.Since, spans[component.ID], m.calendar.Days)
		if err := m.readFirstMonth(ctx, component.ID); err != nil {
			return err
		}
	}
	return nil
}

// read calls visit with the events of the scopes that overlap the days or are planned, and returns the times that they
// count, by component.
func (m *composition) read(ctx context.Context, scopes []string, days []uptime.Day, visit func(shownEvent)) (map[string][]uptime.Span, error) {
	if last := days[len(days)-1]; last.Date != m.calendar.Today().Date {
		return m.readBetween(ctx, scopes, days[0].From, &last.To, visit)
	}
	return m.readBetween(ctx, scopes, days[0].From, nil, visit)
}

// readBetween is read for the time from until before to; nil for no end.
func (m *composition) readBetween(ctx context.Context, scopes []string, from time.Time, to *time.Time, visit func(shownEvent)) (map[string][]uptime.Span, error) {
	spans, filter := map[string][]uptime.Span{}, EventFilter{From: &from, To: to}
	visited := map[string]bool{}
	for _, query := range filter.queries(m.state.OrganizationID, scopes, m.calendar.At) {
		if err := m.store.Events.Each(ctx, query, func(event Event) error {
			shown := event.shownOn(m.names)
			if shown.Event == nil || visited[event.ID] {
				return nil
			}
			visited[event.ID] = true
			collect(spans, event.ID, shown.Spans)
			visit(shown)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return spans, nil
}

func collect(into map[string][]uptime.Span, event string, spans []Span) {
	for _, s := range spans {
		into[s.ComponentID] = append(into[s.ComponentID], uptime.Span{From: s.From, To: s.To, Impact: s.Impact, EventID: event})
	}
}

// readFirstMonth moves the first month back to that of the oldest event of the scope and of the components.
func (m *composition) readFirstMonth(ctx context.Context, scope string) error {
	for _, component := range m.state.Snapshot.Components {
		m.since(component.Since)
	}
	query := owned(m.state.OrganizationID, find.Query{
		Where: []find.Condition{find.Has(FieldListed, listKeys([]string{scope}, []string{""}, classShort)...)},
		Order: []find.Order{{Field: FieldStart}},
	})
	err := m.store.Events.Each(ctx, query, func(event Event) error {
		if event.shownOn(m.names).Event == nil {
			return nil
		}
		m.since(event.StartAt)
		return errFound
	})
	if errors.Is(err, errFound) {
		return nil
	}
	return err
}

func (m *composition) since(at time.Time) {
	if month := m.calendar.Month(at); m.state.FirstMonth == "" || month < m.state.FirstMonth {
		m.state.FirstMonth = month
	}
}
