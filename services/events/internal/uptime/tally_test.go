package uptime

import (
	"math/rand/v2"
	"testing"
	"time"
)

func clock(text string) time.Time {
	at, err := time.Parse(time.DateTime, "2026-01-01 "+text+":00")
	if err != nil {
		panic(err)
	}
	return at
}

func TestATallyCountsEachMomentOnce(t *testing.T) {
	during := func(from, to string, impact Impact) Span { return Span{clock(from), clock(to), impact, "e"} }
	percent := func(p float64) *float64 { return &p }
	for name, c := range map[string]struct {
		spans  []Span
		want   Tally
		uptime *float64
	}{
		"nothing":     {nil, Tally{Measured: 10 * time.Hour, Worst: Operational}, percent(100)},
		"one":         {[]Span{during("01:00", "02:00", MajorOutage)}, Tally{Measured: 10 * time.Hour, Major: time.Hour, Worst: MajorOutage}, percent(90)},
		"partial":     {[]Span{during("01:00", "02:00", PartialOutage)}, Tally{Measured: 10 * time.Hour, Partial: time.Hour, Worst: PartialOutage}, percent(97)},
		"degraded":    {[]Span{during("01:00", "02:00", Degraded)}, Tally{Measured: 10 * time.Hour, Degraded: time.Hour, Worst: Degraded}, percent(100)},
		"maintenance": {[]Span{during("00:00", "05:00", UnderMaintenance), during("05:00", "06:00", MajorOutage)}, Tally{Measured: 10 * time.Hour, Maintenance: 5 * time.Hour, Major: time.Hour, Worst: MajorOutage}, percent(80)},
		"only maintenance": {[]Span{during("00:00", "10:00", UnderMaintenance)},
			Tally{Measured: 10 * time.Hour, Maintenance: 10 * time.Hour, Worst: UnderMaintenance}, nil},
		"the worst of two": {[]Span{during("01:00", "04:00", PartialOutage), during("02:00", "03:00", MajorOutage)},
			Tally{Measured: 10 * time.Hour, Partial: 2 * time.Hour, Major: time.Hour, Worst: MajorOutage}, percent(84)},
		"the same twice": {[]Span{during("01:00", "03:00", MajorOutage), during("02:00", "04:00", MajorOutage)},
			Tally{Measured: 10 * time.Hour, Major: 3 * time.Hour, Worst: MajorOutage}, percent(70)},
		"an outage in a maintenance": {[]Span{during("01:00", "03:00", UnderMaintenance), during("02:00", "04:00", MajorOutage)},
			Tally{Measured: 10 * time.Hour, Maintenance: time.Hour, Major: 2 * time.Hour, Worst: MajorOutage}, percent(77.777777)},
		"beyond both ends": {[]Span{during("00:00", "23:00", MajorOutage)}, Tally{Measured: 10 * time.Hour, Major: 10 * time.Hour, Worst: MajorOutage}, percent(0)},
		"of no length":     {[]Span{during("01:00", "01:00", MajorOutage)}, Tally{Measured: 10 * time.Hour, Worst: Operational}, percent(100)},
		"outside":          {[]Span{during("10:00", "11:00", MajorOutage)}, Tally{Measured: 10 * time.Hour, Worst: Operational}, percent(100)},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := clock("00:00"), clock("10:00")
			got := tally(segments(from, to, c.spans), from, to)
			if got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			if uptime := got.Uptime(0.3); (uptime == nil) != (c.uptime == nil) || uptime != nil && *uptime != *c.uptime {
				t.Errorf("uptime %v, want %v", uptime, c.uptime)
			}
		})
	}
	for name, outage := range map[string]Tally{
		"a second in a year":                      {Measured: 365 * 24 * time.Hour, Major: time.Second},
		"a second of 1,000 components in a month": {Measured: 31000 * 24 * time.Hour, Partial: time.Second},
	} {
		for _, weight := range []float64{1, 0.3, 1e-6, 1e-12} {
			if uptime := *outage.Uptime(weight); (uptime < 100) != (outage.Major > 0 || weight > 0) || uptime < 99.999 {
				t.Errorf("%s with the weight %g: %v", name, weight, uptime)
			}
		}
	}
	if got := (Tally{}); got.Uptime(0.3) != nil {
		t.Errorf("an unmeasured time has an uptime of %v", *got.Uptime(0.3))
	}
}

