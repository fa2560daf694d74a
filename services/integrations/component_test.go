package integrations_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

func TestADeletedComponentLeavesItsEndpoints(t *testing.T) {
	p := start(t, nil)
	o, other := p.organization(25), p.organization(25)
	both := p.create(o, "https://hooks.example.com/both", object{"componentIds": []string{o.one, o.two}})
	last := p.create(o, "https://hooks.example.com/last", object{"componentIds": []string{o.two}})
	ids := p.concerned(o, nil, o.two)
	// A message in another organization's name changes nothing here.
	p.publish(topic.ComponentDeleted{Organization: other.id, ComponentID: o.one, OccurredAt: p.now()},
		topic.ComponentDeleted{Organization: o.id, ComponentID: o.two, OccurredAt: p.now()},
		topic.ComponentDeleted{Organization: o.id, ComponentID: o.two, OccurredAt: p.now()})
	apitest.Eventually(p.t, "the component is gone from both", func() bool {
		return len(p.shown(o, last.URLHash).ComponentIDs) == 0 && len(p.shown(o, both.URLHash).ComponentIDs) == 1
	})
	if left := p.shown(o, both.URLHash).ComponentIDs; !slices.Equal(left, []string{o.one}) {
		t.Errorf("left is %v", left)
	}
	if concerned := p.concerned(o, nil, o.one, o.two); len(concerned) != 1 {
		t.Errorf("concerned are %v", concerned)
	}
	for _, d := range p.resolve(o, ids...) {
		if d.URLHash == last.URLHash && (d.State != topic.RecipientActive || d.Components == nil || len(d.Components) != 0) {
			t.Errorf("the endpoint without components: %+v", d)
		}
	}
}

// A component that is deleted while an endpoint gets it, after it was found and before it is
// written, is not there afterwards either.
func TestAComponentThatIsDeletedDuringAWriteIsNotKept(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	made := p.create(o, "https://hooks.example.com/1", nil)
	deleted := func(component string) func() {
		return func() {
			p.upstream.put(o.id, 25, topic.DashboardRecord{ID: o.dashboard, Name: "Main", Components: []topic.ComponentRecord{{ID: o.one}}})
			if err := p.recipients().ForgetComponent(t.Context(), o.id, component); err != nil {
				t.Error(err)
			}
		}
	}
	both := []string{o.one, o.two}
	create := func(url string) object {
		return object{"dashboardId": o.dashboard, "url": url, "managementEmail": "ops@example.com", "componentIds": both}
	}
	for i, write := range []func() answer{
		func() answer {
			return p.call(o, http.StatusOK, http.MethodPatch, path, object{"dashboardId": o.dashboard, "urlHash": made.URLHash, "componentIds": both})
		},
		func() answer {
			return p.call(o, http.StatusCreated, http.MethodPost, path, create("https://hooks.example.com/2"))
		},
	} {
		p.upstream.put(o.id, 25, topic.DashboardRecord{ID: o.dashboard, Name: "Main", Components: []topic.ComponentRecord{{ID: o.one}, {ID: o.two}}})
		meanwhile := deleted(o.two)
		p.upstream.meanwhile.Store(&meanwhile)
		wrote := write().Endpoint
		if shown := p.shown(o, wrote.URLHash).ComponentIDs; !slices.Equal(wrote.ComponentIDs, []string{o.one}) || !slices.Equal(shown, wrote.ComponentIDs) {
			t.Errorf("write %d: answered %v, kept %v", i, wrote.ComponentIDs, shown)
		}
	}
	// An endpoint whose only component goes is not created.
	p.upstream.put(o.id, 25, topic.DashboardRecord{ID: o.dashboard, Name: "Main", Components: []topic.ComponentRecord{{ID: o.one}, {ID: o.two}}})
	meanwhile := deleted(o.two)
	p.upstream.meanwhile.Store(&meanwhile)
	p.call(o, http.StatusBadRequest, http.MethodPost, path, object{
		"dashboardId": o.dashboard, "url": "https://hooks.example.com/3", "managementEmail": "ops@example.com", "componentIds": []string{o.two},
	})
	if usage := p.call(o, http.StatusOK, http.MethodGet, path, object(nil)).Usage.UniqueEndpoints; usage != 2 {
		t.Errorf("%d unique endpoints", usage)
	}
	// An outage at that moment undoes nothing that was found right.
	outage := func() { p.upstream.down.Store(true) }
	between := func() { p.upstream.meanwhile.Store(&outage) }
	p.upstream.meanwhile.Store(&between)
	p.call(o, http.StatusOK, http.MethodPatch, path, object{"dashboardId": o.dashboard, "urlHash": made.URLHash, "componentIds": []string{o.one}})
}
