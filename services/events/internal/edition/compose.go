package edition

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

// follow makes the new state from the former state and changes, the written records. seen is PublishedPage.Seen of the
// former page. due means that the passing of time may change the state. follow sets changed if an edition of the new
// state is needed.
func (m *composition) follow(ctx context.Context, changes []catalog.Written, seen []Seen, due bool) error {
	outdated := m.was == nil || m.was.outdated()
	m.changed = outdated || due || m.aliased || m.loaded && !m.sameBasis()
	m.dateFeeds()
	if outdated || m.was.Snapshot.Dashboard.Timezone != m.state.Snapshot.Dashboard.Timezone || m.loaded && m.remeasured() {
		m.allDays = true
		if err := m.readAll(ctx); err != nil {
			return err
		}
		m.leaveMissing()
		return nil
	}
	m.keepEvents()
	if err := m.readAdded(ctx); err != nil {
		return err
	}
	if m.loaded {
		m.leaveMissing()
		m.redoByHand()
	}
	for _, written := range changes {
		if written.Event != "" {
			m.apply(written, seen)
		}
	}
	if !m.changed {
		return nil
	}
	if err := m.raiseFirstMonth(ctx); err != nil {
		return err
	}
	return m.retally(ctx)
}

// remeasured reports whether a component has another Since than in the former state. Then other days are measured.
func (m *composition) remeasured() bool {
	return slices.ContainsFunc(m.state.Snapshot.Components, func(c ShownComponent) bool {
		former := m.was.Snapshot.Component(c.ID)
		return former != nil && !former.Since.Equal(c.Since)
	})
}

// sameBasis reports whether the URL, the feed key, the dashboard and the components equal those of the former state.
func (m *composition) sameBasis() bool {
	was, now := &m.was.Snapshot, &m.state.Snapshot
	return was.URL == now.URL && was.FeedKey == now.FeedKey && sameJSON(was.Dashboard, now.Dashboard) && sameComponents(m.was, now.Components)
}

// keepEvents copies the events of the former state, adapts them to the present components, and removes the events that
// are no longer recent. It also sets FirstMonth, allDays and leftFirst.
func (m *composition) keepEvents() {
	former := &m.was.Snapshot
	m.state.FirstMonth = m.was.FirstMonth
	m.state.chunks = slices.Clone(m.was.chunks)
	for _, component := range former.Components {
		if name, there := m.names[component.ID]; !there || name != component.Name {
			m.rename()
			break
		}
	}
	m.allDays = len(former.Components) != len(m.names) || slices.ContainsFunc(former.Components, func(c ShownComponent) bool { return m.names[c.ID] == "" })
	m.leftFirst = slices.ContainsFunc(former.Components, func(c ShownComponent) bool { _, there := m.names[c.ID]; return !there })
	since := m.recentFrom()
	for at := len(m.state.chunks) - 1; at >= 0; at-- {
		if !since.Before(m.state.chunks[at].recentUntil) {
			m.state.chunks = m.state.chunks.without(at, func(e shownEvent) bool {
				old := !e.Event.recent(since)
				if old {
					m.leaveFeeds(e.Event)
				}
				return old
			})
		}
	}
}

// rename adapts the events to the present components: it updates names, and removes the impacts and spans of components
// that are not shown any more. It removes an event that loses all of its impacts.
func (m *composition) rename() {
	former := m.state.chunks
	m.state.chunks = nil
	for e := range former.all() {
		event := e.Event.on(m.names)
		spans := slices.DeleteFunc(slices.Clone(e.Spans), func(s Span) bool { _, there := m.names[s.ComponentID]; return !there })
		if len(event.Impacts) > 0 || len(e.Event.Impacts) == 0 {
			m.put(shownEvent{&event, spans})
		}
	}
}

// on returns a copy of the event. The copy and its entries have only the impacts on the components in names. names has
// the names of the components by id. The impacts of the copy have these names.
func (e ShownEvent) on(names map[string]string) ShownEvent {
	e.Impacts = slices.DeleteFunc(slices.Clone(e.Impacts), func(i ShownImpact) bool { _, there := names[i.ComponentID]; return !there })
	for i := range e.Impacts {
		e.Impacts[i].Name = names[e.Impacts[i].ComponentID]
	}
	e.Entries = slices.Clone(e.Entries)
	for i := range e.Entries {
		entry := &e.Entries[i]
		entry.Impacts = slices.DeleteFunc(slices.Clone(entry.Impacts), func(i ShownChange) bool { _, there := names[i.ComponentID]; return !there })
	}
	return e
}

