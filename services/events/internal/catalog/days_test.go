package catalog

import (
	"testing"
	"time"
)

// TestCalendar checks the days of a zone: those of 23 and 25 hours, and that they have no gaps.
func TestCalendar(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	c := newCalendar(time.Date(2026, 12, 31, 22, 59, 59, 0, time.UTC), berlin)
	if first, last := c.days[0].date, c.today(); first != "2026-01-01" || last.date != "2026-12-31" || !last.to.Equal(time.Date(2026, 12, 31, 23, 0, 0, 0, time.UTC)) {
		t.Errorf("the days are %s to %+v", first, last)
	}
	for i, d := range c.days {
		want := 24 * time.Hour
		switch d.date {
		case "2026-03-29":
			want = 23 * time.Hour
		case "2026-10-25":
			want = 25 * time.Hour
		}
		if got := d.to.Sub(d.from); got != want || i > 0 && !d.from.Equal(c.days[i-1].to) {
			t.Errorf("%s has %v", d.date, got)
		}
	}
	if got := c.overlapping(c.days[4].from, c.days[6].from); len(got) != 2 || got[0].date != "2026-01-05" {
		t.Errorf("overlapping are %+v", got)
	}
	if got := c.overlapping(c.days[4].from.Add(-time.Second), endless()); len(got) != len(c.days)-3 {
		t.Errorf("%d days overlap an endless time", len(got))
	}
	if got := c.months("2026-11"); len(got) != 2 || got[0] != "2026-12" || len(c.months("")) != 1 || len(c.months("1900-01")) != maxMonths {
		t.Errorf("the months are %v", got)
	}
}

// TestUptimeOfDays checks the uptime of a window from its days, with the time before the component existed left out.
func TestUptimeOfDays(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	c := newCalendar(now, time.UTC)
	component := ShownComponent{Since: now.Add(-50 * time.Hour)}
	spans := []span{
		{now.Add(-60 * time.Hour), now.Add(-45 * time.Hour), MajorOutage, "a"}, // 5 hours of it count
		{now.Add(-20 * time.Hour), now.Add(-10 * time.Hour), PartialOutage, "b"},
		{now.Add(-5 * time.Hour), endless(), UnderMaintenance, "c"},
	}
	component.Days = c.tallied(&component, spans, c.days)
	if len(component.Days) != 3 || component.Days[0].Date != "2026-06-29" || component.Days[0].Tally.Measured != 14*time.Hour ||
		component.Days[2].Tally.Measured != 12*time.Hour || component.Days[2].Tally.Maintenance != 5*time.Hour {
		t.Errorf("the days are %+v", component.Days)
	}
	if got, want := *c.uptime(&component, 90, 0.5), 100*(1-10.0/45); got-want > 1e-6 || want-got > 1e-6 {
		t.Errorf("the uptime is %v, want %v", got, want)
	}
	component.Since = now
	if c.uptime(&component, 90, 0.5) != nil {
		t.Error("a new component has an uptime")
	}
}

// TestMissing checks that a moved end changes only the days between the two ends.
func TestMissing(t *testing.T) {
	span := func(component string, from, to int) Span { return Span{component, at(from, 0), at(to, 0), MajorOutage} }
	former, now := []Span{span("a", 1, 9), span("b", 1, 2)}, []Span{span("a", 1, 4), span("c", 1, 2)}
	if got := missing(former, now); len(got) != 2 || got[0] != span("a", 4, 9) || got[1] != span("b", 1, 2) {
		t.Errorf("the former has %+v", got)
	}
	if got := missing(now, former); len(got) != 1 || got[0] != span("c", 1, 2) {
		t.Errorf("the new has %+v", got)
	}
}
