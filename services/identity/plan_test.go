package identity_test

import (
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// Identity sends the events service what the plan of an organization includes: with the first dashboard, and after each
// change of the plan. If the events service is down, identity repeats the call.
func TestTheEventsServiceGetsEachPlan(t *testing.T) {
	p := start(t, nil)
	included := func(id string) (included, known bool) {
		p.events.mu.Lock()
		defer p.events.mu.Unlock()
		plan, known := p.events.plans[id]
		return plan == peer.Plan{Integrations: true}, known
	}
	id := ""
	for plan, want := range map[string]bool{"free": false, "team": true} {
		p.operator(201, "POST", "organizations", `{"name": "`+plan+`", "plan": "`+plan+`"}`)
		for _, organization := range p.operator(200, "GET", "organizations", "").Organizations {
			if got, known := included(organization.ID); organization.Name == plan && (!known || got != want) {
				t.Errorf("%s: %v %v", plan, got, known)
			}
			if organization.Name == "team" {
				id = organization.ID
			}
		}
	}
	p.operator(200, "PATCH", "organizations/"+id, `{"enabledFeatures": {"integrations": false}}`)
	if got, _ := included(id); got {
		t.Error("the dashboards show endpoints that the plan does not include")
	}
	p.events.down.Store(true)
	p.operator(200, "PATCH", "organizations/"+id, `{"enabledFeatures": {"integrations": null}}`)
	p.events.down.Store(false)
	apitest.Eventually(t, "the dashboards follow the plan", func() bool { got, _ := included(id); return got })
}
