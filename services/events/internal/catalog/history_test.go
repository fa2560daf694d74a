package catalog

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

// painted is the history of an event by the second, which the test paints action by action: whether the event was
// under way, and what was stated about its impact.
type painted struct {
	event   *Event
	begin   int64 // the second of live[0]
	live    []bool
	impacts []Impact // the impact of each second, once the history is complete
	base    Impact
	said    []ImpactFrom // after base was stated, in order of writing
}

// close paints a time in which the event was not under way.
func (p *painted) close(from, to time.Time) {
	for i := max(0, from.Unix()-p.begin); i < min(int64(len(p.live)), to.Unix()-p.begin); i++ {
		p.live[i] = false
	}
}

// shown returns the impact with the latest timestamp.
func (p *painted) shown() Impact {
	last := ImpactFrom{Impact: p.stated(p.base)}
	for _, s := range p.said {
		if !s.At.Before(last.At) {
			last = s
		}
	}
	return last.Impact
}

func (p *painted) stated(impact Impact) Impact {
	return cmp.Or(impact, defaultImpact(p.event.Type, p.event.Severity))
}

// write runs one write of the event at a time, as ChangeEvent does.
func (p *painted) write(now time.Time, change func(*EventEdit)) {
	draft := NewEventEdit(p.event.clone(), Command{Author: Author{UserID: "u"}}, now)
	change(draft)
	draft.finish(false)
	draft.Version++
	for i := range draft.Links {
		draft.Links[i].LegacyID = 1
	}
	p.event = draft.Event
}

func (p *painted) state(at, now time.Time, impact Impact) {
	p.write(now, func(d *EventEdit) {
		d.Timeline = append(d.Timeline, Entry{Status: StatusUpdate, Timestamp: at, CreatedAt: now, Impacts: []ComponentImpact{{"other", Operational}, {"c", impact}}})
	})
	p.said = append(p.said, ImpactFrom{at, impact})
}

// anyEvent returns an event with a random history: closed and reopened several times, with impacts that entries
// state, also about the past, and with a start, an end and an impact that are corrected later.
func anyEvent(r *rand.Rand, id string, from, to time.Time) *painted {
	impacts := []Impact{"", Operational, UnderMaintenance, Degraded, PartialOutage, MajorOutage}
	length := to.Unix() - from.Unix()
	after := func(at time.Time) time.Time { return at.Add(time.Duration(r.Int64N(length*100)) * time.Millisecond) }
	before := func(at time.Time) time.Time { return at.Add(-time.Duration(r.Int64N(length*300)) * time.Millisecond) }
	p := &painted{begin: from.Unix(), live: slices.Repeat([]bool{true}, int(length)), base: impacts[r.IntN(len(impacts))]}
	closed, open := Resolved, Identified
	p.event = &Event{ID: id, Type: Incident, Published: true, Severity: []string{"", "minor_outage", "major_outage"}[r.IntN(3)]}
	if r.IntN(3) == 0 {
		p.event.Type, closed, open = Maintenance, Completed, InProgress
	}
	now := after(from.Add(-time.Duration(length/5) * time.Second))
	p.write(now, func(d *EventEdit) {
		d.Status, d.StartAt, d.Links = open, now, []Link{{ComponentID: "other"}, {ComponentID: "c", Impact: p.base}}
	})
	for range r.IntN(16) {
		now = after(now)
		switch action := r.IntN(20); {
		case action < 10:
			p.state(before(now), now, impacts[1+r.IntN(5)])
		case action == 10:
			impact := impacts[r.IntN(len(impacts))]
			if p.stated(impact) != p.shown() {
				p.base, p.said = impact, nil
			}
			p.write(now, func(d *EventEdit) { d.SetImpact("c", impact) })
		case action == 11:
			p.write(now, func(d *EventEdit) { d.StartAt = before(now) })
		case p.event.Open():
			p.write(now, func(d *EventEdit) { d.SetStatus(closed) })
		case action < 18:
			end := uptime.Later(before(now), p.event.StartAt)
			p.write(now, func(d *EventEdit) { d.EndAt = &end })
		default:
			p.close(*p.event.EndAt, now)
			p.write(now, func(d *EventEdit) { d.SetStatus(open) })
		}
	}
	p.finish()
	return p
}

