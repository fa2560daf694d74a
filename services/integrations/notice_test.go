package integrations_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
)

// A test is published as a notice to the endpoint with an example of an incident. The id in the response is the id of
// the delivery.
func TestATestIsPublishedAsANotice(t *testing.T) {
	p := start(t, nil)
	mail := p.mailbox()
	o := p.organization(25)
	components := []topic.ComponentRecord{
		{ID: o.one, Name: "Checkout", Group: "Shop"}, {ID: o.two, Name: "Search"}, {ID: o.elsewhere, Name: "Secret", HiddenFromNotifications: true},
	}
	ids := []string{o.one, o.elsewhere}
	for n := range 120 {
		many := topic.ComponentRecord{ID: id(), Name: fmt.Sprint("Component ", n)}
		components, ids = append(components, many), append(ids, many.ID)
	}
	p.upstream.put(o.id, 25, topic.DashboardRecord{ID: o.dashboard, Name: "Main", URL: "http://d.test/d/main", Components: components})
	made := p.create(o, "https://hooks.example.com/hook", object{"componentIds": ids, "eventKinds": []string{"incident.created"}})
	recipient := p.only(o, o.one)

	got := p.call(o, http.StatusAccepted, http.MethodPost, path+"/test", object{"dashboardId": o.dashboard, "urlHash": made.URLHash})
	var body struct{ DeliveryID string }
	if err := json.Unmarshal([]byte(got.text), &body); err != nil {
		t.Fatal(err)
	}
	apitest.Eventually(t, "the notice", func() bool { return len(mail.to(recipient, topic.EndpointTest)) == 1 })
	n := mail.to(recipient, topic.EndpointTest)[0]
	if n.Organization != o.id || n.Channel != topic.Webhook || n.Service != topic.Integrations || n.Destination != made.URLHash ||
		n.Endpoint != nil || topic.DeliveryID(n.ID, recipient) != body.DeliveryID {
		t.Errorf("the notice is %+v, the delivery %s", n, body.DeliveryID)
	}
	e := n.Event
	if e.ID == "" || e.Type != "incident" || e.Status != "investigating" || e.Title != "Test: there is no incident" || e.DescriptionText == "" ||
		!e.Hidden || !e.StartAt.Equal(n.OccurredAt) || len(e.Components) != 100 {
		t.Errorf("the example is %+v", e)
	}
	want := topic.Component{ID: o.one, Name: "Checkout", Group: "Shop", Impact: "operational", Dashboards: []string{o.dashboard}}
	if asJSON(t, e.Components[0]) != asJSON(t, want) {
		t.Errorf("the first component is %+v", e.Components[0])
	}
	for _, c := range e.Components {
		if c.Impact != "operational" || c.ID == o.two || c.ID == o.elsewhere {
			t.Errorf("the example names %+v", c)
		}
	}
	// Its outcome changes nothing.
	outcome := p.outcome(o, recipient, topic.Failed)
	outcome.DeliveryID, outcome.EventKind, outcome.Gone = body.DeliveryID, topic.EndpointTest, true
	p.publishOutcomes(append([]topic.Outcome{outcome}, p.failures(o, recipient, 1)...)...)
	p.counted(o, made.URLHash, 1)
	if p.shown(o, made.URLHash).Suppressed {
		t.Error("the 410 of a test suppresses the URL")
	}
}

// An endpoint that is not verified is sent nothing, has no part in alerts and cannot be tested. Mail about it goes to
// its management address.
func TestAnUnverifiedEndpointIsSentNothing(t *testing.T) {
	p := start(t, nil)
	mail := p.mailbox()
	o := p.organization(25)
	const url = "https://hooks.example.com/hook"
	made := p.create(o, url, nil)
	p.create(o, url, object{"dashboardId": o.second, "componentIds": []string{o.elsewhere}})
	recipient, beside := p.only(o, o.one), p.only(o, o.elsewhere)
	verified := func(at *time.Time) {
		t.Helper()
		p.second(o, func(s *endpoint.Store) {
			if _, err := s.Endpoints.Change(t.Context(), recipient, func(e *endpoint.Endpoint) error { e.VerifiedAt = at; return nil }); err != nil {
				t.Fatal(err)
			}
		})
	}
	verified(nil)
	if ids := p.concerned(o, nil, o.one); len(ids) != 0 {
		t.Errorf("an incident concerns %v", ids)
	}
	for _, kind := range []topic.Kind{topic.IncidentCreated, topic.EndpointTest} {
		if d := p.resolveFor(o, kind, topic.Webhook, recipient)[0]; d.State != topic.RecipientGone || d.URL != "" || d.Secrets != nil {
			t.Errorf("%s resolves to %+v", kind, d)
		}
	}
	if d := p.resolveFor(o, topic.EndpointVerify, topic.Email, recipient)[0]; d.State != topic.RecipientActive || d.Address != "ops@example.com" {
		t.Errorf("mail resolves to %+v", d)
	}
	token := p.signer.Sign(o.member(passport.RoleAdmin))
	if got := p.send(token, http.MethodPost, path+"/test", object{"dashboardId": o.dashboard, "urlHash": made.URLHash}); got.status != http.StatusConflict {
		t.Errorf("a test: %d %s", got.status, got.text)
	}
	p.suppress(o, beside, made.URLHash)
	mail.complete(p)
	mail.expect(t, "the one that is not verified", recipient, 0, 0)
	mail.expect(t, "the other one", beside, 0, 1)
	p.call(o, http.StatusNoContent, http.MethodDelete, suppressionPath, object{"url": url})
	now := p.now()
	verified(&now)
	if p.only(o, o.one) != recipient || p.resolve(o, recipient)[0].URL != url {
		t.Error("nothing is sent after it was verified")
	}
}
