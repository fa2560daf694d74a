package catalog

import (
	"cmp"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

// ImpactOn returns the present impact of the event on the component of one of its links.
func (e *Event) ImpactOn(link Link) Impact {
	impacts := e.ImpactsOn(link)
	return impacts[len(impacts)-1].Impact
}

// ImpactFrom is an impact and the time At at which it begins.
type ImpactFrom struct {
	At     time.Time
	Impact Impact
}

// ImpactChange is the change of an impact by a timeline entry.
type ImpactChange struct {
	ComponentID string
	Before      Impact // the impact before the entry
	Impact      Impact
}

// ImpactChanges returns for each entry of the Chronicle how the entry changes the impacts: to the impacts that the entry
// states, or to operational if the entry closes the event. If the event never took place, its closing changes nothing.
func (e *Event) ImpactChanges(chronicle []Entry) [][]ImpactChange {
	_, _, tookPlace := e.Lasted()
	impacts := make(map[string]Impact, len(e.Links))
	for _, link := range e.Links {
		impacts[link.ComponentID] = e.FirstImpact(link)
	}
	all := make([][]ImpactChange, len(chronicle))
	for i := range chronicle {
		entry := &chronicle[i]
		closes := tookPlace && entry.Status.Closed() && (entry.PreviousStatus != "" || entry.StatusID == e.StatusEntry)
		interrupted := e.closedBefore(entry.Timestamp)
		for j := range e.Links {
			link := &e.Links[j]
			change := ImpactChange{ComponentID: link.ComponentID, Before: impacts[link.ComponentID], Impact: Operational}
			at := slices.IndexFunc(entry.Impacts, func(stated ComponentImpact) bool { return stated.ComponentID == link.ComponentID })
			if at >= 0 && !link.Overrides(entry) {
				impacts[link.ComponentID] = entry.Impacts[at].Impact
			}
			if at >= 0 && !closes {
				change.Impact = entry.Impacts[at].Impact
				if interrupted {
					change.Before = Operational
				}
			}
			if at >= 0 || closes && change.Before != Operational {
				all[i] = append(all[i], change)
			}
		}
	}
	return all
}

// closedBefore reports whether the event was closed immediately before the time at.
func (e *Event) closedBefore(at time.Time) bool {
	end := e.End()
	return !e.Open() && end != nil && end.Before(at) ||
		slices.ContainsFunc(e.Pauses, func(p Pause) bool { return p.From.Before(at) && !at.After(p.To) })
}

// WorstImpact returns the worst impact on the component of one of the event's links during the whole event.
func (e *Event) WorstImpact(link Link) Impact {
	all := e.ImpactsOn(link)
	worst := all[0].Impact
	for _, one := range all {
		if one.Impact.Worse(worst) {
			worst = one.Impact
		}
	}
	return worst
}

// FirstImpact returns the impact on the component of a link at the start of the event.
func (e *Event) FirstImpact(link Link) Impact {
	return cmp.Or(link.Impact, defaultImpact(e.Type, e.Severity))
}

// ImpactsOn returns the impacts of the event on the component of a link, oldest first. The first is the impact of the
// link. The others are stated by timeline entries, and each begins at the timestamp of its entry. If two entries have
// the same timestamp, the later entry wins.
func (e *Event) ImpactsOn(link Link) []ImpactFrom {
	impacts := []ImpactFrom{{Impact: e.FirstImpact(link)}}
	for i := range e.Timeline {
		entry := &e.Timeline[i]
		if link.Overrides(entry) {
			continue
		}
		for _, stated := range entry.Impacts {
			if stated.ComponentID == link.ComponentID {
				impacts = append(impacts, ImpactFrom{entry.Timestamp, stated.Impact})
			}
		}
	}
	slices.SortStableFunc(impacts, func(a, b ImpactFrom) int { return a.At.Compare(b.At) })
	return impacts
}

// Overrides reports whether Impact of the link replaces the impact that the entry states, because Impact was stated
// later.
func (l *Link) Overrides(entry *Entry) bool {
	return l.StatedAt != nil && !entry.CreatedAt.After(*l.StatedAt)
}

// Measured returns the time that uptime reports count. to is nil for an open event without an actual end. counts is
// false if reports do not count the event. This includes a closed event without any end, because its length is unknown.
func (e *Event) Measured() (from time.Time, to *time.Time, counts bool) {
	if e.HiddenFromUptimeReports {
		return time.Time{}, nil, false
	}
	return e.Lasted()
}

// Lasted is like Measured, but for pages. Pages also count events that are hidden from uptime reports.
func (e *Event) Lasted() (from time.Time, to *time.Time, counts bool) {
	if !e.Published || e.HiddenFromDashboard || e.Status == Planning {
		return time.Time{}, nil, false
	}
	if to = e.EndAt; !e.Open() {
		to = e.End()
	}
	return e.StartAt, to, to == nil && e.Open() || to != nil && e.StartAt.Before(*to)
}

// spansOn returns the spans until now in which the event affects the component of a link, the earliest first. It returns
// none if reports do not count the event, see Measured. It leaves out the same times as SpansWithin.
func (e *Event) spansOn(link Link, now time.Time) []uptime.Span {
	from, end, counts := e.Measured()
	if !counts {
		return nil
	}
	if end == nil {
		end = &now
	}
	return e.SpansWithin(link, from, end)
}

// SpansWithin returns the spans between from and end in which the event affects the component of a link. It leaves out
// the pauses of the event, and the times with the impact operational.
func (e *Event) SpansWithin(link Link, from time.Time, end *time.Time) []uptime.Span {
	var spans []uptime.Span
	impacts := e.ImpactsOn(link)
	add := func(from, to time.Time) {
		for i, one := range impacts {
			until := to
			if i+1 < len(impacts) {
				until = uptime.Earlier(to, impacts[i+1].At)
			}
			s := uptime.Span{From: uptime.Later(from, one.At), To: until, Impact: one.Impact, EventID: e.ID}
			if s.From.Before(s.To) && s.Impact != Operational {
				spans = append(spans, s)
			}
		}
	}
	for _, pause := range e.Pauses {
		add(from, uptime.Earlier(pause.From, *end))
		from = uptime.Later(from, pause.To)
	}
	add(from, *end)
	return spans
}
