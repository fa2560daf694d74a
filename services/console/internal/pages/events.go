package pages

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

const (
	eventsPath   = "/events"
	newEventPath = eventsPath + "/new"
)

// isoTime is the layout of times in the App interface.
const isoTime = "2006-01-02T15:04:05.000Z"

// eventsPage is the data of events.html.
type eventsPage struct {
	Views      []view
	At         string      // name of the current view, such as open
	Filter     *forms.Form // shows the problems of the filter
	Query      string
	Type       string
	Dashboard  string
	Component  *app.Affected // filter by a component; nil: none
	Dashboards []app.Dashboard
	Filtered   bool
	Clear      string // address of the view without filters
	Events     []app.Event
	More       string // address of the next page; empty: there is none
	First      bool
}

// events lists the events of a tab. The filter is in the address, so that members can share the list.
func (p *pages) events(v *visit) error {
	data := eventsPage{At: v.Query("view"), Query: strings.TrimSpace(v.Query("q")), Type: v.Query("type"), Dashboard: v.Query("dashboard"), First: v.Query("after") == ""}
	known := []view{{Path: "open", Label: "Open"}, {Path: "upcoming", Label: "Upcoming"}, {Path: "drafts", Label: "Drafts"}, {Path: "past", Label: "Past"}}
	if data.Query != "" || data.At == "all" {
		known = append(known, view{Path: "all", Label: "All"})
	}
	data.At = cmp.Or(data.At, "open")
	data.Filter = searchFilter(eventsPath)
	if !slices.ContainsFunc(known, func(k view) bool { return k.Path == data.At }) {
		data.At, data.Filtered, data.Filter.Problem = "", true, "There is no such view. Choose one below."
	}
	filter := filled(map[string]string{"q": data.Query, "type": data.Type, "dashboardId": data.Dashboard, "componentId": v.Query("component")})
	data.Filtered = data.Filtered || len(filter) > 0
	for _, k := range known {
		own := v.Request.URL.Query()
		own.Del("after")
		own.Set("view", k.Path)
		k.Current, k.Path = k.Path == data.At, eventsPath+"?"+own.Encode()
		data.Views = append(data.Views, k)
	}
	data.Clear = root + eventsPath + "?view=" + cmp.Or(data.At, "open")
	var work concurrent
	work.Go(func() error {
		found, err := v.firstDashboards()
		if err == nil && len(found.Dashboards) > 1 { // the page needs the filter by dashboard only then
			data.Dashboards = found.Dashboards
		}
		return nil
	})
	if data.Filter.OK() {
		work.Go(func() error { return v.listEvents(&data, filter) })
	}
	data.Filter.Fields = append(data.Filter.Fields, &forms.Field{Kind: forms.Select, Name: "type", Label: "Kind"})
	status, err := http.StatusOK, work.Wait()
	if refused(data.Filter, err) || err == nil && !data.Filter.OK() {
		status = http.StatusUnprocessableEntity
	} else if err != nil {
		return err
	}
	data.nameComponent(v.Query("component"))
	return v.show(status, "events.html", "Events", data)
}

// listEvents reads a page of the events of the view data.At into data.
func (v *visit) listEvents(data *eventsPage, filter url.Values) error {
	query := filled(map[string]string{"limit": "25", "nextToken": v.Query("after")})
	maps.Copy(query, filter)
	switch data.At {
	case "open":
		query.Set("active", "true")
	case "upcoming":
		query.Set("status", planning)
		query.Set("publish", "true")
	case "drafts":
		query.Set("publish", "false")
	case "all":
	default:
		query.Set("active", "false")
		query.Set("publish", "true")
		query.Set("to", v.pages.Process.Now().UTC().Truncate(time.Minute).Add(time.Minute).Format(isoTime))
		if before := v.Query("to"); before != "" { // all pages of the list have the same end
			query.Set("to", before)
		}
	}
	found, err := v.app.Events(v.Request.Context(), query)
	if err != nil {
		return err
	}
	data.Events = slices.DeleteFunc(found.Events, func(e app.Event) bool { return data.At == "past" && !isClosed(e.Status) })
	next := v.Request.URL.Query()
	next.Set("view", data.At)
	if to := query.Get("to"); to != "" {
		next.Set("to", to)
	}
	data.More = nextPage(eventsPath, next, found.NextToken)
	return nil
}

// nameComponent sets the component of the filter. Its name is from an event of the list, or "One component".
func (d *eventsPage) nameComponent(id string) {
	if id == "" {
		return
	}
	d.Component = &app.Affected{ComponentID: id, Name: "One component"}
	for _, e := range d.Events {
		for _, affected := range e.AffectedComponents {
			if affected.ComponentID == id {
				d.Component.Name = affected.Name
				return
			}
		}
	}
}
