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

// UptimeAsked is the input of an uptime report: a month, and a dashboard or a component.
type UptimeAsked struct {
	Month       string // yyyy-mm
	DashboardID string
	ComponentID string
}

// UptimeReport is the uptime of components in a month.
type UptimeReport struct {
	Month    string
	Timezone string // of the month and its days
	// From and To bound the reported time: the month, or the past part of the current month.
	From, To   time.Time
	Partial    bool // the month is not over
	Total      Tally
	Components []ComponentUptime
	Formula    string
}

// ComponentUptime is the part of a report about one component.
type ComponentUptime struct {
	ComponentID string
	Name        string
	Tally
	Days     []DayUptime
	EventIDs []string // events that affected it, the earliest first
}

// DayUptime is the uptime of a component on one day.
type DayUptime struct {
	Date string // yyyy-mm-dd
	Tally
}

// Uptime returns the report on all components of a dashboard, also hidden components, or on one component in the
// time zone of the first dashboard that holds it.
func (c *Catalog) Uptime(ctx context.Context, organization string, asked UptimeAsked) (UptimeReport, error) {
	month, err := time.Parse("2006-01", asked.Month)
	if err != nil {
		return UptimeReport{}, fault.Field("month", "must be a month in the form YYYY-MM")
	}
	components, zone, err := c.reportedOn(ctx, organization, asked)
	if err != nil {
		return UptimeReport{}, err
	}
	now := c.now()
	days := daysOf(month.Year(), month.Month(), zone)
	from, to := days[0].from, days[len(days)-1].to
	if from.After(now) {
		return UptimeReport{}, fault.Field("month", "must not be in the future")
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

// reportedOn returns the components of the report, in order, and its time zone.
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

// zoneOf returns a dashboard's time zone; UTC if the system does not know the zone.
func zoneOf(d Dashboard) *time.Location {
	zone, err := time.LoadLocation(d.Timezone)
	if err != nil || d.Timezone == "Local" {
		return time.UTC
	}
	return zone
}

// spans returns the times between from and to in which events affect components, by component; componentID
// restricts it to one component, unless it is empty.
func (c *Catalog) spans(ctx context.Context, organization, componentID string, from, to time.Time) (map[string][]span, error) {
	query := owned(organization, find.Query{Where: []find.Condition{find.Has(FieldReported, reportKeys(from, to)...)}})
	if componentID != "" {
		query.Where, query.Scan = append(query.Where, find.Has(FieldComponents, componentID)), IndexReported
	}
	spans := map[string][]span{}
	err := c.store.Events.Each(ctx, query, func(event Event) error {
		begun, ended, counts := event.Measured()
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

// uptimeOf returns a component's part of a report that ends at end. The time before the component existed is not
// measured.
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

const (
	// maxReportMonths is how many months an event is indexed by; longer events have reportLong.
	maxReportMonths = 24
	reportLong      = "long"
	reportOpen      = "open" // no end yet
)

// ReportKeys returns the keys by which uptime reports find an event: the months (UTC) that its measured time
// touches. An event that reports do not count has none.
func (e *Event) ReportKeys() []string {
	from, to, counts := e.Measured()
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

// reportKeys returns the keys of all events that may touch the time from, until before to.
func reportKeys(from, to time.Time) []string {
	return append(monthsOf(from, to), reportLong, reportOpen)
}

// monthsOf returns the months in UTC that the time from, until before to, touches. It stops after maxReportMonths
// + 1 months.
func monthsOf(from, to time.Time) []string {
	var keys []string
	year, month, _ := from.UTC().Date()
	for at := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC); at.Before(to) && len(keys) <= maxReportMonths; at = at.AddDate(0, 1, 0) {
		keys = append(keys, at.Format("2006-01"))
	}
	return keys
}
