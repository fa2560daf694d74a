package catalog

import (
	"cmp"
	"slices"
	"time"
)

const recentDays = 90 // days whose events a snapshot has

// calendar is the days of a dashboard's zone that a snapshot covers, the oldest first. The last one is today.
type calendar struct {
	at   time.Time
	zone *time.Location
	days []day
}

// newCalendar returns the days of the 12 months until at.
func newCalendar(at time.Time, zone *time.Location) calendar {
	c := calendar{at: at, zone: zone}
	local := at.In(zone)
	today := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, time.UTC)
	for date := today.AddDate(-1, 0, 1); !date.After(today); date = date.AddDate(0, 0, 1) {
		one := day{
			date: date.Format(time.DateOnly), from: dayStart(date.Year(), date.Month(), date.Day(), zone),
			to: dayStart(date.Year(), date.Month(), date.Day()+1, zone),
		}
		if one.from.Before(one.to) { // else the zone skipped the day
			c.days = append(c.days, one)
		}
	}
	return c
}

func (c calendar) today() day { return c.days[len(c.days)-1] }

// last returns the last n days.
func (c calendar) last(n int) []day { return c.days[max(0, len(c.days)-n):] }

// recentFrom returns the time since which a snapshot has all events.
func (c calendar) recentFrom() time.Time { return c.last(recentDays + 1)[0].from }

// overlapping returns the days that the time from until before to touches.
func (c calendar) overlapping(from, to time.Time) []day {
	first, _ := slices.BinarySearchFunc(c.days, from, func(d day, at time.Time) int {
		return cmp.Or(d.to.Compare(at), -1) // a day that ends at from is before it
	})
	last := first
	for last < len(c.days) && c.days[last].from.Before(to) {
		last++
	}
	return c.days[first:last]
}

// month returns the month of a time as yyyy-mm.
func (c calendar) month(at time.Time) string { return at.In(c.zone).Format("2006-01") }

// maxMonths bounds the months that have a page.
const maxMonths = 240

// months returns the months from first to that of today, the newest first.
func (c calendar) months(first string) []string {
	local := c.at.In(c.zone)
	month := time.Date(local.Year(), local.Month(), 1, 0, 0, 0, 0, time.UTC)
	months := []string{month.Format("2006-01")}
	for len(months) < maxMonths && first != "" {
		if month = month.AddDate(0, -1, 0); month.Format("2006-01") < first {
			break
		}
		months = append(months, month.Format("2006-01"))
	}
	return months
}

// tallied returns those of the days on which spans affected the component. spans is all of the component that overlap
// the days. The time before the component existed and after at is not measured. A day names the events of all spans until
// at and counts their impacts for its worst status, also of those that have not lasted a second.
func (c calendar) tallied(component *ShownComponent, spans []span, days []day) []ShownDay {
	if len(days) == 0 || len(spans) == 0 {
		return nil
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(a.from.Compare(b.from), cmp.Compare(a.eventID, b.eventID)) })
	from, end := later(days[0].from, wholeSecond(component.Since)), earlier(days[len(days)-1].to, wholeSecond(c.at))
	states := segments(from, end, spans)
	var out []ShownDay
	for _, d := range days {
		first := later(d.from, from)
		one := ShownDay{Date: d.date, Tally: tally(states, first, earlier(d.to, end)), EventIDs: []string{}}
		for _, s := range spans {
			begin := later(s.from, first)
			if begin.After(c.at) || !begin.Before(earlier(s.to, d.to)) {
				continue
			}
			if s.impact.worse(one.Tally.Worst) {
				one.Tally.Worst = s.impact
			}
			if !slices.Contains(one.EventIDs, s.eventID) {
				one.EventIDs = append(one.EventIDs, s.eventID)
			}
		}
		if len(one.EventIDs) > 0 {
			out = append(out, one)
		}
	}
	return out
}

// uptime returns the uptime of a component over the last n days. The component has no events on days that it lacks.
func (c calendar) uptime(component *ShownComponent, n int, weight float64) *float64 {
	window := c.last(n)
	from, end := later(window[0].from, wholeSecond(component.Since)), wholeSecond(c.at)
	if !from.Before(end) {
		return nil
	}
	var sum Tally
	for i := range component.Days {
		if component.Days[i].Date >= window[0].date {
			sum.addAll(component.Days[i].Tally)
		}
	}
	sum.Measured = end.Sub(from)
	switch sum.Worst { // an outage that has not lasted a second is an outage
	case MajorOutage:
		sum.Major = max(sum.Major, 1)
	case PartialOutage:
		sum.Partial = max(sum.Partial, 1)
	}
	return sum.Uptime(weight)
}
