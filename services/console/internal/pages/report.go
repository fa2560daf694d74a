package pages

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

const (
	reportPath  = "/reports/uptime"
	monthForm   = "2006-01"
	yearForm    = "2006"
	reportPages = 5 // maximum number of pages of events that a report reads
)

// reportPage is the data of report.html: a month or a year of a dashboard or a component.
type reportPage struct {
	Filter     *forms.Form
	Views      []view // month, year
	Empty      bool   // there is no dashboard, and the address names no component: there is no report
	Shown      bool   // there is a report: the form has no problem
	Year       bool
	Name       string // name of the dashboard or the component
	Period     string // the month or the year, for people
	Before     string // path of the period before; empty: this period would be before the year 1
	After      string // path of the period after; empty: this period is in the future
	File       string // path of the CSV file
	Generated  string
	Basis      app.UptimeReport // report whose range, zone, weight and formula the page shows
	Partial    bool             // the period is not over
	From, To   string
	Total      figures
	Parts      []reportPart
	Months     []reportMonth
	EventsGone bool // the events cannot be read
	Elsewhere  bool // the address names a component, and a dashboard without this component

	slug       string // the dashboard or the component in the name of a file
	period     string // yyyy-mm or yyyy
	reports    []app.UptimeReport
	dashboards []app.Dashboard
	dashboard  app.Dashboard
	component  string // id of the component of the report; empty: the whole dashboard
}

// figures are the uptime in percent, and the time in each state.
type figures struct {
	Percent *float64
	app.Seconds
}

const notMeasured = "not measured"

// Uptime returns the uptime with all digits of the App interface.
func (f figures) Uptime() string {
	if f.Percent == nil {
		return notMeasured
	}
	return strconv.FormatFloat(*f.Percent, 'f', -1, 64) + " %"
}

// Class returns the CSS class of the worst state.
func (f figures) Class() string { return classOf(f.worst()) }

// Worst returns the worst state in words.
func (f figures) Worst() string { return strings.ToLower(word(f.worst())) }

func (f figures) worst() string {
	switch {
	case f.Major > 0:
		return "major_outage"
	case f.Partial > 0:
		return "partial_outage"
	case f.Degraded > 0:
		return "degraded_performance"
	case f.Maintenance > 0:
		return "under_maintenance"
	case f.Measured > 0:
		return "operational"
	}
	return notMeasured
}

// Long returns a number of seconds as days, hours, minutes and seconds.
func (figures) Long(seconds int64) string { return longTime(seconds) }

// longTime returns a number of seconds as days, hours, minutes and seconds, without the units whose number is 0.
func longTime(seconds int64) (text string) {
	for _, unit := range []struct {
		name string
		size int64
	}{{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}} {
		if n := seconds / unit.size; n > 0 {
			text += " " + amount(int(n), false) + " " + unit.name
		}
		seconds %= unit.size
	}
	if text == "" {
		return "0 s"
	}
	return text[1:]
}

// Signs returns the signs of the states that a day can have, with their names.
func (reportPage) Signs() (signs []reportCell) {
	for _, impact := range append(impacts(), "") {
		signs = append(signs, reportCell{Class: classOf(impact), Words: cmp.Or(word(impact), "Not measured")})
	}
	return signs
}

// Choice returns the id of the dashboard.
func (d reportPage) Choice() string { return d.dashboard.ID }

// reportPart is a component in a report.
type reportPart struct {
	ID, Name string
	figures
	Cells  []reportCell
	Events []reportEvent
}

// reportCell is a day of a month, or a month of a year. Words is the text of its sign.
type reportCell struct{ Label, Class, Words string }

// reportEvent is an event that affected a component. If Known is false, the event was not read, and only its id is set.
type reportEvent struct {
	app.Event
	Known bool
}

// uptime shows the report of a month or a year.
func (p *pages) uptime(v *visit) error {
	data, err := v.readReport()
	if err != nil {
		return err
	}
	status := http.StatusOK
	if data.Filter != nil && !data.Filter.OK() {
		status = http.StatusUnprocessableEntity
	}
	title := "Uptime report"
	if data.Shown {
		title = "Uptime of " + isolate(data.Name) + ", " + data.Period
	}
	return v.show(status, "report.html", title, data)
}

