package pages

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
)

const (
	webhooks = "/console/integrations/webhook"
	oneHook  = webhooks + "/" + other + "/" + other
	hookCall = "/app/integrations/webhooks/outbound/endpoints"
)

func TestTheListOfEndpointsHasItsFilterInTheAddress(t *testing.T) {
	b := open(t, "hooks.example.com")
	got := b.get(webhooks + "?state=paused&dashboard=" + other + "&after=x")
	b.expect(got, http.StatusOK, "3 of 25", `href="/console/integrations/webhook?dashboard=`+other+`&amp;state=suppressed"`, `aria-current="true"><b class="num m">0</b>`, "Not verified", "Locked", "Suppressed",
		"after=next%26token", webhooks+"/new?dashboard="+other, oneHook, `aria-current="page">Webhooks`, ">Teams<", ">Google Chat<")
	if sent := b.app.queries("GET " + hookCall); !slices.Equal(sent, []string{"dashboardId=" + other + "&limit=50&nextToken=x&state=paused"}) {
		t.Error(sent)
	}
	b.app.answer("GET /app/integrations/counts", answer{503, `{}`, false})
	b.app.answer("GET /app/dashboards", answer{503, `{}`, false})
	b.expect(b.get(webhooks), http.StatusOK, "The numbers cannot be shown right now.", "hooks.example.com")
	b.app.change(func(s *service) { s.empty = true })
	b.expect(b.get(webhooks), http.StatusOK, "No program gets webhooks yet.")
	b.expect(b.get("/console/integrations/teams?state=failing"), http.StatusOK, "No endpoint matches.", "Show all endpoints")
	b.app.change(func(s *service) { s.empty = false })
	if got := b.get(webhooks + "?state=x"); strings.Contains(got.text, oneHook+`"`) {
		t.Error("a list of a wrong state has rows")
	} else {
		b.expect(got, http.StatusUnprocessableEntity, noSuchState, "No endpoint matches.")
	}
	b.app.answer("GET "+hookCall, answer{400, `{"error": "dashboardId: must be a UUID."}`, false})
	b.expect(b.get(webhooks+"?dashboard=x"), http.StatusNotFound)
	b.app.answer("GET "+hookCall, answer{200, `{"endpoints": [], "usage": {"uniqueEndpoints": 25, "limit": 25}}`, false})
	b.expect(b.get(webhooks), http.StatusOK, "allows 25 URLs of this kind, which are all in use")
}

func TestTheIntegrationsHaveAPageForEachKind(t *testing.T) {
	b := open(t, "hooks.example.com")
	for _, channel := range app.EndpointKinds() {
		b.expect(b.get("/console/integrations/"+string(channel)), http.StatusOK, `href="/console/integrations/`+string(channel)+`" aria-current="page"`)
		words := wordsOfKind(channel)
		if slices.Contains([]string{words.Label, words.Add, words.Lede, words.Hint, words.None}, "") {
			t.Errorf("wordsOfKind lacks words for %s: %+v", channel, words)
		}
	}
}

func TestAPlanWithoutIntegrationsHasOnlyTheSuppressions(t *testing.T) {
	b := open(t, "hooks.example.com")
	b.member.Features.Integrations = false
	b.expect(b.get(webhooks), http.StatusForbidden, "The plan of your organization does not include integrations.")
	b.expect(b.post(oneHook+"/pause"), http.StatusForbidden, "does not include integrations")
	if got := b.get("/console/"); strings.Contains(got.text, webhooks) {
		t.Error("the navigation shows what the plan excludes")
	}
	got := b.get(webhooks + "/suppression")
	b.expect(got, http.StatusOK, "hooks.example.com", "10 messages in a row did not arrive, last status 500")
	if strings.Contains(got.text, "/clear") {
		t.Error("the page offers what the plan excludes")
	}
}

