package pages

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

const acme = "/console/dashboards/" + other

func lookOf(changes ...string) url.Values {
	form := url.Values{
		"name": {"Acme"}, "description": {""}, "logoUrl": {""}, "faviconUrl": {""}, "primaryColor": {"#ff0000"}, "theme": {"auto"}, "locale": {"en"}, "timezone": {"Europe/Berlin"},
		"homepageUrl": {""}, "supportUrl": {""}, "navigation": {"Our docs https://docs.example.com\n\nhttps://b.example.com"}, "version": {"2"},
	}
	for i := 0; i+1 < len(changes); i += 2 {
		form.Set(changes[i], changes[i+1])
	}
	return form
}

func TestAPreviewHasTheUnsavedValuesAndItsOwnPolicy(t *testing.T) {
	b := open(t, "Acme")
	got := b.send(post, acme+"/preview?tab=", lookOf("scheme", "dark"))
	b.expect(got, http.StatusOK, "<title>Acme</title>")
	if policy := got.header.Get("Content-Security-Policy"); policy != "default-src 'none'; style-src 'sha256-x'; base-uri 'none'; ; sandbox; frame-ancestors 'self'" {
		t.Error(policy)
	}
	want := `{"dashboard":{"name":"Acme","description":"","timezone":"Europe/Berlin","locale":"en","branding":{"logoUrl":null,"faviconUrl":null,"primaryColor":"#ff0000","theme":"dark"},` +
		`"links":{"homepageUrl":null,"supportUrl":null,"navigation":[{"text":"Our docs","href":"https://docs.example.com"},{"text":"","href":"https://b.example.com"}]}}}`
	if body := b.app.body("POST /app/dashboards/" + other + "/preview"); body != want {
		t.Error(body)
	}
	b.expect(b.get(acme+"/preview"), http.StatusOK, "<title>Acme</title>")
	if body := b.app.body("POST /app/dashboards/" + other + "/preview"); body != `{}` {
		t.Error(body)
	}
	b.send(post, acme+"/preview?tab=subscriptions", url.Values{"channels": {"email"}, "scheme": {"light"}, "version": {"2"}})
	if body := b.app.body("POST /app/dashboards/" + other + "/preview"); !strings.Contains(body, `"theme":"light"`) || !strings.Contains(body, `"primaryColor":"#1a73e8"`) || !strings.Contains(body, `"email":true,"sms":false`) {
		t.Error(body)
	}
}

func TestAPreviewThatCannotBeDrawnSaysWhyInItsFrame(t *testing.T) {
	b := open(t, "Acme")
	b.app.answer("POST /app/dashboards/"+other+"/preview", answer{400, `{"error": "dashboard.branding.primaryColor: must be a colour."}`, false})
	for form, text := range map[*url.Values]string{
		new(lookOf()):                       "dashboard.branding.primaryColor must be a colour.",
		new(lookOf("name", "")):             "Name: Enter the name.",
		new(lookOf("unknown", hostile)):     "The form of this page was changed",
		new(lookOf("name", "<b>", "x", "")): "The form of this page was changed",
	} {
		got := b.send(post, acme+"/preview?tab=", *form)
		if got.status < 400 || !strings.Contains(got.text, text) || !strings.Contains(got.header.Get("Content-Security-Policy"), "sandbox; frame-ancestors 'self'") {
			t.Errorf("%d %s: %s", got.status, got.header.Get("Content-Security-Policy"), got.text)
		}
	}
	b.expect(b.send(post, acme+"/preview?tab=access", url.Values{}), http.StatusNotFound)
}

func TestRowsMoveWithoutScriptAndAreSavedAtOnce(t *testing.T) {
	b := open(t, "Checkout")
	send := func(move string) response {
		return b.send(post, acme+"/components", url.Values{"components": {other, member}, "groups": {"Shop", ""}, "add": {""}, "move": {move}, "version": {"2"}})
	}
	b.expect(send("down "+other), http.StatusOK, "Checkout is at place 2 of 2.", "autofocus")
	if body := b.app.body("PUT /app/dashboards/" + other + "/components"); body != "" {
		t.Errorf("a move is saved: %s", body)
	}
	moved := send("down " + other)
	if first, second := strings.Index(moved.text, `name="components" value="`+member), strings.Index(moved.text, `name="components" value="`+other); first < 0 || second < first {
		t.Error("the row has not moved")
	}
	b.expect(send("up "+other), http.StatusOK, "Checkout stays where it is.")
	b.expect(send("remove "+other), http.StatusOK, "Checkout is taken off.")
	b.expect(send("add "), http.StatusOK, "Choose a component to add.")
	b.expect(send(""), http.StatusSeeOther)
	if body := b.app.body("PUT /app/dashboards/" + other + "/components"); body != `{"components":[{"componentId":"`+other+`","groupName":"Shop"},{"componentId":"`+member+`","groupName":""}]}` {
		t.Error(body)
	}
}

