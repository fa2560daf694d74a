package pages

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestTheBarSaysWhomAButtonReaches(t *testing.T) {
	b := open(t, "Ada")
	part := "/console/parts/audience?components=" + other
	got := b.get(part + "&notify=email&notify=webhook&notify=teams")
	b.expect(got, http.StatusOK, "Reaches 1,204 by mail, 3 webhooks", `data-total="1,207"`, `type="hidden" name="notify" value="teams"`, "10,000&#43;")
	b.expect(b.get(part+"&notify=sms"), http.StatusOK, "Reaches 10,000&#43; by SMS")
	b.expect(b.get(part+"&notify=teams"), http.StatusOK, "Nobody is notified", `data-total=""`)
	b.expect(b.get("/console/events/"+other), http.StatusOK, "Publish and notify 11,207&#43;")
	b.app.answer("POST /app/notifications/audience", answer{503, `{}`, false})
	b.expect(b.get("/console/events/"+other), http.StatusOK, "The recipients cannot be counted right now", "<span data-label=\"Publish\">Publish</span>")
	b.app.answer("POST /app/notifications/audience", answer{200, `{"audience": {}}`, false})
	b.expect(b.get("/console/events/new?component="+other), http.StatusOK, "Nobody has subscribed to these components")
}

func TestAFormThatCannotBeSentKeepsWhatWasTyped(t *testing.T) {
	b := open(t, "Ada")
	b.app.answer("POST /app/events", answer{503, `{}`, false})
	fields := []string{"title", "Slow", "message", "Typed", "components", other, "status", "investigating"}
	got := b.post("/console/events/new", fields...)
	b.expect(got, http.StatusServiceUnavailable, "events, components and dashboards. What you typed is still here.", `value="Slow"`, "\nTyped<", `value="`+other+`" checked`)
	b.expect(b.post("/console/events/new", "title", "Slow", "status", "investigating"), http.StatusUnprocessableEntity, "Choose a component, or else the dashboards")
	b.app.answer("GET /app/components", answer{503, `{}`, false})
	b.app.answer("POST /app/events", answer{500, `{}`, false})
	b.expect(b.post("/console/events/new", fields...), http.StatusInternalServerError, "What you typed", `value="Slow"`, "\nTyped<", `type="hidden" name="components" value="`+other)
	b.app.answer("POST /app/events", answer{503, `{}`, false})
	b.expect(b.post("/console/events/new", fields...), http.StatusServiceUnavailable, "Your choice of 1 is kept.", `value="Slow"`, `type="hidden" name="components" value="`+other)
	b.app.answer("GET /app/events/"+other, answer{503, `{}`, false})
	b.expect(b.post("/console/events/"+other+"/timeline", "message", "Typed", "status", "identified", "version", "4"), http.StatusServiceUnavailable, "What you typed", "\nTyped<", `name="status" value="identified"`, `name="version" value="4"`)
	b.app.answer("PUT /app/profile/password", answer{503, `{}`, false})
	if got := b.post("/console/profile/security/password", "password", "a lighthouse keeper", "current", "another secret"); got.status != http.StatusServiceUnavailable || strings.Contains(got.text, "lighthouse") || strings.Contains(got.text, "another secret") {
		t.Errorf("the page with the status %d shows a password: %s", got.status, got.text)
	}
}

func TestASwitchedOffChannelIsNotNotified(t *testing.T) {
	b := open(t, "Ada")
	got := b.post("/console/events/"+other+"/timeline", "status", "update", "message", "Soon **fixed**", "notify", "email", "notify", "webhook", "version", "4")
	if got.status != http.StatusSeeOther || got.header.Get("Location") != "/console/events/"+other {
		t.Errorf("%d to %s", got.status, got.header.Get("Location"))
	}
	body := b.app.body("POST /app/events/" + other + "/timeline")
	for _, part := range []string{`"notify":{"email":true,"sms":false,"whatsapp":false,"webhook":true,"teams":false,"gchat":false,"slack":false,"discord":false}`, `"status":"update"`, `\"bold\"`} {
		if !strings.Contains(body, part) {
			t.Errorf("the body lacks %s: %s", part, body)
		}
	}
	b.post("/console/events/"+other+"/timeline", "status", "resolved", "message", "", "impact", "operational", "version", "4")
	if body := b.app.body("POST /app/events/" + other + "/timeline"); !strings.Contains(body, "This problem is resolved.") || !strings.Contains(body, `{"componentId":"`+member+`","impact":"operational"}`) {
		t.Errorf("the body is %s", body)
	}
}

