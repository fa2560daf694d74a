package site

import (
	"strings"
	"time"
)

// moment is a time, for machines and in the dashboard's zone and locale.
type moment struct{ At, Text string }

// dates writes times and days of a dashboard.
type dates struct {
	*locale
	zone *time.Location
}

func (d dates) moment(t time.Time) moment {
	t = t.In(d.zone).Truncate(time.Second)
	return moment{t.Format(time.RFC3339), d.date("format.time", t)}
}

// period returns the ends of a period, or one moment if it has no end. If both ends are on the same day, the first has no
// zone and the last has no date.
func (d dates) period(from time.Time, to *time.Time) []moment {
	first := d.moment(from)
	if to == nil {
		return []moment{first}
	}
	last := d.moment(*to)
	before, after, _ := strings.Cut(last.Text, clock(to.In(d.zone)))
	if start := clock(from.In(d.zone)); first.Text == before+start+after {
		first.Text, last.Text = before+start, strings.TrimPrefix(last.Text, before)
	}
	return []moment{first, last}
}

// maybe returns nil for no time.
func (d dates) maybe(t *time.Time) *moment {
	if t == nil {
		return nil
	}
	return new(d.moment(*t))
}

// dayOf returns the day of a time in the dashboard's zone.
func (d dates) dayOf(t time.Time) day {
	year, month, date := t.In(d.zone).Date()
	return day{time.Date(year, month, date, 0, 0, 0, 0, time.UTC)}
}

// title writes a day for a heading.
func (d dates) title(of day) moment { return moment{of.String(), d.date("format.day", of.Time)} }

// short writes a day without its year.
func (d dates) short(of day) moment { return moment{of.String(), d.date("format.short", of.Time)} }

// monthTitle writes the month yyyy-mm, and the text as it is if it is no month.
func (d dates) monthTitle(text string) string {
	month, err := time.Parse("2006-01", text)
	if err != nil {
		return text
	}
	return d.date("format.month", month)
}

// day is a calendar day, as midnight of UTC.
type day struct{ time.Time }

func (d day) String() string { return d.Format(time.DateOnly) }

func (d day) add(days int) day { return day{d.AddDate(0, 0, days)} }

// daysBetween returns the days from first to last.
func daysBetween(first, last day) []day {
	var all []day
	for d := first; !d.After(last.Time); d = d.add(1) {
		all = append(all, d)
	}
	return all
}
