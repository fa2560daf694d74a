package main_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

// A page that was moved here keeps its addresses. Of 1,000 imported subscribers exactly the 600 who had confirmed there are
// notified of an incident, by mails that arrive at a mail server.
func TestAMovedPageKeepsItsAddressesAndItsConfirmedSubscribers(t *testing.T) {
	t.Parallel()
	server, env := startMailServer(t)
	_, base := started(t, append(env, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken)...)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin")}
	component := a.component("Checkout", "checkout")
	const host = "status.acme.example"
	send(t, http.MethodPatch, base+"/app/dashboards/"+a.DashboardID, a.app(), map[string]any{"customDomains": []string{host}}).expect(t, http.StatusOK)
	t.Run("aliases", func(t *testing.T) {
		target := apitest.Target{URL: base, // without documents, which do not list the paths of aliases
			Header: http.Header{"Content-Type": {"application/json"}}, Vars: map[string]string{
				"app": a.app(), "dashboard": a.DashboardID, "slug": a.DashboardSlug, "component": component, "host": host,
			}}
		if err := apitest.PlayFile(t.Context(), target, "testdata/aliases_200_308_404.txtar"); err != nil {
			t.Error(err)
		}
	})
	states := []string{"confirmed", "unconfirmed", "confirmed", "quarantined", "confirmed", "confirmed", "unsubscribed", "confirmed", "unconfirmed", "confirmed"}
	var rows []map[string]any
	confirmed := map[string]bool{}
	for i := range 1000 {
		address := fmt.Sprintf("%s-%04d@example.com", states[i%10], i)
		confirmed[address] = states[i%10] == "confirmed"
		rows = append(rows, map[string]any{"email": address, "state": states[i%10], "confirmedAt": "2024-03-01T12:00:00Z"})
	}
	var imported struct{ Results []struct{ Status string } }
	for range 2 { // a repetition changes nothing
		send(t, http.MethodPost, base+"/app/subscribers/email/import", a.app(), map[string]any{"dashboardId": a.DashboardID, "rows": rows}).
			expect(t, http.StatusOK).into(t, &imported)
	}
	counts := map[string]int{}
	for _, result := range imported.Results {
		counts[result.Status]++
	}
	if counts["updated"] != 800 || counts["refused"] != 200 {
		t.Errorf("the results of the repetition are %v", counts)
	}
	event := a.incident(component, map[string]any{"notify": true})
	eventually(t, time.Minute, "the mails of the incident", func() error {
		if all, _ := a.deliveries(event); all.Planned < 600 || all.Planned != all.Delivered+all.Suppressed {
			return fmt.Errorf("%+v", all)
		}
		return nil
	})
	server.read()
	delete(server.accepted, "acme-admin@example.com") // mails about the keys
	for address, mails := range server.accepted {
		if !confirmed[address] || len(mails) != 1 {
			t.Errorf("%s got %d mails", address, len(mails))
		}
	}
	if len(server.accepted) != 600 {
		t.Errorf("%d addresses got a mail", len(server.accepted))
	}
	for address, reason := range a.suppressed("email") {
		state, _, _ := strings.Cut(address, "-")
		if want := map[string]string{"quarantined": "bounce", "unsubscribed": "unsubscribed"}[state]; reason != want {
			t.Errorf("%s is suppressed because of %q", address, reason)
		}
	}
	for address, reason := range map[string]string{"quarantined-0003@example.com": "bounce", "unsubscribed-0006@example.com": "unsubscribed"} {
		for _, message := range a.explains(event, "email", address).Messages {
			for _, result := range message.Results {
				if result.Suppression == nil || result.Suppression.Reason != reason {
					t.Errorf("why %s got no mail: %+v", address, result)
				}
			}
		}
	}
}