func TestAPartOfTheOverviewThatIsDownLeavesTheRest(t *testing.T) {
	b := open(t, "Ada")
	b.app.answer("GET /app/events", answer{503, `{}`, false})
	got := b.get("/console/")
	b.expect(got, http.StatusOK, "Events cannot be shown right now.", "Components not operational")
	if strings.Contains(got.text, "Nothing needs your attention") || strings.Contains(got.text, "Report a first incident") {
		t.Errorf("the page claims what it does not know: %s", got.text)
	}
	b.app.answer("GET /app/events/"+other+"/deliveries", answer{503, `{}`, false})
	b.expect(b.get("/console/events/"+other), http.StatusOK, "The messages cannot be counted right now.", "Timeline")
	b.app.forget("GET /app/events")
	b.member.Roles = []string{"subscriber"}
	if got := b.get("/console/"); strings.Contains(got.text, "/console/events") || !strings.Contains(got.text, "Components not operational") {
		t.Errorf("the overview of a subscriber: %s", got.text)
	}
}

func TestAnEventOnTheOverviewHasAButtonForEachNextStatus(t *testing.T) {
	b := open(t, "Ada")
	got := b.get("/console/")
	for _, status := range []string{"identified", "monitoring", "resolved"} {
		b.expect(got, http.StatusOK, "/console/events/"+other+"?status="+status+"#update")
	}
	b.expect(b.get("/console/events/"+other+"?status=resolved"), http.StatusOK, "This problem is resolved.", `value="resolved" checked`)
	b.expect(b.get("/console/parts/events/"+other+"/deliveries"), http.StatusOK, "3 of 7, 1 failed, 1 suppressed, 1 skipped", `data-every="2"`)
}

func TestAFailedMessageIsSentAgainByWhoMayReadTheLog(t *testing.T) {
	b := open(t, "Ada")
	at := "/console/events/" + other
	b.expect(b.get(at), http.StatusOK, at+"/failed")
	b.expect(b.get(at+"/failed"), http.StatusOK, "attempt 7 of 7", `name="sentAt" value="2026-01-31T09:30:00.000Z"`, at+"/failed/webhook/"+other)
	got := b.post(at+"/failed/webhook/"+other, "sentAt", "2026-01-31T09:30:00.000Z")
	if body := b.app.body("POST /app/notifications/webhook/logs/" + other + "/replay"); got.status != http.StatusSeeOther || body != `{"sentAt":"2026-01-31T09:30:00.000Z"}` {
		t.Errorf("%d after %s", got.status, body)
	}
	b.app.answer("POST /app/notifications/webhook/logs/"+other+"/replay", answer{409, `{"error": "The endpoint is paused."}`, false})
	b.expect(b.post(at+"/failed/webhook/"+other, "sentAt", "2026-01-31T09:30:00.000Z"), http.StatusConflict, "The endpoint is paused.")
	gone := answer{404, `{"error": "The recipient of this log no longer exists."}`, false}
	b.app.answer("POST /app/notifications/webhook/logs/"+other+"/replay", gone)
	b.expect(b.post(at+"/failed/webhook/"+other, "sentAt", "2026-01-31T09:30:00.000Z"), http.StatusConflict, "The recipient of this log no longer exists.")
	b.app.answer("GET /app/notifications/webhook/logs/"+other, gone)
	b.expect(b.post(at+"/failed/webhook/"+other, "sentAt", "2026-01-31T09:30:00.000Z"), http.StatusNotFound)
	b.member.Roles = []string{"event"}
	b.expect(b.get(at+"/failed"), http.StatusForbidden, "Subscribers")
	if got := b.get(at); strings.Contains(got.text, at+"/failed") {
		t.Error("the page shows a link that does not work")
	}
}

