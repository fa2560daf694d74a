package delivery_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// Each script has an organization of its own with one delivered message to four endpoints. Since then one of them was
// paused, one was suppressed and one was deleted.
func TestTheAppOperationsOfDeliveryFollowTheirScripts(t *testing.T) {
	w := newWorld(t)
	w.receiver("hooks.test", nil)
	c, people := w.config(), newPeer(t, "subscribers")
	c.SubscribersURL = people.server.URL
	c.SMTPURL, c.MailFrom = newPostOffice(t, &postOffice{}).url("smtp", ""), "status@bellbuoy.test"
	phones := httptest.NewServer(newSMSAPI(t, nil))
	t.Cleanup(phones.Close)
	c.SMSURL = smsURL(phones.URL, smsToken, smsFrom)
	staff := newPeer(t, "identity")
	c.IdentityURL = staff.server.URL
	s := w.start(c)
	documents := apitest.ReadOpenAPI(t, "../../gateway/openapi")
	apitest.Run(t, "testdata/*.txtar", func(t *testing.T) apitest.Target {
		owner := newEvent()
		states := map[string]topic.RecipientState{
			"active": topic.RecipientActive, "paused": topic.RecipientPaused, "suppressed": topic.RecipientSuppressed, "gone": topic.RecipientGone,
		}
		sent := change(newEvent(), 1)
		sent.Organization = owner
		noIntegrations := member(owner, passport.RoleAdmin)
		noIntegrations.Features.Integrations = false
		vars := map[string]string{
			"event": sign(member(owner, passport.RoleEvent)), "admin": sign(member(owner, passport.RoleAdmin)), "noplan": sign(noIntegrations),
			"others": sign(member(newEvent(), passport.RoleAdmin)), "dashboard": dashboardID, "component": componentID, "hidden": hiddenID, "eventId": sent.Event.ID, "nobodys": newEvent(), "quiet": newEvent(),
			"api": sign(member(owner, passport.RoleAPI)), "subscriber": sign(member(owner, passport.RoleSubscriber)),
		}
		for name, address := range map[string]string{"seated": mailAddress, "seated2": mailAddress, "unreachable": ""} {
			seated := session(owner, passport.RoleSubscriber)
			staff.member(seated.User, address)
			vars[name] = sign(seated)
		}
		seated := session(owner, passport.RoleAdmin)
		staff.member(seated.User, "")
		vars["seatedAdmin"] = sign(seated)
		vars["seated3"] = sign(session(owner, passport.RoleAPI))
		people.addFor(owner, owner+"ann", "").Channel = topic.Email
		for state := range states {
			vars["hash_"+state] = w.peer.addFor(owner, owner+state, "https://hooks.test/hooks/"+state).URLHash
		}
		w.incidents.set(owner, vars["quiet"], topic.EventState{})
		w.publish(sent, nil)
		for _, row := range w.ended(sent.ID, owner+"active", owner+"paused", owner+"suppressed", owner+"gone") {
			if row.Status != deliverylog.StatusDelivered {
				t.Fatalf("row %+v", row)
			}
			for state := range states {
				if row.Recipient == owner+state {
					vars[state], vars["at_"+state] = row.ID, row.SentAt.UTC().Format("2006-01-02T15:04:05.000Z")
				}
			}
		}
		w.incidents.set(owner, sent.Event.ID, topic.EventState{
			Type: "incident", Published: true, Components: []string{componentID}, Dashboards: map[string][]string{componentID: {dashboardID}},
		})
		for state, now := range states {
			w.peer.set(owner+state, func(d *topic.Destination) { d.State = now })
		}
		return apitest.Target{
			OpenAPI: documents, URL: s.url, Vars: vars,
			Header: http.Header{passport.Header: {sign(member(owner, passport.RoleSubscriber))}, "Content-Type": {"application/json"}},
		}
	})
}
