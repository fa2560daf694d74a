package pages

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
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
	b.member.Session = ""
	got := b.send(post, acme+"/preview?tab=", lookOf())
	b.expect(got, http.StatusUnauthorized, "No preview", "Save the form to sign in again.")
	if policy := got.header.Get("Content-Security-Policy"); !strings.Contains(policy, "sandbox; frame-ancestors 'self'") {
		t.Error(policy)
	}
}

// third is a component that no dashboard of the played App interface shows.
const third = "01890a5d-ac96-774b-bcce-b302099a8059"

// arranged sends the form of the tab Components with three components, of which two have a group.
func (b *browser) arranged(move string, more ...string) response {
	b.t.Helper()
	form := url.Values{"components": {other, member, third}, "groups": {"Shop", "", "Shop"}, "move": {move}, "find": {""}, "after": {""}, "version": {"2"}}
	for i := 0; i+1 < len(more); i += 2 {
		form[more[i]] = append(form[more[i]], more[i+1])
	}
	return b.send(post, acme+"/components", form)
}

// openArranged returns a browser whose App interface has a third component.
func openArranged(t *testing.T) *browser {
	t.Helper()
	b := open(t, "Checkout")
	const search = `{"id": "` + third + `", "name": "Search", "groupName": "Finding", "status": "operational"}`
	b.app.answer("GET /app/components/"+third, answer{200, `{"component": ` + search + `}`, false})
	b.app.answer("GET /app/components", answer{200, `{"components": [{"id": "` + other + `", "name": "Checkout"}, ` + search + `], "nextToken": "n2"}`, false})
	return b
}

// inOrder fails unless the components of the page have the order.
func (b *browser) inOrder(got response, ids ...string) {
	b.t.Helper()
	var shown []string
	for _, found := range regexp.MustCompile(`name="components" value="([^"]*)"`).FindAllStringSubmatch(got.text, -1) {
		shown = append(shown, found[1])
	}
	if !slices.Equal(shown, ids) {
		b.t.Errorf("the order is %v instead of %v", shown, ids)
	}
}

func TestRowsMoveWithoutScriptAndAreSavedAtOnce(t *testing.T) {
	b := openArranged(t)
	b.expect(b.arranged(""), http.StatusSeeOther)
	moved := b.arranged("down " + other)
	b.expect(moved, http.StatusOK, "Checkout is at place 2 of 2.", `value="up `+other+`" autofocus`)
	b.inOrder(moved, third, other, member)
	b.expect(b.arranged("up "+other), http.StatusOK, "Checkout stays where it is.")
	gone := b.arranged("remove " + other)
	b.expect(gone, http.StatusOK, "Checkout is taken off.")
	b.inOrder(gone, member, third)
	if body := b.app.body("PUT /app/dashboards/" + other + "/components"); !strings.HasSuffix(body, `{"componentId":"`+third+`","groupName":"Shop"}]}`) || strings.Count(body, "componentId") != 3 {
		t.Errorf("the saved order is %s", body)
	}
}

func TestAGroupMovesAsAWhole(t *testing.T) {
	b := openArranged(t)
	got := b.arranged("down group:" + other)
	b.expect(got, http.StatusOK, "Shop is at place 2 of 2.", `aria-label="Move the group Without a group up"`, `value="up group:`+other+`" autofocus`)
	b.inOrder(got, member, other, third)
	back := b.arranged("up group:" + other)
	b.expect(back, http.StatusOK, "Shop stays where it is.")
	b.inOrder(back, other, third, member)
	b.inOrder(b.arranged("up group:"+member), member, other, third)
	b.expect(b.arranged("up group:nothing"), http.StatusSeeOther)
}