func TestAWebhookIsCreatedAndItsSecretIsShownOnce(t *testing.T) {
	b := open(t, "Checkout")
	got := b.get(webhooks + "/new?dashboard=" + other)
	b.expect(got, http.StatusOK, `name="componentIds" value="`+member+`" checked`, `value="incident.post_mortem_published" checked`, `action="/console/integrations/webhook/new?dashboard=`+other+`&amp;once=`,
		`type="radio" id="format-0" name="format" value="bellbuoy" checked`, "Mattermost", `<option dir="auto" value="usual" selected>As usual for the format`)
	at := webhooks + "/new?dashboard=" + other
	fields := []string{"url", "https://hooks.example.com/x", "managementEmail", "ops@example.com", "locked", "on"}
	b.expect(b.post(at, fields...), http.StatusUnprocessableEntity, "Choose a component.", "Choose a kind of messages.", `value="https://hooks.example.com/x"`)
	some := append(slices.Clone(fields), "componentIds", other, "eventKinds", "incident.created")
	made := b.post(at, some...)
	if b.expect(made, http.StatusOK, "whsec_secret", "shown only this once", "webhook-signature", oneHook); made.header.Get("Content-Encoding") != "" {
		t.Error("the page with the secret is compressed")
	}
	if body := b.app.body("POST " + hookCall); body != `{"dashboardId":"`+other+`","url":"https://hooks.example.com/x","managementEmail":"ops@example.com","componentIds":["`+other+`"],"locked":true,"eventKinds":["incident.created"]}` {
		t.Error(body)
	}
	for _, form := range [][]string{
		{"format", "slack", "minIntervalMs", "usual", `,"format":"slack"}`}, {"format", "bellbuoy", "minIntervalMs", "5000", `,"format":"bellbuoy","minIntervalMs":5000}`},
	} {
		b.post(at, append(slices.Clone(some), form[:4]...)...)
		if body := b.app.body("POST " + hookCall); !strings.HasSuffix(body, form[4]) {
			t.Error(body)
		}
	}
	b.expect(b.post(at, append(slices.Clone(some), "format", "discord", "minIntervalMs", "7")...), http.StatusUnprocessableEntity, `href="#format-0"`, `href="#minIntervalMs"`, "Choose one of the options.")
	all := append(slices.Clone(fields), "componentIds", other)
	for _, kind := range messageKinds() {
		all = append(all, "eventKinds", kind)
	}
	b.post(at, all...)
	if body := b.app.body("POST " + hookCall); strings.Contains(body, "eventKinds") {
		t.Errorf("all kinds include future ones: %s", body)
	}
	for _, refusal := range []answer{
		{403, `{"error": "Your organization may have 25 unique endpoints of this kind. Delete one first."}`, false}, {409, `{"error": "The dashboard already has this endpoint."}`, false}, {400, `{"error": "url: must begin with https."}`, false},
	} {
		b.app.answer("POST "+hookCall, refusal)
		got := b.post(at, some...)
		b.expect(got, http.StatusUnprocessableEntity, `href="#url"`, `id="url-problem"`, `value="ops@example.com"`)
	}
	chat := b.post("/console/integrations/gchat/new", "url", "https://chat.example.com/x", "managementEmail", "ops@example.com", "componentIds", other)
	b.app.answer("POST /app/integrations/gchat/endpoints", answer{200, `{"endpoint": {"urlHash": "` + other + `", "dashboardId": "` + other + `", "urlDisplay": "chat.example.com"}}`, false})
	chat = b.post("/console/integrations/gchat/new", "url", "https://chat.example.com/x", "managementEmail", "ops@example.com", "componentIds", other)
	if chat.status != http.StatusSeeOther || strings.Contains(b.app.body("POST /app/integrations/gchat/endpoints"), "eventKinds") {
		t.Errorf("%d after %s", chat.status, b.app.body("POST /app/integrations/gchat/endpoints"))
	}
	b.app.change(func(s *service) { s.empty = true })
	b.expect(b.get(webhooks+"/new"), http.StatusOK, "There is no dashboard yet.")
}

func TestAnEndpointSaysWhyItGetsNoMessages(t *testing.T) {
	b := open(t, "hooks.example.com")
	b.expect(b.get(oneHook), http.StatusOK, "Gets no messages", "The URL is suppressed. 10 messages in a row did not arrive.", "A visitor has added the endpoint", "Messages are paused.", "Unlock", "Resume",
		webhooks+"/"+other+"/clear", "Last status", "500", webhooks+"/"+other+"/"+member, "/console/deliveries/webhook?endpoint="+other)
	row := func(members string) {
		b.app.answer("GET "+hookCall, answer{200, `{"endpoints": [{"version": 3, "dashboardId": "` + other + `", "dashboardName": "Acme", "urlHash": "` + other + `", "urlDisplay": "hooks.example.com", "verified": true, "componentIds": ["x"], ` + members + `}]}`, false})
	}
	row(`"consecutiveFailures": 3, "firstFailureAt": "2026-01-31T09:30:00.000Z"`)
	got := b.get(oneHook)
	if b.expect(got, http.StatusOK, "Messages fail since", "3 in a row did not arrive.", "Send a test message"); strings.Contains(got.text, "/clear") || strings.Contains(got.text, "Same URL") {
		t.Errorf("the page offers what is done: %s", got.text)
	}
	row(`"consecutiveFailures": 0`)
	b.expect(b.get(oneHook), http.StatusOK, "Gets messages", "About 1 component of")
	for _, at := range []string{"GET /app/dashboards/" + other, "GET /app/notifications/webhook/logs", "GET /app/integrations/webhooks/outbound/suppression"} {
		b.app.answer(at, answer{503, `{}`, false})
	}
	b.expect(b.get(oneHook), http.StatusOK, "The dashboard cannot be shown right now.", "The messages cannot be shown right now.", "Pause")
	b.expect(b.post(oneHook, "managementEmail", "a@example.com", "version", "3"), http.StatusServiceUnavailable)
	b.app.answer("GET "+hookCall, answer{400, `{"error": "urlHash: must be a SHA-256."}`, false})
	b.expect(b.get(oneHook), http.StatusNotFound)
	b.expect(b.get(webhooks+"/x"), http.StatusNotFound)
}

