package main_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

// signingDoor is a proxy in front of the platform that signs requests like the library of a monitoring tool. If the
// webhook-signature of a request is a secret, it replaces it by the signature and sets the present time.
func signingDoor(t *testing.T, base string) string {
	t.Helper()
	target, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	door := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		secret := r.In.Header.Get("webhook-signature")
		if !strings.HasPrefix(secret, "whsec_") {
			return
		}
		body, err := io.ReadAll(r.In.Body)
		r.Out.Body = io.NopCloser(bytes.NewReader(body))
		timestamp, signature, signErr := sign(secret, r.In.Header.Get("webhook-id"), time.Now(), body)
		if err != nil || signErr != nil {
			t.Errorf("signing: %v %v", err, signErr)
		}
		r.Out.Header.Set("webhook-timestamp", timestamp)
		r.Out.Header.Set("webhook-signature", signature)
	}})
	t.Cleanup(door.Close)
	return door.URL
}

// sign returns the headers of a message that is signed at this time, as the library of Standard Webhooks creates them.
func sign(secret, id string, at time.Time, body []byte) (timestamp, signature string, err error) {
	signer, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return "", "", err
	}
	signature, err = signer.Sign(id, at, body)
	return strconv.FormatInt(at.Unix(), 10), signature, err
}

// signingKey creates a signing key.
func (a actor) signingKey(name string) (id, secret string) {
	a.t.Helper()
	var made struct {
		Key struct{ KeyID, Secret string }
	}
	send(a.t, http.MethodPost, a.BaseURL+"/app/integrations/webhooks/inbound/keys", a.app(), map[string]any{"name": name}).
		expect(a.t, http.StatusCreated).into(a.t, &made)
	return made.Key.KeyID, made.Key.Secret
}

// component creates a component with an external reference.
func (a actor) component(name, ref string) string {
	a.t.Helper()
	var made struct{ Component struct{ ID string } }
	send(a.t, http.MethodPost, a.BaseURL+"/app/components", a.app(), map[string]any{"name": name, "externalRefs": []string{ref}}).
		expect(a.t, http.StatusCreated).into(a.t, &made)
	return made.Component.ID
}

// TestInboundScriptsPass runs scripts with the requests of a monitoring tool. Each script has an organization with the
// component "checkout" and a signing key.
func TestInboundScriptsPass(t *testing.T) {
	t.Parallel()
	base := commonBase(t)
	door := signingDoor(t, base)
	documents := apitest.ReadOpenAPI(t, "../../gateway/openapi")
	scripts, err := filepath.Glob("testdata/inbound_*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for i, script := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(script), ".txtar"), func(t *testing.T) {
			ours := actor{t, provision(t, base, "Acme", fmt.Sprintf("ann-%d", i), "admin", "api")}
			component := ours.component("Checkout", "checkout")
			other := ours.component("Search", "search")
			key, signing := ours.signingKey("Alertmanager")
			target := apitest.Target{OpenAPI: documents, URL: door, Header: http.Header{
				"Content-Type": {"application/json"}, "Webhook-Key-Id": {key}, "Webhook-Timestamp": {"now"}, "Webhook-Signature": {signing},
			}, Vars: map[string]string{
				"app": ours.app(), "operator": ours.operator(), "organization": ours.OrganizationID, "checkout": component, "search": other, "key": key,
				"secret": signing, "legacy": ours.legacy(),
			}}
			if err := apitest.PlayFile(t.Context(), target, script); err != nil {
				t.Fatal(err)
			}
		})
	}
	t.Run("attacks", func(t *testing.T) { inboundAttacks(t, base) })
}

// The audit entries that inbound messages leave contain the signing key.
func TestInboundMessagesLeaveAuditEntriesOfTheirKey(t *testing.T) {
	t.Parallel()
	p, base := started(t)
	a := actor{t, seeded(t, p)}
	a.component("Checkout", "checkout")
	key, signing := a.signingKey("Alertmanager")
	door := signingDoor(t, base)
	post := func(id, body string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, door+"/public/webhooks/inbound", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{
			"Content-Type": "application/json", "webhook-key-id": key, "webhook-id": id, "webhook-signature": signing, "X-Request-Id": "request-" + id,
		} {
			request.Header.Set(name, value)
		}
		exchange(t, request).expect(t, http.StatusOK)
	}
	messages := []struct{ id, body, action string }{
		{"1", `{"action": "trigger", "externalId": "p", "title": "Down", "components": ["checkout"]}`, "event.create"},
		{"1", `{"action": "trigger", "externalId": "p", "title": "Down", "components": ["checkout"]}`, ""},
		{"2", `{"action": "trigger", "externalId": "p", "title": "Down", "components": ["checkout"]}`, ""},
		{"3", `{"action": "trigger", "externalId": "p", "title": "Down", "components": ["checkout"], "severity": "minor_outage"}`, "event.update"},
		{"4", `{"action": "update", "externalId": "p", "message": "We look into it."}`, "event.timeline.create"},
		{"5", `{"action": "resolve", "externalId": "p"}`, "event.timeline.create"},
		{"6", `{"action": "trigger", "externalId": "p", "title": "Down", "components": ["checkout"]}`, "event.reopen"},
	}
	var want []string // newest first
	for _, message := range messages {
		post(message.id, message.body)
		if message.action != "" {
			want = append([]string{message.action + " request-" + message.id}, want...)
		}
	}
	eventually(t, 30*time.Second, "the audit entries", func() error {
		entries, err := auditLog(base, a.app(), "actorId="+key)
		var got []string
		for _, entry := range entries {
			got = append(got, entry.Action+" "+entry.RequestID)
			if entry.Actor.Type != "inbound_key" || entry.Actor.KeyID != key || entry.Surface != "inbound" || entry.IP != "127.0.0.1" {
				t.Fatalf("an entry is %s", entry.text)
			}
		}
		if err == nil && strings.Join(got, ", ") != strings.Join(want, ", ") {
			err = fmt.Errorf("the entries are %v, want %v", got, want)
		}
		return err
	})
}