func TestAnEventSaysThatItsMessagesAreWrittenToFiles(t *testing.T) {
	b := open(t, "Ada")
	b.app.answer("GET /app/notifications/channels", answer{200, `{"channels": {"email": {"configured": false, "missing": "SMTP_URL"}, "sms": {"configured": false, "missing": "SMS_URL"}}}`, false})
	got := b.get("/console/events/" + other)
	b.expect(got, http.StatusOK, "Messages are written to files, because no mail server is set up.")
	if strings.Contains(got.text, "no SMS server") {
		t.Error("the event has no SMS")
	}
}

// withoutComponents returns the JSON of the usual event, on one dashboard and without a component.
func (b *browser) withoutComponents() string {
	event := map[string]any{}
	if err := json.Unmarshal([]byte(b.app.usual("GET /app/events/"+other)), &event); err != nil {
		b.t.Fatal(err)
	}
	detail := event["event"].(map[string]any)
	detail["affectedComponents"], detail["dashboardIds"] = []any{}, []any{member}
	return marshal(event)
}

// An event without components is on the dashboards that the form names. The bar counts the recipients of these dashboards.
func TestAnEventWithoutComponentsNamesItsDashboards(t *testing.T) {
	b := open(t, "Ada")
	got := b.get("/console/events/new")
	b.expect(got, http.StatusOK, "<details class=\"places\"><summary>It affects no component</summary>", `name="dashboards" value="`+other+`"`)
	for _, at := range []string{"/console/events/new", "/console/events/new/maintenance"} {
		fields := []string{"title", "Slow", "message", "Typed", "dashboards", other, "dashboards", member, "scheduledStartAt", "2026-02-02T22:00", "scheduledEndAt", "2026-02-02T23:00"}
		if at == "/console/events/new" {
			fields = fields[:8]
		}
		b.expect(b.post(at, append(fields, "step", "show", "notify", "email")...), http.StatusOK, `<details class="places" open><summary>`, `value="`+other+`" checked`, "Reaches 1,204 by mail")
		if body := b.app.body("POST /app/notifications/audience"); !strings.Contains(body, `"dashboardIds":["`+other+`","`+member+`"]`) || strings.Contains(body, "componentIds") {
			t.Errorf("%s counts the recipients of %s", at, body)
		}
		b.expect(b.post(at, fields...), http.StatusSeeOther)
		if body := b.app.body("POST /app/events"); !strings.Contains(body, `"affectedComponents":[],"dashboardIds":["`+other+`","`+member+`"]`) {
			t.Errorf("%s sends %s", at, body)
		}
		b.expect(b.post(at, append(fields, "components", other)...), http.StatusUnprocessableEntity, `href="#dashboards-0"`, "Choose components or dashboards.", `<details class="places" open><summary>`)
		b.expect(b.post(at, append(fields, "impact", "major_outage")...), http.StatusUnprocessableEntity, `href="#impact"`, "The event affects no component.")
	}
	b.app.answer("POST /app/events", answer{400, `{"error": "dashboardIds[0]: must be a dashboard of the organization"}`, false})
	b.expect(b.post("/console/events/new", "title", "Slow", "dashboards", other), http.StatusUnprocessableEntity, "Dashboards must be a dashboard of the organization.", `href="#dashboards-0"`)
	b.app.answer("GET /app/dashboards", answer{503, `{}`, false})
	b.expect(b.post("/console/events/new", "title", "Slow", "dashboards", other), http.StatusUnprocessableEntity, `type="hidden" name="dashboards" value="`+other)
}

