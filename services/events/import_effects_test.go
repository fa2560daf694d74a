package events_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// feedNames returns the files that feed readers and calendars read: of the dashboard and of the component.
func feedNames(component string) (names []string) {
	for _, file := range peer.DashboardFiles() {
		if slices.Contains([]string{peer.RSS, peer.Atom, peer.JSONFeed}, file.Media) {
			names = append(names, strings.ReplaceAll(file.Name(), "{id}", component))
		}
	}
	slices.Sort(names)
	return slices.Compact(names) // some have two addresses
}

// second creates a dashboard of organization a with the component, and returns its id.
func (p *platform) second(name, component string) string {
	p.t.Helper()
	return created("dashboard", p.must(201, "app admin a", "POST", "/app/dashboards", fmt.Sprintf(`{"name": %q, "components": [{"componentId": %q}]}`, name, component)))
}

// editionOf returns the current edition of a dashboard of any slug.
func (p *platform) editionOf(slug string) peer.Edition {
	p.t.Helper()
	a := p.send("public", "GET", "/public/v1/dashboards/"+slug+"/edition", "")
	var edition peer.Edition
	if err := json.Unmarshal(a.body, &edition); a.status != 200 || err != nil {
		p.t.Fatalf("the edition of %s: %d %s", slug, a.status, a.body)
	}
	return edition
}