// finish ends the painting: the time before the start and after the end, and the impacts. Each statement of an impact
// covers those with an earlier or the same timestamp.
func (p *painted) finish() {
	p.close(time.Time{}, p.event.StartAt)
	if p.event.EndAt != nil {
		p.close(*p.event.EndAt, p.event.EndAt.AddDate(1, 0, 0))
	}
	p.impacts = slices.Repeat([]Impact{p.stated(p.base)}, len(p.live))
	slices.SortStableFunc(p.said, func(a, b ImpactFrom) int { return a.At.Compare(b.At) })
	for n, s := range p.said {
		end := int64(len(p.live))
		if n+1 < len(p.said) {
			end = min(end, p.said[n+1].At.Unix()-p.begin)
		}
		for i := max(0, s.At.Unix()-p.begin); i < end; i++ {
			p.impacts[i] = s.Impact
		}
	}
}

// TestUptimeBySecond compares reports with a count by the second, over random histories of overlapping events, in
// months of any zone, also with days of 23 and 25 hours, whole and partial, with a component created in the month.
func TestUptimeBySecond(t *testing.T) {
	months := []struct {
		zone  string
		year  int
		month time.Month
	}{
		{"Europe/Berlin", 2026, time.March}, {"Europe/Berlin", 2026, time.October}, {"America/Havana", 2026, time.November},
		{"Australia/Lord_Howe", 2026, time.April}, {"Asia/Kathmandu", 2026, time.February}, {"Pacific/Apia", 2011, time.December}, {"UTC", 2028, time.February},
	}
	for round := range 12 * len(months) {
		month := months[round%len(months)]
		t.Run(fmt.Sprint(round, month.zone), func(t *testing.T) {
			t.Parallel()
			zone, err := time.LoadLocation(month.zone)
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(uint64(round), 7))
			days := uptime.DaysOf(month.year, month.month, zone)
			if round >= len(months) { // some days of the month; a whole month takes long to count
				first := r.IntN(len(days) - 1)
				days = days[first:min(len(days), first+1+r.IntN(3))]
			}
			from, end := days[0].From, days[len(days)-1].To
			if r.IntN(2) == 0 {
				end = from.Add(time.Duration(1+r.Int64N(int64(end.Sub(from)/time.Second))) * time.Second)
			}
			component := Component{ID: "c", CreatedAt: from.Add(time.Duration(r.Int64N(2*int64(end.Sub(from)))) - end.Sub(from))}
			var histories []*painted
			var spans []uptime.Span
			for i := range r.IntN(6) {
				history := anyEvent(r, fmt.Sprint("e", i), from, end)
				histories = append(histories, history)
				spans = append(spans, history.event.spansOn(history.event.Links[1], end)...)
			}
			weight := float64(r.IntN(11)) / 10
			checkBySecond(t, uptime.Of(component.Since(), spans, days, end), component, histories, zone, from, end, weight)
		})
	}
}

// checkBySecond counts every second from the painted histories and compares the report with the counts.
func checkBySecond(t *testing.T, got uptime.ComponentUptime, component Component, histories []*painted, zone *time.Location, from, end time.Time, weight float64) {
	t.Helper()
	tallies, counted := map[string]*uptime.Tally{}, map[string]bool{}
	var today *uptime.Tally
	var dates []string
	var whole uptime.Tally
	var worst Impact
	var same time.Duration // how long worst has been the worst of today
	add := func() {
		if same > 0 {
			today.Add(worst, same)
			whole.Add(worst, same)
		}
		same = 0
	}
	for second := from.Unix(); second < end.Unix(); second++ {
		if second == from.Unix() || second%(15*60) == 0 { // these zones change date at quarters of an hour
			add()
			date := time.Unix(second, 0).In(zone).Format(time.DateOnly)
			if tallies[date] == nil {
				tallies[date], dates = &uptime.Tally{}, append(dates, date)
			}
			today = tallies[date]
		}
		if second < component.CreatedAt.Unix() {
			continue
		}
		now := Operational
		for _, history := range histories {
			impact := history.impacts[second-history.begin]
			if !history.live[second-history.begin] || impact == Operational {
				continue
			}
			counted[history.event.ID] = true
			if impact.Worse(now) {
				now = impact
			}
		}
		if now != worst {
			add()
		}
		worst, same = now, same+time.Second
	}
	add()
	if got.Tally != whole {
		t.Errorf("the month is %+v, counted %+v", got.Tally, whole)
	}
	if len(got.Days) != len(dates) {
		t.Fatalf("%d days, counted %d", len(got.Days), len(dates))
	}
	for i, d := range got.Days {
		if d.Date != dates[i] || d.Tally != *tallies[dates[i]] {
			t.Errorf("%+v, counted %s %+v", d, dates[i], tallies[dates[i]])
		}
	}
	if up := whole.Measured - whole.Maintenance; up > 0 {
		want := 100 * (1 - (whole.Major.Seconds()+weight*whole.Partial.Seconds())/up.Seconds())
		if uptime := got.Uptime(weight); uptime == nil || *uptime > want+1e-10 || *uptime < want-1.0001e-6 {
			t.Errorf("an uptime of %v, counted %v", got.Uptime(weight), want)
		}
	} else if uptime := got.Uptime(weight); uptime != nil {
		t.Errorf("an uptime of %v, counted none", *uptime)
	}
	if len(got.EventIDs) != len(counted) || slices.ContainsFunc(got.EventIDs, func(id string) bool { return !counted[id] }) {
		t.Errorf("events %v, counted %v", got.EventIDs, counted)
	}
}

