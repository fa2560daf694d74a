package pages

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

func TestTheRequestOfAWebhookIsComposedAndItsSecretsAreNotShown(t *testing.T) {
	b := open(t, "hooks.example.com")
	at := oneHook + "/request"
	b.expect(b.get(at), http.StatusOK, `value="PUT" checked`, `name="idInPath" value="on" checked`, "Present ones stay: ", "X-Team", `action="`+at+`?start=kept&amp;once=`, `aria-current="page">Present`)
	if n := strings.Count(b.get(at).text, `class="list" data-secret `); n != 2 {
		t.Errorf("the script may keep all but %d fields with secrets", n)
	}
	b.expect(b.get(at+"?start=matrix"), http.StatusOK, `placeholder="Authorization: hooks.example.com"`, "m.room.message", `aria-current="page">Matrix`)
	b.expect(b.get(at+"?start=own"), http.StatusOK, "{{.event.title}}", `value="POST" checked`)
	b.expect(b.get(at+"?start="), http.StatusOK, "The template, its headers and its secrets are deleted.")
	b.expect(b.get(at+"?start=nosuch"), http.StatusNotFound)

	fields := []string{"method", "PUT", "idInPath", "on", "headers", "X-A: b: c\r\n\r\nX-Team:", "secrets", "key: s3cret", "body", "{\n\"a\": \"{{.event.titel}}\"}", "version", "3"}
	if got := b.post(at+"?start=kept", fields...); got.header.Get("Location") != oneHook {
		t.Errorf("%d %s", got.status, got.text)
	}
	target := `{"dashboardId":"` + other + `","urlHash":"` + other + `"`
	if body := b.app.body("PATCH " + hookCall); body != target+`,"format":"template","template":{"method":"PUT","idInPath":true,"headers":{"X-A":"b: c","X-Team":null},"secrets":{"key":"s3cret"},"body":"{\n\"a\": \"{{.event.titel}}\"}"}}` {
		t.Error(body)
	}
	b.expect(b.post(at+"?start=", "version", "3"), http.StatusSeeOther)
	if body := b.app.body("PATCH " + hookCall); body != target+`,"format":"bellbuoy"}` {
		t.Error(body)
	}
	for _, row := range []struct{ answer, at, text string }{
		{`{"error": "template.body: line 2: .event.titel is unknown"}`, "body", "Line 2: .event.titel is unknown. The line is: &#34;a&#34;: &#34;{{.event.titel}}&#34;}"},
		{`{"error": "template.headers: must be ASCII"}`, "headers", "Headers must be ASCII"},
		{`{"error": "template.secrets: must be at most 10"}`, "secrets", "must be at most 10"},
	} {
		b.app.answer("PATCH "+hookCall, answer{400, row.answer, false})
		got := b.post(at+"?start=own", fields...)
		b.expect(got, http.StatusUnprocessableEntity, `id="`+row.at+`-problem"`, row.text, "titel", `href="#`+row.at+`"`)
		if strings.Contains(got.text, "s3cret") || strings.Contains(got.text, "b: c") {
			t.Errorf("the page shows a secret: %s", got.text)
		}
	}
	for _, row := range []struct{ headers, text string }{
		{"X-A: b\nJustAName", "Headers: line 2 has no colon between the name and the value."},
		{"X-Gone:", "Headers: line 1 has no value, and there is no “X-Gone” that it could remove."},
	} {
		b.expect(b.post(at+"?start=kept", "method", "PUT", "headers", row.headers, "body", "1", "version", "3"), http.StatusUnprocessableEntity, `id="headers-problem"`, row.text)
	}
	b.app.answer("PATCH "+hookCall, answer{409, `{"error": "The endpoint has changed."}`, false})
	b.expect(b.post(at+"?start=own", append(fields[:len(fields)-1:len(fields)-1], "2")...), http.StatusUnprocessableEntity, "Somebody else has changed the endpoint meanwhile.", `name="version" value="3"`)
	b.expect(b.get(oneHook), http.StatusOK, "Own request: PUT, the id in the path", "X-Team", at+`">Change`)
	b.expect(b.get("/console/integrations/teams/"+other+"/"+other+"/request"), http.StatusNotFound)
}