func TestTheBarOfAnEventWithoutComponentsNamesNoComponents(t *testing.T) {
	b := open(t, "Ada")
	b.expect(b.get("/console/parts/audience?notify=email&dashboards="+other), http.StatusOK, "Reaches 1,204 by mail")
	b.app.answer("POST /app/notifications/audience", answer{200, `{"audience": {}}`, false})
	b.expect(b.get("/console/parts/audience?dashboards="+other), http.StatusOK, "Nobody has subscribed to these dashboards")
	b.expect(b.get("/console/parts/audience?event="+other), http.StatusOK, "Nobody gets messages about this event")
	b.expect(b.get("/console/parts/audience?components="+other+"&dashboards="+other), http.StatusOK, "Choose components or dashboards")
	b.expect(b.get("/console/parts/audience?"+strings.Repeat("dashboards="+other+"&", maxPlaces+1)), http.StatusOK, "Choose at most 50 dashboards")
	b.app.answer("POST /app/notifications/audience", answer{200, `{"audience": {"slack": {"recipients": 2}, "discord": {"recipients": 1}}}`, false})
	b.expect(b.get("/console/parts/audience?notify=slack&notify=discord&dashboards="+other), http.StatusOK, "Reaches 2 in Slack, 1 in Discord")
}

func TestAnEventWithoutComponentsIsShownAndChanged(t *testing.T) {
	b := open(t, "Ada")
	b.app.answer("GET /app/events/"+other, answer{200, b.withoutComponents(), false})
	at := "/console/events/" + other
	got := b.get(at)
	b.expect(got, http.StatusOK, "No component", "Shown on Ada", `class="hero block d"`)
	if strings.Contains(got.text, `id="impact"`) {
		t.Error("an update has an impact on no component")
	}
	b.expect(b.get(at+"/edit"), http.StatusOK, `<details class="places" open><summary>`, `name="dashboards" value="`+member+`" checked`)
	b.expect(b.post(at+"/edit", "title", "Slow", "dashboards", other, "startAt", "2026-01-31T10:30", "version", "4"), http.StatusSeeOther)
	if body := b.app.body("PATCH /app/events/" + other); !strings.Contains(body, `"affectedComponents":[],"dashboardIds":["`+other+`"]`) {
		t.Error(body)
	}
	b.expect(b.post(at+"/edit", "title", "Slow", "components", other, "startAt", "2026-01-31T10:30", "version", "4"), http.StatusSeeOther)
	if body := b.app.body("PATCH /app/events/" + other); !strings.Contains(body, `"affectedComponents":[{"componentId":"`+other+`"`) || strings.Contains(body, "dashboardIds") {
		t.Error(body)
	}
	b.expect(b.post(at+"/edit", "title", "Slow", "version", "4"), http.StatusUnprocessableEntity, "Choose a component, or else the dashboards")
	b.app.answer("PATCH /app/events/"+other, answer{409, `{"error": "The record has changed."}`, false})
	b.expect(b.post(at+"/edit", "title", "Slow", "dashboards", other, "startAt", "2026-01-31T10:30", "version", "1"), http.StatusConflict, "Keep mine", "Dashboards")
	// A deleted component leaves an event that is on no dashboard. Its other fields can be changed.
	b.app.forget("PATCH /app/events/" + other)
	b.app.answer("GET /app/events/"+other, answer{200, strings.Replace(b.withoutComponents(), `"dashboardIds":["`+member+`"]`, `"dashboardIds":[]`, 1), false})
	b.expect(b.post(at+"/edit", "title", "Slow", "startAt", "2026-01-31T10:30", "version", "4"), http.StatusSeeOther)
	if body := b.app.body("PATCH /app/events/" + other); strings.Contains(body, "affectedComponents") {
		t.Error(body)
	}
}