func TestAURLOfSeveralDashboardsShowsItsEndpoints(t *testing.T) {
	b := open(t, "hooks.example.com")
	b.expect(b.get(webhooks+"/"+other), http.StatusOK, "This URL has an endpoint on 2 dashboards.", oneHook, webhooks+"/"+other+"/"+member)
	b.app.answer("GET "+hookCall, answer{200, `{"endpoints": [{"dashboardId": "` + other + `", "urlHash": "` + other + `"}]}`, false})
	if got := b.get(webhooks + "/" + other); got.header.Get("Location") != oneHook {
		t.Errorf("%d to %s", got.status, got.header.Get("Location"))
	}
	b.app.change(func(s *service) { s.empty = true })
	b.app.forget("GET " + hookCall)
	b.expect(b.get(webhooks+"/"+other), http.StatusNotFound)
}

func TestAComponentThatLeftTheDashboardStaysWithTheEndpoint(t *testing.T) {
	b := open(t, "hooks.example.com")
	dashboard := "GET /app/dashboards/" + other
	b.app.answer(dashboard, answer{200, strings.ReplaceAll(b.app.usual(dashboard), `"componentId": "`+other+`"`, `"componentId": "`+member+`"`), false})
	b.expect(b.get(oneHook), http.StatusOK, "One more component of the endpoint is not on the dashboard now.")
	fields := []string{"url", "", "managementEmail", "new@example.com", "eventKinds", "incident.resolved", "eventKinds", "incident.created", "version", "3"}
	b.expect(b.post(oneHook, fields...), http.StatusSeeOther)
	if body := b.app.body("PATCH " + hookCall); strings.Contains(body, "componentIds") || !strings.Contains(body, "new@example.com") {
		t.Error(body)
	}
	b.expect(b.post(oneHook, append(fields, "componentIds", member)...), http.StatusSeeOther)
	if body := b.app.body("PATCH " + hookCall); !strings.Contains(body, `"componentIds":["`+member+`"]`) {
		t.Error(body)
	}
}

