package events_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// override sets the state of a component by hand.
func (p *platform) override(component, value string) {
	p.t.Helper()
	p.must(200, "app admin a", "PATCH", "/app/components/"+component, `{"statusOverride": `+value+`}`)
}

// overridden reports whether the component has a state by hand.
func (p *platform) overridden(component string) bool {
	p.t.Helper()
	return p.must(200, "app admin a", "GET", "/app/components/"+component, "")["component"].(map[string]any)["statusOverride"] != nil
}

// measured returns what the uptime report of this month says about a component, without its name and ids.
func (p *platform) measured(component string) map[string]any {
	p.t.Helper()
	report := p.must(200, "app admin uptime a", "GET", "/app/reports/uptime?month="+p.now().Format("2006-01")+"&componentId="+component, "")["report"].(map[string]any)
	row := report["components"].([]any)[0].(map[string]any)
	for _, name := range []string{"componentId", "name", "eventIds", "uptimePercent", "measuredSeconds", "days"} {
		delete(row, name)
	}
	return row
}

// TestAStateByHandThatCountsLowersTheUptimeAsAnIncidentDoes gives one component a state by hand and another one an
// incident for the same time. A third one has a state that does not count.
func TestAStateByHandThatCountsLowersTheUptimeAsAnIncidentDoes(t *testing.T) {
	p := start(t, startBroker(t))
	p.freeze(time.Date(2040, 5, 10, 9, 0, 0, 0, time.UTC))
	hand, incident, uncounted := p.component("Hand"), p.component("Incident"), p.component("Uncounted")
	p.ahead.Add(int64(24 * time.Hour))
	p.override(hand, `{"status": "major_outage", "countInUptime": true}`)
	p.override(uncounted, `{"status": "major_outage"}`)
	event := p.must(201, "app event a", "POST", "/app/events", `{"type": "incident", "title": "x", "affectedComponents": [{"componentId": "`+incident+`", "impact": "major_outage"}]}`)["event"].(map[string]any)["id"].(string)
	for _, status := range []string{"partial_outage", "degraded_performance"} {
		p.ahead.Add(int64(20 * time.Hour))
		p.override(hand, `{"status": "`+status+`", "countInUptime": true}`)
		p.must(201, "app event a", "POST", "/app/events/"+event+"/timeline", `{"message": "x", "componentImpacts": [{"componentId": "`+incident+`", "impact": "`+status+`"}]}`)
	}
	p.compareUptimes("while it lasts", hand, incident)
	p.ahead.Add(int64(3 * time.Hour))
	p.override(hand, "null")
	p.override(uncounted, "null")
	p.must(201, "app event a", "POST", "/app/events/"+event+"/timeline", `{"message": "x", "status": "resolved"}`)
	p.compareUptimes("afterwards", hand, incident)
	snapshot := p.snapshot(p.records())
	if row, days := p.measured(uncounted), snapshot.Component(uncounted).Days; row["downtimeSeconds"] != 0.0 || len(days) != 0 {
		t.Errorf("a state that does not count is measured: %v, %v", row, days)
	}
	page, _ := p.shown()
	if day := `href="components/` + hand + `#d-2040-05-11"`; !strings.Contains(page, day) {
		t.Errorf("the bar does not lead to the day, which has no event: %s", page)
	}
}

// compareUptimes compares the uptime of a component that has a state by hand with one that has an incident. The clock
// stands during the writes, so both are equal.
func (p *platform) compareUptimes(when, hand, incident string) {
	p.t.Helper()
	one, other := p.measured(hand), p.measured(incident)
	for name, value := range other {
		if one[name] != value || name == "downtimeSeconds" && value == 0.0 {
			p.t.Errorf("%s: %s is %v by hand and %v of the incident", when, name, one[name], value)
		}
	}
	snapshot := p.snapshot(p.records())
	a, b := snapshot.Component(hand), snapshot.Component(incident)
	if len(a.Days) != len(b.Days) || len(a.Days) == 0 || a.State != b.State || *a.Uptime > *b.Uptime+0.1 || *a.Uptime < *b.Uptime-0.1 {
		p.t.Fatalf("%s: the page shows %+v by hand and %+v of the incident", when, a, b)
	}
	for i := range a.Days {
		x, y := a.Days[i], b.Days[i]
		if x.Date != y.Date || x.Tally.Worst != y.Tally.Worst || x.Tally.Major != y.Tally.Major || len(x.EventIDs) != 0 {
			p.t.Errorf("%s: the day is %+v by hand and %+v of the incident", when, x, y)
		}
	}
}

