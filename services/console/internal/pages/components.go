package pages

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

const componentsPath = "/components"

// componentsPage is the data of components.html.
type componentsPage struct {
	Views    []view
	Filter   *forms.Form // shows the problem of the search
	Query    string
	Status   string
	Filtered bool
	Groups   []componentGroup
	More     string // address of the next page; empty: there is none
	First    bool
	Writer   bool // the member may add components
}

// componentGroup is the components of one group within a page of the list.
type componentGroup struct {
	Name       string
	Components []app.Component
}

// components lists the components. The filter is in the address.
func (p *pages) components(v *visit) error {
	data := componentsPage{Query: strings.TrimSpace(v.Query("q")), Status: v.Query("status"), First: v.Query("after") == "", Writer: v.caller.Has(passport.RoleAdmin)}
	data.Filtered, data.Filter = data.Query != "" || data.Status != "", searchFilter(componentsPath)
	if data.Status != "" && !slices.Contains(impacts(), data.Status) {
		data.Status, data.Filter.Problem = "", noSuchState
	}
	query := filled(map[string]string{"limit": "50", "q": data.Query, "status": data.Status, "nextToken": v.Query("after")})
	var counts app.ComponentCounts
	var listed app.Components
	var work concurrent
	work.Go(func() error {
		found, err := v.app.ComponentCounts(v.Request.Context())
		counts = found.Counts
		return err
	})
	if data.Filter.OK() {
		work.Go(func() (err error) {
			listed, err = v.app.Components(v.Request.Context(), query)
			return err
		})
	}
	status, err := http.StatusOK, work.Wait()
	if refused(data.Filter, err) || err == nil && !data.Filter.OK() {
		status = http.StatusUnprocessableEntity
	} else if err != nil {
		return err
	}
	data.Views = componentViews(counts, data.Status, data.Query)
	data.Groups = groupsOf(listed.Components)
	data.More = nextPage(componentsPath, v.Request.URL.Query(), listed.NextToken)
	return v.show(status, "components.html", "Components", data)
}

// componentViews returns the links that filter the list by a state: all states, each state that a component has, and the
// chosen state.
func componentViews(counts app.ComponentCounts, chosen, text string) []view {
	views := []view{{"", "All " + strconv.Itoa(counts.Total), chosen == ""}}
	for i, count := range []int{counts.Operational, counts.UnderMaintenance, counts.DegradedPerformance, counts.PartialOutage, counts.MajorOutage} {
		if status := impacts()[i]; count > 0 || status == chosen {
			views = append(views, view{status, word(status) + " " + strconv.Itoa(count), status == chosen})
		}
	}
	for i := range views {
		views[i].Path = withQuery(componentsPath, filled(map[string]string{"status": views[i].Path, "q": text}))
	}
	return views
}

// groupsOf returns the components by group. The order of the groups is that of their first components.
func groupsOf(components []app.Component) (groups []componentGroup) {
	for _, c := range components {
		at := slices.IndexFunc(groups, func(g componentGroup) bool { return g.Name == c.GroupName })
		if at < 0 {
			at = len(groups)
			groups = append(groups, componentGroup{Name: c.GroupName})
		}
		groups[at].Components = append(groups[at].Components, c)
	}
	return groups
}

// componentFields returns the fields of a component.
func (v *visit) componentFields() []*forms.Field {
	since := timeField("startAt", "Exists since", v.zone())
	since.Hint += " Earlier time is not measured."
	return []*forms.Field{
		{Kind: forms.Text, Name: "name", Label: "Name", Required: true, Max: 100},
		{Kind: forms.Text, Name: "groupName", Label: "Group", Max: 100, Hint: "Dashboards show the components of a group together."},
		{Kind: forms.Area, Name: "description", Label: "Description", Max: 250},
		{Kind: forms.Tick, Name: "hidden", Label: "Hide from dashboards"},
		{Kind: forms.Tick, Name: "hiddenFromNotifications", Label: "Leave out of messages"},
		{Kind: forms.Area, Name: "externalRefs", Label: "Ids in other tools", Max: 6000, Hint: "One id a line. A monitoring tool names the component with it."},
		{Kind: forms.URL, Name: "checkUrl", Label: "Address to check", Max: maxLink, Hint: "For the export to a monitoring tool. The platform does not request it, and visitors do not see it."},
		{Kind: forms.Text, Name: "publicId", Label: "Id on a former page", Max: 64, Hint: "Programs that read api/v2 of the dashboard, and webhooks as of Statuspage, get this id."},
		since,
	}
}