// TestAReopenedEventDoesNotCountItsPauses checks the times that count of an event that is reopened after its end was corrected.
func TestAReopenedEventDoesNotCountItsPauses(t *testing.T) {
	status := func(at string, status Status) func(*EventEdit) {
		return func(d *EventEdit) { d.Now = clock(at); d.SetStatus(status) }
	}
	end := func(at string) func(*EventEdit) { end := clock(at); return func(d *EventEdit) { d.EndAt = &end } }
	for name, c := range map[string]struct {
		writes []func(*EventEdit)
		want   string
	}{
		"never closed":        {nil, "10:00-23:00 "},
		"closed":              {[]func(*EventEdit){status("12:00", Resolved)}, "10:00-12:00 "},
		"reopened":            {[]func(*EventEdit){status("12:00", Resolved), status("13:00", Investigating)}, "10:00-12:00 13:00-23:00 "},
		"reopened and closed": {[]func(*EventEdit){status("12:00", Resolved), status("13:00", Monitoring), status("14:00", Resolved)}, "10:00-12:00 13:00-14:00 "},
		"reopened twice": {[]func(*EventEdit){status("12:00", Resolved), status("13:00", Monitoring), status("14:00", Resolved), status("15:00", Monitoring)},
			"10:00-12:00 13:00-14:00 15:00-23:00 "},
		"an earlier end": {[]func(*EventEdit){status("12:00", Resolved), end("11:00"), status("13:00", Investigating)}, "10:00-11:00 13:00-23:00 "},
		"an end before the reopening": {[]func(*EventEdit){status("12:00", Resolved), status("13:00", Monitoring), status("14:00", Resolved), end("11:00"), status("15:00", Monitoring)},
			"10:00-11:00 15:00-23:00 "},
		"an end within the time closed": {[]func(*EventEdit){status("12:00", Resolved), status("13:00", Monitoring), status("14:00", Resolved), end("12:30"), status("15:00", Monitoring)},
			"10:00-12:00 15:00-23:00 "},
		"an end in the future":   {[]func(*EventEdit){status("12:00", Resolved), end("20:00"), status("13:00", Monitoring)}, "10:00-23:00 "},
		"a start within":         {[]func(*EventEdit){status("12:00", Resolved), status("13:00", Monitoring), func(d *EventEdit) { d.StartAt = clock("12:30") }}, "13:00-23:00 "},
		"hidden":                 {[]func(*EventEdit){func(d *EventEdit) { d.HiddenFromDashboard = true }}, ""},
		"hidden from reports":    {[]func(*EventEdit){func(d *EventEdit) { d.HiddenFromUptimeReports = true }}, ""},
		"a draft":                {[]func(*EventEdit){func(d *EventEdit) { d.Published = false }}, ""},
		"an operational impact":  {[]func(*EventEdit){func(d *EventEdit) { d.SetImpact("c", Operational) }}, ""},
		"closed before it began": {[]func(*EventEdit){status("12:00", Resolved), end("10:00")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := &painted{event: &Event{ID: "e", Type: Incident, Status: Identified, Published: true, StartAt: clock("10:00"), Links: []Link{{ComponentID: "c"}}}}
			for _, write := range append([]func(*EventEdit){func(*EventEdit) {}}, c.writes...) {
				p.write(clock("12:00"), write)
			}
			got := ""
			for _, s := range p.event.spansOn(p.event.Links[0], clock("23:00")) {
				got += s.From.Format("15:04") + "-" + s.To.Format("15:04 ")
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