func TestEveryComponentCanBeAddedAndNothingChosenIsLost(t *testing.T) {
	b := openArranged(t)
	b.expect(b.get(acme+"/components"), http.StatusOK, `name="add" value="`+third+`"><bdi>Search</bdi>`, `value="more n2"`)
	two := url.Values{"components": {other, member}, "groups": {"Shop", "Till"}, "find": {"ear"}, "after": {""}, "add": {third}, "move": {"more n2"}, "version": {"2"}}
	b.app.answer("GET /app/components", answer{200, `{"components": [], "nextToken": null}`, false})
	b.expect(b.send(post, acme+"/components", two), http.StatusOK, `name="add" value="`+third+`" checked`, `name="after" value="n2"`, `value="ear"`, `value="Till"`, "First components")
	if sent := b.app.queries("GET /app/components"); sent[len(sent)-1] != "limit=25&nextToken=n2&q=ear" {
		t.Error(sent)
	}
	two.Set("move", "add ")
	added := b.send(post, acme+"/components", two)
	b.expect(added, http.StatusOK, "Search is added at the end.", `value="Finding"`, "No other component matches.")
	b.inOrder(added, other, member, third)
	two.Del("add")
	b.expect(b.send(post, acme+"/components", two), http.StatusOK, "Choose a component to add.")
}

