package pages

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestASigningKeyIsCreatedAndRevoked(t *testing.T) {
	b := open(t, "Alertmanager")
	b.expect(b.get("/console/inbound"), http.StatusOK, "Alertmanager", "Publishes, notifies nobody", "Silent", "Revoked", `name="publish" value="on" checked`, "https://status.example.com/public/webhooks/inbound", "/console/inbound/"+other+"/revoke")
	b.expect(b.post("/console/inbound", "name", "", "severity", "", "openAfter", "0s", "resolveAfter", "0s", "minSources", "1", "expectEvery", "", "managementEmail", ""), http.StatusUnprocessableEntity, "Enter the name.")
	got := b.post("/console/inbound", "name", "Alertmanager", "publish", "on", "bearer", "on", "severity", "major_outage", "openAfter", "2m", "resolveAfter", "0s", "minSources", "2", "expectEvery", "", "managementEmail", "")
	if b.expect(got, http.StatusOK, "whsec_c2VjcmV0", "shown only this once", "webhook-key-id: "+other, "inbound/uptime-kuma", other+":whsec_c2VjcmV0", "openssl"); got.header.Get("Content-Encoding") != "" {
		t.Error("the page with the secret is compressed")
	}
	if body := b.app.body("POST /app/integrations/webhooks/inbound/keys"); body != `{"name":"Alertmanager","defaults":{"publish":true,"notify":false,"severity":"major_outage"},"bearer":true,"openAfter":"2m","resolveAfter":"0s","minSources":2,"expectEvery":null,"managementEmail":null}` {
		t.Error(body)
	}
	b.post("/console/inbound", "name", "Alertmanager", "severity", "", "openAfter", "0s", "resolveAfter", "0s", "minSources", "1", "expectEvery", "", "managementEmail", "")
	if body := b.app.body("POST /app/integrations/webhooks/inbound/keys"); !strings.Contains(body, `"severity":null`) {
		t.Error(body)
	}
	b.app.answer("POST /app/integrations/webhooks/inbound/keys", answer{409, `{"error": "An organization may have 20 active keys."}`, false})
	b.expect(b.post("/console/inbound", "name", "Alertmanager", "severity", "", "openAfter", "0s", "resolveAfter", "0s", "minSources", "1", "expectEvery", "", "managementEmail", ""), http.StatusUnprocessableEntity, "An organization may have 20 active keys.", `value="Alertmanager"`)
	b.expect(b.get("/console/inbound/"+other+"/revoke"), http.StatusOK, "Revoke “Alertmanager”?", "The next message with the key is refused.")
	b.expect(b.get("/console/inbound/"+member+"/revoke"), http.StatusSeeOther)
	b.expect(b.get("/console/inbound/"+session+"/revoke"), http.StatusNotFound)
	if got := b.send(post, "/console/inbound/"+other+"/revoke", url.Values{}); got.header.Get("Location") != "/console/inbound" {
		t.Errorf("%d to %s", got.status, got.header.Get("Location"))
	}
}

func TestASigningKeyIsChanged(t *testing.T) {
	b := open(t, "Alertmanager")
	at := "/console/inbound/" + other
	b.expect(b.get(at), http.StatusOK, `value="Alertmanager"`, `name="publish" value="on" checked`, "After 1 minute 30 seconds", `value="2" selected>2 sources`, `data-cancel href="/console/inbound"`)
	b.expect(b.get("/console/inbound"), http.StatusOK, "opens after 1 minute 30 seconds")
	if got := b.post(at, "name", "Gatus", "severity", "", "openAfter", "1m30s", "resolveAfter", "5m", "minSources", "3", "expectEvery", "1h", "managementEmail", "ops@example.com"); got.header.Get("Location") != "/console/inbound" {
		t.Errorf("%d to %s", got.status, got.header.Get("Location"))
	}
	if body := b.app.body("PATCH /app/integrations/webhooks/inbound/keys/" + other); body != `{"name":"Gatus","defaults":{"publish":false,"notify":false,"severity":null},"bearer":false,"openAfter":"1m30s","resolveAfter":"5m","minSources":3,"expectEvery":"1h","managementEmail":"ops@example.com"}` {
		t.Error(body)
	}
	b.expect(b.post(at, "name", "", "severity", "", "openAfter", "0s", "resolveAfter", "0s", "minSources", "1", "expectEvery", "", "managementEmail", ""), http.StatusUnprocessableEntity, "Enter the name.")
	b.expect(b.get("/console/inbound/"+member), http.StatusNotFound) // revoked
	version := versionIn(b.get(at).text)
	b.app.answer("GET /app/integrations/webhooks/inbound/keys", answer{200, `{"keys": [{"keyId": "` + other + `", "name": "Zabbix", "openAfter": "0s", "resolveAfter": "0s", "minSources": 1}]}`, false})
	got := b.post(at, "name", "Gatus", "severity", "", "openAfter", "0s", "resolveAfter", "0s", "minSources", "1", "expectEvery", "", "managementEmail", "", "version", version)
	b.expect(got, http.StatusConflict, "Keep mine", "Take theirs", "<bdi>Gatus</bdi>", "<bdi>Zabbix</bdi>")
}

