package site

import (
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

// componentFile is the page of a component.
type componentFile struct {
	frame
	ID        string
	Component componentView
	Group     string
	Events    []eventView // open events
	Months    []componentMonth
}

// componentMonth is the days of a month, the newest first.
type componentMonth struct {
	Name, Title, Uptime string
	Open                bool // the month is expanded: it is the newest month, or the component was affected in it
	Days                []componentDay
}

type componentDay struct {
	ID     string // yyyy-mm-dd
	Date   moment
	State  stateView
	Lasted string
	Uptime string
	Events []eventLink
}

type eventLink struct{ Href, Title string }

// shownMonths is the number of months whose days the page of a component shows.
const shownMonths = 12

func (s *Site) componentPage(r renderRequest) (File, error) {
	f := s.newFrame(r)
	c := f.Snapshot.Component(strings.TrimPrefix(r.name, "components/"))
	if c == nil {
		return File{}, unknownFile()
	}
	state := f.state(c.State)
	view := componentFile{frame: f, ID: c.ID, Component: componentView{Name: c.Name, Description: richtext.Text(c.Description), State: &state}}
	view.Title = c.Name + " – " + r.Dashboard.Name
	view.Description = c.Name + f.Word("format.colon") + state.Word
	if c.Group != catalog.DefaultGroup {
		view.Group = c.Group
	}
	if r.Dashboard.Content.Modules.UptimeHistory {
		view.Component.Bar = f.newBar(c)
	}
	view.Events = f.eventsWhere(func(e *edition.ShownEvent) bool {
		return isOpen(r.Snapshot, e) && slices.ContainsFunc(e.Impacts, func(i edition.ShownImpact) bool { return i.ComponentID == c.ID })
	})
	view.Months = f.componentMonths(c)
	return s.html("component.html", view.frame, view)
}

// componentMonths returns the days of the last shownMonths months, the newest first. It leaves out the days before the
// component existed.
func (f frame) componentMonths(c *edition.ShownComponent) []componentMonth {
	today := f.dates.dayOf(f.At)
	first := day{today.AddDate(0, -shownMonths, 1)}
	if since := f.dates.dayOf(c.Since); since.After(first.Time) {
		first = since
	}
	shown := shownDays(c)
	var months []componentMonth
	for d := today; !d.Before(first.Time); d = d.add(-1) {
		name := d.Format("2006-01")
		if n := len(months); n == 0 || months[n-1].Name != name {
			months = append(months, f.componentMonth(c, d, first, name))
		}
		last := &months[len(months)-1]
		one, there := shown[d.String()]
		last.Open = last.Open || there
		last.Days = append(last.Days, f.componentDay(c, d, one))
	}
	if len(months) > 0 {
		months[0].Open = true
	}
	return months
}

func (f frame) componentMonth(c *edition.ShownComponent, last, first day, name string) componentMonth {
	begin := day{time.Date(last.Year(), last.Month(), 1, 0, 0, 0, 0, time.UTC)}
	if begin.Before(first.Time) {
		begin = first
	}
	return componentMonth{Name: name, Title: f.dates.monthTitle(name), Uptime: f.uptimeText(c, begin, last)}
}

func (f frame) uptimeText(c *edition.ShownComponent, first, last day) string {
	value := f.uptime(c, first, last)
	if value == nil {
		return ""
	}
	return f.percent(*value, f.Dashboard.Content.Uptime.Precision)
}

func (f frame) componentDay(c *edition.ShownComponent, d day, shown uptime.AffectedDay) componentDay {
	row := componentDay{ID: d.String(), Date: f.dates.short(d), State: f.state(worst(shown.Tally.Worst)), Uptime: f.uptimeText(c, d, d)}
	if affected := affectedTime(shown.Tally); affected > 0 {
		row.Lasted = f.duration(affected)
	}
	for _, id := range shown.EventIDs {
		link := eventLink{f.Up + "events/" + id, f.Word("component.event")}
		if event := f.event(id); event != nil {
			link.Title = event.Title
		}
		row.Events = append(row.Events, link)
	}
	return row
}