// A list with an unknown filter in its address says so, instead of showing another list.
func TestAnUnknownFilterOfAListIsAProblem(t *testing.T) {
	b := open(t, "Ada")
	for path, want := range map[string]string{
		"/console/events?view=x": "There is no such view.", "/console/components?status=x": noSuchState, "/console/templates?kind=x": "There is no such kind.",
		"/console/integrations/webhook?state=x": noSuchState, "/console/events?view=x&q=y": "There is no such view.",
	} {
		got := b.get(path)
		b.expect(got, http.StatusUnprocessableEntity, "There is a problem", want)
		if strings.Contains(got.text, `aria-current="page">Open<`) || strings.Contains(got.text, `class="to"><a href="/console/`) {
			t.Errorf("%s shows another list: %s", path, got.text)
		}
	}
	b.expect(b.get("/console/events"), http.StatusOK, `aria-current="page">Open<`)
}

func TestTheDraftsAreReadWithOneCall(t *testing.T) {
	b := open(t, "Ada")
	b.expect(b.get("/console/events?view=drafts&type=incident&after=x"), http.StatusOK, "after=next%26token&amp;type=incident&amp;view=drafts")
	if got := b.app.queries("GET /app/events"); !slices.Equal(got, []string{"limit=25&nextToken=x&publish=false&type=incident"}) {
		t.Error(got)
	}
}

func TestAWrongKindOfEventsIsAProblemOfTheFilter(t *testing.T) {
	b := open(t, "Ada")
	b.app.answer("GET /app/events", answer{400, `{"error": "type: must be one of incident, maintenance"}`, false})
	b.expect(b.get("/console/events?type=x"), http.StatusUnprocessableEntity, "Kind must be one of incident, maintenance.", `href="#type"`, "No event matches.")
	if got := b.app.queries("GET /app/events"); !slices.Equal(got, []string{"active=true&limit=25&type=x"}) {
		t.Error(got)
	}
}

func TestActionItemsAreLines(t *testing.T) {
	text := "x Add an alert; Grace; 2026-03-01\nWrite; it; down; Ada\nNothing else"
	items, wrong := readItems(text + "\n\n")
	if wrong != "" || len(items) != 3 || !items[0].Done || *items[0].DueDate != "2026-03-01" || *items[0].Owner != "Grace" || items[1].Text != "Write; it; down" || items[2].Owner != nil {
		t.Errorf("%+v", items)
	}
	if got := writeItems(items); got != text {
		t.Errorf("the lines come back as %q", got)
	}
	b := open(t, "Ada")
	for _, line := range []string{"; ; 2026-01-01", "Add; Grace; 2026-13-45"} {
		b.expect(b.post("/console/events/"+other+"/post-mortem", "summary", "Slow", "actionItems", "Done\n"+line, "version", "4"), http.StatusUnprocessableEntity,
			"This line is not like that: "+line, "\nDone\n"+line+"<")
	}
}

// A change that shows no values of the event, such as Publish or a deletion, is refused if the event is not as the member
// has seen it. The page with the reason has the new version.
func TestNothingIsPublishedWithdrawnOrDeletedUnseen(t *testing.T) {
	b := open(t, "Ada")
	at := "/console/events/" + other
	b.app.answer("PATCH /app/events/"+other, answer{409, `{"error": "The record has changed."}`, false})
	for _, call := range []string{"", "/timeline/" + other, "/notes/" + other, "/post-mortem"} {
		b.app.answer("DELETE /app/events/"+other+call, answer{409, `{"error": "The record has changed."}`, false})
	}
	b.expect(b.post(at+"/publish", "version", "1"), http.StatusConflict, changedMeanwhile)
	for _, path := range []string{"/withdraw", "/delete", "/timeline/" + other + "/delete", "/notes/" + other + "/delete", "/post-mortem/delete"} {
		b.expect(b.get(at+path), http.StatusOK, `name="version" value="4"`)
		b.expect(b.post(at+path, "version", "1"), http.StatusUnprocessableEntity, changedMeanwhile, `name="version" value="4"`)
		if sent := b.app.version(); sent != `"1"` {
			t.Errorf("%s is sent for the version %s", path, sent)
		}
	}
	b.expect(b.post(at+"/withdraw?version=2"), http.StatusUnprocessableEntity, changedMeanwhile) // Undo
}