func TestAStateByHandEndsAtItsTimeByTheScheduler(t *testing.T) {
	p := start(t, startBroker(t))
	bus := stream.Connect(stream.Options{Brokers: []string{p.broker}, ClientID: "listener"})
	t.Cleanup(func() { _ = bus.Close() })
	heard := apitest.Listen(t, bus, topic.Audit)
	api := p.component("API")
	p.override(api, `{"status": "partial_outage", "countInUptime": true, "until": "`+p.now().Add(time.Hour).Format(time.RFC3339)+`"}`)
	if listed, public := p.indicators(); listed != "major" || public != "major" {
		t.Errorf("the indicators are %s and %s", listed, public)
	}
	p.ahead.Add(int64(3 * time.Hour))
	if listed, public := p.indicators(); listed != "none" || public != "none" {
		t.Errorf("after its time the indicators are %s and %s", listed, public)
	}
	apitest.Eventually(t, "the scheduler has ended it, with an entry in the audit log", func() bool {
		for _, entry := range apitest.Messages[topic.AuditEntry](t, heard, topic.Audit) {
			if entry.Actor.Type == topic.ActorScheduler && entry.Action == "component.update" && entry.EntityID == api && reflect.DeepEqual(entry.ChangedFields, []string{"statusOverride"}) {
				var before struct{ StatusOverride map[string]any }
				if err := json.Unmarshal(entry.Before, &before); err != nil || before.StatusOverride["status"] != "partial_outage" || before.StatusOverride["setBy"] == nil {
					t.Errorf("the entry has %s (%v)", entry.Before, err)
				}
				return true
			}
		}
		return false
	})
	if row := p.measured(api); row["partialOutageSeconds"].(float64) < 3590 || row["partialOutageSeconds"].(float64) > 3600 {
		t.Errorf("it counts for %v s", row["partialOutageSeconds"])
	}
}

// TestAClosingEventEndsTheStatesByHandOfItsComponents closes events of each kind, and does other things that end nothing.
func TestAClosingEventEndsTheStatesByHandOfItsComponents(t *testing.T) {
	p := start(t, startBroker(t))
	api, web := p.component("API"), p.component("Web")
	const hand = `{"status": "major_outage"}`
	create := func(more string) string {
		return p.must(201, "app event a", "POST", "/app/events", `{"title": "x", "affectedComponents": [{"componentId": "`+api+`", "impact": "operational"}], `+more+`}`)["event"].(map[string]any)["id"].(string)
	}
	resolve := func(event string) {
		p.must(201, "app event a", "POST", "/app/events/"+event+"/timeline", `{"message": "x", "status": "resolved"}`)
	}
	at := func(after time.Duration) string { return p.now().Add(after).Format(time.RFC3339) }
	p.override(api, hand)
	p.override(web, hand)
	keeps := map[string]func(){
		"a draft":                         func() { resolve(create(`"type": "incident", "publish": false`)) },
		"an event that is created closed": func() { create(`"type": "incident", "status": "resolved"`) },
		"an event that is deleted":        func() { p.must(204, "app event a", "DELETE", "/app/events/"+create(`"type": "incident"`), "") },
		"an event that goes on":           func() { create(`"type": "incident"`) },
	}
	for name, do := range keeps {
		if do(); !p.overridden(api) || !p.overridden(web) {
			t.Errorf("%s ends a state by hand", name)
		}
	}
	ends := map[string]func(){
		"an incident": func() { resolve(create(`"type": "incident"`)) },
		"an incident on the legacy interface": func() {
			made := p.must(201, "", "POST", "/api/v1/event/list/", incident+`}`)
			p.must(200, "", "PUT", made["resource_uri"].(string), `{"status": "/api/v1/status/3/"}`)
		},
		"a maintenance by the scheduler": func() {
			create(`"type": "maintenance", "status": "started", "autoEnd": true, "scheduledStartAt": "` + at(-time.Hour) + `", "scheduledEndAt": "` + at(time.Hour) + `"`)
			p.ahead.Add(int64(2 * time.Hour))
		},
	}
	for name, do := range ends {
		p.override(api, hand)
		do()
		apitest.Eventually(t, name+" ends the state by hand", func() bool { return !p.overridden(api) })
		if !p.overridden(web) {
			t.Errorf("%s ends the state of another component", name)
		}
	}
	event := create(`"type": "incident"`)
	p.override(api, hand)
	resolve(event)
	if p.overridden(api) {
		t.Error("the state goes on after the response")
	}
	p.override(api, hand)
	p.must(201, "app event a", "POST", "/app/events/"+event+"/reopen", `{"message": "x"}`)
	if !p.overridden(api) {
		t.Error("a reopened event ends a state by hand")
	}
	resolve(event)
	if p.overridden(api) {
		t.Error("the second end of an event ends no state by hand")
	}
}
