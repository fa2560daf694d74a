package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/receiver"
)

// integrator is a member who keeps endpoints in the console, with their receivers.
type integrator struct {
	*consoleUser
	actor
	process *process
	servers map[string]*receiver.Receiver
	answer  atomic.Int64 // status that the receivers respond with
}

func startIntegrator(t *testing.T) *integrator {
	t.Helper()
	servers, env := startReceivers(t, outboundHosts()...)
	in := &integrator{servers: servers}
	in.answer.Store(http.StatusOK)
	for _, server := range servers {
		server.Answer = func(receiver.Request) int { return int(in.answer.Load()) }
	}
	p, base := started(t, append(env, "DELIVERY_RETRY_SCHEDULE=20ms", "BELLBUOY_OPERATOR_TOKEN="+operatorToken)...)
	ada, of := welcomed(t, p, base)
	in.consoleUser, in.actor, in.process = ada, actor{t, of}, p
	return in
}

// path returns the path of the page below the console.
func (p *consoleUser) path() string { return strings.TrimPrefix(p.at.Path, "/console") }

// sees opens the page again and again until it shows the text.
func (p *consoleUser) sees(path, text string) *consoleUser {
	p.t.Helper()
	eventually(p.t, 30*time.Second, "the page with "+text, func() error {
		if !strings.Contains(p.open(path, http.StatusOK).words(), text) {
			return errors.New(p.words())
		}
		return nil
	})
	return p
}

// link returns the path of the first link to a page whose path has the form.
func (p *consoleUser) link(form string) string {
	p.t.Helper()
	found := regexp.MustCompile(`href="/console(` + form + `)"`).FindStringSubmatch(p.text)
	if found == nil {
		p.t.Fatalf("%s has no link to %s: %s", p.at, form, p.words())
	}
	return found[1]
}

// mailed waits for a mail to the address whose subject or text contains the text.
func (in *integrator) mailed(address, text string) {
	in.actor.t.Helper()
	eventually(in.actor.t, 30*time.Second, "the mail about "+text, func() error {
		for _, mail := range letters(in.actor.t, dataFolder(in.process)) {
			if mail.to == address && strings.Contains(mail.subject+mail.text, text) {
				return nil
			}
		}
		return errors.New("there is none")
	})
}

// create adds an endpoint of the kind in the console. It returns the endpoint with its receiver.
func (in *integrator) create(kind outbound, name string) *hook {
	in.actor.t.Helper()
	list := "/integrations/" + kind.kind
	in.open(list+"/new", http.StatusOK)
	component := in.choice("componentIds", "API")
	h := &hook{actor: in.actor, outbound: kind, server: in.servers[kind.host], component: component, url: kind.at(name)}
	in.fill(list+"/new", typed("url", h.url, "managementEmail", name+"@example.com", "componentIds", component), http.StatusOK)
	if kind.kind == "webhook" {
		in.expect(list+"/new", "Copy the secret now.", "webhook-signature")
		h.key = in.byID("secret")
		in.open(in.link(list+`/[0-9a-f]{64}/[0-9a-f-]{36}`), http.StatusOK)
	}
	h.hash = strings.Split(in.path(), "/")[3]
	in.expect(in.path(), "Gets messages", "Nothing was sent in the last 30 days.")
	return h
}

