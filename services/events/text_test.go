package events_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Each interface refuses titles and names that are not one line, that change the direction of the text after them or that
// show nothing, and entries that show nothing. The error names the field.
func TestATextThatCannotBeShownIsRefused(t *testing.T) {
	p := start(t, startBroker(t))
	made := p.must(201, "app admin a", "POST", "/app/events", `{"type": "incident", "title": "E", "dashboardIds": ["`+dashA+`"], "initialTimelineMessage": "We look."}`)["event"].(map[string]any)
	id, legacy := made["id"].(string), fmt.Sprint(made["legacyId"])
	service := fmt.Sprint(p.must(201, "legacy admin a", "POST", "/api/v1/service/", `{"service_name": "API"}`)["resource_uri"])
	entry := made["timeline"].([]any)[0].(map[string]any)["statusId"].(string)
	event := func(title string) string {
		return `{"type": "incident", "title": "` + title + `", "dashboardIds": ["` + dashA + `"]}`
	}
	lines := map[string]string{ // in JSON; with the start of the error
		`a\u0007b`: "must be one line", `a\nb`: "must be one line", `a\u2028b`: "must be one line", `a\u202eb`: "must not have the characters U+202A to U+202E",
		`a\u2067b`: "must close each", `a\u2069\u2067b`: "must close each", `\u200b \ufeff`: "must ", `\u3164`: "must ", `\u2800`: "must ",
	}
	for text, want := range lines {
		for _, c := range []struct{ as, method, path, body, field string }{
			{"app admin a", "POST", "/app/events", event(text), "title"},
			{"app admin a", "PATCH", "/app/events/" + id, `{"title": "` + text + `"}`, "title"},
			{"app admin a", "POST", "/app/components", `{"name": "` + text + `"}`, "name"},
			{"app admin a", "POST", "/app/dashboards", `{"name": "` + text + `"}`, "name"},
			{"app admin a", "POST", "/app/templates", `{"kind": "incident", "name": "N", "title": "` + text + `"}`, "title"},
			{"legacy admin a", "POST", "/api/v1/service/", `{"service_name": "` + text + `"}`, "service_name"},
		} {
			a := p.send(c.as, c.method, c.path, c.body)
			if wanted := `{"error":"` + c.field + ": " + want; a.status != 400 || !strings.HasPrefix(strings.ReplaceAll(string(a.body), `": "`, `":"`), wanted) {
				t.Errorf("%s %s with %s: %d %s", c.method, c.path, text, a.status, a.body)
			}
		}
		if strings.HasPrefix(want, "must be one line") || strings.Contains(want, "202A") { // a blank group is the default one
			for as, c := range map[string][3]string{
				"app admin a": {"/app/components", `{"name": "N", "groupName": "` + text + `"}`, "groupName"}, "legacy admin a": {"/api/v1/service/", `{"service_name": "N", "group": "` + text + `"}`, "group"},
			} {
				if a := p.send(as, "POST", c[0], c[1]); a.status != 400 || !strings.Contains(string(a.body), c[2]+": "+want) {
					t.Errorf("%s with %s: %d %s", c[0], c[1], a.status, a.body)
				}
			}
		}
		if got := p.imports("", strings.Replace(shortIncident("1", ""), `"E"`, `"`+text+`"`, 1)); !strings.HasPrefix(got.errors()[0], "title: "+want) {
			t.Errorf("an import of %s: %q", text, got.errors())
		}
	}
	closed, component := p.incident(p.component("Shop"), `, "status": "resolved"`), p.component("Old")
	content, err := json.Marshal(p.must(200, "app admin a", "GET", "/app/dashboards/"+dashA+"/content", "")["content"])
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{`a\u0007b`: "must not have control characters", `a\u202eb`: "must not have the characters U+202A", `a\nb\u2067`: "must close each"} {
		for _, c := range []struct{ method, path, body, field string }{
			{"POST", "/app/events/" + id + "/timeline", `{"message": "` + text + `"}`, "message"},
			{"PUT", "/app/events/" + id + "/timeline/" + entry, `{"message": "` + text + `"}`, "message"},
			{"PATCH", "/app/events/" + id, `{"description": "` + text + `"}`, "description"},
			{"POST", "/app/templates", `{"kind": "update", "name": "N", "message": "` + text + `"}`, "message"},
			{"PATCH", "/app/events/" + id, `{"coordinator": "` + text + `"}`, "coordinator"},
			{"POST", "/app/events/" + id + "/notes", `{"note": "` + text + `"}`, "note"},
			{"PUT", "/app/events/" + closed + "/post-mortem", `{"summary": "` + text + `"}`, "summary"},
			{"PUT", "/app/events/" + closed + "/post-mortem", `{"summary": "S", "rootCause": "` + text + `"}`, "rootCause"},
			{"PUT", "/app/events/" + closed + "/post-mortem", `{"summary": "S", "actionItems": [{"text": "` + text + `"}]}`, "actionItems[0].text"},
			{"PUT", "/app/events/" + closed + "/post-mortem", `{"summary": "S", "actionItems": [{"text": "T", "owner": "` + text + `"}]}`, "actionItems[0].owner"},
			{"POST", "/app/components", `{"name": "N", "description": "` + text + `"}`, "description"},
			{"PATCH", "/app/components/" + component, `{"description": "` + text + `"}`, "description"},
			{"PATCH", "/app/dashboards/" + dashA, `{"description": "` + text + `"}`, "description"},
			{"PUT", "/app/dashboards/" + dashA + "/content", strings.Replace(string(content), `"announcement":null`, `"announcement":"`+text+`"`, 1), "announcement"},
		} {
			if a := p.send("app admin a", c.method, c.path, c.body); a.status != 400 || !strings.Contains(string(a.body), c.field+": "+want) {
				t.Errorf("%s %s with %s: %d %s", c.method, c.path, text, a.status, a.body)
			}
		}
	}
	imported := p.imports("", shortIncident("7", `, "timeline": [{"key": "u", "at": "2025-03-01T10:00:00Z", "status": "update", "html": "<p>a\u202eb\u0007</p>"}]`))
	if a := p.send("app admin a", "GET", "/app/events/"+*imported.Results[0].EventID, ""); !strings.Contains(string(a.body), `ab\u003c/p`) && !strings.Contains(string(a.body), `<p>ab</p>`) {
		t.Errorf("the imported message: %s", a.body)
	}
	// The legacy interface keeps a text as it was sent, and a member may keep it too.
	p.must(200, "legacy admin a", "PUT", fmt.Sprint("/api/v1/service/", int(p.must(200, "app admin a", "GET", "/app/components/"+component, "")["component"].(map[string]any)["legacyId"].(float64)), "/"), `{"description": "C\u202eesc"}`)
	if a := p.must(200, "app admin a", "PATCH", "/app/components/"+component, `{"description": "C\u202eesc", "position": 7}`)["component"].(map[string]any); a["description"] != "C\u202eesc" {
		t.Errorf("the description that the component had became %q", a["description"])
	}
	imported = p.imports("", strings.Replace(shortIncident("8", `, "endAt": "2025-03-01T11:00:00Z", "coordinator": "a\u202eb", "notes": ["c\u202ed"], "postMortem": {"html": "e\u202ef", "rootCause": "g\u202eh",
		"actionItems": [{"text": "i\u202ej", "owner": "k\u202el"}]}`), "investigating", "resolved", 1))
	if a := p.must(200, "app admin a", "GET", "/app/events/"+*imported.Results[0].EventID, ""); strings.ContainsRune(fmt.Sprint(a), '\u202e') || !strings.Contains(fmt.Sprint(a), "text:ij") {
		t.Errorf("the imported event has %q", a)
	}
	for _, text := range []string{`<p> </p>`, ` `, `\u200b\u2060`, `<p><img src=\"https://e.test/i.png\"></p>`, `<p><!-- nothing --></p>`, `{\"type\": \"doc\", \"content\": [{\"type\": \"paragraph\", \"content\": [{\"type\": \"text\", \"text\": \" \"}]}]}`} {
		message := `{"message": "` + text + `"}`
		for _, c := range []struct{ as, method, path, body, field string }{
			{"app admin a", "POST", "/app/events/" + id + "/timeline", message, "message"},
			{"app admin a", "PUT", "/app/events/" + id + "/timeline/" + entry, message, "message"},
			{"app admin a", "POST", "/app/events", strings.Replace(event("T"), "{", `{"initialTimelineMessage": "`+text+`", `, 1), "initialTimelineMessage"},
			{"app admin a", "POST", "/app/templates", `{"kind": "update", "name": "N", "message": "` + text + `"}`, "message"},
		} {
			if a := p.send(c.as, c.method, c.path, c.body); a.status != 400 || !strings.Contains(string(a.body), c.field+": must ") {
				t.Errorf("%s %s with %s: %d %s", c.method, c.path, text, a.status, a.body)
			}
		}
		if strings.HasPrefix(text, "{") {
			continue // an import has HTML only
		}
		got := p.imports("", shortIncident("1", `, "timeline": [{"key": "u", "at": "2025-03-01T10:00:00Z", "status": "update", "html": "`+text+`"}]`))
		if !strings.HasPrefix(got.errors()[0], "timeline[0].html: must ") {
			t.Errorf("an import of %s: %q", text, got.errors())
		}
	}
	// On the legacy interface, <p> </p> is text. A description and an update show nothing if all characters are invisible.
	for _, c := range []struct{ method, path, body, field string }{
		{"POST", "/api/v1/event/update/", `{"event": "/api/v1/event/list/` + legacy + `/", "update": "\u200b"}`, "update"},
		{"POST", "/api/v1/event/update/", `{"event": "/api/v1/event/list/` + legacy + `/", "update": "<!-- -->", "markdown": true}`, "update"},
		{"PUT", "/api/v1/event/list/" + legacy + "/", `{"event_update": [{"update": "\u200b"}]}`, "event_update"},
		{"POST", "/api/v1/event/list/", `{"type": "/api/v1/type/1/", "status": "/api/v1/status/2/", "description": "\u200b", "start": "2026-01-02T03:04:05", "event_service": ["` + service + `"]}`, "description"},
	} {
		if a := p.send("legacy admin a", c.method, c.path, c.body); a.status != 400 || !strings.Contains(string(a.body), c.field+": ") {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, a.status, a.body)
		}
	}
}