// What a shipped template needs stands below the URL, and the rest of its request is closed until a field of it is wrong.
func TestAShippedTemplateAsksOnlyForWhatItNeeds(t *testing.T) {
	b := open(t, "Checkout")
	b.app.answer("GET /app/integrations/webhooks/outbound/templates", answer{200, `{"templates": [{"name": "ntfy", "template": {"method": "POST", "idInPath": false, "headers": {}, "secrets": {"topic": "YOUR_TOPIC"}, "body": "{\"topic\": \"{{secret \\\"topic\\\"}}\"}"}}]}`, false})
	at := webhooks + "/new?dashboard=" + other + "&start=ntfy"
	got := b.get(at)
	b.expect(got, http.StatusOK, `placeholder="https://ntfy.sh/"`, "This template needs “topic”.", "<details><summary>The request that is sent</summary>", `<label for="secrets">Secrets of the body</label>`)
	place := func(part string) int { return strings.Index(got.text, part) }
	if !(place(`id="url"`) < place(`id="secrets"`) && place(`id="secrets"`) < place(`id="managementEmail"`) && place(`id="managementEmail"`) < place("<details>") && place("<details>") < place(`id="method-0"`)) || strings.Contains(got.text, "sends POST requests") {
		t.Errorf("the fields are in another order: %s", got.text)
	}
	fields := []string{"url", "https://ntfy.sh/", "managementEmail", "ops@example.com", "componentIds", other, "eventKinds", "incident.created", "method", "POST"}
	b.expect(b.post(at, append(fields, "body", `{"topic": "{{secret "topic"}}"}`)...), http.StatusUnprocessableEntity, "The body uses the secret “topic”.", `href="#secrets"`, "<details><summary>The request")
	b.app.answer("POST "+hookCall, answer{400, `{"error": "template.body: line 1: .event.titel is unknown"}`, false})
	b.expect(b.post(at, append(fields, "body", "{{.event.titel}}")...), http.StatusUnprocessableEntity, "Line 1: .event.titel is unknown.", "<details open><summary>The request")
	b.expect(b.get(webhooks+"/new?dashboard="+other+"&start=own"), http.StatusOK, "<details open><summary>The request")
}

func TestANewWebhookStartsFromAShippedTemplate(t *testing.T) {
	b := open(t, "Checkout")
	at := webhooks + "/new?dashboard=" + other
	b.expect(b.get(at), http.StatusOK, at[:len(webhooks+"/new")]+`?dashboard=`+other+`&amp;start=pagerduty">PagerDuty`, `aria-current="page">No template`)
	b.expect(b.get(at+"&start=matrix"), http.StatusOK, `action="/console/integrations/webhook/new?dashboard=`+other+`&amp;start=matrix&amp;once=`, `placeholder="Authorization: Checkout"`, `<textarea class="list"`)
	for start, want := range map[string]int{"matrix": 12, "pagerduty": 5} { // PagerDuty would page for a maintenance
		if chosen := regexp.MustCompile(`name="eventKinds" value="[a-z_.]+" checked`).FindAllString(b.get(at+"&start="+start).text, -1); len(chosen) != want {
			t.Errorf("%s: %d kinds of messages are chosen: %q", start, len(chosen), chosen)
		}
	}
	b.post(at+"&start=matrix", "url", "https://hooks.example.com/x", "managementEmail", "ops@example.com", "componentIds", other, "eventKinds", "incident.created", "method", "PUT", "headers", "Authorization: Bearer x", "body", "1")
	if body := b.app.body("POST " + hookCall); !strings.HasSuffix(body, `"format":"template","template":{"method":"PUT","idInPath":false,"headers":{"Authorization":"Bearer x"},"body":"1"}}`) {
		t.Error(body)
	}
}