func TestAChangeOfComponentsCountsTheirRecipients(t *testing.T) {
	b := open(t, "Ada")
	b.expect(b.post("/console/events/"+other+"/edit", "title", "Slow", "components", other, "components", member, "notify", "email", "step", "show", "version", "4"), http.StatusOK, "Reaches 1,204 by mail")
	if body := b.app.body("POST /app/notifications/audience"); !strings.Contains(body, `"componentIds":["`+other+`","`+member+`"]`) {
		t.Errorf("the console counts the recipients of %s", body)
	}
	many := []string{"title", "Slow", "step", "show", "version", "4"}
	for range maxAffected + 1 {
		many = append(many, "components", other)
	}
	b.expect(b.post("/console/events/"+other+"/edit", many...), http.StatusOK, "Choose at most 100 components")
}

// Reopening has no time and no impact. The form says so and keeps what was typed.
func TestReopeningRefusesWhatItWouldDrop(t *testing.T) {
	b := open(t, "Ada")
	closed := strings.Replace(b.app.usual("GET /app/events/"+other), `"status": "investigating"`, `"status": "resolved"`, 1)
	b.app.answer("GET /app/events/"+other, answer{200, closed, false})
	at := "/console/events/" + other + "/timeline"
	b.expect(b.post(at, "status", "investigating", "message", "Back", "impact", "major_outage", "timestamp", "2026-01-31T09:40", "version", "4"), http.StatusUnprocessableEntity,
		"The event reopens now.", "The event reopens with its former impact.", "\nBack<")
	b.expect(b.post(at, "status", "investigating", "message", "Back", "version", "4"), http.StatusSeeOther)
}

func TestAnUpdateTemplateSetsTheImpact(t *testing.T) {
	b := open(t, "Ada")
	b.app.answer("GET /app/templates/"+other, answer{200, `{"template": {"id": "` + other + `", "kind": "update", "name": "Worse", "message": "It is worse.", "status": "identified", "impact": "major_outage", "componentIds": []}}`, false})
	b.expect(b.post("/console/events/"+other+"/timeline", "template", other, "status", "update", "message", "", "version", "4"), http.StatusOK, `value="major_outage" selected`)
}

// An incident of the component that somebody reports may be older than the newest open events.
func TestANewIncidentOfAComponentNamesItsOpenIncidents(t *testing.T) {
	b := open(t, "Ada")
	event := b.app.usual("GET /app/events")
	event = event[strings.Index(event, "[")+1 : strings.LastIndex(event, "]")]
	var many []string
	for _, n := range []string{"1", "2", "3", "4"} {
		many = append(many, strings.NewReplacer(`"id": "`+other+`"`, `"id": "`+third[:35]+n+`"`, `"title": "Ada"`, `"title": "Open `+n+`"`).Replace(event))
	}
	b.app.answer("GET /app/events", answer{200, `{"events": [` + strings.Join(many, ",") + `], "nextToken": null}`, false})
	b.expect(b.get("/console/events/new?component="+other), http.StatusOK, "Open 1", "Open 3", `/console/events/`+third[:35]+`4#update"><bdi>Open 4<`)
	if sent := b.app.queries("GET /app/events"); !slices.Contains(sent, "active=true&componentId="+other+"&limit=25&type=incident") {
		t.Error(sent)
	}
	if got := b.get("/console/events/new"); !strings.Contains(got.text, "Open 3") || strings.Contains(got.text, "Open 4") {
		t.Errorf("without a component, the page shows the 3 newest open incidents: %s", got.text)
	}
}

