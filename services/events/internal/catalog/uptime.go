package catalog

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// partialOutageWeight is the weight of a partial outage. A major outage has the weight 1.
const partialOutageWeight = 0.3

// span is a time in which an event affects a component: from, and until before to.
type span struct {
	from, to time.Time
	impact   Impact
	eventID  string
}

// segment is a time in which a component has one status.
type segment struct {
	from, to time.Time
	impact   Impact
}

// segments divides the time between from and to. The impact of a segment is the worst of the spans that cover it,
// Operational if none does. Segments are in order and without gaps.
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

// Tally is how long a component had each status.
type Tally struct {
	Measured    time.Duration // the sum over all statuses
	Major       time.Duration
	Partial     time.Duration
	Degraded    time.Duration
	Maintenance time.Duration
	// Worst is the worst status; empty if nothing is measured.
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

// Downtime returns the time of major and partial outages, unweighted.
func (t Tally) Downtime() time.Duration { return t.Major + t.Partial }

// uptimeDecimals rounds an uptime in percent to six decimals: a second of a month is 0.00004 percent.
const uptimeDecimals = 1e6

// Uptime returns the uptime in percent, 0 to 100; nil if nothing but maintenance is measured.
func (t Tally) Uptime() *float64 {
	counted := t.Measured - t.Maintenance
	if counted <= 0 {
		return nil
	}
	lost := (float64(t.Major) + partialOutageWeight*float64(t.Partial)) / float64(counted)
	percent := math.Round(100*(1-lost)*uptimeDecimals) / uptimeDecimals
	return &percent
}

// tally returns the sum of the segments between from and to.
func tally(all []segment, from, to time.Time) Tally {
	var sum Tally
	// Segments are in order, so a binary search skips those before from.
	first, _ := slices.BinarySearchFunc(all, from, func(s segment, at time.Time) int {
		return cmp.Or(s.to.Compare(at), -1) // a segment that ends at from is before it
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

// daysOf returns the days of a month in a time zone. A day has 23 or 25 hours when the zone changes its offset. A
// day that the zone skipped is left out.
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

// dayStart returns the first moment of a day, in UTC. If the zone changes its offset at midnight, that day has no
// midnight or two.
func dayStart(year int, month time.Month, date int, zone *time.Location) time.Time {
	want := time.Date(year, month, date, 0, 0, 0, 0, time.UTC)
	at := time.Date(year, month, date, 0, 0, 0, 0, zone)
	if civil(at).Before(want) { // no midnight, and at is before the change
		if _, change := at.ZoneBounds(); !change.IsZero() {
			return change.UTC()
		}
	}
	if just := at.Add(-1); !civil(just).Before(want) { // two midnights, and at is the second
		_, offset := just.Zone()
		return want.Add(-time.Duration(offset) * time.Second)
	}
	return at.UTC()
}

// civil returns the calendar day of a time in its own zone, as midnight UTC.
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
