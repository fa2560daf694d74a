package pages

import (
	"net/http"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// dashboardNew adds a dashboard. The next page chooses its components.
func (p *pages) dashboardNew(v *visit) error {
	form := forms.New(dashboardsPath+"/new", "Add the dashboard", &forms.Field{Kind: forms.Text, Name: "name", Label: "Name", Required: true, Max: 100})
	form.Cancel = dashboardsPath
	v.fill(form)
	show := func(status int) error {
		return v.show(status, "form.html", "New dashboard", formPage{dashboardsPath, "Dashboards", "A public page of its own, for one audience. You choose its components next.", form})
	}
	if !v.isPost() {
		return show(http.StatusOK)
	}
	return v.submit(form, func() error {
		made, err := v.app.AddDashboard(v.Request.Context(), app.NewDashboard{DashboardChange: app.DashboardChange{Name: new(form.Value("name"))}})
		if err != nil {
			return err
		}
		v.notify("dashboard-added", made.Dashboard.Name, "")
		return v.redirect(dashboardsPath + "/" + made.Dashboard.ID + "/components")
	}, show)
}

// dashboardDelete asks whether to delete a dashboard, and deletes it. The question names the consequences.
func (p *pages) dashboardDelete(v *visit) error {
	found, err := v.app.Dashboard(v.Request.Context(), v.Param("id"))
	if err != nil {
		return err
	}
	d := found.Dashboard
	at := dashboardsPath + "/" + d.ID
	form := forms.New(at+"/delete", "Delete the dashboard")
	form.Danger = true
	return v.ask("Delete “"+isolate(d.Name)+"”?", confirm{
		Back: at, BackLabel: d.Name, Text: "This cannot be reversed. To hide the page only, take the tick “Published” away in the tab Access.", Form: form,
		Points: []string{"Visitors find nothing at " + d.URL + ".", v.goesWith(d.ID), "Components and events stay."},
	}, func() error {
		if _, err := v.app.DeleteDashboard(v.Request.Context(), d.ID); err != nil {
			return err
		}
		v.notify("deleted", d.Name, "")
		return v.redirect(dashboardsPath)
	})
}

// goesWith returns a sentence about the subscribers and endpoints that are deleted with a dashboard. It names no number if
// there are no subscribers or a count cannot be read.
func (v *visit) goesWith(id string) string {
	channels := app.AddressChannels()
	totals := make([]int, len(channels))
	var work concurrent
	for i, channel := range channels {
		work.Go(func() error {
			found, err := v.app.SubscriberCounts(v.Request.Context(), channel, id)
			totals[i] = found.Counts.Total
			return err
		})
	}
	err, sum := work.Wait(), 0
	for _, total := range totals {
		sum += total
	}
	if err != nil || sum == 0 {
		return "Its subscribers and endpoints are deleted with it."
	}
	return "Its " + counted(sum, "subscriber") + " and its endpoints are deleted with it."
}