// textOf returns the status and the text of a file of the current edition of a dashboard.
func (p *platform) textOf(slug, name string) (int, string) {
	p.t.Helper()
	response := p.file(p.editionOf(slug).ID, name, "identity")
	body, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// TestNoFeedHasImportedEntries imports events of today. Feeds have only what a member adds to them later, and the calendar
// has the maintenances.
func TestNoFeedHasImportedEntries(t *testing.T) {
	p := start(t, startBroker(t))
	component := p.referred("API", "s:a:api")
	feeds := feedNames(component)
	if len(feeds) != 6 {
		t.Fatalf("the feeds are %v", feeds)
	}
	before := map[string]string{}
	for _, name := range feeds {
		before[name] = p.text(name)
	}
	p.ahead.Add(int64(time.Hour))
	at := func(after time.Duration) string { return p.now().Add(after).Format(time.RFC3339) }
	entry := fmt.Sprintf(`"timeline": [{"key": "u", "at": %q, "status": "investigating", "html": "Imported entry"}]`, at(-time.Minute))
	first := p.imports("",
		fmt.Sprintf(`{"key": "open", "type": "incident", "title": "Imported open", "status": "investigating", "startAt": %q, "components": [{"key": "s:a:api"}], %s}`, at(-time.Minute), entry),
		fmt.Sprintf(`{"key": "bare", "type": "incident", "title": "Imported bare", "status": "resolved", "startAt": %q, "html": "Imported text", "components": [{"key": "s:a:api"}]}`, at(-time.Minute)),
		fmt.Sprintf(`{"key": "wide", "type": "incident", "title": "Imported wide", "status": "investigating", "startAt": %q, %s}`, at(-time.Minute), entry),
		fmt.Sprintf(`{"key": "plan", "type": "maintenance", "title": "Imported plan", "status": "planning", "scheduledStartAt": %q, "scheduledEndAt": %q, "components": [{"key": "s:a:api"}]}`, at(time.Hour), at(2*time.Hour)),
	)
	for _, name := range feeds {
		if text := p.text(name); text != before[name] {
			t.Errorf("an import changed %s from\n%s\nto\n%s", name, before[name], text)
		}
	}
	if statuses, _ := p.calendar(); statuses[*first.Results[3].EventID] != "CONFIRMED" || len(statuses) != 1 {
		t.Errorf("the calendar has %v", statuses)
	}
	for n, result := range first.Results[:3] {
		p.must(201, "app admin a", "POST", "/app/events/"+*result.EventID+"/timeline", fmt.Sprintf(`{"message": "Added %d"}`, n))
	}
	for _, name := range feeds {
		text := p.text(name)
		for n, title := range []string{"Imported open", "Imported bare", "Imported wide"} {
			want := 1
			if n == 2 && strings.HasPrefix(name, "components/") { // the event has no components
				want = 0
			}
			if got := strings.Count(text, fmt.Sprintf("Added %d", n)); got < want || want == 0 && got > 0 || strings.Contains(text, title) != (want > 0) {
				t.Errorf("%s has the entry that was added to %s %d times: %s", name, title, got, text)
			}
		}
		for _, imported := range []string{"Imported entry", "Imported text", "Imported plan"} {
			if strings.Contains(text, imported) {
				t.Errorf("%s has %q: %s", name, imported, text)
			}
		}
	}
}

// TestAnEventWithoutComponentsIsOnItsDashboardsOnly compares its impact in /api/v2 with its severity.
func TestAnEventWithoutComponentsIsOnItsDashboardsOnly(t *testing.T) {
	p := start(t, startBroker(t))
	component := p.referred("API", "s:a:api")
	second := p.second("Second", component)
	p.second("Third", component)
	impacts := map[string]string{"": "none", "minor_performance": "minor", "major_performance": "minor", "minor_outage": "major", "major_outage": "critical"}
	p.ahead.Store(int64(time.Until(time.Now().Truncate(24 * time.Hour).Add(36 * time.Hour)))) // noon
	at := func(before time.Duration) string { return p.now().Add(-before).Format(time.RFC3339) }
	var events []string
	for _, severity := range slices.Sorted(maps.Keys(impacts)) {
		line := map[string]any{"key": "e" + severity, "type": "incident", "title": "Wide " + severity, "status": "resolved", "startAt": at(2 * time.Hour), "endAt": at(time.Hour)}
		if severity != "" {
			line["severity"] = severity
		}
		if severity == "major_outage" {
			line["dashboardIds"] = []string{dashA, second}
			line["status"] = "investigating"
			delete(line, "endAt")
		}
		text, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, string(text))
	}
	results := p.imports("", events...).Results
	for slug, shown := range map[string]int{"acme-status": len(impacts), "second": 1, "third": 0} {
		var listed struct {
			Incidents []struct {
				ID, Name, Impact string
				Components       []any
			}
		}
		if _, text := p.textOf(slug, "api/v2/incidents.json"); json.Unmarshal([]byte(text), &listed) != nil || len(listed.Incidents) != shown {
			t.Errorf("%s: /api/v2 has %s", slug, text)
		}
		for _, incident := range listed.Incidents {
			if want := impacts[strings.TrimSpace(strings.TrimPrefix(incident.Name, "Wide"))]; incident.Impact != want || len(incident.Components) > 0 {
				t.Errorf("%s: %+v, want the impact %q", slug, incident, want)
			}
		}
		_, index := p.textOf(slug, "")
		_, month := p.textOf(slug, "history/"+p.now().Format("2006-01"))
		if open := strings.Contains(index, "Wide major_outage"); open != (shown > 0) {
			t.Errorf("%s: the index has the open event: %v", slug, open)
		}
		if in := strings.Count(month, "Wide "); in < shown || in > 0 && shown == 0 {
			t.Errorf("%s: the month names events %d times, want %d events", slug, in, shown)
		}
		for n, result := range results {
			want := 404
			if shown == len(impacts) || shown == 1 && strings.Contains(events[n], second) {
				want = 200
			}
			if status, _ := p.textOf(slug, "events/"+*result.EventID); status != want {
				t.Errorf("%s: the page of %s returned %d, want %d", slug, result.Key, status, want)
			}
		}
	}
}

// times matches times, and how long a component was measured.
var times = regexp.MustCompile(`"Measured":\d+|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|\d\d:\d\d(:\d\d)?( UTC)?`)