func TestAnUpdateOfADraftIsNotCalledPublished(t *testing.T) {
	b := open(t, "Ada")
	at := "/console/events/" + other
	update := func(want string) {
		t.Helper()
		b.expect(b.post(at+"/timeline", "status", "update", "message", "Soon", "version", "4"), http.StatusSeeOther)
		b.expect(b.get(at), http.StatusOK, want)
	}
	update("The update is published.")
	b.app.answer("GET /app/events/"+other, answer{200, strings.Replace(b.app.usual("GET /app/events/"+other), `"publish": true`, `"publish": false`, 1), false})
	update("The update is added to the draft. Visitors do not see it.")
}

// A colleague may delete a template while the form is filled. What was typed stays.
func TestATemplateThatIsGoneLeavesWhatWasTyped(t *testing.T) {
	b := open(t, "Ada")
	b.app.answer("GET /app/templates/"+other, answer{404, `{"error": "There is no such template."}`, false})
	b.expect(b.post("/console/events/new", "title", "Slow", "message", "Typed", "components", other, "status", "identified", "template", other), http.StatusUnprocessableEntity,
		"This template does not exist any more.", `value="Slow"`, "\nTyped<", `value="`+other+`" checked`, `value="identified" checked`)
	b.expect(b.post("/console/events/"+other+"/timeline", "message", "Typed", "status", "identified", "version", "4", "template", other), http.StatusUnprocessableEntity,
		"This template does not exist any more.", "\nTyped<", `value="identified" checked`)
}

// Planned maintenance that is over sends the messages of all its statuses at once.
func TestPublishedMaintenanceEndsInTheFutureUnlessNobodyIsNotified(t *testing.T) {
	b := open(t, "Ada")
	at := "/console/events/new/maintenance"
	over := []string{"title", "Move", "components", other, "status", "planning", "scheduledStartAt", "2025-02-02T22:00", "scheduledEndAt", "2025-02-02T23:00"}
	b.expect(b.post(at, append(over, "notify", "email")...), http.StatusUnprocessableEntity, "End must be in the future.", `href="#scheduledEndAt"`)
	if body := b.app.body("POST /app/events"); body != "" {
		t.Errorf("the maintenance is published: %s", body)
	}
	b.expect(b.post(at, over...), http.StatusSeeOther)
	b.expect(b.post(at, append(over, "notify", "email", "step", "draft")...), http.StatusSeeOther)
	b.expect(b.post(at, "title", "Move", "components", other, "status", "planning", "scheduledStartAt", "2026-02-01T10:00", "scheduledEndAt", "2026-02-01T10:31", "notify", "email"), http.StatusSeeOther)
}

func TestATimeWithAMistypedYearIsRefusedAtItsField(t *testing.T) {
	b := open(t, "Ada")
	b.expect(b.post("/console/events/new", "title", "Slow", "components", other, "status", "investigating", "startAt", "0026-01-31T10:00"), http.StatusUnprocessableEntity, `id="startAt-problem"`, "Enter a year from 2000 to 2100.")
	b.expect(b.post("/console/events/new/maintenance", "title", "Move", "components", other, "status", "planning", "scheduledStartAt", "2026-02-02T22:00", "scheduledEndAt", "2206-02-02T23:00"), http.StatusUnprocessableEntity, `id="scheduledEndAt-problem"`, "Enter a year from 2000 to 2100.")
}

func TestATimeThatIsSetCannotBeEmptied(t *testing.T) {
	b := open(t, "Ada")
	at := "/console/events/" + other
	b.expect(b.post(at+"/edit", "title", "Slow", "components", other, "startAt", "", "version", "4"), http.StatusUnprocessableEntity, `id="startAt-problem"`, "Enter a time.")
	b.expect(b.post(at+"/timeline/"+other, "message", "Slow", "timestamp", "", "version", "4"), http.StatusUnprocessableEntity, `id="timestamp-problem"`, "Enter a time.")
	b.expect(b.post("/console/components/"+other, "name", "Checkout", "startAt", "", "version", "4"), http.StatusUnprocessableEntity, `id="startAt-problem"`, "Enter a time.")
	b.expect(b.post(at+"/edit", "title", "Slow", "components", other, "startAt", "2026-01-31T10:30", "version", "4"), http.StatusSeeOther)
}