// A webhook from its creation to its deletion, without script: it is tested, fails, is alerted and suppressed, and works again.
func TestAMemberFollowsAWebhookThroughFailureAndSuppressionWithoutScript(t *testing.T) {
	t.Parallel()
	in := startIntegrator(t)
	list := "/integrations/webhook"
	in.open(list, http.StatusOK).expect(list, "No program gets webhooks yet.", "0 of 25")
	in.open(list+"/new", http.StatusOK).fill(list+"/new", typed("url", "http://127.0.0.1/", "managementEmail", "ops"), http.StatusUnprocessableEntity).expect(list+"/new", "There is a problem", "URL")
	h := in.create(outbounds()[0], "ops")
	at := in.path()

	in.fill(at+"/test", nil, http.StatusOK).expect(at)
	test := in.path() + "?" + in.at.RawQuery
	request := h.got("endpoint.test", 1)[0]
	if err := request.Verify(h.key); err != nil {
		t.Errorf("the secret that the page shows does not verify the test: %v", err)
	}
	in.verifies(h.key, request)
	in.sees(test, "The test message has arrived.")
	in.open(in.link(`/deliveries/webhook/[^"?]+`), http.StatusOK).expect(in.path(), "Endpoint test", "Delivered")

	h.tell("It works")
	h.got("It works", 1)
	in.sees(at, "Incident created")

	in.answer.Store(http.StatusInternalServerError)
	for n := range 5 {
		h.tell(fmt.Sprintf("Failure %d.", n))
	}
	in.sees(at, "5 in a row did not arrive.").expect(at, "Messages fail since", "The receiver has an error.", "500")
	in.open("/", http.StatusOK).expect("/", "Failing endpoints")
	in.open(in.link(list+`/[0-9a-f]{64}/[0-9a-f-]{36}`), http.StatusOK).expect(at, "Messages fail")
	in.open(list+"?state=failing", http.StatusOK).expect(list, "5 in a row", "Failing")
	in.mailed("ops@example.com", "5")
	for n := range 5 {
		h.tell(fmt.Sprintf("Failure %d.", 5+n))
	}
	in.sees(at, "The URL is suppressed. 10 messages in a row did not arrive.")
	in.open(list+"/suppression", http.StatusOK).expect(list+"/suppression", "10 messages in a row did not arrive, last status 500: The receiver has an error.")
	in.answer.Store(http.StatusOK)
	kept := h.tell("Kept back")
	in.sees("/deliveries/webhook?event="+kept, "The recipient is suppressed")
	clearing := list + "/" + h.hash + "/clear"
	in.open(clearing, http.StatusOK).expect(clearing, "failures count from 0")
	in.fill(clearing, nil, http.StatusOK).expect(at, "has ended.", "Gets messages")
	in.open(clearing, http.StatusOK).expect(at, "is not suppressed any more.")

	in.open("/deliveries/webhook?event="+kept, http.StatusOK)
	log := in.link(`/deliveries/webhook/[^"?]+`)
	in.open(log+"/replay", http.StatusOK).fill(log+"/replay", nil, http.StatusOK)
	h.got("Kept back", 1)
	in.sees(at, "Incident created")

	in.answer.Store(http.StatusGone)
	h.tell("Gone")
	in.sees(at, "The URL is suppressed. The receiver says that the address no longer exists.")
	in.open(at+"/delete", http.StatusOK).fill(at+"/delete", nil, http.StatusOK).expect(list, "is deleted.", "0 of 25")
	in.open(at, http.StatusNotFound)
	in.open(list+"/"+h.hash, http.StatusNotFound)
	in.open(list+"/"+strings.Repeat("0", 64)+"/"+h.DashboardID, http.StatusNotFound)
	in.open(list+"/x/y", http.StatusNotFound)
}

// verifies runs the program of the page with the request, and with a changed body.
func (in *integrator) verifies(secret string, request receiver.Request) {
	in.actor.t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil { // the program is for the receiver's machine
		in.actor.t.Log("there is no Python here; the program is not run")
		return
	}
	run := in.byID("verify") + fmt.Sprintf(`
import sys
body = sys.stdin.buffer.read()
headers = {"webhook-id": %q, "webhook-timestamp": %q, "webhook-signature": %q}
print(is_from_bellbuoy(%q, headers, body), is_from_bellbuoy(%q, headers, body + b" "), is_from_bellbuoy(%q, headers | {"webhook-timestamp": "1"}, body))
`, request.ID(), request.Header.Get("webhook-timestamp"), request.Header.Get("webhook-signature"), secret, secret, secret)
	command := exec.CommandContext(in.actor.t.Context(), python, "-c", run)
	command.Stdin = bytes.NewReader(request.Body)
	if out, err := command.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "True False False" {
		in.actor.t.Errorf("the program of the page prints %s: %v", out, err)
	}
}

