package site

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

// historyDay is a row of the history: one day with events, or successive days without events.
type historyDay struct {
	First, Last moment
	Single      bool
	Events      []historyEvent
}

// historyEvent is an event on one of the days that it covers. Ending means that the event ended on this day. Only then
// the newest entry, or else the description, is shown, because the page shows open events above the history.
type historyEvent struct {
	eventView
	Ending bool
}

// covered returns the first and the last day that an event covers, until the time of the snapshot. any is false if the
// event has not begun. An event that ends exactly when a day begins does not cover this day.
func (f frame) covered(e *edition.ShownEvent) (first, last day, any bool) {
	if !f.begun(e) {
		return first, last, false
	}
	end := f.At
	if ended := endOf(e); ended != nil && !ended.After(end) {
		end = ended.Add(-1)
	}
	first, last = f.dates.dayOf(e.StartAt), f.dates.dayOf(end)
	if last.Before(first.Time) {
		last = first
	}
	return first, last, true
}

// history returns the rows of the last days, the newest first. Successive days without events are one row.
func (f frame) history(days int) []historyDay {
	today := f.dates.dayOf(f.At)
	oldest := today.add(1 - days)
	on := map[string][]historyEvent{}
	for i := range f.Events {
		e := &f.Events[i]
		first, last, any := f.covered(e)
		if !any || last.Before(oldest.Time) {
			continue
		}
		if first.Before(oldest.Time) {
			first = oldest
		}
		view := f.newEvent(e)
		for _, d := range daysBetween(first, last) {
			on[d.String()] = append(on[d.String()], historyEvent{view, !view.Open && d.Equal(last.Time)})
		}
	}
	var rows []historyDay
	quiet := false
	for d := today; !d.Before(oldest.Time); d = d.add(-1) {
		events := on[d.String()]
		if quiet && len(events) == 0 {
			rows[len(rows)-1].First, rows[len(rows)-1].Single = f.dates.short(d), false
			continue
		}
		quiet = len(events) == 0
		row := historyDay{Last: f.dates.title(d), Events: events}
		if quiet {
			row = historyDay{Last: f.dates.short(d), Single: true}
		}
		rows = append(rows, row)
	}
	return rows
}

// historyFile is the page with the list of months.
type historyFile struct {
	frame
	Years []yearView
}

type yearView struct {
	Year   string
	Months []monthLink
}

type monthLink struct{ Href, Title string }

func (s *Site) historyPage(r renderRequest) (File, error) {
	view := historyFile{frame: s.newFrame(r)}
	view.Current = "history"
	view.Title = view.Word("nav.history") + " – " + r.Dashboard.Name
	view.Description = view.Title
	for _, month := range r.Months {
		year, _, _ := strings.Cut(month, "-")
		if n := len(view.Years); n == 0 || view.Years[n-1].Year != year {
			view.Years = append(view.Years, yearView{Year: year})
		}
		last := &view.Years[len(view.Years)-1]
		last.Months = append(last.Months, *view.month(month))
	}
	return s.html("history.html", view.frame, view)
}

func (f frame) month(name string) *monthLink {
	return &monthLink{f.Up + "history/" + name, f.dates.monthTitle(name)}
}

// monthFile is the page of a month.
type monthFile struct {
	frame
	Heading         string
	Events          []eventView
	Uptimes         []uptimeView
	Earlier, Future *monthLink // links to the previous and the next month; nil: none
}

type uptimeView struct{ Name, Href, Uptime string }

func (s *Site) monthPage(r renderRequest) (File, error) {
	name := strings.TrimPrefix(r.name, "history/")
	at := slices.Index(r.Months, name)
	begin, err := time.Parse("2006-01", name)
	if at < 0 || err != nil {
		return File{}, unknownFile()
	}
	view := monthFile{frame: s.newFrame(r)}
	view.Current = "history"
	view.Heading = view.dates.monthTitle(name)
	view.Title = view.Heading + " – " + r.Dashboard.Name
	view.Description = view.Word("nav.history") + ", " + view.Heading
	if at > 0 {
		view.Future = view.month(r.Months[at-1])
	}
	if at+1 < len(r.Months) {
		view.Earlier = view.month(r.Months[at+1])
	}
	first, last := day{begin}, day{begin.AddDate(0, 1, -1)}
	uptimes := map[string]*float64{}
	if month := r.extra.Month; month != nil {
		for i := range month.Events {
			view.Events = append(view.Events, view.newEvent(&month.Events[i]))
		}
		maps.Copy(uptimes, month.Uptimes)
	} else {
		view.Events = view.eventsWhere(func(e *edition.ShownEvent) bool {
			from, to, any := view.covered(e)
			return any && !from.After(last.Time) && !to.Before(first.Time)
		})
		for i := range r.Components {
			uptimes[r.Components[i].ID] = view.uptime(&r.Components[i], first, last)
		}
	}
	view.Uptimes = view.uptimeRows(uptimes)
	return s.html("month.html", view.frame, view)
}

// uptimeRows returns a row for each component that the dashboard shows. uptimes has the uptimes by id of the component.
func (f frame) uptimeRows(uptimes map[string]*float64) []uptimeView {
	var rows []uptimeView
	for i := range f.Components {
		c := &f.Components[i]
		row := uptimeView{c.Name, f.Up + "components/" + c.ID, f.Word("state.unmeasured")}
		if value := uptimes[c.ID]; value != nil {
			row.Uptime = f.percent(*value, f.Dashboard.Content.Uptime.Precision)
		}
		rows = append(rows, row)
	}
	return rows
}

// uptime returns the uptime of a component from the day first to the day last, by the formula of reports. It returns
// nil if nothing but maintenance was measured.
func (f frame) uptime(c *edition.ShownComponent, first, last day) *float64 {
	from := uptime.Later(uptime.DayStart(first.Time, f.dates.zone), c.Since)
	to := uptime.Earlier(uptime.DayStart(last.add(1).Time, f.dates.zone), f.At)
	measured := max(0, to.Truncate(time.Second).Sub(from.Truncate(time.Second)))
	return uptime.Over(c.Days, first.String(), last.String(), measured, f.Dashboard.Content.Uptime.PartialOutageWeight)
}