// apply updates the state for a written event, unless seen has its version or a later one.
func (m *composition) apply(written catalog.Written, seen []Seen) {
	last := lastSeen(seen, written.Event)
	if last >= written.Version() {
		return
	}
	var now shownEvent
	if written.Current != nil {
		now = m.shown(written.Current)
	}
	former := m.state.chunks.get(written.Event)
	if former.Event != nil && written.Current != nil && former.Event.Version > written.Current.ShownVersion {
		return // readAdded or a former rendering has read a newer version, whose writer renders the page too
	}
	if now.Event != nil {
		m.since(now.Event.StartAt)
	}
	if !m.differs(former, now, written, last) {
		return
	}
	m.leftFirst = m.leftFirst || m.leavesFirstMonth(former, now, written.Former)
	m.drop(written.Event)
	if former.Event != nil {
		m.leaveFeeds(former.Event)
		if now.Event == nil || now.Event.Type != catalog.Maintenance {
			m.withdraw(former.Event)
		}
	}
	if now.Event != nil {
		m.put(now)
	}
	m.changed = true
	if former.Event == nil && written.Version() > 1 { // the former spans are unknown, but the days name their events
		for i := range m.was.Snapshot.Components {
			for _, d := range m.was.Snapshot.Components[i].Days {
				if slices.Contains(d.EventIDs, written.Event) {
					m.redo[d.Date] = true
				}
			}
		}
	}
	for _, s := range slices.Concat(missing(former.Spans, now.Spans), missing(now.Spans, former.Spans)) {
		for _, d := range m.calendar.Overlapping(s.From, s.To) {
			m.redo[d.Date] = true
		}
	}
}

// missing returns the spans that are not in others. If a span in others differs only in its end, missing returns only
// the part after that end. So closing an event that began long ago recomputes few days.
func missing(spans, others []Span) []Span {
	var out []Span
	for _, s := range spans {
		for _, other := range others {
			if s.ComponentID == other.ComponentID && s.Impact == other.Impact && s.From.Equal(other.From) {
				s.From = uptime.Earlier(s.To, other.To)
			}
		}
		if s.From.Before(s.To) {
			out = append(out, s)
		}
	}
	return out
}

// differs reports whether a written event changes a file. An event that ended too long ago is not in the snapshot, but
// the files about the event and about its month show it.
func (m *composition) differs(former, now shownEvent, written catalog.Written, last int64) bool {
	since := m.recentFrom()
	if former.Event != nil || now.Event != nil && now.Event.recent(since) {
		return !sameJSON(former, now)
	}
	was := written.Former
	wasShown := was != nil && was.Published && !was.HiddenFromDashboard && !wasRecent(was, since)
	if written.Current == nil {
		return wasShown
	}
	fresh := written.Current.Version == written.Current.ShownVersion || last < written.Current.ShownVersion && written.Current.ShownAt.After(m.calendar.At.Add(-seenFor))
	return fresh && (now.Event != nil || wasShown)
}

// wasRecent is like ShownEvent.recent, for the former facts of an event.
func wasRecent(f *catalog.EventFacts, since time.Time) bool {
	return !f.Status.Closed() || f.Start.After(since) || f.End != nil && f.End.After(since)
}

// retally computes the days in redo again, and the days that were not over in the former state.
func (m *composition) retally(ctx context.Context) error {
	for _, d := range m.calendar.Overlapping(m.was.Snapshot.At, m.calendar.Today().To) {
		m.redo[d.Date] = true
	}
	since := m.recentFrom()
	var old []uptime.Day
	var young [][]uptime.Day // each element is successive days
	last := -1
	for i, d := range m.calendar.Days {
		switch {
		case !m.redo[d.Date]:
		case d.From.Before(since):
			old = append(old, d)
		case last < i-1 || len(young) == 0:
			young, last = append(young, []uptime.Day{d}), i
		default:
			young[len(young)-1], last = append(young[len(young)-1], d), i
		}
	}
	spans := map[string][]uptime.Span{}
	if len(old) > 0 {
		var err error
		if spans, err = m.read(ctx, []string{""}, old, func(shownEvent) {}); err != nil {
			return err
		}
	}
	m.tally(old, spans)
	for _, days := range young {
		m.tally(days, m.state.chunks.spans(days[0].From, days[len(days)-1].To))
	}
	return nil
}