func TestProblemsShowWhatWaits(t *testing.T) {
	b := open(t, "disk is full")
	b.expect(b.get("/console/inbound/problems?after=x"), http.StatusOK, "Opens soon", "Due ", "disk is full", "/console/events/"+other, "after=next%26token")
	b.app.change(func(s *service) { s.empty = true })
	b.expect(b.get("/console/inbound/problems"), http.StatusOK, "No tool reports a problem.")
}

func TestArrivalsShowWhatBecameOfAMessage(t *testing.T) {
	b := open(t, "disk is full")
	b.expect(b.get("/console/inbound/arrivals?after=x"), http.StatusOK, "New event", "/console/events/"+other, "Trigger", "Refused", "gatus", "frankfurt", "Status 403", "192.0.2.1", "after=next%26token")
	b.app.answer("GET /app/integrations/webhooks/inbound/keys", answer{503, `{}`, false})
	b.expect(b.get("/console/inbound/arrivals"), http.StatusOK, "New event")
	b.app.change(func(s *service) { s.empty = true })
	b.expect(b.get("/console/inbound/arrivals"), http.StatusOK, "Nothing has arrived in the last 30 days.")
	b.member.Features.Integrations = false
	b.expect(b.get("/console/inbound"), http.StatusForbidden, "does not include integrations")
	got := b.get("/console/inbound/arrivals")
	if b.expect(got, http.StatusOK, `href="/console/inbound/arrivals" aria-current="page"`); strings.Contains(got.text, `href="/console/inbound"`) {
		t.Error("the page offers what the plan excludes")
	}
}

func TestTheListOfArrivalsHasItsFilterInTheAddress(t *testing.T) {
	b := open(t, "disk is full")
	b.app.answer("GET /app/integrations/webhooks/inbound/keys", answer{200, `{"keys": [{"keyId": "` + other + `", "name": "Prometheus"}, {"keyId": "` + member + `", "name": "Gatus"}], "nextToken": null}`, false})
	b.expect(b.get("/console/inbound/arrivals?result=refused&keyId="+other+"&after=x"), http.StatusOK,
		`value="refused" selected`, `value="`+other+`" selected`, "Prometheus", "result=refused", "after=next%26token")
	want := "keyId=" + other + "&limit=50&nextToken=x&result=refused"
	if sent := b.app.queries("GET /app/integrations/webhooks/inbound/logs"); !slices.Equal(sent, []string{want}) {
		t.Error(sent)
	}
	b.app.answer("GET /app/integrations/webhooks/inbound/logs", answer{400, `{"error": "result: must be one of created, updated"}`, false})
	b.expect(b.get("/console/inbound/arrivals?result=x"), http.StatusUnprocessableEntity, "must be one of created, updated")
	b.app.answer("GET /app/integrations/webhooks/inbound/logs", answer{200, `{"logs": [], "nextToken": null}`, false})
	b.expect(b.get("/console/inbound/arrivals?result=created"), http.StatusOK, "No message matches.", "Show all messages")
}

func TestTheTimeInTheReasonOfAnArrivalIsShownAsATime(t *testing.T) {
	b := open(t, "disk is full")
	b.app.answer("GET /app/integrations/webhooks/inbound/logs", answer{200, `{"logs": [{"logId": "` + other + `", "receivedAt": "2026-01-31T09:30:00.000Z", "keyId": "` + other + `", "result": "waiting", "httpStatus": 200,
		"error": "The event opens at 2026-01-31T09:32:00Z unless the problem is over."}]}`, false})
	if got := b.get("/console/inbound/arrivals"); !strings.Contains(got.text, `<bdi>The event opens at <time datetime="2026-01-31T09:32:00Z"`) || !strings.Contains(got.text, `</time> unless the problem is over.</bdi>`) {
		t.Error("the time of a reason is not shown as a time")
	}
}
