package uptime

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"time"
)

// segments divides the time between from and to into successive spans without gaps or overlaps. The impact of each result
// is the worst impact of the given spans at that time, or operational if no given span covers the time.
func segments(from, to time.Time, spans []Span) []Span {
	type edge struct {
		at     time.Time
		impact Impact
		step   int
	}
	var edges []edge
	for _, s := range spans {
		if first, last, lasts := s.counted(from, to); lasts {
			edges = append(edges, edge{first, s.Impact, 1}, edge{last, s.Impact, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return a.at.Compare(b.at) })
	var out []Span
	covering := map[Impact]int{}
	state := func() Impact {
		worst := Operational
		for impact, n := range covering {
			if n > 0 && impact.Worse(worst) {
				worst = impact
			}
		}
		return worst
	}
	add := func(until time.Time) {
		if !from.Before(until) {
			return
		}
		if now := state(); len(out) > 0 && out[len(out)-1].Impact == now {
			out[len(out)-1].To = until
		} else {
			out = append(out, Span{From: from, To: until, Impact: now})
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

// Tally is how long a component had each impact.
type Tally struct {
	Measured    time.Duration // the sum over all impacts, also operational
	Major       time.Duration
	Partial     time.Duration
	Degraded    time.Duration
	Maintenance time.Duration
	// Worst is the worst impact, or empty if nothing was measured. In the result of Tallied, Worst also considers spans that
	// add no time.
	Worst Impact
}

func (t *Tally) Add(impact Impact, d time.Duration) {
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
	if impact.Worse(t.Worst) {
		t.Worst = impact
	}
}

func (t *Tally) AddAll(other Tally) {
	t.Measured += other.Measured
	t.Major += other.Major
	t.Partial += other.Partial
	t.Degraded += other.Degraded
	t.Maintenance += other.Maintenance
	if other.Worst != "" && other.Worst.Worse(t.Worst) {
		t.Worst = other.Worst
	}
}

// Downtime returns the time of major and partial outages. Both count fully.
func (t Tally) Downtime() time.Duration { return t.Major + t.Partial }

const uptimeUnit = 1e6 // six decimals

// Uptime returns the uptime in percent, from 0 to 100. It returns nil if nothing but maintenance was measured. weight
// is the weight of a partial outage. The percentage is cut off after six decimals, so 100 means that no outage counts.
// A second is 0.00004 percent of a month. The computation uses integers, because a rounding error of a float could lower
// the last decimal.
func (t Tally) Uptime(weight float64) *float64 {
	counted := t.Measured - t.Maintenance
	if counted <= 0 {
		return nil
	}
	lost := time.Duration(math.Round(weight * float64(t.Partial)))
	if weight > 0 && t.Partial > 0 {
		lost = max(lost, 1)
	}
	high, low := bits.Mul64(uint64(max(0, counted-t.Major-lost)), 100*uptimeUnit)
	percent, _ := bits.Div64(high, low, uint64(counted))
	return new(float64(percent) / uptimeUnit)
}

// tally returns the Tally of the time between from and to. all is the result of segments.
func tally(all []Span, from, to time.Time) Tally {
	var sum Tally
	// The spans in all are in order, so a binary search finds the first that ends after from.
	first, _ := slices.BinarySearchFunc(all, from, func(s Span, at time.Time) int {
		return cmp.Or(s.To.Compare(at), -1) // a span that ends exactly at from is skipped
	})
	for _, s := range all[first:] {
		if !s.From.Before(to) {
			break
		}
		sum.Add(s.Impact, Earlier(s.To, to).Sub(Later(s.From, from)))
	}
	return sum
}