// readReport reads the report that the address asks for. It sets Shown if there is a report.
func (v *visit) readReport() (data reportPage, err error) {
	if !v.caller.Features.UptimeReports {
		return data, &app.Error{Status: http.StatusForbidden, Message: "The plan of your organization does not include uptime reports."}
	}
	if err := v.chooseSubject(&data); err != nil || data.Empty {
		return data, err
	}
	zone, err := time.LoadLocation(data.dashboard.Timezone)
	if err != nil {
		zone = time.UTC
	}
	at, ok := v.choosePeriod(&data, v.pages.Process.Now().In(zone))
	if !ok {
		return data, nil
	}
	if data.Shown = true; data.Year {
		err = v.readYear(&data, at.Year(), v.pages.Process.Now().In(zone))
	} else {
		err = v.readMonth(&data)
	}
	if failed := app.As(err); failed != nil && failed.Status == http.StatusBadRequest && failed.Field == "month" { // the month has begun for the console, but not for the service
		data.Filter.Refuse(data.Filter.Fields[len(data.Filter.Fields)-1].Name, failed.Message)
		data.Shown, err = false, nil
	} else if failed != nil && failed.Status == http.StatusBadRequest {
		err = errNotFound
	}
	if err == nil && data.Shown {
		data.finish(v.pages.Process.Now())
	}
	return data, err
}

// chooseSubject sets the dashboard and the component that the address names. Without a dashboard in the address, it chooses
// the first dashboard that shows the component, or else the first dashboard.
func (v *visit) chooseSubject(data *reportPage) error {
	found, err := v.firstDashboards()
	if err != nil {
		return err
	}
	data.dashboards, data.component = found.Dashboards, v.Query("component")
	id := v.Query("dashboard")
	at := slices.IndexFunc(data.dashboards, func(d app.Dashboard) bool { return d.ID == id || id == "" && data.shows(d) })
	switch {
	case at >= 0:
		data.dashboard = data.dashboards[at]
	case id != "":
		one, err := v.app.Dashboard(v.Request.Context(), id)
		if err != nil {
			return notFound(err)
		}
		data.dashboard, data.dashboards = one.Dashboard, append(data.dashboards, one.Dashboard)
	case len(data.dashboards) > 0:
		data.dashboard = data.dashboards[0]
	default:
		data.Empty = data.component == ""
	}
	if id != "" && !data.shows(data.dashboard) { // the member has chosen a dashboard without the component
		data.Elsewhere, data.component = data.component != "", ""
	}
	data.Name, data.slug = data.dashboard.Name, data.dashboard.Slug
	return nil
}

// choosePeriod sets the form, and the month or the year that the address names, or else the current one. now is in the
// zone of the dashboard. ok is false if the form has a problem.
func (v *visit) choosePeriod(data *reportPage, now time.Time) (at time.Time, ok bool) {
	data.Year = v.Request.URL.Query().Has("year")
	field, form, example := &forms.Field{Kind: forms.Month, Name: "month", Label: "Month", Plain: true, Max: 7}, monthForm, "Enter a month as year-month, such as 2026-01."
	if data.Year {
		field, form, example = &forms.Field{Kind: forms.Text, Name: "year", Label: "Year", Plain: true, Max: 4}, yearForm, "Enter a year, such as 2026."
	}
	typed := cmp.Or(v.Query(field.Name), now.Format(form))
	field.Values = []string{typed}
	at, err := time.Parse(form, typed)
	switch {
	case err == nil && at.Year() < 1:
		at, field.Problem = now, field.Label+" must not be before the year 1."
	case err != nil && !data.Year: // an input for a month cannot show this value
		at, field.Values, field.Problem = now, nil, example
	case err != nil:
		at, field.Problem = now, example
	case typed > now.Format(form):
		at, field.Problem = now, field.Label+" must not be in the future."
	}
	data.period = typed
	data.Filter = forms.New(reportPath, "Show", data.choices()...)
	data.Filter.Fields = append(data.Filter.Fields, field)
	month := at.Format(monthForm)
	if data.Year {
		month = min(at.Format(yearForm)+"-12", now.Format(monthForm))
	}
	data.Views = []view{{data.pathOf("month", month), "Month", !data.Year}, {data.pathOf("year", at.Format(yearForm)), "Year", data.Year}}
	if field.Problem != "" {
		return at, false
	}
	step := func(by int) time.Time {
		if data.Year {
			return at.AddDate(by, 0, 0)
		}
		return at.AddDate(0, by, 0)
	}
	if before := step(-1); before.Year() > 0 {
		data.Before = data.pathOf(field.Name, before.Format(form))
	}
	data.File = data.pathOf(field.Name, typed)
	if after := step(1).Format(form); after <= now.Format(form) {
		data.After = data.pathOf(field.Name, after)
	}
	data.File = reportPath + "/csv" + data.File[len(reportPath):]
	data.Period = at.Format(map[bool]string{true: yearForm, false: "January 2006"}[data.Year])
	return at, true
}

