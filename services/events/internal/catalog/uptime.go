package catalog

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// partialOutageWeight is what a partial outage counts for, a major one counting for 1.
const partialOutageWeight = 0.3

// span is a time in which something affects a component: from, and until before to.
type span struct {
	from, to time.Time
	impact   Impact
	eventID  string
}

// segment is a time in which a component is in one state.
type segment struct {
	from, to time.Time
	impact   Impact
}

// segments divides the time between from and to by the worst of the spans that cover each
// moment; Operational where none does. Together they are that time, in order and without a gap.
func segments(from, to time.Time, spans []span) []segment {
	type edge struct {
		at     time.Time
		impact Impact
		step   int
	}
	var edges []edge
	for _, s := range spans {
		if first, last := later(s.from, from), earlier(s.to, to); first.Before(last) {
			edges = append(edges, edge{first, s.impact, 1}, edge{last, s.impact, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return a.at.Compare(b.at) })
	var out []segment
	covering := map[Impact]int{}
	state := func() Impact {
		worst := Operational
		for impact, n := range covering {
			if n > 0 && impact.worse(worst) {
				worst = impact
			}
		}
		return worst
	}
	add := func(until time.Time) {
		if !from.Before(until) {
			return
		}
		if now := state(); len(out) > 0 && out[len(out)-1].impact == now {
			out[len(out)-1].to = until
		} else {
			out = append(out, segment{from, until, now})
		}
		from = until
	}
	for _, e := range edges {
		add(e.at)
		covering[e.impact] += e.step
	}
	add(to)
	return out
}

// Tally is how long a component was in which state while it was measured.
type Tally struct {
	Measured    time.Duration // all of it
	Major       time.Duration
	Partial     time.Duration
	Degraded    time.Duration
	Maintenance time.Duration
	// Worst is the worst state of the time; empty when nothing is measured.
	Worst Impact
}

func (t *Tally) add(impact Impact, d time.Duration) {
	t.Measured += d
	switch impact {
	case MajorOutage:
		t.Major += d
	case PartialOutage:
		t.Partial += d
	case Degraded:
		t.Degraded += d
	case UnderMaintenance:
		t.Maintenance += d
	}
	if impact.worse(t.Worst) {
		t.Worst = impact
	}
}

func (t *Tally) addAll(other Tally) {
	t.Measured += other.Measured
	t.Major += other.Major
	t.Partial += other.Partial
	t.Degraded += other.Degraded
	t.Maintenance += other.Maintenance
	if other.Worst != "" && other.Worst.worse(t.Worst) {
		t.Worst = other.Worst
	}
}

// Downtime is how long it was out, in whole or in part.
func (t Tally) Downtime() time.Duration { return t.Major + t.Partial }

// uptimeDecimals is how exact an uptime in percent is: a second of a month is 0.00004.
const uptimeDecimals = 1e6

// Uptime is in percent, 0 to 100; nil when all of the time was maintenance or none measured.
func (t Tally) Uptime() *float64 {
	counted := t.Measured - t.Maintenance
	if counted <= 0 {
		return nil
	}
	lost := (float64(t.Major) + partialOutageWeight*float64(t.Partial)) / float64(counted)
	percent := math.Round(100*(1-lost)*uptimeDecimals) / uptimeDecimals
	return &percent
}

// tally adds the segments up that lie between from and to.
func tally(all []segment, from, to time.Time) Tally {
	var sum Tally
	// Segments are in order, so those before from are skipped at once.
	first, _ := slices.BinarySearchFunc(all, from, func(s segment, at time.Time) int {
		return cmp.Or(s.to.Compare(at), -1) // one that ends at from is before it
	})
	for _, s := range all[first:] {
		if !s.from.Before(to) {
			break
		}
		sum.add(s.impact, earlier(s.to, to).Sub(later(s.from, from)))
	}
	return sum
}

// day is a calendar day of a time zone: from, and until before to.
type day struct {
	date     string // yyyy-mm-dd
	from, to time.Time
}

// daysOf are the days of the month in which at lies, as the zone has them: 23 or 25 hours
// when the clocks change. A day that the zone skipped altogether is not among them.
func daysOf(year int, month time.Month, zone *time.Location) []day {
	var days []day
	last := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
	for n := 1; n <= last; n++ {
		one := day{
			date: time.Date(year, month, n, 0, 0, 0, 0, time.UTC).Format(time.DateOnly),
			from: dayStart(year, month, n, zone), to: dayStart(year, month, n+1, zone),
		}
		if one.from.Before(one.to) {
			days = append(days, one)
		}
	}
	return days
}

// dayStart is the first moment of a day, in UTC. Where the clocks change at midnight there
// is no midnight, or there are two of them.
func dayStart(year int, month time.Month, date int, zone *time.Location) time.Time {
	want := time.Date(year, month, date, 0, 0, 0, 0, time.UTC)
	at := time.Date(year, month, date, 0, 0, 0, 0, zone)
	if civil(at).Before(want) { // none, and this is before the change
		if _, change := at.ZoneBounds(); !change.IsZero() {
			return change.UTC()
		}
	}
	if just := at.Add(-1); !civil(just).Before(want) { // two, and this is the second
		_, offset := just.Zone()
		return want.Add(-time.Duration(offset) * time.Second)
	}
	return at.UTC()
}

// civil is the day that a calendar on the wall shows, as midnight UTC.
func civil(at time.Time) time.Time {
	year, month, date := at.Date()
	return time.Date(year, month, date, 0, 0, 0, 0, time.UTC)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
