package site

import (
	"strings"
	"time"
)

// moment is a time in two forms. At is for machines. Text is in the dashboard's zone and locale.
type moment struct{ At, Text string }

// dates formats times and days for a dashboard.
type dates struct {
	*locale
	zone *time.Location
}

func (d dates) moment(t time.Time) moment {
	t = t.In(d.zone).Truncate(time.Second)
	return moment{t.Format(time.RFC3339), d.date("format.time", t)}
}

// period returns the start and the end of a period, or only the start if to is nil. If both have the same day and the
// same name of the zone, the text of the start has no zone and the text of the end has no date.
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

// maybe returns the moment of a time, or nil if t is nil.
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

// title formats a day with its year.
func (d dates) title(of day) moment { return moment{of.String(), d.date("format.day", of.Time)} }

// short formats a day without its year.
func (d dates) short(of day) moment { return moment{of.String(), d.date("format.short", of.Time)} }

// monthTitle formats a month that is given as yyyy-mm. It returns any other text unchanged.
func (d dates) monthTitle(text string) string {
	month, err := time.Parse("2006-01", text)
	if err != nil {
		return text
	}
	return d.date("format.month", month)
}

// day is a calendar day, stored as midnight in UTC.
type day struct{ time.Time }

func (d day) String() string { return d.Format(time.DateOnly) }

func (d day) add(days int) day { return day{d.AddDate(0, 0, days)} }

// daysBetween returns the days from first to last, both included.
func daysBetween(first, last day) []day {
	var all []day
	for d := first; !d.After(last.Time); d = d.add(1) {
		all = append(all, d)
	}
	return all
}
