package pages

import (
	"net/http"
	"strings"
	"testing"
)

func TestANewComponentNeedsOnlyAName(t *testing.T) {
	b := open(t, "Checkout")
	got := b.post("/console/components/new", "name", "Checkout", "groupName", "", "description", "", "externalRefs", "", "startAt", "")
	if b.expect(got, http.StatusSeeOther); got.header.Get("Location") != "/console/components/"+other {
		t.Error(got.header.Get("Location"))
	}
	b.expect(b.get("/console/components/"+other), http.StatusOK, "Checkout is added.")
	if body := b.app.body("POST /app/components"); body != `{"name":"Checkout","description":"","hidden":false,"hiddenFromNotifications":false,"externalRefs":[],"checkUrl":null,"publicId":null}` {
		t.Error(body)
	}
	b.expect(b.post("/console/components/new", "name", ""), http.StatusUnprocessableEntity, "Enter the name.")
	b.app.answer("POST /app/components", answer{400, `{"error": "checkUrl: must not have a fragment, which no tool sends"}`, false})
	b.expect(b.post("/console/components/new", "name", "Checkout", "checkUrl", "https://shop.example.com/#top"), http.StatusUnprocessableEntity, "Address to check must not have a fragment, which no tool sends.")
	if body := b.app.body("POST /app/components"); !strings.Contains(body, `"checkUrl":"https://shop.example.com/#top"`) {
		t.Error(body)
	}
	b.app.answer("POST /app/components", answer{409, `{"error": "externalRefs[1]: is that of another component."}`, false})
	b.expect(b.post("/console/components/new", "name", "Checkout", "externalRefs", "a\nb"), http.StatusUnprocessableEntity, "Ids in other tools is that of another component.", "a\nb", "<details open>")
}

// With several dashboards, a new component joins those that are ticked. The first one is ticked, as the App interface has it.
func TestANewComponentJoinsTheTickedDashboards(t *testing.T) {
	b := open(t, "Checkout")
	got := b.get("/console/components/new")
	b.expect(got, http.StatusOK, "Shown on", `name="dashboards" value="`+other+`" checked`)
	if strings.Contains(got.text, `value="`+member+`" checked`) {
		t.Error("the second dashboard is ticked")
	}
	for _, row := range []struct {
		fields []string
		sent   string
	}{
		{[]string{"dashboards", "", "dashboards", member}, `"dashboardIds":["` + member + `"]}`},
		{[]string{"dashboards", ""}, `"dashboardIds":[]}`},
	} {
		b.expect(b.post("/console/components/new", append(row.fields, "name", "Checkout")...), http.StatusSeeOther)
		if body := b.app.body("POST /app/components"); !strings.HasSuffix(body, row.sent) {
			t.Errorf("%v sends %s", row.fields, body)
		}
	}
	wrong := b.post("/console/components/new", "name", "", "dashboards", "", "dashboards", member)
	b.expect(wrong, http.StatusUnprocessableEntity, "Enter the name.", `name="dashboards" value="`+member+`" checked`)
	if strings.Contains(wrong.text, `value="`+other+`" checked`) {
		t.Error("the choice is lost")
	}
	b.app.answer("POST /app/components", answer{400, `{"error": "dashboardIds[0]: must be a dashboard of the organization"}`, false})
	b.expect(b.post("/console/components/new", "name", "Checkout", "dashboards", "", "dashboards", member), http.StatusUnprocessableEntity, "Shown on must be a dashboard of the organization.")
	b.app.answer("GET /app/dashboards", answer{200, `{"dashboards": [{"id": "` + other + `", "name": "Acme"}], "nextToken": null}`, false})
	if got := b.get("/console/components/new"); !strings.Contains(got.text, "“<bdi>Acme</bdi>” shows the component at once.") || strings.Contains(got.text, `name="dashboards"`) {
		t.Errorf("with one dashboard there is nothing to choose: %s", got.text)
	}
}

// An organization can have more dashboards than a page of the list has.
func TestAComponentsPagesNameDashboardsThatTheListLacks(t *testing.T) {
	b := open(t, "Checkout")
	b.app.answer("GET /app/dashboards", answer{200, `{"dashboards": [], "nextToken": "more"}`, false})
	b.expect(b.get("/console/components/"+other+"/delete"), http.StatusOK, "It disappears from")
	b.expect(b.get("/console/components/"+other), http.StatusOK, `href="/console/dashboards/`+other+`/components"`)
}

func TestAReaderSeesAComponentWithoutItsForms(t *testing.T) {
	b := open(t, "Checkout")
	b.member.Roles = []string{"subscriber"}
	b.expect(b.get("/console/components"), http.StatusOK, "Partial outage, set by hand", "Major outage 1", "1 open event", "On 1 dashboard")
	got := b.get("/console/components/" + other)
	b.expect(got, http.StatusOK, "Partial outage", "Set by hand by", "Shown on", "Address to check")
	if strings.Contains(got.text, `name="groupName"`) || strings.Contains(got.text, "/delete") || strings.Contains(got.text, "/console/events") {
		t.Errorf("a subscriber sees a form: %s", got.text)
	}
	if list := b.get("/console/components"); strings.Contains(list.text, "/components/new") {
		t.Error("a subscriber sees the button of a new component")
	}
}

