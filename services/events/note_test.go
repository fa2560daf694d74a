package events_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// openIncident creates a component and an incident, and returns the path of the incident on the App interface.
func (p *platform) openIncident() string {
	p.t.Helper()
	p.must(201, "", "POST", "/api/v1/service/", `{"service_name": "API"}`)
	p.must(201, "", "POST", "/api/v1/event/list/", incident+`}`)
	listed := p.must(200, "app event a", "GET", "/app/events", "")["events"].([]any)
	return "/app/events/" + listed[0].(map[string]any)["id"].(string)
}

// TestNotesAreInternal checks that no message about an event has a note, and which message a published post-mortem makes.
func TestNotesAreInternal(t *testing.T) {
	p := start(t, startBroker(t))
	heard := p.listen()
	event := p.openIncident()
	p.must(201, "app event a", "POST", event+"/notes", `{"note": "a confidential remark"}`)
	p.must(200, "", "PUT", "/api/v1/event/list/1/", `{"status": {"status": "resolved"}}`)
	p.must(200, "app event a", "PUT", event+"/post-mortem", `{"summary": "not yet public", "notify": true}`)
	p.must(200, "app event a", "PUT", event+"/post-mortem", `{"summary": "public", "published": true, "notify": {"email": true}}`)
	changes := heard.of(t, 1, 5)
	for i, want := range []topic.Kind{topic.IncidentCreated, topic.IncidentUpdated, topic.IncidentResolved, topic.IncidentUpdated, topic.IncidentPostMortem} {
		text, err := json.Marshal(changes[i])
		if err != nil || strings.Contains(string(text), "confidential") || strings.Contains(string(text), "not yet public") {
			t.Errorf("change %d: %v %s", i, err, text)
		}
		if changes[i].Kind != want || len(changes[i].Notify) > 0 != (want == topic.IncidentPostMortem) {
			t.Errorf("change %d is %s to %v, want %s", i, changes[i].Kind, changes[i].Notify, want)
		}
	}
}

// TestNotesAreBounded checks that many writers at once lose no note, and the limit of 200 notes of an event.
func TestNotesAreBounded(t *testing.T) {
	const writers, each = 20, 11
	p := start(t, startBroker(t))
	event := p.openIncident()
	var group sync.WaitGroup
	var mu sync.Mutex
	accepted := map[string]bool{}
	for w := range writers {
		group.Go(func() {
			for i := range each {
				note := fmt.Sprintf("%d of %d", i, w)
				post := func() answer { return p.send("app event a", "POST", event+"/notes", `{"note": "`+note+`"}`) }
				switch a := patiently(post); a.status {
				case http.StatusCreated:
					mu.Lock()
					accepted[note] = true
					mu.Unlock()
				case http.StatusConflict:
					if want := "The event has 200 notes, and cannot have more. Delete a note first."; !strings.Contains(string(a.body), want) {
						t.Errorf("the response is %s", a.body)
					}
				default:
					t.Errorf("%d %s", a.status, a.body)
				}
			}
		})
	}
	group.Wait()
	if len(accepted) != 200 {
		t.Errorf("%d notes were accepted", len(accepted))
	}
	seen := map[string]int{}
	path := event + "/notes?limit=7"
	for next := path; next != ""; {
		page := p.must(200, "app event a", "GET", next, "")
		for _, note := range page["notes"].([]any) {
			seen[note.(map[string]any)["note"].(string)]++
		}
		next = ""
		if token, more := page["nextToken"].(string); more {
			next = path + "&nextToken=" + token
		}
	}
	for note := range accepted {
		if seen[note] != 1 {
			t.Errorf("note %q is listed %d times", note, seen[note])
		}
	}
}
