package catalog

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// UptimeAsked is what an uptime report is wanted of: a month, and a dashboard or a
// component.
type UptimeAsked struct {
	Month       string // yyyy-mm
	DashboardID string
	ComponentID string
}

// UptimeReport tells how long components were up in a month.
type UptimeReport struct {
	Month    string
	Timezone string // whose days and month they are
	// From and To are what is reported of: the month, or of the current one what is over.
	From, To   time.Time
	Partial    bool // the month is not over
	Total      Tally
	Components []ComponentUptime
	Formula    string
}

// ComponentUptime is a component's part of a report.
type ComponentUptime struct {
	ComponentID string
	Name        string
	Tally
	Days     []DayUptime
	EventIDs []string // that affected it, the earliest first
}

// DayUptime is a component's day.
type DayUptime struct {
	Date string // yyyy-mm-dd
	Tally
}

// Uptime reports on the components of a dashboard, hidden ones too, or on one component in
// the time zone of the first dashboard that shows it.
func (c *Catalog) Uptime(ctx context.Context, organization string, asked UptimeAsked) (UptimeReport, error) {
	month, err := time.Parse("2006-01", asked.Month)
	if err != nil {
		return UptimeReport{}, fault.Field("month", "A month is needed in the form YYYY-MM.")
	}
	components, zone, err := c.reportedOn(ctx, organization, asked)
	if err != nil {
		return UptimeReport{}, err
	}
	now := c.now()
	days := daysOf(month.Year(), month.Month(), zone)
	from, to := days[0].from, days[len(days)-1].to
	if from.After(now) {
		return UptimeReport{}, fault.Field("month", "This month has not begun.")
	}
	report := UptimeReport{
		Month: asked.Month, Timezone: zone.String(), From: from, To: earlier(to, now), Partial: to.After(now),
		Formula: fmt.Sprintf("uptime = 1 - (major + %g * partial) / (measured - maintenance)", partialOutageWeight),
	}
	spans, err := c.spans(ctx, organization, asked.ComponentID, report.From, report.To)
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

// reportedOn are the components that are asked of, in order, and the time zone.
func (c *Catalog) reportedOn(ctx context.Context, organization string, asked UptimeAsked) ([]Component, *time.Location, error) {
	if asked.DashboardID != "" {
		dashboard, err := c.Dashboard(ctx, organization, asked.DashboardID)
		if err != nil {
			return nil, nil, err
		}
		there, err := c.ComponentsOn(ctx, organization, []Dashboard{dashboard})
		var components []Component
		for _, id := range dashboard.ComponentIDs() {
			if component, found := there[id]; found {
				components = append(components, component)
			}
		}
		return components, zoneOf(dashboard), err
	}
	components, err := c.ComponentsByID(ctx, organization, []string{asked.ComponentID})
	if err == nil && len(components) == 0 {
		err = fault.New(fault.NotFound, "There is no such component.")
	}
	if err != nil {
		return nil, nil, err
	}
	dashboards, err := c.dashboardsShowing(ctx, organization, []string{asked.ComponentID})
	if err != nil || len(dashboards) == 0 {
		return components, time.UTC, err
	}
	return components, zoneOf(dashboards[0]), nil
}

// zoneOf is a dashboard's time zone; UTC when this system knows no such zone.
func zoneOf(d Dashboard) *time.Location {
	zone, err := time.LoadLocation(d.Timezone)
	if err != nil || d.Timezone == "Local" {
		return time.UTC
	}
	return zone
}

// spans are the times between from and to in which events affect components, by component;
// all of them, or one.
func (c *Catalog) spans(ctx context.Context, organization, componentID string, from, to time.Time) (map[string][]span, error) {
	query := owned(organization, find.Query{Where: []find.Condition{find.Has("reported", reportKeys(from, to)...)}})
	if componentID != "" {
		query.Where, query.Scan = append(query.Where, find.Has("components", componentID)), "org_reported"
	}
	spans := map[string][]span{}
	err := c.store.Events.Each(ctx, query, func(event Event) error {
		begun, ended, counts := event.reported()
		if !counts || !begun.Before(to) {
			return nil
		}
		if ended == nil {
			ended = &to
		}
		for _, link := range event.Links {
			spans[link.ComponentID] = append(spans[link.ComponentID], span{begun, *ended, event.ImpactOn(link), event.ID})
		}
		return nil
	})
	return spans, err
}

// uptimeOf is a component's part of a report that reaches to the end. Nothing is measured
// before it existed.
func uptimeOf(component Component, spans []span, days []day, end time.Time) ComponentUptime {
	part := ComponentUptime{ComponentID: component.ID, Name: component.Name, Days: []DayUptime{}, EventIDs: []string{}}
	from := later(days[0].from, component.CreatedAt)
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
	for _, s := range spans {
		if later(s.from, from).Before(earlier(s.to, end)) {
			part.EventIDs = append(part.EventIDs, s.eventID)
		}
	}
	return part
}

// reported is the time of an event that uptime reports count, and whether they count it at
// all: from its start to its end, or until now (nil) while it is open and has none. What is
// closed without an end has no length that anybody knows.
func (e *Event) reported() (from time.Time, to *time.Time, counts bool) {
	if !e.Published || e.HiddenFromDashboard || e.HiddenFromUptimeReports || e.Status == Planning {
		return time.Time{}, nil, false
	}
	switch {
	case !e.Open():
		to = e.End()
		counts = to != nil && e.StartAt.Before(*to)
	default:
		to = e.EndAt
		counts = to == nil || e.StartAt.Before(*to)
	}
	return e.StartAt, to, counts
}

const (
	// maxReportMonths is how many months an event is filed under one by one.
	maxReportMonths = 24
	reportLong      = "long" // more than that
	reportOpen      = "open" // until now
)

// ReportKeys are what uptime reports find an event by: the months (UTC) that it touches. An
// event that they do not count has none.
func (e *Event) ReportKeys() []string {
	from, to, counts := e.reported()
	switch {
	case !counts:
		return nil
	case to == nil:
		return []string{reportOpen}
	}
	keys := monthsOf(from, *to)
	if len(keys) > maxReportMonths {
		return []string{reportLong}
	}
	return keys
}

// reportKeys are the keys of all events that may touch the time.
func reportKeys(from, to time.Time) []string {
	return append(monthsOf(from, to), reportLong, reportOpen)
}

// monthsOf are the months in UTC that the time from, until before to, touches; of a very
// long time not all.
func monthsOf(from, to time.Time) []string {
	var keys []string
	year, month, _ := from.UTC().Date()
	for at := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC); at.Before(to) && len(keys) <= maxReportMonths; at = at.AddDate(0, 1, 0) {
		keys = append(keys, at.Format("2006-01"))
	}
	return keys
}
