package uptime

import (
	"cmp"
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Calendar is successive days of a time zone, the oldest first. Nothing after At is measured.
type Calendar struct {
	At   time.Time
	Days []Day
	zone *time.Location
}

// NewCalendar returns the days of the 12 months until at. The last day is the day of at.
func NewCalendar(at time.Time, zone *time.Location) Calendar {
	today := civil(at.In(zone))
	return Calendar{at, daysBetween(today.AddDate(-1, 0, 1), today, zone), zone}
}

// Calendars returns calendars and caches their days, because each write of an event needs a calendar. It is safe for
// concurrent use.
type Calendars struct {
	days *lru.Cache[string, []Day] // by last day and zone
}

// maxCalendars is how many calendars are cached. Each time zone in use needs one calendar on each day.
const maxCalendars = 64

func NewCalendars() Calendars {
	days, _ := lru.New[string, []Day](maxCalendars) // fails only for a size below 1
	return Calendars{days}
}

// At returns the same as NewCalendar. The caller must not change the days.
func (c Calendars) At(at time.Time, zone *time.Location) Calendar {
	last := at.In(zone).Format(time.DateOnly) + " " + zone.String()
	if days, found := c.days.Get(last); found {
		return Calendar{at, days, zone}
	}
	calendar := NewCalendar(at, zone)
	c.days.Add(last, calendar.Days)
	return calendar
}

// MonthCalendar returns the days of the month of first. Only the time until at is measured.
func MonthCalendar(first time.Time, zone *time.Location, at time.Time) Calendar {
	days := DaysOf(first.Year(), first.Month(), zone)
	return Calendar{Earlier(at, days[len(days)-1].To), days, zone}
}

func (c Calendar) Today() Day { return c.Days[len(c.Days)-1] }

// Last returns the last n days, or all days if there are fewer.
func (c Calendar) Last(n int) []Day { return c.Days[max(0, len(c.Days)-n):] }

// Overlapping returns the days that overlap the time between from (inclusive) and to (exclusive).
func (c Calendar) Overlapping(from, to time.Time) []Day {
	first, _ := slices.BinarySearchFunc(c.Days, from, func(d Day, at time.Time) int {
		return cmp.Or(d.To.Compare(at), -1) // a day that ends exactly at from does not overlap
	})
	last := first
	for last < len(c.Days) && c.Days[last].From.Before(to) {
		last++
	}
	return c.Days[first:last]
}

// Month returns the month of a time as yyyy-mm.
func (c Calendar) Month(at time.Time) string { return at.In(c.zone).Format("2006-01") }

// maxMonths is the maximum number of months that Months returns. Each month has a page.
const maxMonths = 240

// Months returns the months from first to the month of At as yyyy-mm, the newest first, but at most maxMonths. If first is
// empty, it returns only the month of At.
func (c Calendar) Months(first string) []string {
	local := c.At.In(c.zone)
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

// AffectedDay is a day on which events or states by hand affected a component.
type AffectedDay struct {
	Date     string   `json:"date"` // yyyy-mm-dd
	Tally    Tally    `json:"tally"`
	EventIDs []string `json:"eventIds"` // empty if only a state by hand affected the component
}

// Tallied returns the days on which spans affected a component. spans has all spans of the component that overlap the
// days. since is the time since which the component exists. Time before since and after At is not measured. A span that
// begins and ends in the same second adds no time, but its event is in EventIDs and its impact counts for Worst.
func (c Calendar) Tallied(since time.Time, spans []Span, days []Day) []AffectedDay {
	if len(days) == 0 || len(spans) == 0 {
		return nil
	}
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.EventID, b.EventID)) })
	from, end := Later(days[0].From, wholeSecond(since)), Earlier(days[len(days)-1].To, wholeSecond(c.At))
	states := segments(from, end, spans)
	var out []AffectedDay
	for _, d := range days {
		first := Later(d.From, from)
		one, affected := AffectedDay{Date: d.Date, Tally: tally(states, first, Earlier(d.To, end)), EventIDs: []string{}}, false
		for _, s := range spans {
			begin := Later(s.From, first)
			if begin.After(c.At) || !begin.Before(Earlier(s.To, d.To)) {
				continue
			}
			if s.Impact.Worse(one.Tally.Worst) {
				one.Tally.Worst = s.Impact
			}
			affected = true
			if s.EventID != "" && !slices.Contains(one.EventIDs, s.EventID) {
				one.EventIDs = append(one.EventIDs, s.EventID)
			}
		}
		if affected {
			out = append(out, one)
		}
	}
	return out
}

// Uptime returns the uptime of a component over the last n days; nil if nothing but maintenance was measured. affected is
// the days on which events or states by hand affected the component, see Tallied.
func (c Calendar) Uptime(since time.Time, affected []AffectedDay, n int, weight float64) *float64 {
	window := c.Last(n)
	from, end := Later(window[0].From, wholeSecond(since)), wholeSecond(c.At)
	if !from.Before(end) {
		return nil
	}
	return Over(affected, window[0].Date, c.Today().Date, end.Sub(from), weight)
}

// Over returns the uptime over the days from first to last (yyyy-mm-dd); nil if nothing but maintenance was measured.
// measured is how much time was measured on these days. Time that is not in the tallies of affected counts as
// operational. An outage that begins and ends in the same second also lowers the uptime.
func Over(affected []AffectedDay, first, last string, measured time.Duration, weight float64) *float64 {
	var sum Tally
	for i := range affected {
		if affected[i].Date < first || affected[i].Date > last {
			continue
		}
		day := affected[i].Tally
		switch day.Worst {
		case MajorOutage:
			day.Major = max(day.Major, 1)
		case PartialOutage:
			day.Partial = max(day.Partial, 1)
		}
		sum.AddAll(day)
	}
	sum.Measured = measured
	return sum.Uptime(weight)
}
