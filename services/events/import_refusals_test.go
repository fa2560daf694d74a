package events_test

import (
	"fmt"
	"strings"
	"testing"
)

// shortIncident returns an incident of an import with more members.
func shortIncident(key, members string) string {
	return fmt.Sprintf(`{"key": "s:a:%s", "type": "incident", "title": "E", "status": "investigating", "startAt": "2025-03-01T10:00:00Z"%s}`, key, members)
}

// errors returns the errors of the results, "" for none.
func (r imported) errors() (all []string) {
	for _, result := range r.Results {
		text := ""
		if result.Error != nil {
			text = *result.Error
		}
		all = append(all, text)
	}
	return all
}

// A time before 1990 would make a page of the history for each month since, and the message about a text names the member
// that was sent.
func TestAnImportRefusesWhatCannotBeShown(t *testing.T) {
	p := start(t, startBroker(t))
	full := strings.Repeat("x", 20_000)
	entry := func(at, id string) string {
		return `, "timeline": [{"key": "u1", "at": "` + at + `", "status": "investigating", "html": "x", "publicId": "` + id + `"}]`
	}
	got := p.imports("",
		shortIncident("1", `, "html": "`+full+`"`), shortIncident("2", `, "html": "`+full+`x"`),
		strings.Replace(shortIncident("3", ""), "2025", "0001", 1), shortIncident("4", `, "createdAt": "1989-12-31T23:59:59Z"`), shortIncident("5", entry("0001-01-01T00:00:00Z", "a")),
		shortIncident("6", entry("2025-03-01T10:00:00Z", "b")), shortIncident("7", entry("2025-03-01T10:00:00Z", "b")),
		shortIncident("8", `, "timeline": [{"key": "u1", "at": "2025-03-01T10:00:00Z", "status": "update", "html": "x", "publicId": "c"},
			{"key": "u2", "at": "2025-03-01T10:00:00Z", "status": "update", "html": "x", "publicId": "c"}]`),
	).errors()
	want := []string{
		"", "html: must be at most 20000 characters", "startAt: must not be before 1990", "createdAt: must not be before 1990", "timeline[0].at: must not be before 1990",
		"", "timeline[0].publicId: is that of another entry of the import", "timeline[1].publicId: is that of another entry of the import",
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("event %d: %q, not %q", i+1, got[i], want[i])
		}
	}
	maintenance := `{"type": "maintenance", "title": "M", "dashboardIds": ["` + dashA + `"], "scheduledStartAt": "0001-01-01T00:00:00Z", "scheduledEndAt": "0001-01-01T01:00:00Z"}`
	if a := p.send("app event a", "POST", "/app/events", maintenance); a.status != 400 || !strings.Contains(string(a.body), "before 1990") {
		t.Errorf("a maintenance in the year 1: %d %s", a.status, a.body)
	}
}

// An import sets an alias only if no alias has the path. A path that a member has led elsewhere stays.
func TestAnImportChangesNoAlias(t *testing.T) {
	p := start(t, startBroker(t))
	const path = "/app/dashboards/" + dashA + "/aliases"
	one, two := shortIncident("1", `, "aliases": ["incidents/one"]`), shortIncident("2", `, "aliases": ["incidents/one", "incidents/two"]`)
	got := p.imports("", one, two)
	if errors := got.errors(); errors[0] != "" || errors[1] != "aliases: incidents/one: The path leads elsewhere." || got.statuses() != "created created" {
		t.Errorf("%s %q", got.statuses(), errors)
	}
	taken, quoted := make([]string, 12), make([]string, 12)
	for n := range taken {
		taken[n] = fmt.Sprintf("old/%02d", n)
		quoted[n] = `"` + taken[n] + `"`
	}
	many := `, "aliases": [` + strings.Join(quoted, ", ") + `]`
	if got := p.imports("", shortIncident("8", many), shortIncident("9", many)).errors(); got[1] != "aliases: 12 paths, the first 10 of which are "+strings.Join(taken[:10], ", ")+": The path leads elsewhere." {
		t.Errorf("12 paths that lead elsewhere: %q", got)
	}
	first := *got.Results[0].EventID
	p.must(200, "app admin a", "POST", path, `{"aliases": [{"path": "incidents/one", "file": "/history"}]}`)
	if got := p.imports("", one); got.statuses() != "unchanged" || got.errors()[0] != "aliases: incidents/one: The path leads elsewhere." {
		t.Errorf("%s %q", got.statuses(), got.errors())
	}
	if list := fmt.Sprint(p.must(200, "app admin a", "GET", path, "")); strings.Contains(list, first) || !strings.Contains(list, "/history") || !strings.Contains(list, "incidents/two") {
		t.Errorf("the aliases are %s", list)
	}
	// The address of an event is no alias; an id that no event of the organization has may be one.
	own := `{"aliases": [{"path": "incidents/` + first + `", "file": "/history"}]}`
	if a := p.send("app admin a", "POST", path, own); a.status != 400 || !strings.Contains(string(a.body), "aliases[0].path") {
		t.Errorf("an alias with the address of an event: %d %s", a.status, a.body)
	}
	p.must(200, "app admin a", "POST", path, `{"aliases": [{"path": "incidents/01890a5d-ac96-774b-bcce-b302099a8064", "file": "/history"}]}`)
	if got := p.imports("", shortIncident("3", `, "aliases": ["incidents/`+first+`"]`)); got.statuses() != "created" || !strings.Contains(got.errors()[0], "must not be the address") {
		t.Errorf("%s %q", got.statuses(), got.errors())
	}
}

// An event has components or dashboards. A component that a client of the legacy interface adds replaces the dashboards.
func TestALegacyLinkReplacesTheDashboardsOfAnEvent(t *testing.T) {
	p := start(t, startBroker(t))
	p.must(201, "app admin a", "POST", "/app/components", `{"name": "Nowhere", "dashboardIds": []}`)
	id := *p.imports("", shortIncident("1", "")).Results[0].EventID
	p.must(201, "", "POST", "/api/v1/event/service/", `{"event": "/api/v1/event/list/1/", "service": "/api/v1/service/1/"}`)
	event := p.must(200, "app event a", "GET", "/app/events/"+id, "")["event"].(map[string]any)
	if links, on := event["affectedComponents"].([]any), event["dashboardIds"].([]any); len(links) != 1 || len(on) != 0 {
		t.Errorf("the event has the components %v and the dashboards %v", links, on)
	}
	p.must(200, "app event a", "PATCH", "/app/events/"+id, `{"title": "Renamed"}`)
}