// Settings of endpoints of every kind: pause, lock, another secret, another URL, a conflict, the limit of the plan.
func TestAMemberKeepsEndpointsOfEveryKindWithoutScript(t *testing.T) {
	t.Parallel()
	in := startIntegrator(t)
	for _, kind := range outbounds() {
		h := in.create(kind, "first")
		list, at := "/integrations/"+kind.kind, in.path()
		in.fill(at+"/pause", nil, http.StatusOK).expect(at, "gets no messages until you resume.", "Messages are paused.")
		in.fill(at+"/lock", nil, http.StatusOK).expect(at, "is locked.", "Unlock")
		in.open(list+"?state=paused", http.StatusOK).expect(list, "Paused", "Locked", "1 of 25")
		in.open(at, http.StatusOK).fill(at+"/resume", nil, http.StatusOK).expect(at, "gets messages again.")
		in.fill(at+"/unlock", nil, http.StatusOK)
		in.fill(at+"/test", nil, http.StatusOK)
		test := in.path() + "?" + in.at.RawQuery
		in.sees(test, "The test message has arrived.")
		h.got("", 1)
		if kind.kind == "webhook" {
			in.open(at+"/secret", http.StatusOK).fill(at+"/secret", nil, http.StatusOK).expect(at+"/secret", "The former secret still signs for 24 hours")
			second := in.byID("secret")
			h.tell("Two secrets")
			for _, secret := range []string{h.key, second} {
				if err := h.got("Two secrets", 1)[0].Verify(secret); err != nil {
					t.Errorf("a secret does not verify: %v", err)
				}
			}
		}

		// A colleague has changed the contact since the form was opened.
		in.open(at, http.StatusOK)
		h.patch(map[string]any{"managementEmail": "colleague@example.com"})
		in.fill(at, typed("managementEmail", "mine@example.com"), http.StatusConflict).expect(at, "Keep mine", "colleague@example.com", "mine@example.com")
		in.fill(at, nil, http.StatusOK).expect(at, "Saved.")
		in.fill(at, typed("url", kind.at("second")), http.StatusOK)
		moved := in.path()
		if in.expect(moved, "Saved.", "Gets messages"); moved == at {
			t.Error("the endpoint has the same hash with another URL")
		}
		in.open(at, http.StatusNotFound)

		send(t, http.MethodPatch, in.BaseURL+"/operator/v1/organizations/"+in.OrganizationID, in.operator(), map[string]any{"limits": map[string]any{"uniqueEndpoints": 1}}).expect(t, http.StatusOK)
		in.open(list, http.StatusOK).expect(list, "allows 1 URL of this kind, which is in use")
		in.open(list+"/new", http.StatusOK).fill(list+"/new", typed("url", kind.at("third"), "managementEmail", "ops@example.com"), http.StatusUnprocessableEntity)
		if in.expect(list+"/new", "Your organization may have 1 unique endpoint of this kind"); !strings.Contains(in.text, `id="url-problem"`) {
			t.Errorf("the limit is not at its field: %s", in.words())
		}
		send(t, http.MethodPatch, in.BaseURL+"/operator/v1/organizations/"+in.OrganizationID, in.operator(), map[string]any{"limits": map[string]any{"uniqueEndpoints": nil}}).expect(t, http.StatusOK)
		in.open(list+"/new", http.StatusOK).fill(list+"/new", typed("url", kind.at("second"), "managementEmail", "ops@example.com"), http.StatusUnprocessableEntity).expect(list+"/new", "already")
	}
}

// A monitoring tool gets a key of its own. The command that the page shows makes an event.
func TestTheCommandOfANewSigningKeyMakesAnEvent(t *testing.T) {
	t.Parallel()
	ada, _, _ := member(t)
	ada.open("/inbound", http.StatusOK).expect("/inbound", "There is no key yet.")
	ada.fill("/inbound", typed("name", ""), http.StatusUnprocessableEntity).expect("/inbound", "Enter the name.")
	ada.fill("/inbound", typed("name", "Alertmanager", "severity", "major_outage"), http.StatusOK).expect("/inbound", "Copy the secret now.")
	command := ada.byID("command")
	run := func() string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "bash", "-c", command+` -w ' %{http_code}'`).CombinedOutput()
		if err != nil {
			t.Fatalf("the command needs bash, openssl and curl: %v %s", err, out)
		}
		return string(out)
	}
	if out := run(); !strings.Contains(out, `"result":"created"`) {
		t.Fatalf("the command prints %s", out)
	}
	ada.open("/inbound/arrivals", http.StatusOK).expect("/inbound/arrivals", "New event", "Trigger command-line", "Alertmanager", "Status 200")
	ada.open(ada.link(`/events/[0-9a-f-]{36}`), http.StatusOK).expect(ada.path(), "A test from the command line", "Draft")
	ada.open("/inbound", http.StatusOK)
	if ada.expect("/inbound", "Alertmanager", "Publishes, notifies, Down"); strings.Contains(ada.text, "whsec_") {
		t.Error("the secret is shown again")
	}
	revoke := ada.link(`/inbound/[0-9a-f-]{36}/revoke`)
	ada.open(revoke, http.StatusOK).fill(revoke, nil, http.StatusOK).expect("/inbound", "The key is revoked.", "Revoked")
	ada.open(revoke, http.StatusOK).expect("/inbound", "was revoked before.")
	if out := run(); !strings.Contains(out, " 403") {
		t.Errorf("a revoked key is not refused: %s", out)
	}
	ada.sees("/inbound/arrivals", "Refused").expect("/inbound/arrivals", "Status 403")
}
