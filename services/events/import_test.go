package events_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
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

// TestConcurrentImportsCreateNothingTwice sends the same events to two processes at the same time.
func TestConcurrentImportsCreateNothingTwice(t *testing.T) {
	second := start(t, startBroker(t))
	first := second.in(t)
	second.run()
	first.referred("API", "s:a:api")
	var events []string
	for i := range 60 {
		events = append(events, importedIncident(fmt.Sprint(i), fmt.Sprint("E", i)))
	}
	var mu sync.Mutex
	created := map[string]int{}
	ids := map[string]string{}
	var group sync.WaitGroup
	for i := range 6 {
		p := []*platform{first, second}[i%2]
		group.Go(func() {
			out := p.imports("", events...)
			mu.Lock()
			defer mu.Unlock()
			for _, r := range out.Results {
				if r.EventID == nil || r.Status != "created" && r.Status != "unchanged" || ids[r.Key] != "" && ids[r.Key] != *r.EventID {
					t.Errorf("%+v", r)
					continue
				}
				ids[r.Key] = *r.EventID
				if r.Status == "created" {
					created[r.Key]++
				}
			}
		})
	}
	group.Wait()
	for key := range ids {
		if created[key] != 1 {
			t.Errorf("%s was created %d times", key, created[key])
		}
	}
	if list := first.must(200, "", "GET", "/api/v1/event/list/?limit=1", ""); list["meta"].(map[string]any)["total_count"] != float64(60) {
		t.Errorf("%v events are stored", list["meta"])
	}
	if list := first.must(200, "", "GET", "/api/v1/event/update/?limit=1", ""); list["meta"].(map[string]any)["total_count"] != float64(120) {
		t.Errorf("%v entries are stored", list["meta"])
	}
}

// TestReportsCountImportedEvents compares 24 monthly reports with a count by the second of the events that were imported.
func TestReportsCountImportedEvents(t *testing.T) {
	p := start(t, startBroker(t))
	id := p.referred("API", "s:a:api")
	random := rand.New(rand.NewPCG(1, 2))
	begin := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	months := 24
	end := begin.AddDate(0, months, 0)
	const seconds = 24 * 3600
	severities := map[string]string{"minor_outage": "partial_outage", "major_outage": "major_outage", "minor_performance": "degraded_performance"}
	ranks := []string{"operational", "under_maintenance", "degraded_performance", "partial_outage", "major_outage"}
	state := make([]byte, int(end.Sub(begin)/time.Second)) // rank of each second
	mark := func(from, to time.Time, impact string) {
		rank := byte(slices.Index(ranks, impact))
		seconds := state[from.Sub(begin)/time.Second : to.Sub(begin)/time.Second]
		for s := range seconds {
			seconds[s] = max(seconds[s], rank)
		}
	}
	var events []string
	for i := range 180 {
		from := begin.Add(time.Duration(random.IntN(len(state)-3*seconds)) * time.Second)
		middle := from.Add(time.Duration(1+random.IntN(seconds)) * time.Second)
		to := middle.Add(time.Duration(1+random.IntN(seconds)) * time.Second)
		severity := []string{"minor_outage", "major_outage", "minor_performance"}[i%3]
		later := ranks[random.IntN(len(ranks))]
		mark(from, middle, severities[severity])
		mark(middle, to, later)
		at := func(t time.Time) string { return t.Format(time.RFC3339) }
		events = append(events, fmt.Sprintf(`{"key": "e%d", "type": "incident", "title": "E", "status": "resolved", "severity": "%s", "startAt": "%s", "endAt": "%s", "components": [{"key": "s:a:api"}],
			"timeline": [{"key": "1", "at": "%[3]s", "status": "investigating", "html": "x"}, {"key": "2", "at": "%[5]s", "status": "update", "html": "x", "impacts": {"s:a:api": "%[6]s"}},
			{"key": "3", "at": "%[4]s", "status": "resolved", "html": "x"}]}`, i, severity, at(from), at(to), at(middle), later))
	}
	p.imports("", events...)
	for m := range months {
		month := begin.AddDate(0, m, 0)
		counted := make([]float64, len(ranks))
		for _, rank := range state[month.Sub(begin)/time.Second : month.AddDate(0, 1, 0).Sub(begin)/time.Second] {
			counted[rank]++
		}
		out := p.must(200, "app admin uptime a", "GET", "/app/reports/uptime?month="+month.Format("2006-01")+"&componentId="+id, "")
		component := out["report"].(map[string]any)["components"].([]any)[0].(map[string]any)
		if m == 0 {
			t.Log(component)
		}
		for impact, member := range map[string]string{"partial_outage": "partialOutageSeconds", "major_outage": "majorOutageSeconds", "degraded_performance": "degradedSeconds"} {
			if got, want := component[member], counted[slices.Index(ranks, impact)]; got != want {
				t.Errorf("%s: %v seconds of %s, counted %v", month.Format("2006-01"), got, impact, want)
			}
		}
	}
}