func TestTheContentOfADashboardIsSavedWhole(t *testing.T) {
	b := open(t, "Acme")
	form := url.Values{
		"order":   {"overallStatus", "announcement", "activeIncidents", "activeMaintenance", "components", "uptimeHistory", "upcomingMaintenance", "eventHistory", "subscribe", "about"},
		"modules": {"components", "announcement"}, "announcement": {"We **move**."}, "windowDays": {"30"}, "precision": {"1"}, "partialOutageWeight": {"0,5"}, "historyDays": {"7"}, "version": {"2"},
	}
	b.expect(b.send(post, acme+"/content", form), http.StatusSeeOther)
	body := b.app.body("PUT /app/dashboards/" + other + "/content")
	for _, part := range []string{`"announcement":true,"overallStatus":false`, `"components":true`, `"order":["overallStatus","announcement"`, `"partialOutageWeight":0.5`, `"windowDays":30,"showPercentage":false`, `\"type\":\"bold\"`} {
		if !strings.Contains(body, part) {
			t.Errorf("the content lacks %s: %s", part, body)
		}
	}
	form.Set("partialOutageWeight", "NaN")
	b.app.answer("PUT /app/dashboards/"+other+"/content", answer{400, `{"error": "uptime.partialOutageWeight: must be from 0 to 1."}`, false})
	b.expect(b.send(post, acme+"/content", form), http.StatusUnprocessableEntity, "Weight of a partial outage must be from 0 to 1.", `value="NaN"`)
}

func TestAPasswordOfADashboardStaysUnlessItIsTyped(t *testing.T) {
	b := open(t, "Acme")
	save := func(fields ...string) string {
		t.Helper()
		b.expect(b.post(acme+"/access", append(fields, "enabled", "on", "version", "2")...), http.StatusSeeOther)
		return b.app.body("PATCH /app/dashboards/" + other)
	}
	for _, row := range []struct{ mode, password, want string }{
		{"password", "", `{"enabled":true,"searchIndexing":false}`},
		{"password", "a new password", `{"enabled":true,"searchIndexing":false,"access":{"mode":"password","password":"a new password"}}`},
		{"ipAllowlist", "", `{"enabled":true,"searchIndexing":false,"access":{"mode":"ipAllowlist","allowedIps":["192.0.2.1","2001:db8::/32"]}}`},
		{"public", "", `{"enabled":true,"searchIndexing":false,"access":{"mode":"public"}}`},
	} {
		if body := save("mode", row.mode, "password", row.password, "allowedIps", "192.0.2.1\n\n2001:db8::/32 "); body != row.want {
			t.Errorf("%s: %s", row.mode, body)
		}
	}
	b.app.answer("PATCH /app/dashboards/"+other, answer{400, `{"error": "access.password: must be 8 to 128 characters."}`, false})
	got := b.post(acme+"/access", "mode", "password", "password", "my-secret", "version", "2")
	if b.expect(got, http.StatusUnprocessableEntity, "Password for visitors must be 8 to 128 characters."); strings.Contains(got.text, "my-secret") {
		t.Error("the page shows the password")
	}
}

func TestTwoPeopleWhoChangeADashboardSeeBothValues(t *testing.T) {
	b := open(t, "Acme")
	b.app.answer("PATCH /app/dashboards/"+other, answer{409, `{"error": "The record has changed."}`, false})
	b.expect(b.send(post, acme, lookOf("version", "1")), http.StatusConflict, "#ff0000", "#1a73e8", "Keep mine", `name="version" value="2"`)
	b.app.answer("PUT /app/dashboards/"+other+"/components", answer{409, `{"error": "The record has changed."}`, false})
	b.expect(b.send(post, acme+"/components", url.Values{"components": {member, other}, "groups": {"", "Shop"}, "version": {"1"}}), http.StatusConflict, "Keep mine", `name="components" value="`+member)
}

func TestTheNavigationShowsDashboardsWithTheirStates(t *testing.T) {
	b := open(t, "Acme")
	b.expect(b.get("/console/"), http.StatusOK, `href="/console/dashboards/`+other+`"`, ", partial outage")
	b.member.Roles = []string{"api"}
	if got := b.get("/console/profile"); strings.Contains(got.text, "/console/dashboards/") {
		t.Error("a member who may not read dashboards sees them")
	}
	b.member.Roles = []string{"subscriber"}
	got := b.get(acme)
	if b.expect(got, http.StatusOK, "An administrator can change this dashboard.", "<iframe"); strings.Contains(got.text, `name="timezone"`) {
		t.Error("a reader sees the form")
	}
	b.app.answer("GET /app/dashboards", answer{503, `{}`, false})
	b.expect(b.get("/console/profile"), http.StatusOK)
}

func TestANewDashboardNeedsOnlyANameAndLeadsToItsComponents(t *testing.T) {
	b := open(t, "Acme")
	b.expect(b.post("/console/dashboards/new", "name", ""), http.StatusUnprocessableEntity, "Enter the name.")
	got := b.post("/console/dashboards/new", "name", "Partners")
	if b.expect(got, http.StatusSeeOther); got.header.Get("Location") != acme+"/components" || b.app.body("POST /app/dashboards") != `{"name":"Partners"}` {
		t.Errorf("%s after %s", got.header.Get("Location"), b.app.body("POST /app/dashboards"))
	}
	b.expect(b.get(acme+"/components"), http.StatusOK, "Acme is added. Choose its components.")
	b.app.answer("POST /app/dashboards", answer{409, `{"error": "The plan allows 1 dashboard."}`, false})
	b.expect(b.post("/console/dashboards/new", "name", "Partners"), http.StatusUnprocessableEntity, "The plan allows 1 dashboard.", `value="Partners"`)
	b.expect(b.get(acme+"/delete"), http.StatusOK, "The endpoints of the dashboard are deleted with it.")
	b.app.answer("DELETE /app/dashboards/"+other, answer{409, `{"error": "The last dashboard stays."}`, false})
	b.expect(b.post(acme+"/delete"), http.StatusUnprocessableEntity, "The last dashboard stays.")
	b.app.forget("DELETE /app/dashboards/" + other)
	b.expect(b.post(acme+"/delete"), http.StatusSeeOther)
}
