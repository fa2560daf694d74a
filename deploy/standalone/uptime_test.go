package main_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// The uptime report of a month contains a legacy incident with a major outage, unless the incident is hidden from
// uptime reports.
func TestUptimeReportOmitsHiddenIncidents(t *testing.T) {
	t.Parallel()
	base := commonBase(t)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	allow := func(uptime bool) {
		send(t, http.MethodPatch, base+"/operator/v1/organizations/"+a.OrganizationID, a.operator(),
			map[string]any{"capabilities": map[string]any{"uptimeReports": uptime}}).expect(t, http.StatusOK)
	}
	counted, countedID := a.service("Checkout")
	hidden, hiddenID := a.service("Search")
	for service, hide := range map[string]bool{counted: false, hidden: true} {
		body := incident(service, "down")
		body["severity"], body["hidden_admin_uptime"] = map[string]any{"severity": "major_outage"}, hide
		body["start"] = time.Now().UTC().Add(-time.Hour).Format("2006-01-02T15:04:05")
		send(t, http.MethodPost, base+"/api/v1/event/list/", a.legacy(), body).expect(t, http.StatusCreated)
	}
	allow(true)
	type component struct {
		ComponentID        string
		UptimePercent      *float64
		MajorOutageSeconds float64
		MeasuredSeconds    float64
		EventIDs           []string
	}
	report := base + "/app/reports/uptime?month=" + time.Now().UTC().Format("2006-01") + "&dashboardId=" + a.DashboardID
	var got struct {
		Report struct {
			Partial    bool
			Components []component
		}
	}
	byID := map[string]component{}
	eventually(t, 5*time.Second, "a second of each component is measured", func() error {
		send(t, http.MethodGet, report, a.app(), nil).expect(t, http.StatusOK).into(t, &got)
		for _, c := range got.Report.Components {
			byID[c.ComponentID] = c
		}
		if byID[countedID].MeasuredSeconds == 0 || byID[hiddenID].MeasuredSeconds == 0 {
			return fmt.Errorf("%+v", byID)
		}
		return nil
	})
	// Both incidents began before their services were created, and are still open.
	if c := byID[countedID]; c.UptimePercent == nil || *c.UptimePercent != 0 || c.MajorOutageSeconds != c.MeasuredSeconds || len(c.EventIDs) != 1 {
		t.Errorf("the one that counts: %+v", c)
	}
	if c := byID[hiddenID]; c.UptimePercent == nil || *c.UptimePercent != 100 || c.MajorOutageSeconds != 0 || len(c.EventIDs) != 0 {
		t.Errorf("the hidden one: %+v", c)
	}
	if !got.Report.Partial {
		t.Error("the current month is not partial")
	}
	allow(false)
	if refused := send(t, http.MethodGet, report, a.app(), nil).expect(t, http.StatusForbidden); len(refused.body) == 0 {
		t.Error("without the capability the refusal says nothing")
	}
}