// FuzzTally checks for any spans that their order does not matter, that each moment counts once,
// that an uptime is a percentage, and that days add up to the whole.
func FuzzTally(f *testing.F) {
	f.Add([]byte{1, 5, 0, 3, 9, 4, 2, 2, 1})
	f.Add([]byte{200, 5, 3, 0, 255, 1, 0, 255, 4, 7, 90, 2})
	impacts := []Impact{Operational, UnderMaintenance, Degraded, PartialOutage, MajorOutage}
	f.Fuzz(func(t *testing.T, data []byte) {
		base := clock("00:00")
		at := func(n int) time.Time { return base.Add(time.Duration(n) * time.Minute) }
		var spans []Span
		for ; len(data) >= 3; data = data[3:] {
			spans = append(spans, Span{at(int(data[0]) - 20), at(int(data[1]) - 20), impacts[int(data[2])%len(impacts)], "e"})
		}
		const length = 200
		states := segments(at(0), at(length), spans)
		whole := tally(states, at(0), at(length))
		var up time.Duration
		reached := at(0)
		for _, s := range states {
			if !s.From.Equal(reached) || !s.From.Before(s.To) {
				t.Fatalf("a gap or an overlap at %v in %v", reached, states)
			}
			reached = s.To
			if s.Impact == Operational {
				up += s.To.Sub(s.From)
			}
		}
		if !reached.Equal(at(length)) || whole.Measured != length*time.Minute ||
			up+whole.Major+whole.Partial+whole.Degraded+whole.Maintenance != whole.Measured {
			t.Fatalf("%v do not add up: %+v", states, whole)
		}
		if p := whole.Uptime(0.3); p != nil && (*p < 0 || *p > 100) {
			t.Fatalf("an uptime of %v", *p)
		}
		var parts Tally
		for n := 0; n < length; n += 7 {
			parts.AddAll(tally(states, at(n), at(min(n+7, length))))
		}
		if parts != whole {
			t.Fatalf("the parts are %+v, the whole %+v", parts, whole)
		}
		for minute := range length { // the oracle: minute by minute
			worst := Operational
			for _, s := range spans {
				if !s.From.After(at(minute)) && s.To.After(at(minute)) && s.Impact.Worse(worst) {
					worst = s.Impact
				}
			}
			if got := tally(states, at(minute), at(minute+1)).Worst; got != worst {
				t.Fatalf("minute %d is %s, want %s", minute, got, worst)
			}
		}
		rand.Shuffle(len(spans), func(i, j int) { spans[i], spans[j] = spans[j], spans[i] })
		if again := tally(segments(at(0), at(length), spans), at(0), at(length)); again != whole {
			t.Fatalf("in another order %+v, before %+v", again, whole)
		}
	})
}

// TestDaysFollowOneAnotherWithoutAGap checks that the days of any month in any zone follow one another without a gap.
func TestDaysFollowOneAnotherWithoutAGap(t *testing.T) {
	for _, name := range []string{"UTC", "Europe/Berlin", "America/Sao_Paulo", "America/Havana", "Asia/Beirut", "Atlantic/Azores", "Pacific/Apia", "Asia/Kathmandu"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		var reached time.Time
		for year := 1998; year < 2030; year++ {
			for month := time.January; month <= time.December; month++ {
				for _, d := range DaysOf(year, month, zone) {
					if !reached.IsZero() && !d.From.Equal(reached) {
						t.Fatalf("%s: %s begins at %v, the day before ends at %v", name, d.Date, d.From, reached)
					}
					if got := d.From.In(zone).Format(time.DateOnly); got != d.Date {
						t.Errorf("%s: %s begins on %s", name, d.Date, got)
					}
					if got := d.From.Add(-1).In(zone).Format(time.DateOnly); got >= d.Date {
						t.Errorf("%s: right before %s it is %s", name, d.Date, got)
					}
					reached = d.To
				}
			}
		}
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for date, hours := range map[string]float64{"2026-03-28": 24, "2026-03-29": 23, "2026-10-25": 25} {
		at, _ := time.Parse(time.DateOnly, date)
		d := DaysOf(at.Year(), at.Month(), berlin)[at.Day()-1]
		if d.Date != date || d.To.Sub(d.From).Hours() != hours {
			t.Errorf("%s has %v hours, want %v", d.Date, d.To.Sub(d.From).Hours(), hours)
		}
	}
}