// TestAnUndoneImportLeavesTheFilesAsTheyWere compares every file before an import and after its undo. The calendar says that
// the maintenance is cancelled, because calendars may have copied it.
func TestAnUndoneImportLeavesTheFilesAsTheyWere(t *testing.T) {
	p := start(t, startBroker(t))
	noon := time.Now().Truncate(24 * time.Hour).Add(36 * time.Hour) // the day and the minute do not change
	p.ahead.Store(int64(time.Until(noon)))
	records := p.records()
	component := p.referred("API", "s:a:api")
	at := func(after time.Duration) string { return p.now().Add(after).Format(time.RFC3339) }
	event := p.incident(component, fmt.Sprintf(`, "status": "resolved", "startAt": %q, "endAt": %q, "initialTimelineMessage": "We look."`, at(-30*time.Hour), at(-29*time.Hour)))
	p.override(component, `{"status": "degraded_performance"}`)
	files := func() map[string]string {
		all := p.files(component, event)
		all["history/2025-03"] = p.text("history/2025-03")
		for name, text := range all {
			all[name] = times.ReplaceAllString(text, "TIME")
		}
		snapshot := p.snapshot(records)
		snapshot.Edition, snapshot.Withdrawn = 0, nil
		text, err := json.Marshal(snapshot)
		if err != nil {
			t.Fatal(err)
		}
		all["snapshot"] = times.ReplaceAllString(string(text), "TIME")
		return all
	}
	old := `{"key": "%s", "type": "incident", "title": "Old", "status": "resolved", "severity": "major_outage", "startAt": "2025-03-01T10:00:00Z", "endAt": "2025-03-02T10:00:00Z"%s}`
	kept := p.imports("", fmt.Sprintf(old, "kept", `, "components": [{"key": "s:a:api"}]`))
	p.must(201, "app admin a", "POST", "/app/events/"+*kept.Results[0].EventID+"/notes", `{"note": "Seen"}`)
	before := files()
	out := p.imports("",
		fmt.Sprintf(old, "closed", `, "components": [{"key": "s:a:api"}], "timeline": [{"key": "u", "at": "2025-03-01T10:00:00Z", "status": "investigating", "html": "x"}]`),
		fmt.Sprintf(old, "wide", ""),
		fmt.Sprintf(`{"key": "open", "type": "incident", "title": "Open", "status": "investigating", "severity": "major_outage", "startAt": %q, "components": [{"key": "s:a:api"}]}`, at(-time.Hour)),
		fmt.Sprintf(`{"key": "plan", "type": "maintenance", "title": "Plan", "status": "planning", "scheduledStartAt": %q, "scheduledEndAt": %q, "components": [{"key": "s:a:api"}]}`, at(time.Hour), at(2*time.Hour)),
	)
	changed := 0
	for name, text := range files() {
		if text != before[name] {
			changed++
		}
	}
	if changed < 8 {
		t.Errorf("the import changed %d files", changed)
	}
	if got := strings.TrimSpace(string(p.send("app admin a", "DELETE", "/app/events/import/"+importRun, "").body)); got != `{"deleted":4,"kept":1,"remaining":0}` {
		t.Errorf("the undo returned %s", got)
	}
	for name, text := range files() {
		if name == "maintenance.ics" {
			continue
		}
		if text != before[name] {
			t.Errorf("%q was\n%s\nand is\n%s", name, before[name], text)
		}
	}
	if statuses, _ := p.calendar(); statuses[*out.Results[3].EventID] != "CANCELLED" || len(statuses) != 1 {
		t.Errorf("the calendar has %v", statuses)
	}
}

// TestStepsOfImportedMaintenances imports maintenances with steps and reminders in the future and in the past.
func TestStepsOfImportedMaintenances(t *testing.T) {
	p := start(t, startBroker(t))
	heard := p.listen()
	p.referred("API", "s:a:api")
	plan := func(key, status, more string, from, to time.Duration) string {
		return fmt.Sprintf(`{"key": %q, "type": "maintenance", "title": "M", "status": %q, "scheduledStartAt": %q, "scheduledEndAt": %q, "autoStart": true, "autoEnd": true, "reminderMinutes": [60, 10],
			"components": [{"key": "s:a:api"}]%s}`, key, status, p.now().Add(from).Format(time.RFC3339), p.now().Add(to).Format(time.RFC3339), more)
	}
	const mail = `, "notifyLater": {"email": true}`
	out := p.imports("",
		plan("past", "planning", mail, -3*time.Hour, -2*time.Hour),
		plan("begun", "planning", mail, -2*time.Hour, 2*time.Hour),
		plan("running", "inprogress", mail, -time.Hour, 2*time.Hour),
		plan("soon", "planning", mail, 30*time.Minute, 3*time.Hour),
		plan("future", "planning", mail, 2*time.Hour, 3*time.Hour),
		plan("silent", "planning", "", 2*time.Hour, 3*time.Hour),
	)
	want := []string{"", "", "completed", "reminder started completed", "reminder reminder started completed", "reminder reminder started completed"}
	if got := out.statuses(); got != strings.TrimSpace(strings.Repeat("created ", len(want))) {
		t.Fatal(got)
	}
	taken := 0
	for _, next := range []struct {
		after time.Duration
		steps int
	}{{20 * time.Minute, 1}, {10 * time.Minute, 1}, {30 * time.Minute, 2}, {50 * time.Minute, 2}, {10 * time.Minute, 3}, {time.Hour, 3}} {
		p.ahead.Add(int64(next.after + time.Second))
		taken += next.steps
		apitest.Eventually(t, "the steps are taken", func() bool { return len(heard.changes()) >= taken })
	}
	for n := len(want) - 1; n >= 0; n-- { // the events without a change last
		id := int64(n + 1)
		changes := heard.of(t, id, len(strings.Fields(want[n])))
		if got := said(changes); got != want[n] {
			t.Errorf("the changes of %s are %q, want %q", out.Results[n].Key, got, want[n])
		}
		for _, change := range changes {
			if _, mails := change.Notify[topic.Email]; mails != (out.Results[n].Key != "silent") || len(change.Notify) > 1 {
				t.Errorf("%s of %s notifies %v", change.Kind, out.Results[n].Key, change.Notify)
			}
		}
	}
}

