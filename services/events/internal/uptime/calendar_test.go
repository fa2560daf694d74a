package uptime

import (
	"testing"
	"time"
)

// endless is a time after all days.
var endless = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// TestACalendarHasNoGaps checks the days of a zone: those of 23 and 25 hours, and that they have no gaps.
func TestACalendarHasNoGaps(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	c := NewCalendar(time.Date(2026, 12, 31, 22, 59, 59, 0, time.UTC), berlin)
	if first, last := c.Days[0].Date, c.Today(); first != "2026-01-01" || last.Date != "2026-12-31" || !last.To.Equal(time.Date(2026, 12, 31, 23, 0, 0, 0, time.UTC)) {
		t.Errorf("the days are %s to %+v", first, last)
	}
	for i, d := range c.Days {
		want := 24 * time.Hour
		switch d.Date {
		case "2026-03-29":
			want = 23 * time.Hour
		case "2026-10-25":
			want = 25 * time.Hour
		}
		if got := d.To.Sub(d.From); got != want || i > 0 && !d.From.Equal(c.Days[i-1].To) {
			t.Errorf("%s has %v", d.Date, got)
		}
	}
	if got := c.Overlapping(c.Days[4].From, c.Days[6].From); len(got) != 2 || got[0].Date != "2026-01-05" {
		t.Errorf("overlapping are %+v", got)
	}
	if got := c.Overlapping(c.Days[4].From.Add(-time.Second), endless); len(got) != len(c.Days)-3 {
		t.Errorf("%d days overlap an endless time", len(got))
	}
	if got := c.Months("2026-11"); len(got) != 2 || got[0] != "2026-12" || len(c.Months("")) != 1 || len(c.Months("1900-01")) != maxMonths {
		t.Errorf("the months are %v", got)
	}
}

// TestUptimeOfDays checks the uptime of a window from its days, with the time before the component existed left out.
func TestUptimeOfDays(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	c := NewCalendar(now, time.UTC)
	since := now.Add(-50 * time.Hour)
	spans := []Span{
		{now.Add(-60 * time.Hour), now.Add(-45 * time.Hour), MajorOutage, "a"}, // 5 hours of it count
		{now.Add(-20 * time.Hour), now.Add(-10 * time.Hour), PartialOutage, "b"},
		{now.Add(-5 * time.Hour), endless, UnderMaintenance, "c"},
	}
	days := c.Tallied(since, spans, c.Days)
	if len(days) != 3 || days[0].Date != "2026-06-29" || days[0].Tally.Measured != 14*time.Hour ||
		days[2].Tally.Measured != 12*time.Hour || days[2].Tally.Maintenance != 5*time.Hour {
		t.Errorf("the days are %+v", days)
	}
	if got, want := *c.Uptime(since, days, 90, 0.5), 100*(1-10.0/45); got-want > 1e-6 || want-got > 1e-6 {
		t.Errorf("the uptime is %v, want %v", got, want)
	}
	since = now
	if c.Uptime(since, days, 90, 0.5) != nil {
		t.Error("a new component has an uptime")
	}
}
