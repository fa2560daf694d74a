package uptime

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// Report is the uptime of components in a month.
type Report struct {
	Month      string
	Timezone   string    // time zone of the month and its days
	From, To   time.Time // the month; To is now if the month is not over
	Partial    bool      // the month is not over
	Weight     float64   // weight of a partial outage; a major outage has the weight 1
	Total      Tally
	Components []ComponentUptime
	Formula    string
	days       []Day
}

type ComponentUptime struct {
	ComponentID string
	Name        string
	Tally
	Days     []DayUptime
	EventIDs []string // ids of the events that affected the component, the earliest first
}

type DayUptime struct {
	Date string // yyyy-mm-dd
	Tally
}

// NewReport returns the report of a month (yyyy-mm) without components. weight is the weight of a partial outage. It
// returns Invalid if yearMonth is not a month or the month has not begun.
func NewReport(yearMonth string, zone *time.Location, weight float64, now time.Time) (Report, error) {
	month, err := time.Parse("2006-01", yearMonth)
	if err != nil {
		return Report{}, fault.Field("month", "must be a month in the form YYYY-MM")
	}
	now = wholeSecond(now)
	days := DaysOf(month.Year(), month.Month(), zone)
	from, to := days[0].From, days[len(days)-1].To
	if from.After(now) {
		return Report{}, fault.Field("month", "must not be in the future")
	}
	return Report{
		Month: yearMonth, Timezone: zone.String(), From: from, To: Earlier(to, now), Partial: to.After(now), Weight: weight, days: days,
		Formula: fmt.Sprintf("uptime = 1 - (major + %g * partial) / (measured - maintenance)", weight),
	}, nil
}

// Add adds a component to the report. since is the time since which the component exists. spans has all spans of the
// component that overlap the report.
func (r *Report) Add(id, name string, since time.Time, spans []Span) {
	part := Of(since, spans, r.days, r.To)
	part.ComponentID, part.Name = id, name
	r.Total.AddAll(part.Tally)
	r.Components = append(r.Components, part)
}

// Of returns the uptime of a component on successive days, until end. Time before since, when the component did not
// exist, is not measured.
func Of(since time.Time, spans []Span, days []Day, end time.Time) ComponentUptime {
	part := ComponentUptime{Days: []DayUptime{}, EventIDs: []string{}}
	from := Later(days[0].From, wholeSecond(since))
	states := segments(from, end, spans)
	for _, d := range days {
		if !d.From.Before(end) {
			break
		}
		one := DayUptime{Date: d.Date, Tally: tally(states, Later(d.From, from), Earlier(d.To, end))}
		part.Tally.AddAll(one.Tally)
		part.Days = append(part.Days, one)
	}
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.EventID, b.EventID)) })
	seen := map[string]bool{}
	for _, s := range spans {
		if _, _, lasts := s.counted(from, end); lasts && s.EventID != "" && !seen[s.EventID] {
			seen[s.EventID] = true
			part.EventIDs = append(part.EventIDs, s.EventID)
		}
	}
	return part
}
