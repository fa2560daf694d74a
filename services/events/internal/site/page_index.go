package site

import (
	"html/template"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
)

// indexFile is the page of the dashboard, with its modules in their order.
type indexFile struct {
	frame
	Status  stateView
	Modules []moduleView
}

// moduleView is a module (part) of the page. Name selects the template. Only the fields that this template uses are
// set.
type moduleView struct {
	Name         string
	Frame        frame
	Status       stateView
	Announcement template.HTML
	Events       []eventView
	Groups       []groupView
	Days         []historyDay
	Description  string
}

// groupView is the components of one group.
type groupView struct {
	ID, Name   string // Name is empty for components without a group
	State      stateView
	Open       bool
	Count      string
	Components []componentView
}

type componentView struct {
	Name, Href, Description string
	State                   *stateView // nil: not shown
	Bar                     *bar       // nil: not shown
}

func (s *Site) indexPage(r renderRequest) (File, error) {
	view := indexFile{frame: s.newFrame(r)}
	view.Current = "status"
	view.Status = view.overall()
	view.Title = r.Dashboard.Name + " – " + view.Status.Word
	view.Description = view.Status.Word
	for _, name := range r.Dashboard.Content.Order {
		if part, shown := view.module(name); shown {
			part.Name, part.Frame = name, view.frame
			view.Modules = append(view.Modules, part)
		}
	}
	return s.html("index.html", view.frame, view)
}

// overall returns the state of the whole dashboard, with a sentence as its Word.
func (f frame) overall() stateView {
	of := f.Overall()
	key := "overall." + string(of.State)
	if of.Unexplained() {
		key = "overall.incident"
	}
	return stateView{stateClass(overallLevel(of)), f.Word(key)}
}

// module returns a module of the page. It returns false if the module is switched off or has nothing to show.
func (f frame) module(name string) (moduleView, bool) {
	on := f.Dashboard.Content.Modules
	switch name {
	case "announcement":
		if text := f.Dashboard.Content.Announcement; on.Announcement && text != nil {
			shown := richHTML(*text)
			return moduleView{Announcement: shown}, shown != ""
		}
	case "overallStatus":
		return moduleView{Status: f.overall()}, on.OverallStatus
	case "activeIncidents":
		return f.events(on.ActiveIncidents, func(e *edition.ShownEvent) bool { return e.Type == catalog.Incident && isOpen(f.Snapshot, e) })
	case "activeMaintenance":
		return f.events(on.ActiveMaintenance, func(e *edition.ShownEvent) bool { return e.Type == catalog.Maintenance && isOpen(f.Snapshot, e) })
	case "upcomingMaintenance":
		view, shown := f.events(on.UpcomingMaintenance, func(e *edition.ShownEvent) bool {
			return e.Type == catalog.Maintenance && !e.Status.Closed() && !isOpen(f.Snapshot, e)
		})
		slices.Reverse(view.Events) // the earliest start first
		return view, shown
	case "components":
		groups := f.groups(true, on.UptimeHistory)
		return moduleView{Groups: groups}, on.Components && len(groups) > 0
	case "uptimeHistory": // not shown if the module components, which then has the bars, is shown
		groups := f.groups(false, true)
		return moduleView{Groups: groups}, on.UptimeHistory && !on.Components && len(groups) > 0
	case "eventHistory":
		return moduleView{Days: f.history(f.Dashboard.Content.Uptime.HistoryDays)}, on.EventHistory
	case "subscribe":
		return moduleView{}, f.Subscribable()
	case "about":
		return moduleView{Description: richtext.Text(f.Dashboard.Description)}, on.About && f.Dashboard.Description != ""
	}
	return moduleView{}, false
}

// events returns a module with the events for which is returns true. It returns false if on is false or there is no
// such event.
func (f frame) events(on bool, is func(*edition.ShownEvent) bool) (moduleView, bool) {
	if !on {
		return moduleView{}, false
	}
	found := f.eventsWhere(is)
	return moduleView{Events: found}, len(found) > 0
}

// groups returns the components of the page by group. The components have their states if states is true, and their
// uptime bars if bars is true. The groups are in the order of their first components.
func (f frame) groups(states, bars bool) []groupView {
	var groups []groupView
	at := map[string]int{}
	members := map[string][]catalog.Impact{}
	for i := range f.Components {
		c := &f.Components[i]
		index, known := at[c.Group]
		if !known {
			index = len(groups)
			at[c.Group] = index
			groups = append(groups, groupView{ID: "g-" + c.ID, Name: c.Group})
		}
		one := componentView{Name: c.Name, Href: f.Up + "components/" + c.ID, Description: richtext.Text(c.Description)}
		if states {
			state := f.state(c.State)
			one.State = &state
		}
		if bars {
			one.Bar = f.newBar(c)
		}
		members[c.Group] = append(members[c.Group], c.State)
		groups[index].Components = append(groups[index].Components, one)
	}
	for i := range groups {
		g := &groups[i]
		state := worst(members[g.Name]...)
		g.State, g.Open = f.state(state), state != catalog.Operational || !states
		g.Count = f.Count("group.components", len(g.Components))
		if g.Name == catalog.DefaultGroup || g.Name == "" {
			g.Name = ""
		}
	}
	return groups
}
