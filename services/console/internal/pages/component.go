package pages

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// componentPage is the data of component.html.
type componentPage struct {
	Component  app.Component
	Events     []app.Event
	Reporter   bool            // the member may report incidents and read events
	Dashboards []app.Dashboard // dashboards that show the component
	Form       *forms.Form     // nil: the member may only read
	State      *forms.Form
	Missing    []string // parts that cannot be read
}

// component shows and changes a component.
func (p *pages) component(v *visit) error {
	found, err := v.app.Component(v.Request.Context(), v.Param("id"))
	if err != nil {
		return err
	}
	c := found.Component
	form, state := v.componentForm(c), v.stateForm(c)
	v.fill(form)
	show := func(status int) error { return v.showComponent(status, c, form, state) }
	if !v.isPost() {
		return show(http.StatusOK)
	}
	return v.submit(form, func() error {
		in := app.ComponentChange{ComponentFields: v.componentChange(form, &c)}
		if !form.OK() {
			return show(http.StatusUnprocessableEntity)
		}
		return v.changeComponent(c, in, form, v.componentForm)
	}, show)
}

// componentState sets the state of a component by hand, or ends a state that was set by hand.
func (p *pages) componentState(v *visit) error {
	found, err := v.app.Component(v.Request.Context(), v.Param("id"))
	if err != nil {
		return err
	}
	c := found.Component
	form, state := v.componentForm(c), v.stateForm(c)
	show := func(status int) error { return v.showComponent(status, c, form, state) }
	return v.submit(state, func() error {
		in := app.NewOverride{Status: state.Value("status"), Until: state.Field("until").Time(v.zone()), CountInUptime: state.Ticked("countInUptime")}
		if o := c.StatusOverride; o != nil && state.Value("until") == v.stateForm(c).Value("until") {
			in.Until = o.Until // the field has no seconds
		}
		if in.Status == "operational" {
			in.Until = nil
		}
		if !state.OK() {
			return show(http.StatusUnprocessableEntity)
		}
		return v.changeComponent(c, app.ComponentChange{StatusOverride: &in}, state, v.stateForm)
	}, show)
}

// changeComponent sends a change of a component. If somebody else has changed the component meanwhile, it shows the
// differences between form and the form with the stored values, which formOf returns.
func (v *visit) changeComponent(c app.Component, in app.ComponentChange, form *forms.Form, formOf func(app.Component) *forms.Form) error {
	_, err := v.app.ChangeComponent(v.Request.Context(), c.ID, form.Version, in)
	if outdated(err, form.Version, c.Version) {
		return v.conflict(form, formOf(c), c.ID, c.Name)
	}
	if err != nil {
		return err
	}
	return v.done(componentsPath+"/"+c.ID, "saved")
}

// stateForm returns the form that sets the state of a component by hand.
func (v *visit) stateForm(c app.Component) *forms.Form {
	status := &forms.Field{Kind: forms.Select, Name: "status", Label: "State", Required: true, Members: []string{"statusOverride.status"}, Values: []string{"operational"}, Options: optionsOf(impacts())}
	status.Options[0].Label = "As the events say"
	until := timeField("until", "Until", v.zone())
	until.Hint += " Empty: until you change it, or until an event of the component closes."
	until.Members = []string{"statusOverride.until"}
	counts := &forms.Field{Kind: forms.Tick, Name: "countInUptime", Label: "Count in the uptime"}
	if o := c.StatusOverride; o != nil {
		status.Values = []string{o.Status}
		if until.SetTime(o.Until, v.zone()); o.CountInUptime {
			counts.Values = []string{"on"}
		}
	}
	form := forms.New(componentsPath+"/"+c.ID+"/state", "Set the state", until)
	form.Fields = []*forms.Field{status, until, counts}
	form.Page, form.Version = componentsPath+"/"+c.ID, c.Version
	for _, field := range form.Fields {
		field.Prefix = "state-"
	}
	return form
}

func (v *visit) showComponent(status int, c app.Component, form, state *forms.Form) error {
	data := componentPage{Component: c, Reporter: v.caller.Has(passport.RoleEvent)}
	if v.caller.Has(passport.RoleAdmin) {
		data.Form, data.State = form, state
	}
	var noEvents, noDashboards bool
	var work concurrent
	if data.Reporter {
		work.Go(func() error {
			found, err := v.app.Events(v.Request.Context(), url.Values{"limit": {"25"}, "active": {"true"}, "componentId": {c.ID}})
			data.Events, noEvents = found.Events, err != nil
			return nil
		})
	}
	work.Go(func() error {
		var err error
		data.Dashboards, err = v.showing(c)
		noDashboards = err != nil
		return nil
	})
	_ = work.Wait() // a part that cannot be read does not stop the page
	if noEvents {
		data.Missing = append(data.Missing, "The events")
	}
	if noDashboards {
		data.Missing = append(data.Missing, "The dashboards")
	}
	return v.show(status, "component.html", c.Name, data)
}

// showing returns the dashboards that show a component: those of the first 100 dashboards, and at most maxChosen others.
func (v *visit) showing(c app.Component) ([]app.Dashboard, error) {
	found, err := v.firstDashboards()
	if err == nil {
		err = v.addDashboards(&found, c.DashboardIDs)
	}
	return slices.DeleteFunc(found.Dashboards, func(d app.Dashboard) bool { return !slices.Contains(c.DashboardIDs, d.ID) }), err
}

// componentDelete asks whether to delete a component, and deletes it. The question names the consequences.
func (p *pages) componentDelete(v *visit) error {
	found, err := v.app.Component(v.Request.Context(), v.Param("id"))
	if err != nil {
		return err
	}
	c, at := found.Component, componentsPath+"/"+v.Param("id")
	dashboards, err := v.showing(c)
	if err != nil {
		return err
	}
	names := []string{}
	for _, d := range dashboards {
		names = append(names, isolate(d.Name))
	}
	points := []string{"No dashboard shows it now.", "Subscribers no longer get messages about it.", "Templates lose it.", "Past events stay, without it."}
	if len(names) > 0 {
		points[0] = "It disappears from " + strings.Join(names, ", ") + ", with its uptime."
	}
	if len(c.ActiveEventIDs) > 0 {
		points = append(points, "An open event affects it. Resolve that event first, or take the component out of it.")
	}
	form := forms.New(at+"/delete", "Delete the component")
	form.Danger = true
	return v.ask("Delete “"+isolate(c.Name)+"”?", confirm{
		Back: at, BackLabel: c.Name, Text: "This cannot be reversed. To take the component off the dashboards only, hide it.", Points: points, Form: form,
	}, func() error {
		if _, err := v.app.DeleteComponent(v.Request.Context(), c.ID); err != nil {
			return err
		}
		v.notify("deleted", c.Name, "")
		return v.redirect(componentsPath)
	})
}