// TestARequestOfAnImportLeavesOneEditionAndOneAuditEntry imports events of two dashboards, the newest first. Their legacy ids
// follow the start.
func TestARequestOfAnImportLeavesOneEditionAndOneAuditEntry(t *testing.T) {
	p := start(t, startBroker(t))
	bus := stream.Connect(stream.Options{Brokers: []string{p.broker}, ClientID: "listener"})
	t.Cleanup(func() {
		if err := bus.Close(); err != nil {
			t.Error(err)
		}
	})
	heard := apitest.Listen(t, bus, topic.Audit)
	p.second("Second", p.referred("API", "s:a:api"))
	var events []string
	for n := range 12 {
		events = append(events, fmt.Sprintf(`{"key": "e%02d", "type": "incident", "title": "E%02d", "status": "resolved", "startAt": "2025-03-%02dT10:00:00Z", "components": [{"key": "s:a:api"}]}`, n, n, 20-n))
	}
	changed, moved := slices.Clone(events), slices.Clone(events)
	changed[3] = strings.Replace(changed[3], `"E03"`, `"F03"`, 1)
	for n := range moved {
		moved[n] = strings.TrimSuffix(moved[n], "}") + fmt.Sprintf(`, "aliases": ["incidents/e%02d"]}`, n)
	}
	wanted := []string{}
	for _, step := range []struct {
		name     string
		editions int64
		audited  string
		send     func()
	}{
		{"dry run", 0, "", func() { p.imports(`, "dryRun": true`, events...) }},
		{"new", 1, "event.import", func() { p.imports("", events...) }},
		{"the same", 0, "", func() { p.imports("", events...) }},
		{"one changed, one new", 1, "event.import", func() { p.imports("", append(changed, importedIncident("x", "X"))...) }},
		{"with former addresses, which have an edition of their own", 2, "event.import", func() { p.imports("", moved...) }},
		{"the same with former addresses", 0, "", func() { p.imports("", moved...) }},
		{"undo, with former addresses", 2, "event.import.delete", func() { p.must(200, "app admin a", "DELETE", "/app/events/import/"+importRun, "") }},
	} {
		acme, second := p.editionOf("acme-status").Number, p.editionOf("second").Number
		step.send()
		if a, b := p.editionOf("acme-status").Number-acme, p.editionOf("second").Number-second; a != step.editions || b != step.editions {
			t.Errorf("%s: %d and %d editions, want %d", step.name, a, b, step.editions)
		}
		if step.audited != "" {
			wanted = append(wanted, step.audited)
		}
		if step.name == "new" {
			for n, object := range p.must(200, "", "GET", "/api/v1/event/list/?limit=100&order_by=id", "")["objects"].([]any) {
				if start := object.(map[string]any)["start"]; !strings.HasPrefix(fmt.Sprint(start), fmt.Sprintf("2025-03-%02d", 9+n)) {
					t.Errorf("the legacy id %d starts at %v", n+1, start)
				}
			}
		}
	}
	p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, `{"name": "Last"}`)
	var got []string
	apitest.Eventually(t, "the entry of the last request arrives", func() bool {
		got = []string{}
		last := false
		for _, entry := range apitest.Messages[topic.AuditEntry](t, heard, topic.Audit) {
			if strings.Contains(entry.Action, "import") || strings.Contains(entry.Action, "alias") {
				got = append(got, entry.Action)
			}
			last = entry.Action == "dashboard.update" && entry.EntityID == dashA
		}
		return last
	})
	if !slices.Equal(got, wanted) {
		t.Errorf("the audit log has %v, want %v", got, wanted)
	}
}

