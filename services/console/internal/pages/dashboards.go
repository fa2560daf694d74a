package pages

import (
	"net/http"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// dashboardsPage is the data of dashboards.html.
type dashboardsPage struct {
	Query      string
	Filter     *forms.Form // shows the problem of the search
	Dashboards []app.Dashboard
	More       string // address of the next page; empty: there is none
	First      bool
	Writer     bool // the member may add dashboards
}

// State returns the CSS class of the state of a dashboard.
func (dashboardsPage) State(d app.Dashboard) string { return dashboardClass(d) }

// Text returns the state of a dashboard for members, with a capital first letter.
func (dashboardsPage) Text(d app.Dashboard) string {
	text := dashboardText(d)
	return strings.ToUpper(text[:min(1, len(text))]) + text[min(1, len(text)):]
}

// Host returns the address of a dashboard without its scheme.
func (dashboardsPage) Host(d app.Dashboard) string {
	_, host, _ := strings.Cut(d.URL, "://")
	return host
}

// dashboards lists the dashboards. The navigation shows only the first ones.
func (p *pages) dashboards(v *visit) error {
	data := dashboardsPage{Query: strings.TrimSpace(v.Query("q")), First: v.Query("after") == "", Writer: v.caller.Has(passport.RoleAdmin)}
	query := filled(map[string]string{"limit": "50", "q": data.Query, "nextToken": v.Query("after")})
	data.Filter = searchFilter(dashboardsPath)
	found, err := v.app.Dashboards(v.Request.Context(), query)
	status := http.StatusOK
	if refused(data.Filter, err) {
		status = http.StatusUnprocessableEntity
	} else if err != nil {
		return err
	}
	data.Dashboards, data.More = found.Dashboards, nextPage(dashboardsPath, filled(map[string]string{"q": data.Query}), found.NextToken)
	return v.show(status, "dashboards.html", "Dashboards", data)
}

// dashboardClass returns the CSS class of the state of a dashboard, such as "o" for operational.
func dashboardClass(d app.Dashboard) string {
	if !d.Enabled {
		return "n"
	}
	return map[string]string{"none": "o", "maintenance": "m", "minor": "d", "major": "p", "critical": "x"}[d.Indicator]
}

// dashboardText returns the state of a dashboard for members.
func dashboardText(d app.Dashboard) string {
	if !d.Enabled {
		return "not published"
	}
	return map[string]string{"none": "operational", "maintenance": "under maintenance", "minor": "degraded performance", "major": "partial outage", "critical": "major outage"}[d.Indicator]
}
