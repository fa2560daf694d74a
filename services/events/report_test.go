package events_test

import (
	"fmt"
	"testing"
	"time"
)

// TestUptimeReport checks the numbers of a report against those worked out by hand.
func TestUptimeReport(t *testing.T) {
	p := start(t, startBroker(t))
	goTo := func(text string) {
		t.Helper()
		at, err := time.Parse(time.DateTime, text)
		if err != nil {
			t.Fatal(err)
		}
		p.ahead.Store(int64(time.Until(at)))
	}
	goTo("2040-01-31 00:00:00")
	p.must(201, "", "POST", "/api/v1/service/", `{"service_name": "API", "hidden": true}`)
	p.must(201, "", "POST", "/api/v1/service/", `{"service_name": "Web"}`)
	goTo("2040-03-02 06:00:00")
	event := func(kind, status, severity int, from, to, more string) {
		t.Helper()
		p.must(201, "", "POST", "/api/v1/event/list/", fmt.Sprintf(
			`{"type": {"id": %d}, "status": {"id": %d}, "severity": {"id": %d}, "description": "d", "start": %q, "end": %q, "event_service": ["/api/v1/service/1/"]%s}`,
			kind, status, severity, from, to, more))
	}
	event(1, 3, 4, "2040-02-10T00:00:00", "2040-02-10T06:00:00", "")                              // major: 6 h
	event(1, 3, 3, "2040-02-10T03:00:00", "2040-02-10T18:00:00", "")                              // partial: 15 h, 3 of them major
	event(1, 3, 2, "2040-02-11T00:00:00", "2040-02-11T01:00:00", "")                              // degraded: 1 h
	event(2, 5, 4, "2040-02-12T00:00:00", "2040-02-13T00:00:00", "")                              // maintenance: 24 h
	event(1, 3, 4, "2040-02-14T00:00:00", "2040-02-15T00:00:00", `, "hidden_admin_uptime": true`) // does not count
	event(1, 3, 4, "2040-02-15T00:00:00", "2040-02-16T00:00:00", `, "hidden_db": true`)           // does not count
	event(2, 1, 4, "2040-02-16T00:00:00", "2040-02-17T00:00:00", "")                              // only planned
	event(1, 3, 4, "2040-01-01T00:00:00", "2040-01-01T06:00:00", "")                              // before the component
	p.must(201, "", "POST", "/api/v1/event/list/", `{"type": {"id": 1}, "status": {"id": 2}, "severity": {"id": 4}, "description": "open", "start": "2040-03-01T18:00:00", "event_service": ["/api/v1/service/1/"]}`)

	ids := map[string]string{}
	for _, c := range p.must(200, "app admin a", "GET", "/app/components", "")["components"].([]any) {
		ids[c.(map[string]any)["name"].(string)] = c.(map[string]any)["id"].(string)
	}
	p.must(201, "app admin a", "POST", "/app/events", fmt.Sprintf(`{"type": "incident", "title": "harmless", "status": "resolved", "startAt": "2040-02-20T00:00:00Z", "endAt": "2040-02-20T06:00:00Z",
		"affectedComponents": [{"componentId": %q, "impact": "operational"}]}`, ids["API"])) // is not named
	report := func(query string) (map[string]any, []any) {
		t.Helper()
		r := p.must(200, "app admin uptime a", "GET", "/app/reports/uptime?"+query, "")["report"].(map[string]any)
		return r, r["components"].([]any)
	}
	holds := func(what string, got map[string]any, want map[string]any) {
		t.Helper()
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%s: %s is %v, want %v", what, name, got[name], value)
			}
		}
	}
	// February 2040 has 29 days, 696 h: 1 - (6 + 0.3*12) / (696 - 24) and, with the other one, 1 - 9.6 / (672 + 696).
	whole, components := report("month=2040-02&dashboardId=" + dashA)
	holds("the dashboard", whole, map[string]any{"overallUptimePercent": 99.298245, "partial": false, "rangeEnd": "2040-03-01T00:00:00.000Z"})
	api := components[0].(map[string]any)
	holds("API", api, map[string]any{
		"componentId": ids["API"], "uptimePercent": 98.571428, "measuredSeconds": 696 * 3600.0, "majorOutageSeconds": 6 * 3600.0,
		"partialOutageSeconds": 12 * 3600.0, "downtimeSeconds": 18 * 3600.0, "degradedSeconds": 3600.0, "maintenanceSeconds": 24 * 3600.0,
	})
	holds("Web", components[1].(map[string]any), map[string]any{"uptimePercent": 100.0, "measuredSeconds": 696 * 3600.0})
	if found := api["eventIds"].([]any); len(found) != 4 {
		t.Errorf("events %v", found)
	}
	days := api["days"].([]any)
	if len(days) != 29 {
		t.Fatalf("%d days", len(days))
	}
	holds("the 10th", days[9].(map[string]any), map[string]any{"date": "2040-02-10", "uptimePercent": 60.0, "worstStatus": "major_outage"})
	holds("the 11th", days[10].(map[string]any), map[string]any{"uptimePercent": 100.0, "worstStatus": "degraded_performance"})
	holds("the 12th", days[11].(map[string]any), map[string]any{"uptimePercent": nil, "worstStatus": "under_maintenance"})
	holds("the 14th", days[13].(map[string]any), map[string]any{"uptimePercent": 100.0, "worstStatus": "operational"})

	one, components := report("month=2040-02&componentId=" + ids["API"])
	holds("the component", one, map[string]any{"overallUptimePercent": 98.571428, "timezone": "UTC"})
	if len(components) != 1 {
		t.Errorf("%d components", len(components))
	}
	// The current month: 24 h of 1 March with 6 h down, and 2 March down so far.
	current, components := report("month=2040-03&componentId=" + ids["API"])
	holds("the current month", current, map[string]any{"partial": true, "rangeStart": "2040-03-01T00:00:00.000Z"})
	days = components[0].(map[string]any)["days"].([]any)
	if len(days) != 2 {
		t.Fatalf("%d days of a month of which two have begun", len(days))
	}
	holds("1 March", days[0].(map[string]any), map[string]any{"uptimePercent": 75.0, "worstStatus": "major_outage"})
	holds("2 March", days[1].(map[string]any), map[string]any{"uptimePercent": 0.0})
	// The component is there for the last day of January only.
	_, components = report("month=2040-01&componentId=" + ids["API"])
	days = components[0].(map[string]any)["days"].([]any)
	holds("30 January", days[29].(map[string]any), map[string]any{"uptimePercent": nil, "worstStatus": nil})
	holds("31 January", days[30].(map[string]any), map[string]any{"uptimePercent": 100.0, "worstStatus": "operational"})
}
