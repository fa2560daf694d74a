package delivery_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

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
		people.addFor(owner, owner+"ann", "").Channel, people.byChannel = topic.Email, true
		for state := range states {
			id := newEvent()
			vars["id_"+state] = id
			vars["hash_"+state] = w.peer.addFor(owner, id, "https://hooks.test/hooks/"+state).URLHash
		}
		w.incidents.set(owner, vars["quiet"], topic.EventState{CreatedAt: time.Now().Add(-40 * 24 * time.Hour)})
		w.explain(owner, people, vars)
		w.publish(sent, nil)
		for _, row := range w.ended(sent.ID, vars["id_active"], vars["id_paused"], vars["id_suppressed"], vars["id_gone"]) {
			if row.Status != deliverylog.StatusDelivered {
				t.Fatalf("row %+v", row)
			}
			for state := range states {
				if row.Recipient == vars["id_"+state] {
					vars[state], vars["at_"+state] = row.ID, row.SentAt.UTC().Format("2006-01-02T15:04:05.000Z")
				}
			}
		}
		w.incidents.set(owner, sent.Event.ID, topic.EventState{
			Type: "incident", Published: true, Components: []string{componentID}, Dashboards: map[string][]string{componentID: {dashboardID}},
		})
		for state, now := range states {
			w.peer.set(vars["id_"+state], func(d *topic.Destination) { d.State = now })
		}
		return apitest.Target{
			OpenAPI: documents, URL: s.url, Vars: vars,
			Header: http.Header{passport.Header: {sign(member(owner, passport.RoleSubscriber))}, "Content-Type": {"application/json"}},
		}
	})
}

// explain publishes a change of the event "ruled" that is sent to nobody, and a change of the event "silent" for each
// reason why a change notifies nobody. people knows a phone number for each rule. explain adds the numbers and the events
// to the variables.
func (w *world) explain(owner string, people *integrations, vars map[string]string) {
	w.t.Helper()
	now := time.Now().UTC().Truncate(time.Second)
	ruled := change(newEvent(), 1)
	ruled.Organization, ruled.OccurredAt, ruled.Notify, ruled.Entry = owner, now.Add(-time.Minute), topic.Notify{topic.SMS: {}}, nil
	vars["ruled"], vars["silent"] = ruled.Event.ID, newEvent()
	w.publish(ruled, nil)
	for i, silence := range []topic.Silence{
		topic.SilentRequest, topic.SilentDraft, topic.SilentBackdated, topic.SilentLegacy, topic.SilentLate, topic.SilentComponents, "",
	} {
		silent := change(vars["silent"], int64(i))
		silent.Organization, silent.OccurredAt, silent.Notify, silent.Silence = owner, now.Add(time.Duration(-i)*time.Minute), nil, silence
		w.publish(silent, nil)
	}
	for i, to := range []struct {
		name    string
		verdict topic.Verdict
		changed time.Time
	}{
		{"missing", topic.Verdict{Rule: topic.RuleNotSubscribed}, now}, {"elsewhere", topic.Verdict{Rule: topic.RuleOtherDashboard}, now},
		{"unconfirmed", topic.Verdict{Rule: topic.RuleUnconfirmed}, now}, {"unverified", topic.Verdict{Rule: topic.RuleUnverified}, now},
		{"halted", topic.Verdict{Rule: topic.RulePaused}, now}, {"longHalted", topic.Verdict{Rule: topic.RulePaused}, now.Add(-time.Hour)},
		{"otherComponent", topic.Verdict{Rule: topic.RuleComponents}, now}, {"otherKind", topic.Verdict{Rule: topic.RuleKind}, now},
		{"otherEndpoint", topic.Verdict{Rule: topic.RuleEndpoint}, now}, {"late", topic.Verdict{CreatedAt: now, ConfirmedAt: now}, now},
		{"lateChosen", topic.Verdict{CreatedAt: now.Add(-time.Hour), ChosenAt: now, ConfirmedAt: now}, now},
		{"lateConfirmed", topic.Verdict{CreatedAt: now.Add(-time.Hour), ChosenAt: now.Add(-time.Hour), ConfirmedAt: now}, now},
		{"changed", topic.Verdict{CreatedAt: now.Add(-time.Hour), ChosenAt: now.Add(-time.Hour), ConfirmedAt: now.Add(-time.Hour)}, now},
	} {
		vars[to.name] = fmt.Sprintf("+4930900000%02d", i)
		people.mu.Lock()
		people.explained[owner+" "+vars[to.name]] = topic.ExplainedRecipient{
			Recipient: topic.Recipient{ID: newEvent(), Destination: to.name}, DashboardID: dashboardID, Missing: to.name == "missing", UpdatedAt: to.changed,
			Suppression: &topic.Suppression{Reason: "bounce", Since: now}, Verdicts: []topic.Verdict{to.verdict},
		}
		people.mu.Unlock()
	}
	a := w.archive()
	defer a.close()
	apitest.Eventually(w.t, "the plans", func() bool {
		planned, err := a.store.Planned(w.t.Context(), owner, vars["ruled"])
		silent, failed := a.store.ChangesOf(w.t.Context(), owner, vars["silent"], 10)
		if err != nil || failed != nil {
			w.t.Fatal(err, failed)
		}
		_, done := planned[topic.SMS]
		return done && len(silent) == 6
	})
}