func TestAnEndpointIsChangedByItsFormAndByButtons(t *testing.T) {
	b := open(t, "hooks.example.com")
	target := `{"dashboardId":"` + other + `","urlHash":"` + other + `"`
	for _, row := range []struct{ path, body string }{
		{"/pause", `,"paused":true}`}, {"/resume", `,"paused":false}`}, {"/lock", `,"locked":true}`}, {"/unlock", `,"locked":false}`},
	} {
		b.expect(b.send(post, oneHook+row.path, url.Values{}), http.StatusSeeOther)
		if body := b.app.body("PATCH " + hookCall); body != target+row.body {
			t.Errorf("%s: %s", row.path, body)
		}
		b.expect(b.get(oneHook), http.StatusOK, `role="status"`)
	}
	fields := []string{"url", "", "managementEmail", "ops@example.com", "componentIds", other, "eventKinds", "incident.resolved", "eventKinds", "incident.created", "version", "3"}
	b.expect(b.post(oneHook, fields...), http.StatusSeeOther)
	if body := b.app.body("PATCH " + hookCall); body != target+`,"managementEmail":"ops@example.com"}` || b.app.version() != `"3"` {
		t.Errorf("%s of version %s", body, b.app.version())
	}
	b.expect(b.get(oneHook), http.StatusOK, `value="slack" checked`, `<option dir="auto" value="2500" selected>2.5 seconds`, "<dd>Slack-compatible</dd>", "2.5 seconds</dd>")
	b.expect(b.post(oneHook, append(slices.Clone(fields), "format", "slack", "minIntervalMs", "2500")...), http.StatusSeeOther)
	if body := b.app.body("PATCH " + hookCall); body != target+`,"managementEmail":"ops@example.com"}` {
		t.Error(body)
	}
	b.expect(b.post(oneHook, append(slices.Clone(fields), "format", "bellbuoy", "minIntervalMs", "0")...), http.StatusSeeOther)
	if body := b.app.body("PATCH " + hookCall); !strings.HasSuffix(body, `,"format":"bellbuoy","minIntervalMs":0}`) {
		t.Error(body)
	}
	fields[1], fields[7] = "https://hooks.example.com/new", "incident.updated"
	b.expect(b.post(oneHook, fields...), http.StatusSeeOther)
	if body := b.app.body("PATCH " + hookCall); !strings.Contains(body, `"url":"https://hooks.example.com/new"`) || !strings.Contains(body, `"eventKinds":["incident.updated","incident.created"]`) {
		t.Error(body)
	}
	b.app.answer("PATCH "+hookCall, answer{409, `{"error": "The endpoint has changed."}`, false})
	fields[len(fields)-1] = "2"
	b.expect(b.post(oneHook, fields...), http.StatusConflict, "Keep mine", "Take theirs", "ops@example.com", "Incident updated", `name="version" value="3"`)
	if sent := b.app.queries("GET /app/audit"); len(sent) > 0 { // an endpoint has no id here, so the newest entry would be about another record
		t.Errorf("the page asks who changed the endpoint: %v", sent)
	}
	fields[len(fields)-1] = "3"
	b.expect(b.post(oneHook, fields...), http.StatusUnprocessableEntity, `id="url-problem"`)
	b.app.forget("PATCH " + hookCall)

	got := b.send(post, oneHook+"/secret", url.Values{})
	if b.expect(got, http.StatusOK, "whsec_secret", "The former secret still signs for 24 hours"); got.header.Get("Content-Encoding") != "" {
		t.Error("the page with the secret is compressed")
	}
	if body := b.app.body("PATCH " + hookCall); body != target+`,"rotateSecret":true}` {
		t.Error(body)
	}
	b.expect(b.get("/console/integrations/teams/"+other+"/"+other+"/secret"), http.StatusNotFound)

	b.expect(b.get(webhooks+"/"+other+"/clear"), http.StatusOK, "failures count from 0", "This concerns all endpoints with the URL")
	b.expect(b.send(post, webhooks+"/"+other+"/clear", url.Values{}), http.StatusSeeOther)
	if body := b.app.body("DELETE /app/integrations/webhooks/outbound/suppression"); body != `{"urlHash":"`+other+`"}` {
		t.Error(body)
	}
	b.expect(b.get(oneHook+"/delete"), http.StatusOK, "This cannot be reversed.", `name="version" value="3"`)
	b.app.answer("DELETE "+hookCall, answer{409, `{"error": "The endpoint has changed."}`, false})
	b.expect(b.post(oneHook+"/delete", "version", "2"), http.StatusUnprocessableEntity, "Somebody else has changed the endpoint meanwhile.", `name="version" value="3"`)
	b.app.forget("DELETE " + hookCall)
	if got := b.post(oneHook+"/delete", "version", "3"); got.header.Get("Location") != webhooks {
		t.Errorf("%d to %s", got.status, got.header.Get("Location"))
	}
}

func TestATestMessageLeadsToItsDelivery(t *testing.T) {
	b := open(t, "hooks.example.com")
	got := b.send(post, oneHook+"/test", url.Values{})
	if got.header.Get("Location") != oneHook+"?test="+other+"#messages" {
		t.Fatalf("%d to %s", got.status, got.header.Get("Location"))
	}
	b.expect(b.get(oneHook+"?test="+other), http.StatusOK, "The test message has not arrived.", "Show the delivery", `data-part="/console/parts/integrations/webhook/`+other+"/"+other+"?test="+other+`">`)
	part := "/console/parts/integrations/webhook/" + other + "/" + other
	b.expect(b.get(part+"?test="+member), http.StatusOK, "The test message is on its way.", `data-every="2"`)
	b.app.answer("POST "+hookCall+"/test", answer{429, `{"error": "Too many test messages."}`, false})
	b.expect(b.send(post, oneHook+"/test", url.Values{}), http.StatusSeeOther)
	b.expect(b.get(oneHook), http.StatusOK, "No test message was sent", "Try again in a few minutes.", `class="say d"`)
	b.app.answer("POST "+hookCall+"/test", answer{409, `{"error": "The endpoint is paused."}`, false})
	b.expect(b.send(post, oneHook+"/test", url.Values{}), http.StatusConflict, "The endpoint is paused.")
}