// choices returns the fields for the dashboard and for one of its components.
func (d *reportPage) choices() []*forms.Field {
	dashboards := &forms.Field{Kind: forms.Select, Name: "dashboard", Label: "Dashboard", Plain: true, Values: []string{d.dashboard.ID}}
	for _, one := range d.dashboards {
		dashboards.Options = append(dashboards.Options, forms.Option{Value: one.ID, Label: one.Name})
	}
	components := &forms.Field{Kind: forms.Select, Name: "component", Label: "Component", Plain: true, Options: []forms.Option{{Label: "All of the dashboard"}}, Values: []string{d.component}}
	for _, placed := range d.dashboard.Components {
		components.Options = append(components.Options, forms.Option{Value: placed.ComponentID, Label: placed.Name})
	}
	if len(d.dashboards) == 0 {
		return nil
	}
	return []*forms.Field{dashboards, components}
}

// pathOf returns the path of the report about the same dashboard or component in a period. name is month or year.
func (d *reportPage) pathOf(name, period string) string {
	query := url.Values{name: {period}}
	if d.dashboard.ID != "" {
		query.Set("dashboard", d.dashboard.ID)
	}
	if d.component != "" {
		query.Set("component", d.component)
		if !d.shows(d.dashboard) {
			query.Del("dashboard")
		}
	}
	return reportPath + "?" + query.Encode()
}

// shows reports whether the dashboard shows the component of the report.
func (d *reportPage) shows(dashboard app.Dashboard) bool {
	return slices.ContainsFunc(dashboard.Components, func(c app.Placed) bool { return c.ComponentID == d.component })
}

// readMonth reads the report of a month with its events.
func (v *visit) readMonth(data *reportPage) error {
	found, err := v.app.Uptime(v.Request.Context(), data.period, data.dashboard.ID, data.component)
	if err != nil {
		return err
	}
	report := found.Report
	data.reports, data.Basis, data.Partial = []app.UptimeReport{report}, report, report.Partial
	known, err := v.eventsOf(data, report)
	data.EventsGone = err != nil
	data.Total.Percent = report.OverallUptimePercent
	for _, c := range report.Components {
		data.Total.add(c.Seconds)
		part := reportPart{ID: c.ComponentID, Name: c.Name, figures: figures{c.UptimePercent, c.Seconds}}
		for _, day := range c.Days {
			part.Cells = append(part.Cells, cellOf(day))
		}
		for _, id := range c.EventIDs {
			event, is := known[id]
			event.ID = id
			part.Events = append(part.Events, reportEvent{event, is})
		}
		data.Parts = append(data.Parts, part)
	}
	return nil
}

// eventsOf returns the events in the range of a report, by id, from at most reportPages pages. The report itself has only the
// ids of the events that count.
func (v *visit) eventsOf(data *reportPage, report app.UptimeReport) (map[string]app.Event, error) {
	known := map[string]app.Event{}
	if !slices.ContainsFunc(report.Components, func(c app.ComponentUptime) bool { return len(c.EventIDs) > 0 }) {
		return known, nil
	}
	query := url.Values{"limit": {"100"}, "from": {report.RangeStart.UTC().Format(isoTime)}, "to": {report.RangeEnd.UTC().Format(isoTime)}}
	if data.component != "" {
		query.Set("componentId", data.component)
	} else {
		query.Set("dashboardId", data.dashboard.ID)
	}
	for range reportPages {
		found, err := v.app.Events(v.Request.Context(), query)
		if err != nil {
			return known, err
		}
		for _, event := range found.Events {
			known[event.ID] = event
		}
		if found.NextToken == nil {
			break
		}
		query.Set("nextToken", *found.NextToken)
	}
	return known, nil
}

// cellOf returns the cell of a day.
func cellOf(day app.DayUptime) reportCell {
	label := day.Date
	if date, err := time.Parse(time.DateOnly, day.Date); err == nil {
		label = strconv.Itoa(date.Day())
	}
	one := figures{Percent: day.UptimePercent}
	words := one.Uptime()
	if day.WorstStatus != "" {
		words += ", " + strings.ToLower(word(day.WorstStatus))
	}
	return reportCell{label, classOf(day.WorstStatus), words}
}

// finish sets the fields that a report of a month and a report of a year share: the range in the zone of the report, and the
// name of the component.
func (d *reportPage) finish(now time.Time) {
	zone, err := time.LoadLocation(d.Basis.Timezone)
	if err != nil {
		zone = time.UTC
	}
	const exact = "2 January 2006, 15:04:05 MST"
	d.From, d.To, d.Generated = d.Basis.RangeStart.In(zone).Format(exact), d.Basis.RangeEnd.In(zone).Format(exact), now.In(zone).Format(exact)
	if d.component != "" && len(d.Parts) > 0 {
		d.Name, d.slug = d.Parts[0].Name, d.Parts[0].Name
	}
}
