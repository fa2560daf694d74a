package events_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzEventBody creates and changes an event with any body. No response may be a 5xx, and a refused
// body must change nothing.
func FuzzEventBody(f *testing.F) {
	p := start(f, startBroker(f))
	p.must(201, "", "POST", "/api/v1/service/", `{"service_name": "API"}`)
	p.must(201, "", "POST", "/api/v1/event/list/", incident+`, "event_update": [{"update": "one"}]}`)
	sent, err := json.Marshal(p.must(200, "", "GET", "/api/v1/event/list/1/", ""))
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		string(sent), incident + `}`, maintenance + `, "auto": 1}`, `{}`, `[]`, `{"type": {"type": "maintenance"}, "end": "2026-01-02T03:04:05.999999Z", "status": {"id": "1"}}`,
		incident + `, "notifications": {"teams": {"enabled": true, "color": "#fff", "channels": [1, "x"]}, "email": {"enabled": 0, "email_subject": "s"}}}`,
		`{"event_service": [{"resource_uri": "/api/v1/event/service/1/", "service": 1}], "event_update": [{"id": 1, "update": "x", "status": {"pk": "2"}, "date": null}]}`,
		`{"status": "/api/v1/status/3/", "end": null, "severity": null, "description": 5e3, "start": "9999-12-31T23:59:59"}`,
	} {
		f.Add(seed)
	}
	started := p
	f.Fuzz(func(t *testing.T, body string) {
		p := started.in(t)
		count := func(list string) float64 {
			return p.must(200, "", "GET", "/api/v1/event/"+list+"/?limit=1", "")["meta"].(map[string]any)["total_count"].(float64)
		}
		events, links, updates := count("list"), count("service"), count("update")
		created := p.send("", "POST", "/api/v1/event/list/", body)
		switch created.status {
		case 201:
			events++
		case 400:
			if count("list") != events || count("service") != links || count("update") != updates {
				t.Errorf("refused, but a record was created: %s", body)
			}
		case 413:
		default:
			t.Errorf("POST returned %d %s to %q", created.status, created.body, body)
		}
		if count("list") != events {
			t.Errorf("%v events, want %v, after %q", count("list"), events, body)
		}
		event := p.must(201, "", "POST", "/api/v1/event/list/", incident+`, "event_update": [{"update": "one"}]}`)["resource_uri"].(string)
		before := p.send("", "GET", event, "")
		changed := p.send("", "PUT", event, body)
		after := p.send("", "GET", event, "")
		switch changed.status {
		case 200:
			again := p.send("", "PUT", event, string(after.body))
			if last := p.send("", "GET", event, ""); again.status != 200 || string(last.body) != string(after.body) {
				t.Errorf("the GET body sent back returned %d %s and changed\n%s\n%s", again.status, again.body, after.body, last.body)
			}
		case 400, 413:
			if string(before.body) != string(after.body) {
				t.Errorf("refused, but changed, by %q", body)
			}
		default:
			t.Errorf("PUT returned %d %s to %q", changed.status, changed.body, body)
		}
		p.must(204, "", "DELETE", event, "")
		if made, found := strings.CutPrefix(created.header.Get("Location"), legacyBase); found {
			p.must(204, "", "DELETE", made, "")
		}
	})
}
