package integrations_test

import (
	"net/http"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// TestADeletedDashboardTakesItsEndpointsAlong checks that the endpoints of the dashboard are deleted with what belongs
// to them, and that the other endpoints stay, also the one with the same URL.
func TestADeletedDashboardTakesItsEndpointsAlong(t *testing.T) {
	p := start(t, nil)
	o, other := p.organization(2), p.organization(25)
	p.create(o, "https://hooks.example.com/shared", nil)
	p.create(o, "https://hooks.example.com/gone", nil)
	kept := p.create(o, "https://hooks.example.com/shared", object{"dashboardId": o.second, "componentIds": []string{o.elsewhere}})
	recipients := p.concerned(o, nil, o.one)
	p.publish(topic.DashboardDeleted{Organization: other.id, DashboardID: o.dashboard, OccurredAt: p.now()},
		topic.DashboardDeleted{Organization: o.id, DashboardID: o.dashboard, OccurredAt: p.now()},
		topic.DashboardDeleted{Organization: o.id, DashboardID: o.dashboard, OccurredAt: p.now()})
	apitest.Eventually(t, "the endpoints are deleted", func() bool { return len(p.concerned(o, nil, o.one)) == 0 })
	list := p.call(o, http.StatusOK, http.MethodGet, path, nil)
	if len(list.Endpoints) != 1 || list.Endpoints[0].LegacyID != kept.LegacyID || list.Usage.UniqueEndpoints != 1 {
		t.Errorf("left are %s", list.text)
	}
	for _, d := range p.resolve(o, recipients...) {
		if d.State != topic.RecipientGone {
			t.Errorf("%+v", d)
		}
	}
	// The deleted URL counts no longer.
	p.create(o, "https://hooks.example.com/new", object{"dashboardId": o.second, "componentIds": []string{o.elsewhere}})
}

// A dashboard that is deleted while an endpoint is created takes the endpoint along, although its message came before.
func TestADashboardThatIsDeletedDuringACreate(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	meanwhile := func() { p.upstream.remove(o.id, o.dashboard) }
	p.upstream.meanwhile.Store(&meanwhile)
	refused := p.call(o, http.StatusNotFound, http.MethodPost, path, object{
		"dashboardId": o.dashboard, "url": "https://hooks.example.com/1", "managementEmail": "ops@example.com", "componentIds": []string{o.one},
	})
	if refused.Error != "There is no such dashboard." {
		t.Error(refused.text)
	}
	if list := p.call(o, http.StatusOK, http.MethodGet, path, nil); len(list.Endpoints) != 0 {
		t.Errorf("left is %s", list.text)
	}
}

func TestIsOnlyComponent(t *testing.T) {
	p := start(t, nil)
	o, other := p.organization(25), p.organization(25)
	endpoints := peer.Endpoints{Client: p.recipients().Client}
	only := func(organization, component string, want bool) {
		t.Helper()
		if got, err := endpoints.IsOnlyComponent(t.Context(), organization, component); got != want || err != nil {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
	}
	only(o.id, o.one, false)
	made := p.create(o, "https://hooks.example.com/1", nil)
	only(o.id, o.one, true)
	only(o.id, o.two, false)
	only(other.id, o.one, false)
	change := func(components ...string) {
		p.call(o, http.StatusOK, http.MethodPatch, path, object{"dashboardId": o.dashboard, "urlHash": made.URLHash, "componentIds": components})
	}
	change(o.one, o.two)
	only(o.id, o.one, false)
	change(o.two)
	only(o.id, o.one, false)
	only(o.id, o.two, true)
}