// tally computes the given days of all components. spans has, by component, all spans that overlap the days.
func (m *composition) tally(days []uptime.Day, spans map[string][]uptime.Span) {
	anew := func(d uptime.AffectedDay) bool {
		return slices.ContainsFunc(days, func(one uptime.Day) bool { return one.Date == d.Date })
	}
	for i := range m.state.Snapshot.Components {
		component := &m.state.Snapshot.Components[i]
		fresh := m.calendar.Tallied(component.Since, component.spans(spans[component.ID]), days)
		if len(fresh) > 0 || slices.ContainsFunc(component.Days, anew) {
			component.Days = append(slices.DeleteFunc(slices.Clone(component.Days), anew), fresh...)
			slices.SortFunc(component.Days, func(a, b uptime.AffectedDay) int { return strings.Compare(a.Date, b.Date) })
		}
	}
}

// finish computes the fields that depend on the events and days: Months, and State and Uptime of the components. It
// removes outdated entries of Withdrawn and Raised, and the Days before the first day of the calendar.
func (m *composition) finish() {
	snapshot := &m.state.Snapshot
	m.forgetWithdrawn()
	snapshot.Months = m.calendar.Months(m.state.FirstMonth)
	settings := snapshot.Dashboard.Content.Uptime
	states := map[string]catalog.Impact{}
	for event := range m.state.active() {
		for _, impact := range event.Impacts {
			if impact.Impact.Worse(states[impact.ComponentID]) {
				states[impact.ComponentID] = impact.Impact
			}
		}
	}
	first := m.calendar.Days[0].Date
	for i := range snapshot.Components {
		component := &snapshot.Components[i]
		at, _ := slices.BinarySearchFunc(component.Days, first, func(d uptime.AffectedDay, date string) int { return strings.Compare(d.Date, date) })
		if component.Days = component.Days[at:]; component.Days == nil {
			component.Days = []uptime.AffectedDay{}
		}
		component.State = component.stateAt(snapshot.At, cmp.Or(states[component.ID], catalog.Operational))
		component.Uptime = m.calendar.Uptime(component.Since, component.Days, settings.WindowDays, settings.PartialOutageWeight)
	}
}

// After the end of a day, the scheduler renders all pages within dayEndSpread. A page that a visitor requests is rendered
// at the request.
const dayEndSpread = 6 * time.Hour

// expires returns the time at which the scheduler renders the page again even without a write. This is the next time at
// which an event begins or a state by hand ends, but at the latest a time in the dayEndSpread after the end of the day.
// The scheduler does not render at the end of the day itself, because most days end at the same moment, and it would
// need minutes for all pages. While a component has a span with another impact than UnderMaintenance, the time is at
// most a minute after the snapshot's time, because the uptime changes. A maintenance does not change an uptime.
func (m *composition) expires() time.Time {
	next := m.calendar.Today().To.Add(spread(m.state.Snapshot.Dashboard.ID, dayEndSpread))
	if change := m.state.nextChange(); change != nil {
		next = uptime.Earlier(next, *change)
	}
	at := m.state.Snapshot.At
	spans := m.state.chunks.spans(at, at.Add(1))
	for i := range m.state.Snapshot.Components {
		for _, s := range m.state.Snapshot.Components[i].spans(spans[m.state.Snapshot.Components[i].ID]) {
			if s.Impact != catalog.UnderMaintenance && !s.From.After(at) && at.Before(s.To) {
				return uptime.Earlier(next, at.Add(time.Minute))
			}
		}
	}
	return next
}

// spread returns a duration below over, always the same for an id. The durations of many ids are spread evenly.
func spread(id string, over time.Duration) time.Duration {
	hash := fnv.New64a()
	hash.Write([]byte(id))
	return time.Duration(hash.Sum64() % uint64(over))
}

// sameComponents reports whether the components equal those of a state. It ignores State, Days, Uptime and
// FeedChangedAt.
func sameComponents(was *State, components []ShownComponent) bool {
	return slices.EqualFunc(was.Snapshot.Components, components, func(a, b ShownComponent) bool {
		for _, one := range []*ShownComponent{&a, &b} {
			one.State, one.Days, one.Uptime, one.FeedChangedAt = "", nil, nil, time.Time{}
		}
		return sameJSON(a, b)
	})
}

// sameJSON reports whether two values have the same JSON, which is the stored form.
func sameJSON(a, b any) bool {
	first, err := json.Marshal(a)
	second, failed := json.Marshal(b)
	return err == nil && failed == nil && bytes.Equal(first, second)
}
