package events_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// indicators returns the indicator of the dashboard of organization a, in the list and as the public file shows it.
func (p *platform) indicators() (listed, public string) {
	p.t.Helper()
	list := p.must(200, "app event a", "GET", "/app/dashboards", "")["dashboards"].([]any)
	listed, _ = list[0].(map[string]any)["indicator"].(string)
	var file struct{ Status struct{ Indicator string } }
	got := p.send("public", "GET", "/public/v1/editions/"+p.edition().ID+"/files/api/v2/status.json", "")
	if err := json.Unmarshal(got.body, &file); got.status != 200 || err != nil {
		p.t.Fatalf("the file: %d %s", got.status, got.body)
	}
	return listed, file.Status.Indicator
}

func TestTheIndicatorOfADashboardIsThatOfItsFiles(t *testing.T) {
	p := start(t, startBroker(t))
	component := p.must(201, "app admin a", "POST", "/app/components", `{"name": "API"}`)["component"].(map[string]any)["id"].(string)
	for _, step := range []struct{ impact, want string }{
		{"operational", "minor"}, {"under_maintenance", "minor"}, {"degraded_performance", "minor"}, {"partial_outage", "major"}, {"major_outage", "critical"},
	} {
		p.must(201, "app event a", "POST", "/app/events", `{"type": "incident", "title": "x", "affectedComponents": [{"componentId": "`+component+`", "impact": "`+step.impact+`"}]}`)
		if listed, public := p.indicators(); listed != step.want || public != step.want {
			t.Errorf("%s: the list has %q, the file %q, want %q", step.impact, listed, public, step.want)
		}
	}
}

// TestTheIndicatorFollowsTheTime starts a maintenance by the clock.
func TestTheIndicatorFollowsTheTime(t *testing.T) {
	p := start(t, startBroker(t))
	component := p.must(201, "app admin a", "POST", "/app/components", `{"name": "API"}`)["component"].(map[string]any)["id"].(string)
	at := func(after time.Duration) string { return p.now().Add(after).Format(time.RFC3339) }
	p.must(201, "app event a", "POST", "/app/events", `{"type": "maintenance", "title": "x", "autoStart": true, "scheduledStartAt": "`+at(time.Hour)+`", "scheduledEndAt": "`+at(2*time.Hour)+
		`", "affectedComponents": [{"componentId": "`+component+`"}]}`)
	if listed, public := p.indicators(); listed != "none" || public != "none" {
		t.Errorf("before: %q, %q", listed, public)
	}
	p.ahead.Add(int64(90 * time.Minute))
	apitest.Eventually(t, "the maintenance has begun", func() bool {
		listed, public := p.indicators()
		return listed == "maintenance" && public == "maintenance"
	})
}

// TestALongListOfDashboardsHasTheIndicatorOfEach has more dashboards than an engine merges index ranges.
func TestALongListOfDashboardsHasTheIndicatorOfEach(t *testing.T) {
	const dashboards = find.MaxMerged + 6
	p := start(t, startBroker(t))
	p.limit.Store(dashboards)
	component := p.component("API")
	p.incident(component, "")
	for i := range dashboards - 1 {
		components := "[]"
		if i%2 == 0 {
			components = `[{"componentId": "` + component + `"}]`
		}
		p.must(201, "app admin a", "POST", "/app/dashboards", fmt.Sprintf(`{"name": "Number %d", "components": %s}`, i, components))
	}
	list := p.must(200, "app event a", "GET", "/app/dashboards?limit=100", "")["dashboards"].([]any)
	if len(list) != dashboards {
		t.Fatalf("%d dashboards", len(list))
	}
	for _, row := range list {
		row := row.(map[string]any)
		want := "none"
		if len(row["components"].([]any)) > 0 {
			want = "critical"
		}
		if row["indicator"] != want {
			t.Errorf("%s has %s, want %s", row["name"], row["indicator"], want)
		}
	}
}