// componentForm returns the form that changes a component.
func (v *visit) componentForm(c app.Component) *forms.Form {
	form := forms.New(componentsPath+"/"+c.ID, "Save changes", v.componentFields()...)
	for name, value := range map[string]string{"name": c.Name, "groupName": c.GroupName, "description": c.Description, "externalRefs": strings.Join(c.ExternalRefs, "\n"), "checkUrl": string(c.CheckURL), "publicId": string(c.PublicID)} {
		form.Field(name).Values = []string{value}
	}
	for name, is := range map[string]bool{"hidden": c.Hidden, "hiddenFromNotifications": c.HiddenFromNotifications} {
		if is {
			form.Field(name).Values = []string{"on"}
		}
	}
	form.Field("startAt").SetTime(&c.StartAt, v.zone())
	form.Version = c.Version
	return form
}

// componentChange returns the values of the form for the App interface. was is the stored component, or nil for a new one.
func (v *visit) componentChange(form *forms.Form, was *app.Component) app.ComponentFields {
	name, group, description := form.Value("name"), form.Value("groupName"), form.Value("description")
	hidden, silent := form.Ticked("hidden"), form.Ticked("hiddenFromNotifications")
	refs := strings.FieldsFunc(form.Value("externalRefs"), func(r rune) bool { return r == '\n' })
	out := app.ComponentFields{Name: &name, Description: &description, Hidden: &hidden, HiddenFromNotifications: &silent, ExternalRefs: &refs, CheckURL: new(app.Nullable(form.Value("checkUrl"))), PublicID: new(app.Nullable(form.Value("publicId")))}
	if group != "" || was != nil {
		out.GroupName = &group
	}
	var before = eventForm{Form: form, zone: v.zone()}
	if was == nil {
		out.StartAt = before.changedTime("startAt", nil)
	} else {
		out.StartAt = before.changedTime("startAt", &was.StartAt)
	}
	return out
}

// componentNewPage is the data of component_new.html.
type componentNewPage struct {
	Form   *forms.Form
	Places *forms.Field // dashboards to choose from; nil: Only is set, or there is no dashboard
	Only   string       // name of the only dashboard; empty: Places is set, or there is no dashboard
}

// Main returns the fields that are always visible: name and group.
func (d componentNewPage) Main() []*forms.Field { return d.Form.Shown()[:2] }

// Rest returns the other fields, except the dashboards.
func (d componentNewPage) Rest() []*forms.Field {
	return slices.DeleteFunc(d.Form.Shown()[2:], func(f *forms.Field) bool { return f.Name == "dashboards" })
}

// RestOpen reports whether a field of Rest has a problem.
func (d componentNewPage) RestOpen() bool {
	return slices.ContainsFunc(d.Rest(), func(f *forms.Field) bool { return f.Problem != "" })
}

// componentNew adds a component.
func (p *pages) componentNew(v *visit) error {
	dashboards := &forms.Field{Kind: forms.Ticks, Name: "dashboards", Label: "Shown on", Members: []string{"dashboardIds"}}
	form := forms.New(componentsPath+"/new", "Add the component", append(v.componentFields(), dashboards)...)
	form.Field("startAt").Hint += " Empty: now."
	form.Cancel = componentsPath
	v.fill(form)
	show := func(status int) error {
		data := componentNewPage{Form: form}
		v.placesOf(dashboards)
		switch options := dashboards.Options; {
		case len(options) == 1 && len(dashboards.Values) == 0:
			data.Only = options[0].Label
		case len(options) > 0:
			if dashboards.Values == nil { // the App interface has the same default
				dashboards.Values = []string{options[0].Value}
			}
			data.Places = dashboards
		}
		return v.show(status, "component_new.html", "New component", data)
	}
	if !v.isPost() {
		return show(http.StatusOK)
	}
	return v.submit(form, func() error {
		in := app.NewComponent{ComponentFields: v.componentChange(form, nil)}
		if dashboards.Values != nil { // a page with the field also sends an empty value, so nil means that it had no field
			in.DashboardIDs = new(slices.DeleteFunc(slices.Clone(dashboards.Values), func(id string) bool { return id == "" }))
		}
		if !form.OK() {
			return show(http.StatusUnprocessableEntity)
		}
		made, err := v.app.AddComponent(v.Request.Context(), in)
		if err != nil {
			return err
		}
		v.notify("component-added", made.Component.Name, "")
		return v.redirect(componentsPath + "/" + made.Component.ID)
	}, show)
}
