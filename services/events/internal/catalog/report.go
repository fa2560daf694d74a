package catalog

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

type UptimeReport struct {
	Month      string
	Timezone   string    // of the month and its days
	From, To   time.Time // only the past part of the current month
	Partial    bool      // the month is not over
	Weight     float64   // of a partial outage; a major outage has the weight 1
	Total      Tally
	Components []ComponentUptime
	Formula    string
}

type ComponentUptime struct {
	ComponentID string
	Name        string
	Tally
	Days     []DayUptime
	EventIDs []string // events that affected it, the earliest first
}

type DayUptime struct {
	Date string // yyyy-mm-dd
	Tally
}

// Uptime reports on all components of a dashboard, also hidden ones, or on one in the zone of its first dashboard.
func (c *Catalog) Uptime(ctx context.Context, organization string, yearMonth, dashboardID, componentID string) (UptimeReport, error) {
	components, dashboard, err := c.reportedOn(ctx, organization, dashboardID, componentID)
	if err != nil {
		return UptimeReport{}, err
	}
	month, err := time.Parse("2006-01", yearMonth)
	if err != nil {
		return UptimeReport{}, fault.Field("month", "must be a month in the form YYYY-MM")
	}
	now := wholeSecond(c.now())
	zone, weight := zoneOf(dashboard), dashboard.Content.Uptime.PartialOutageWeight
	days := daysOf(month.Year(), month.Month(), zone)
	from, to := days[0].from, days[len(days)-1].to
	if from.After(now) {
		return UptimeReport{}, fault.Field("month", "must not be in the future")
	}
	report := UptimeReport{
		Month: yearMonth, Timezone: zone.String(), From: from, To: earlier(to, now), Partial: to.After(now), Weight: weight,
		Formula: fmt.Sprintf("uptime = 1 - (major + %g * partial) / (measured - maintenance)", weight),
	}
	spans, err := c.spans(ctx, organization, components, report.From, report.To)
	if err != nil {
		return UptimeReport{}, err
	}
	for _, component := range components {
		part := uptimeOf(component, spans[component.ID], days, report.To)
		report.Total.addAll(part.Tally)
		report.Components = append(report.Components, part)
	}
	return report, nil
}

// reportedOn returns the components of a report, and the dashboard whose time zone and weight apply.
func (c *Catalog) reportedOn(ctx context.Context, organization, dashboardID, componentID string) ([]Component, Dashboard, error) {
	if dashboardID != "" {
		dashboard, err := c.Dashboard(ctx, organization, dashboardID)
		if err != nil {
			return nil, Dashboard{}, err
		}
		there, err := c.ComponentsOn(ctx, organization, []Dashboard{dashboard})
		var components []Component
		for _, id := range dashboard.ComponentIDs() {
			if component, found := there[id]; found {
				components = append(components, component)
			}
		}
		return components, dashboard, err
	}
	components, err := c.ComponentsByID(ctx, organization, []string{componentID})
	if err == nil && len(components) == 0 {
		err = fault.New(fault.NotFound, "There is no such component.")
	}
	if err != nil {
		return nil, Dashboard{}, err
	}
	dashboards, err := c.dashboardsShowing(ctx, organization, []string{componentID})
	slices.SortFunc(dashboards, func(a, b Dashboard) int { return cmp.Compare(a.LegacyID, b.LegacyID) })
	return components, append(dashboards, Dashboard{Timezone: defaultTimezone, Content: newContent()})[0], err
}

// zoneOf returns a dashboard's time zone; UTC for none or one that the system does not know.
func zoneOf(d Dashboard) *time.Location {
	zone, err := time.LoadLocation(d.Timezone)
	if err != nil || d.Timezone == "Local" {
		return time.UTC
	}
	return zone
}

// spans returns the times between from and to in which events affect the components, by component.
func (c *Catalog) spans(ctx context.Context, organization string, components []Component, from, to time.Time) (map[string][]span, error) {
	spans := make(map[string][]span, len(components))
	for _, component := range components {
		spans[component.ID] = nil
	}
	scope := "" // all events
	if len(components) == 1 {
		scope = components[0].ID
	}
	overlapping := EventFilter{From: &from, To: &to}
	for _, query := range overlapping.queries(organization, []string{scope}, to) {
		if err := c.store.Events.Each(ctx, query, func(event Event) error {
			for _, link := range event.Links {
				if former, asked := spans[link.ComponentID]; asked {
					spans[link.ComponentID] = append(former, event.spansOn(link, to)...)
				}
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return spans, nil
}

// uptimeOf returns a component's part of a report. The time before the component existed is not measured.
func uptimeOf(component Component, spans []span, days []day, end time.Time) ComponentUptime {
	part := ComponentUptime{ComponentID: component.ID, Name: component.Name, Days: []DayUptime{}, EventIDs: []string{}}
	from := later(days[0].from, wholeSecond(component.Since()))
	states := segments(from, end, spans)
	for _, d := range days {
		if !d.from.Before(end) {
			break
		}
		one := DayUptime{Date: d.date, Tally: tally(states, later(d.from, from), earlier(d.to, end))}
		part.Tally.addAll(one.Tally)
		part.Days = append(part.Days, one)
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(a.from.Compare(b.from), cmp.Compare(a.eventID, b.eventID)) })
	seen := map[string]bool{}
	for _, s := range spans {
		if _, _, lasts := s.counted(from, end); lasts && !seen[s.eventID] {
			seen[s.eventID] = true
			part.EventIDs = append(part.EventIDs, s.eventID)
		}
	}
	return part
}

type segment struct {
	from, to time.Time
	impact   Impact
}

// segments divides the time between from and to, without gaps. The impact of each is the worst of its spans.
func segments(from, to time.Time, spans []span) []segment {
	type edge struct {
		at     time.Time
		impact Impact
		step   int
	}
	var edges []edge
	for _, s := range spans {
		if first, last, lasts := s.counted(from, to); lasts {
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

const uptimeUnit = 1e6 // six decimals

// Uptime returns the uptime in percent, 0 to 100; nil if nothing but maintenance is measured. weight is that of a
// partial outage. The percentage is cut off after six decimals, so that 100 means that there was no outage; a second of a
// month is 0.00004 percent. The computation uses integers, because the error of a fraction could lower the last decimal.
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

// daysOf returns the days of a month in a time zone. A day that the zone skipped is left out.
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

// dayStart returns the first moment of a day, in UTC. A change of the offset at midnight makes no midnight or two.
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