// TestAnImportIsBounded checks the limits of an import and of an event, and that a row of a wrong shape does not affect the
// others.
func TestAnImportIsBounded(t *testing.T) {
	p := start(t, startBroker(t))
	records := p.records()
	components := make([]catalog.Component, 501)
	var named, entries []string
	for n := range components {
		id := topic.NewID()
		ref := fmt.Sprintf("c%d", n)
		components[n] = catalog.Component{ID: id, LegacyID: int64(n + 1), OrganizationID: orgA, Name: ref, Group: catalog.DefaultGroup, ExternalRefs: []string{ref}, CreatedAt: p.now(), UpdatedAt: p.now(), Version: 1}
		named = append(named, fmt.Sprintf(`{"key": %q}`, ref))
	}
	if err := records.Components.UpsertMany(t.Context(), components); err != nil {
		t.Fatal(err)
	}
	for n := range 1001 {
		entries = append(entries, fmt.Sprintf(`{"key": "u%d", "at": "2025-03-01T10:00:00Z", "status": "update", "html": "x"}`, n))
	}
	event := func(key, more string) string {
		return fmt.Sprintf(`{"key": %q, "type": "incident", "title": "E", "status": "resolved", "startAt": "2025-03-01T10:00:00Z"%s}`, key, more)
	}
	rows := []struct{ row, want string }{
		{event("components", `, "components": [`+strings.Join(named[:500], ",")+`]`), ""},
		{event("too many components", `, "components": [`+strings.Join(named, ",")+`]`), "components: must be at most 500 components"},
		{event("entries", `, "timeline": [`+strings.Join(entries[:1000], ",")+`]`), ""},
		{event("too many entries", `, "timeline": [`+strings.Join(entries, ",")+`]`), "timeline: must have at most 1000 entries"},
		{`"a text"`, "object"}, {`null`, "object"}, {`[]`, "object"}, {`7`, "object"}, {`{}`, "key: "},
		{event("unknown", `, "colour": "red"`), "colour: "},
		{event("list", `, "components": {}`), "components: "},
		{event("element", `, "components": ["c1"]`), "components[0]: "},
		{event("time", `, "endAt": "2025-03-01T10:00:00"`), "endAt: "},
		{event("entry", `, "timeline": [null]`), "timeline[0]."},
		{event("impact", `, "components": [{"key": "c1"}], "timeline": [{"key": "u", "at": "2025-03-01T10:00:00Z", "status": "update", "html": "x", "impacts": {"c1": "red"}}]`), "timeline: "},
		{event("last", ""), ""},
	}
	var all []string
	for _, one := range rows {
		all = append(all, one.row)
	}
	for n, result := range p.imports("", all...).Results {
		want, status := rows[n].want, "refused"
		if want == "" {
			status = "created"
		}
		text := ""
		if result.Error != nil {
			text = *result.Error
		}
		if result.Status != status || !strings.Contains(text, want) || want == "" && text != "" {
			t.Errorf("%.120s: %s %q, want %s %q", rows[n].row, result.Status, text, status, want)
		}
	}
	request := func(members string) string {
		return `{"dashboardId": "` + dashA + `", "runId": "` + importRun + `", "events": ` + members + `}`
	}
	many := make([]string, 201)
	for n := range many {
		many[n] = event(fmt.Sprintf("m%d", n), "")
	}
	padding := func(total int) string {
		body := request(`[` + event("large", "") + `]`)
		return body + strings.Repeat(" ", total-len(body))
	}
	for name, c := range map[string]struct {
		status int
		body   string
	}{
		"200 events": {200, request("[" + strings.Join(many[:200], ",") + "]")},
		"201 events": {400, request("[" + strings.Join(many, ",") + "]")},
		"no list":    {400, request(`{}`)},
		"8 MiB":      {200, padding(8 << 20)},
		"more":       {413, padding(8<<20 + 1)},
		"truncated":  {400, `{"events": [`},
	} {
		if a := p.send("app admin a", "POST", "/app/events/import", c.body); a.status != c.status {
			t.Errorf("%s: %d %.200s", name, a.status, a.body)
		}
	}
	if a := p.send("app admin a", "POST", "/app/events", padding(1<<20+1)); a.status != 413 {
		t.Errorf("another operation with more than 1 MiB: %d", a.status)
	}
}