func TestAStateByHandHasAnEndInTheZoneOfTheMember(t *testing.T) {
	b := open(t, "Checkout")
	b.expect(b.get("/console/components/"+other), http.StatusOK, `value="2026-02-02T10:30"`, "In Europe/Berlin, your time zone.")
	at := "/console/components/" + other + "/state"
	b.expect(b.post(at, "status", "degraded_performance", "until", "2026-02-01T12:00", "countInUptime", "on", "version", "4"), http.StatusSeeOther)
	if body := b.app.body("PATCH /app/components/" + other); body != `{"statusOverride":{"status":"degraded_performance","until":"2026-02-01T12:00:00+01:00","countInUptime":true}}` {
		t.Error(body)
	}
	b.expect(b.post(at, "status", "operational", "until", "2026-02-01T12:00", "version", "4"), http.StatusSeeOther)
	if body := b.app.body("PATCH /app/components/" + other); body != `{"statusOverride":{"status":"operational","until":null,"countInUptime":false}}` {
		t.Error(body)
	}
	b.expect(b.post(at, "status", "degraded_performance", "until", "2026-03-29T02:30", "version", "4"), http.StatusUnprocessableEntity, "This time does not exist", `id="state-until-problem"`)
	b.app.answer("PATCH /app/components/"+other, answer{400, `{"error": "statusOverride.until: must be in the future."}`, false})
	b.expect(b.post(at, "status", "degraded_performance", "until", "2026-02-01T12:00", "version", "4"), http.StatusUnprocessableEntity, "Until must be in the future.", `value="2026-02-01T12:00"`)
	b.app.answer("PATCH /app/components/"+other, answer{409, `{"error": "The record has changed."}`, false})
	b.expect(b.post(at, "status", "degraded_performance", "until", "", "version", "3"), http.StatusConflict, "Degraded performance", "Partial outage", "Keep mine")
}

func TestTheDeletionOfAComponentNamesWhatGoesWithIt(t *testing.T) {
	b := open(t, "Checkout")
	at := "/console/components/" + other + "/delete"
	b.expect(b.get(at), http.StatusOK, "It disappears from Checkout, with its uptime.", "An open event affects it.")
	b.app.answer("DELETE /app/components/"+other, answer{409, `{"error": "An active event names the component."}`, false})
	b.expect(b.post(at), http.StatusUnprocessableEntity, "An active event names the component.")
	b.app.forget("DELETE /app/components/" + other)
	if got := b.post(at); got.header.Get("Location") != "/console/components" {
		t.Errorf("%d to %s", got.status, got.header.Get("Location"))
	}
}

func TestATemplateIsWrittenInTheNotation(t *testing.T) {
	b := open(t, "Checkout")
	b.expect(b.post("/console/templates/new", "name", "Payments", "title", "Payments fail", "status", "identified", "message", "**We** fix it.", "severity", "", "components", other, "impact", "", "step", "", "find", ""), http.StatusSeeOther)
	want := `{"kind":"incident","name":"Payments","title":"Payments fail","status":"identified","message":"{\"type\":\"doc\",\"content\":[{\"type\":\"paragraph\",\"content\":[{\"type\":\"text\",\"text\":\"We\",\"marks\":[{\"type\":\"bold\"}]},{\"type\":\"text\",\"text\":\" fix it.\"}]}]}","severity":null,"impact":null,"componentIds":["` + other + `"]}`
	if body := b.app.body("POST /app/templates"); body != want {
		t.Error(body)
	}
	b.app.answer("GET /app/templates/"+other, answer{200, `{"template": {"id": "` + other + `", "kind": "update", "name": "Soon", "title": null, "status": null, "severity": null, "impact": null, "componentIds": [], "version": 2,
		"message": "{\"type\":\"doc\",\"content\":[{\"type\":\"paragraph\",\"content\":[{\"type\":\"text\",\"text\":\"Soon\",\"marks\":[{\"type\":\"bold\"}]}]}]}"}}`, false})
	got := b.get("/console/templates/" + other)
	if b.expect(got, http.StatusOK, "\n**Soon**</textarea>", `name="version" value="2"`); strings.Contains(got.text, `name="title"`) {
		t.Error("a template of an update has a title")
	}
	b.expect(b.get("/console/events/new?template="+other), http.StatusOK, "\n**Soon**</textarea>")
	found := b.post("/console/templates/"+other, "name", "", "status", "", "message", "typed", "impact", "", "step", "show", "find", "pay", "version", "2")
	b.expect(found, http.StatusOK, "\ntyped</textarea>", `value="pay"`)
	b.expect(b.post("/console/templates/"+other, "name", "", "status", "", "message", "typed", "impact", "", "version", "2"), http.StatusUnprocessableEntity, "Enter the name.")
	b.app.answer("PATCH /app/templates/"+other, answer{409, `{"error": "The record has changed."}`, false})
	b.expect(b.post("/console/templates/"+other, "name", "Later", "status", "", "message", "**Soon**", "impact", "", "version", "1"), http.StatusConflict, "Later", "Soon", "Take theirs")
	b.expect(b.post("/console/templates/"+other+"/delete"), http.StatusSeeOther)
}