func TestALargeDashboardNamesEachComponentWithoutACallForEach(t *testing.T) {
	b := open(t, "Checkout")
	placed, names := []string{}, []string{}
	for i := range 150 {
		names = append(names, fmt.Sprintf("Part %d of it", i))
		placed = append(placed, fmt.Sprintf(`{"componentId": "01890a5d-ac96-774b-bcce-%012d", "name": "%s", "groupName": "default"}`, i, names[i]))
	}
	b.app.answer("GET /app/dashboards/"+other, answer{200, `{"dashboard": {"id": "` + other + `", "name": "Acme", "components": [` + strings.Join(placed, ",") + `], "version": 2}}`, false})
	got := b.get(acme + "/components")
	b.expect(got, http.StatusOK, names...)
	if strings.Contains(got.text, "Without a group") {
		t.Error("components without groups are in one")
	}
	if sent := b.app.queries("GET /app/components/01890a5d-ac96-774b-bcce-000000000149"); len(sent) > 0 {
		t.Error("the page reads a component for its name")
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

func TestAPasswordOfADashboardStaysUnlessItsDeletionIsTicked(t *testing.T) {
	b := open(t, "Acme")
	save := func(status int, fields ...string) response {
		t.Helper()
		got := b.post(acme+"/access", append(fields, "enabled", "on", "version", "2")...)
		b.expect(got, status)
		return got
	}
	for _, row := range []struct{ mode, password, ips, forget, want string }{
		{"password", "", "192.0.2.1", "", `{"enabled":true,"searchIndexing":false}`},
		{"password", "a new password", "192.0.2.1\n\n2001:db8::/32 ", "", `{"enabled":true,"searchIndexing":false,"access":{"mode":"password","password":"a new password","allowedIps":["192.0.2.1","2001:db8::/32"]}}`},
		{"ipAllowlist", "", "192.0.2.1", "on", `{"enabled":true,"searchIndexing":false,"access":{"mode":"ipAllowlist","allowedIps":["192.0.2.1"]}}`},
		{"public", "", "192.0.2.1", "on", `{"enabled":true,"searchIndexing":false,"access":{"mode":"public","allowedIps":["192.0.2.1"]}}`},
	} {
		save(http.StatusSeeOther, "mode", row.mode, "password", row.password, "allowedIps", row.ips, "forget", row.forget)
		if body := b.app.body("PATCH /app/dashboards/" + other); body != row.want {
			t.Errorf("%s: %s", row.mode, body)
		}
	}
	b.app.answer("PATCH /app/dashboards/"+other, answer{400, `{"error": "access.password: must be 8 to 128 characters."}`, false})
	got := save(http.StatusUnprocessableEntity, "mode", "password", "password", "my-secret")
	if b.expect(got, http.StatusUnprocessableEntity, "Password for visitors must be 8 to 128 characters."); strings.Contains(got.text, "my-secret") {
		t.Error("the page shows the password")
	}
	b.app.answer("PATCH /app/dashboards/"+other, answer{500, `{}`, false}) // no refused form reaches it
	b.expect(b.get(acme+"/access"), http.StatusOK, "Delete the stored password", "nobody can read it afterwards")
	for _, mode := range []string{"public", "ipAllowlist"} {
		b.expect(save(http.StatusUnprocessableEntity, "mode", mode, "allowedIps", "192.0.2.9"), http.StatusUnprocessableEntity, "The stored password is deleted then.", `href="#forget"`, "192.0.2.9", `value="`+mode+`" checked`)
	}
	b.expect(save(http.StatusUnprocessableEntity, "mode", "password", "allowedIps", "192.0.2.9"), http.StatusUnprocessableEntity, "Enter the password, too.")
	b.expect(save(http.StatusUnprocessableEntity, "mode", "password", "allowedIps", "192.0.2.1", "forget", "on"), http.StatusUnprocessableEntity, `id="forget-problem"`, "Choose another access to delete the password.")
	b.expect(save(http.StatusUnprocessableEntity, "mode", "public", "password", "a new password", "forget", "on"), http.StatusUnprocessableEntity, `id="password-problem"`, "only with the access “With a password”")
	public := strings.Replace(b.app.usual("GET /app/dashboards/"+other), `{"mode": "password", "passwordSet": true`, `{"mode": "public", "passwordSet": false`, 1)
	b.app.answer("GET /app/dashboards/"+other, answer{200, public, false})
	b.app.forget("PATCH /app/dashboards/" + other)
	if page := b.get(acme + "/access"); strings.Contains(page.text, "Delete the stored password") {
		t.Error("a dashboard without a password offers to delete one")
	}
	save(http.StatusSeeOther, "mode", "ipAllowlist", "allowedIps", "192.0.2.9", "password", "", "forget", "")
}

func TestAnErrorNamesFieldsAndOptionsAsThePageDoes(t *testing.T) {
	b := open(t, "Acme")
	b.app.answer("PATCH /app/dashboards/"+other, answer{400, `{"error": "access.allowedIps: must name at least one address for the mode ipAllowlist."}`, false})
	b.expect(b.post(acme+"/access", "mode", "ipAllowlist", "forget", "on", "version", "2"), http.StatusUnprocessableEntity, "IP addresses must name at least one address for the mode “From some addresses”.")
	b.app.answer("POST /app/events", answer{400, `{"error": "scheduledEndAt: must be after scheduledStartAt."}`, false})
	b.expect(b.post("/console/events/new/maintenance", "title", "Move", "components", other, "status", "planning", "scheduledStartAt", "2026-02-02T22:00", "scheduledEndAt", "2026-02-02T21:00"), http.StatusUnprocessableEntity,
		"End must be after “Start”.")
}

func TestTwoPeopleWhoChangeADashboardSeeBothValues(t *testing.T) {
	b := open(t, "Acme")
	b.app.answer("PATCH /app/dashboards/"+other, answer{409, `{"error": "The record has changed."}`, false})
	b.expect(b.send(post, acme, lookOf("version", "1")), http.StatusConflict, "#ff0000", "#1a73e8", "Keep mine", `name="version" value="2"`)
	b.app.answer("PUT /app/dashboards/"+other+"/components", answer{409, `{"error": "The record has changed."}`, false})
	b.expect(b.send(post, acme+"/components", url.Values{"components": {member, other}, "groups": {"", "Shop"}, "version": {"1"}}), http.StatusConflict, "Keep mine", `name="components" value="`+member)
}

// "Keep mine" could not send the password, and the former one would still work.
func TestAConflictAsksForATypedPasswordAgain(t *testing.T) {
	b := open(t, "Acme")
	b.app.answer("PATCH /app/dashboards/"+other, answer{409, `{"error": "The record has changed."}`, false})
	got := b.post(acme+"/access", "mode", "password", "password", "gulls over water", "allowedIps", "192.0.2.1", "version", "1")
	b.expect(got, http.StatusUnprocessableEntity, `href="#password"`, "Somebody else has changed the dashboard meanwhile. Look at it, and enter the password again.", `name="version" value="2"`)
	if !strings.Contains(got.text, "Stored is: Yes.") { // the dashboard is published
		t.Errorf("the page does not say what the other person has changed: %s", got.text)
	}
	if strings.Contains(got.text, "Keep mine") || strings.Contains(got.text, "gulls over water") {
		t.Errorf("the page offers to save without the password, or shows it: %s", got.text)
	}
	b.expect(b.post(acme+"/access", "mode", "password", "password", "", "allowedIps", "192.0.2.1", "version", "1"), http.StatusConflict, "Keep mine")
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

func TestTheListOfDashboardsHasThoseThatTheNavigationLacks(t *testing.T) {
	b := open(t, "Acme")
	got := b.get("/console/dashboards?after=x")
	b.expect(got, http.StatusOK, `href="/console/dashboards?after=next%26token"`, "status.example.com/d/acme", ">Partial outage<", "2 components", `href="/console/dashboards/new"`, `href="/console/dashboards" aria-current="page"`)
	if sent := b.app.queries("GET /app/dashboards"); !slices.Contains(sent, "limit=50&nextToken=x") {
		t.Error(sent)
	}
	if page := b.get(acme); strings.Count(page.text, `aria-current="page"`) != 2 { // that of the dashboard, and that of the tab
		t.Errorf("%d links are that of the page", strings.Count(page.text, `aria-current="page"`))
	}
	b.member.Roles = []string{"subscriber"}
	if got := b.get("/console/dashboards"); got.status != http.StatusOK || strings.Contains(got.text, "/dashboards/new") {
		t.Errorf("%d for a reader: %s", got.status, got.text)
	}
	b.app.change(func(s *service) { s.empty = true })
	if got := b.get("/console/dashboards"); !strings.Contains(got.text, "There is no dashboard yet.") || strings.Contains(got.text, "All dashboards") {
		t.Errorf("without a dashboard: %s", got.text)
	}
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
	b.expect(b.get(acme+"/delete"), http.StatusOK, "Its 3,612 subscribers and its endpoints are deleted with it.")
	if sent := b.app.queries("GET /app/subscribers/sms/counts"); !slices.Equal(sent, []string{"dashboardId=" + other}) {
		t.Error(sent)
	}
	b.app.answer("GET /app/subscribers/sms/counts", answer{503, `{}`, false})
	b.expect(b.get(acme+"/delete"), http.StatusOK, "Its subscribers and endpoints are deleted with it.")
	b.app.answer("DELETE /app/dashboards/"+other, answer{409, `{"error": "The last dashboard stays."}`, false})
	b.expect(b.post(acme+"/delete"), http.StatusUnprocessableEntity, "The last dashboard stays.")
	b.app.forget("DELETE /app/dashboards/" + other)
	b.expect(b.post(acme+"/delete"), http.StatusSeeOther)
}

func TestTheIdsOfGroupsAreLines(t *testing.T) {
	b := open(t, "Acme")
	at := "/console/dashboards/" + other + "/domains"
	stored := strings.Replace(b.app.usual("GET /app/dashboards/"+other), `"groupPublicIds": {}`, `"groupPublicIds": {"Web shop": "4hlkm5xd7zrw", "API": "grp_api"}`, 1)
	b.app.answer("GET /app/dashboards/"+other, answer{200, stored, false})
	b.expect(b.get(at), http.StatusOK, "\nAPI grp_api\nWeb shop 4hlkm5xd7zrw</textarea>")
	b.expect(b.post(at, "slug", "acme", "groupPublicIds", "Web shop  new_id\n\nÄ b\tx-1", "version", "4"), http.StatusSeeOther)
	if body := b.app.body("PATCH /app/dashboards/" + other); !strings.Contains(body, `"groupPublicIds":{"Web shop":"new_id","Ä b":"x-1"}`) {
		t.Error(body)
	}
	b.expect(b.post(at, "slug", "acme", "groupPublicIds", "", "version", "4"), http.StatusSeeOther)
	if body := b.app.body("PATCH /app/dashboards/" + other); !strings.Contains(body, `"groupPublicIds":{}`) {
		t.Error(body)
	}
	b.expect(b.post(at, "slug", "acme", "groupPublicIds", "API grp\nalone", "version", "4"), http.StatusUnprocessableEntity, "This line is not like that: alone", "\nAPI grp\nalone</textarea>")
	b.expect(b.post(at, "slug", "acme", "groupPublicIds", "API a\nAPI b", "version", "4"), http.StatusUnprocessableEntity, "Two lines name the group “API”.")
	b.app.answer("PATCH /app/dashboards/"+other, answer{400, `{"error": "groupPublicIds[\"A: I\"]: must be 1 to 64 of A-Z, a-z, 0-9, _ and -"}`, false})
	b.expect(b.post(at, "slug", "acme", "groupPublicIds", "A: I ä", "version", "4"), http.StatusUnprocessableEntity, "The id of “A: I” must be 1 to 64 of A-Z, a-z, 0-9, _ and -.", `href="#groupPublicIds"`)
}