// Text in any writing is taken, also with the isolates and marks that it needs. A legacy description of several lines has a
// title in one line, and so has the alert of a monitoring tool.
func TestATextInAnyWritingIsTaken(t *testing.T) {
	s := startTool(t)
	for _, text := range []string{"تعطل الدفع", "תקלה ב\u2068API\u2069 של \u200eCheckout\u200e", "می\u200cخواهم", "👩\u200d👩\u200d👧 ❤\ufe0f", "支払いの障害", "e\u0301"} {
		made := s.must(http.StatusCreated, "app admin a", "POST", "/app/events", `{"type": "incident", "title": "`+text+`", "dashboardIds": ["`+dashA+`"], "initialTimelineMessage": "`+text+`"}`)["event"].(map[string]any)
		if made["title"] != text {
			t.Errorf("the title %q became %q", text, made["title"])
		}
		s.must(http.StatusCreated, "app admin a", "POST", "/app/components", `{"name": "`+text+`", "groupName": "`+text+`"}`)
	}
	service := fmt.Sprint(s.must(http.StatusCreated, "legacy admin a", "POST", "/api/v1/service/", `{"service_name": "API"}`)["resource_uri"])
	legacy := s.must(http.StatusCreated, "legacy admin a", "POST", "/api/v1/event/list/",
		`{"type": "/api/v1/type/1/", "status": "/api/v1/status/2/", "description": "Down\r\nsince\t\u202enoon", "start": "2026-01-02T03:04:05", "event_service": ["`+service+`"]}`)
	if legacy["description"] != "Down\r\nsince\t\u202enoon" {
		t.Errorf("the description is %q", legacy["description"])
	}
	if a := s.send("app admin a", "GET", "/app/events?limit=100", ""); !strings.Contains(string(a.body), `"title":"Down since noon"`) {
		t.Errorf("the events are %s", a.body)
	}
	alert := s.ingest("created", s.message("trigger", "x", func(in *topic.InboundMessage) {
		in.Title, in.Message = "Checkout\n fails\u202e\x07", new("<p><!-- nothing --></p>")
	}))
	if turned := s.ingest("created", s.message("trigger", "y", func(in *topic.InboundMessage) { in.Message = new("One\r\n\u202etwo\u2066") })); fmt.Sprint(entries(turned)) != "[investigating: One\ntwo]" {
		t.Errorf("the entries of an alert with an override of the direction: %q", entries(turned))
	}
	if shown := s.ingest("created", s.message("trigger", "z", func(in *topic.InboundMessage) { in.Message = new("\u202e") })); len(entries(shown)) != 0 {
		t.Errorf("the entries of an alert with U+202E only: %q", entries(shown))
	}
	if alert["title"] != "Checkout fails" || len(entries(alert)) != 0 {
		t.Errorf("the alert has the title %q and the entries %q", alert["title"], entries(alert))
	}
}
