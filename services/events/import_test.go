package events_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const importRun = "0190eeee-0000-7000-8000-000000000001"

// imported is the response to an import.
type imported struct {
	Results []struct {
		Key     string  `json:"key"`
		Status  string  `json:"status"`
		EventID *string `json:"eventId"`
		Error   *string `json:"error"`
	} `json:"results"`
}

// imports sends an import of a member with the role admin and returns the response.
func (p *platform) imports(members string, events ...string) imported {
	p.t.Helper()
	body := `{"dashboardId": "` + dashA + `", "runId": "` + importRun + `"` + members + `, "events": [` + strings.Join(events, ",") + `]}`
	a := p.send("app admin a", "POST", "/app/events/import", body)
	var out imported
	if err := json.Unmarshal(a.body, &out); err != nil || a.status != 200 {
		p.t.Fatalf("an import returned %d %.300s", a.status, a.body)
	}
	return out
}

// referred creates a component with an external reference and returns its id.
func (p *platform) referred(name, ref string) string {
	p.t.Helper()
	out := p.must(201, "app admin a", "POST", "/app/components", `{"name": "`+name+`", "externalRefs": ["`+ref+`"], "startAt": "2020-01-01T00:00:00Z"}`)
	return out["component"].(map[string]any)["id"].(string)
}

// importedAt returns an incident with a component and two entries.
func importedIncident(key, title string) string {
	return fmt.Sprintf(`{"key": "s:a:%[1]s", "type": "incident", "title": "%[2]s", "status": "resolved", "severity": "minor_outage", "startAt": "2025-03-01T10:00:00Z",
		"components": [{"key": "s:a:api"}], "timeline": [{"key": "u1", "at": "2025-03-01T10:00:00Z", "status": "investigating", "html": "<p>We look into it.</p>"},
		{"key": "u2", "at": "2025-03-01T11:00:00Z", "status": "resolved", "html": "Solved."}]}`, key, title)
}

func (r imported) statuses() string {
	var all []string
	for _, result := range r.Results {
		all = append(all, result.Status)
	}
	return strings.Join(all, " ")
}

// An import stores each event whole. The same events again change nothing, an event that a member has changed or deleted
// is kept unless force is sent, and the deletion of a run lets the events be imported again.
func TestAnImportCanBeRepeatedAndUndone(t *testing.T) {
	p := start(t, startBroker(t))
	p.referred("API", "s:a:api")
	before := p.must(200, "app admin a", "GET", "/app/events?limit=100", "")
	expect := func(what, want, got string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s, not %s", what, got, want)
		}
	}
	a, b, c := importedIncident("1", "A"), importedIncident("2", "B"), importedIncident("3", "C")
	expect("a dry run", "created created created", p.imports(`, "dryRun": true`, a, b, c).statuses())
	expect("after a dry run", fmt.Sprint(before), fmt.Sprint(p.must(200, "app admin a", "GET", "/app/events?limit=100", "")))
	first := p.imports("", a, b)
	expect("new events", "created created", first.statuses())
	expect("one more", "unchanged unchanged created", p.imports("", a, b, c).statuses())
	expect("changed at the source", "updated unchanged", p.imports("", importedIncident("1", "A2"), b).statuses())
	changed, deleted := "/app/events/"+*first.Results[0].EventID, "/app/events/"+*first.Results[1].EventID
	p.must(201, "app event a", "POST", changed+"/notes", `{"note": "Seen"}`)
	p.must(204, "app event a", "DELETE", deleted, "")
	expect("events that members have changed", "kept kept", p.imports("", importedIncident("1", "A3"), importedIncident("2", "B")).statuses())
	expect("a dry run with force", "updated created", p.imports(`, "force": true, "dryRun": true`, importedIncident("1", "A3"), b).statuses())
	expect("with force", "updated created", p.imports(`, "force": true`, importedIncident("1", "A3"), b).statuses())
	if event, _ := p.app("GET", changed, "", 200); event.Event.Title != "A3" || len(event.Event.Timeline) != 2 {
		t.Errorf("the event is %+v", event.Event)
	}
	p.must(201, "app event a", "POST", changed+"/notes", `{"note": "Seen again"}`)
	expect("the deletion", `{"deleted":2,"kept":1,"remaining":0}`, strings.TrimSpace(string(p.send("app admin a", "DELETE", "/app/events/import/"+importRun, "").body)))
	expect("after the deletion", "kept created created", p.imports("", importedIncident("1", "A4"), b, c).statuses())
	if a := p.send("app event a", "POST", "/app/events/import", `{}`); a.status != 403 {
		t.Errorf("a member with the role event got %d", a.status)
	}
}
