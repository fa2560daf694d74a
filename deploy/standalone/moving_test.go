package main_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/receiver"
)

// history writes a file of lines with the history of a page: components, incidents with entries in all over the last
// years, and confirmed subscribers. scope is in each key, id and slug, so that several histories fit into one
// organization. The last event is a day before until. It returns the path of the file.
func history(t testing.TB, scope string, until time.Time, parts, events, entries, subscribers int) string {
	t.Helper()
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	line(`{"kind":"dashboard","key":"x:%[1]s:page","name":"Harbour","slug":"%[1]s","timezone":"Europe/Berlin","publicId":"%[1]s-page","groupPublicIds":{"Europe":"%[1]s-europe"},"aliases":{"old/%[1]s":"/history"}}`, scope)
	for i := range parts {
		line(`{"kind":"component","key":"x:%[1]s:c%[2]d","name":"Part %[2]d","groupName":"Europe","position":%[2]d,"startAt":"2020-01-01T00:00:00Z","dashboardIds":["x:%[1]s:page"],"publicId":"%[1]s-c%[2]d"}`, scope, i)
	}
	oldest := until.UTC().Truncate(time.Hour).Add(-time.Duration(events) * 24 * time.Hour)
	impacts := []string{"degraded_performance", "partial_outage", "major_outage"}
	for i := range events {
		start := oldest.Add(time.Duration(i)*24*time.Hour + time.Duration(i%7)*time.Minute)
		one := entries / events
		if i < entries%events {
			one++
		}
		end := start.Add(time.Duration(one) * 7 * time.Minute)
		var timeline []string
		for n := range one {
			status := "update"
			switch n {
			case 0:
				status = "investigating"
			case one - 1:
				status = "resolved"
			}
			timeline = append(timeline, fmt.Sprintf(`{"key":"x:%[1]s:e%[2]d-%[3]d","at":"%[4]s","status":"%[5]s","html":"<p>Entry %[3]d of %[2]d: we <strong>look</strong> at it.</p>","publicId":"%[1]s-e%[2]d-%[3]d"}`,
				scope, i, n, start.Add(time.Duration(n+1)*7*time.Minute).Format(time.RFC3339), status))
		}
		concerns := fmt.Sprintf(`"components":[{"key":"x:%s:c%d","impact":"%s"}]`, scope, i%parts, impacts[i%3])
		if i%50 == 49 {
			concerns = fmt.Sprintf(`"dashboardIds":["x:%s:page"]`, scope)
		}
		line(`{"kind":"event","key":"x:%[1]s:i%[2]d","type":"incident","title":"Incident %[2]d","status":"resolved","severity":"minor_outage","createdAt":"%[3]s","startAt":"%[3]s","endAt":"%[4]s",%[5]s,"timeline":[%[6]s],"publicId":"%[1]s-i%[2]d","aliases":["incidents/%[1]s-i%[2]d"]}`,
			scope, i, start.Format(time.RFC3339), end.Format(time.RFC3339), concerns, strings.Join(timeline, ","))
	}
	for i := range subscribers {
		line(`{"kind":"subscriber","key":"x:%[1]s:s%[2]d","channel":"email","address":"%[1]s-%[2]d@reader.example","components":null,"state":"confirmed","confirmedAt":"2024-01-02T03:04:05Z"}`, scope, i)
	}
	file := filepath.Join(t.TempDir(), scope+".jsonl")
	if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// mover runs the commands import and export in a folder of its own.
type mover struct {
	actor
	folder string
}

func newMover(a actor) *mover { return &mover{a, a.t.TempDir()} }

func (m *mover) command(arguments ...string) *exec.Cmd {
	run := exec.Command(filepath.Join(binaries, "standalone"), arguments...)
	run.Dir = m.folder
	run.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.folder, "BELLBUOY_URL=" + m.BaseURL, "BELLBUOY_APP_KEY=" + m.AppKey}
	return run
}

// run runs a command, which must end with the code, and returns its standard output.
func (m *mover) run(code int, arguments ...string) string {
	m.t.Helper()
	var out, failure strings.Builder
	run := m.command(arguments...)
	run.Stdout, run.Stderr = &out, &failure
	_ = run.Run() // the code says more than the error
	if got := run.ProcessState.ExitCode(); got != code {
		m.t.Fatalf("%v ended with code %d instead of %d: %s%s", arguments, got, code, out.String(), failure.String())
	}
	return out.String()
}

// read returns the content of a file in the folder.
func (m *mover) read(name string) string {
	m.t.Helper()
	return m.readAll(filepath.Join(m.folder, name))
}

func (m *mover) readAll(path string) string {
	m.t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		m.t.Fatal(err)
	}
	return string(content)
}

// marks creates a template and waits for its audit entry, because entries arrive through Kafka. It returns the id of the
// template, and the audit entries, newest first.
func (m *mover) marks(name string) (id string, entries []auditEntry) {
	m.t.Helper()
	var made struct{ Template struct{ ID string } }
	send(m.t, http.MethodPost, m.BaseURL+"/app/templates", m.app(), map[string]any{"kind": "update", "name": name}).expect(m.t, http.StatusCreated).into(m.t, &made)
	eventually(m.t, time.Minute, "the audit entry of a template", func() (err error) {
		entries, err = auditLog(m.BaseURL, m.app(), "")
		if err == nil && !slices.ContainsFunc(entries, func(e auditEntry) bool { return e.EntityID == made.Template.ID }) {
			err = fmt.Errorf("it is not among %d", len(entries))
		}
		return err
	})
	return made.Template.ID, entries
}

// runs returns the ids of the runs that have a file in the folder.
func (m *mover) runs() (ids []string) {
	names, _ := filepath.Glob(filepath.Join(m.folder, "import-*.jsonl")) // the pattern is valid
	for _, name := range names {
		ids = append(ids, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(name), "import-"), ".jsonl"))
	}
	return ids
}

// counted returns the cells of the rows of a table that follow the title, by kind.
func counted(table, title string) map[string][]string {
	rows := map[string][]string{}
	inside := false
	for _, row := range cells(table) {
		if len(row) > 1 && row[1] == "CREATED" {
			inside = row[0] == title
		} else if inside && len(row) == 7 {
			rows[row[0]] = row[1:]
		}
	}
	return rows
}

// shown returns what visitors get of a dashboard, without what differs by the time of the request.
func (m *mover) shown(slug string) map[string]string {
	m.t.Helper()
	out := map[string]string{}
	for _, path := range []string{"/api/v2/summary.json", "/api/v2/incidents.json", "/api/v2/scheduled-maintenances.json", "/api/v2/components.json", "/history", "/"} {
		got := looker{t: m.t, base: m.BaseURL}.visit("GET", "/d/"+slug+path, nil).expect(m.t, http.StatusOK)
		out[path] = string(got.body)
	}
	return out
}

// unlike reports in which paths two results of shown differ, apart from ids, addresses and the time of the last change.
func unlike(one, other map[string]string, addresses ...string) (paths []string) {
	plain := func(text string) string {
		for _, address := range addresses {
			text = strings.ReplaceAll(text, address, "BASE")
		}
		text = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`).ReplaceAllString(text, "ID")
		return regexp.MustCompile(`"updated_at":"[^"]*"|<time datetime="[^"]*">[^<]*</time>|\?v=[A-Za-z0-9_-]+`).ReplaceAllString(text, "TIME")
	}
	for path, text := range one {
		if plain(text) != plain(other[path]) {
			paths = append(paths, path)
		}
	}
	return paths
}

// A page of GitHub's size (in the short form, its newest 250 incidents) is imported into a dashboard that visitors see and that has recipients. Nobody is notified.
// The same import again writes nothing. Undo leads back to what visitors saw before.
func TestAHistoryOfGitHubsSizeIsImportedQuietlyAndUndone(t *testing.T) {
	t.Parallel()
	r, env := startReceiver(t)
	p, base := started(t, append(env, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken)...)
	m := newMover(actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")})
	var made struct{ Component struct{ ID string } }
	send(t, http.MethodPost, base+"/app/components", m.app(), map[string]any{
		"name": "Part 0", "groupName": "Europe", "externalRefs": []string{"x:zq1:c0"}, "publicId": "zq1-c0", "startAt": "2020-01-01T00:00:00Z",
	}).expect(t, http.StatusCreated).into(t, &made)
	m.endpoint("https://"+receiverHost+"/hooks/1", made.Component.ID)
	send(t, http.MethodPost, base+"/app/subscribers/email/import", m.app(), map[string]any{
		"dashboardId": m.DashboardID, "rows": []any{map[string]any{"email": "ada@example.com", "confirmed": true}},
	}).expect(t, http.StatusOK)
	before := m.shown(m.DashboardSlug)
	events := setting(t, "MOVE_EVENTS", 250, 819)
	entries := events * 4570 / 819
	file := history(t, "zq1", time.Now(), 11, events, entries, 0)

	began := time.Now()
	table := m.run(0, "import", "lines", file, "--dashboard", m.DashboardSlug)
	t.Logf("imported in %v", time.Since(began).Round(time.Millisecond))
	done := counted(table, "WRITTEN")
	if fmt.Sprint(done["event"], done["component"], done["dashboard"], done["alias"]) != fmt.Sprintf("[%d 0 0 0 0 0] [10 0 1 0 0 0] [0 1 0 0 0 0] [1 0 0 0 0 0]", events) {
		t.Errorf("printed %s", table)
	}
	if paths := unlike(before, m.shown(m.DashboardSlug)); len(paths) == 0 {
		t.Error("visitors see nothing of the history")
	}
	first, _ := m.marks("before")
	began = time.Now()
	again := counted(m.run(0, "import", "lines", file, "--dashboard", m.DashboardSlug), "PLAN")
	t.Logf("again in %v", time.Since(began).Round(time.Millisecond))
	if fmt.Sprint(again["event"], again["component"], again["dashboard"], again["alias"]) != fmt.Sprintf("[0 0 %d 0 0 0] [0 0 11 0 0 0] [0 0 1 0 0 0] [0 0 1 0 0 0]", events) {
		t.Errorf("again: %v", again)
	}
	second, log := m.marks("after")
	at := func(id string) int {
		return slices.IndexFunc(log, func(e auditEntry) bool { return e.EntityID == id })
	}
	if between := at(first) - at(second) - 1; between != 0 || len(m.runs()) != 1 {
		t.Errorf("the same import again left %d audit entries, and %d runs", between, len(m.runs()))
	}
	m.run(2, "export", "--dashboard", m.DashboardSlug, "--lines", "out.jsonl") // the URL of the endpoint is missing
	out := m.read("out.jsonl")
	if all, first := strings.Count(out, `{"kind":"event"`), strings.Count(out, `"status":"investigating"`); all != events || first != events || strings.Count(out, `,"html":"`) < entries {
		t.Errorf("exported %d events, %d first entries", all, first)
	}
	if info, err := os.Stat(filepath.Join(m.folder, "out.jsonl")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, mode %v", err, info.Mode())
	}

	run := m.runs()[0]
	if info, err := os.Stat(filepath.Join(m.folder, "import-"+run+".jsonl")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, mode %v", err, info.Mode())
	}
	undone := m.run(0, "import", "undo", run)
	if !strings.Contains(undone, strconv.Itoa(events)) {
		t.Errorf("undone: %s", undone)
	}
	if paths := unlike(before, m.shown(m.DashboardSlug)); len(paths) > 0 {
		t.Errorf("after undo %v differ", paths)
	}
	m.run(0, "import", "undo", run)
	m.stopsAndGoesOn()
	m.asksForcesAndKeepsToThePlan(dataFolder(p))
	m.keepsDashboardsInUse()

	// A message about a later incident shows that messages arrive.
	m.incident(made.Component.ID, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := r.Wait(ctx, func(all []receiver.Request) bool { return len(all) > 0 }); err != nil {
		t.Error(err)
	}
	if n := quiet(t, r); n != 1 {
		t.Errorf("%d requests arrived instead of the one about the later incident", n)
	}
	for _, mail := range letters(t, dataFolder(p)) {
		if mail.to == "ada@example.com" && !strings.Contains(mail.subject, "Checkout is slow") {
			t.Errorf("a mail was sent to %s: %s", mail.to, mail.subject)
		}
	}
}

// Records of every kind leave one installation as lines and enter another. There they give the same lines, the same
// public files, reports and subscribers.
func TestAnExportGivesTheSameElsewhere(t *testing.T) {
	t.Parallel()
	var there []*mover
	for range 2 {
		_, base := started(t, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "APP_RATE_PER_MINUTE=100000")
		there = append(there, newMover(actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}))
	}
	a, b := there[0], there[1]
	post := func(path string, body, out any) {
		t.Helper()
		got := send(t, http.MethodPost, a.BaseURL+path, a.app(), body)
		if got.status >= http.StatusMultipleChoices {
			t.Fatalf("%s: %d %s", path, got.status, got.body)
		}
		if out != nil {
			got.into(t, out)
		}
	}
	var dashboard struct{ Dashboard struct{ ID string } }
	post("/app/dashboards", map[string]any{
		"name": "Harbour", "slug": "harbour", "timezone": "Europe/Berlin", "locale": "de", "description": "What the harbour does.",
		"branding": map[string]any{"primaryColor": "#1a73e8", "theme": "dark"}, "links": map[string]any{"navigation": []any{map[string]any{"text": "Docs", "href": "https://docs.example.com"}}},
		"subscriptions": map[string]any{"sms": true}, "searchIndexing": false,
	}, &dashboard)
	home := dashboard.Dashboard.ID
	var gate, store struct{ Component struct{ ID string } }
	post("/app/components", map[string]any{"name": "Gate", "groupName": "North", "dashboardIds": []string{home}, "externalRefs": []string{"gate"}, "startAt": "2026-01-01T00:00:00Z"}, &gate)
	post("/app/components", map[string]any{
		"name": "Store", "description": "Volumes", "hiddenFromNotifications": true, "position": 7, "dashboardIds": []string{home}, "checkUrl": "https://store.example.com/health", "startAt": "2026-02-01T00:00:00Z",
	}, &store)
	var event struct{ Event struct{ ID string } }
	affected := []any{map[string]any{"componentId": gate.Component.ID, "impact": "partial_outage"}, map[string]any{"componentId": store.Component.ID}}
	post("/app/events", map[string]any{
		"type": "incident", "title": "Gate is slow", "description": `{"type": "doc", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "We look.", "marks": [{"type": "bold"}]}]}]}`,
		"severity": "minor_outage", "startAt": "2026-03-01T10:00:00Z", "status": "investigating", "affectedComponents": affected, "notify": false, "initialTimelineMessage": "A < B", "impactAnalysis": "<p>Some</p>",
	}, &event)
	of := "/app/events/" + event.Event.ID
	post(of+"/timeline", map[string]any{"message": "<p>Found <a href=\"https://example.com\">it</a></p>", "status": "identified", "timestamp": "2026-03-01T11:00:00Z", "componentImpacts": []any{map[string]any{"componentId": gate.Component.ID, "impact": "major_outage"}}, "notify": false}, nil)
	post(of+"/timeline", map[string]any{"message": "Solved.", "status": "resolved", "timestamp": "2026-03-01T12:00:00Z", "notify": false}, nil)
	post(of+"/notes", map[string]any{"note": "Ask Bob."}, nil)
	send(t, http.MethodPut, a.BaseURL+of+"/post-mortem", a.app(), map[string]any{
		"summary": "DNS", "rootCause": "<b>A zone</b>", "published": true, "notify": false, "actionItems": []any{map[string]any{"text": "Watch", "owner": "Ada", "dueDate": "2026-04-01"}},
	}).expect(t, http.StatusOK)
	post("/app/events", map[string]any{
		"type": "maintenance", "title": "Works", "scheduledStartAt": time.Now().Add(48 * time.Hour).UTC().Format(time.RFC3339), "scheduledEndAt": time.Now().Add(50 * time.Hour).UTC().Format(time.RFC3339),
		"autoStart": true, "reminderMinutes": []int{60}, "affectedComponents": affected[:1], "notify": map[string]any{"email": true},
	}, nil)
	post("/app/events", map[string]any{"type": "incident", "title": "A draft", "publish": false, "affectedComponents": affected[1:]}, nil)
	send(t, http.MethodPost, a.BaseURL+"/api/v1/event/list/", a.legacy(), map[string]any{
		"type": "/api/v1/type/1/", "status": "/api/v1/status/3/", "description": "a <b> & c\nnext", "start": "2026-04-01T10:00:00", "end": "2026-04-01T10:30:00",
		"event_service": []any{map[string]any{"service": "/api/v1/service/1/"}},
	}).expect(t, http.StatusCreated)
	post("/app/events/import", map[string]any{"dashboardId": home, "runId": "01890a5d-ac96-774b-bcce-b302099a8060", "events": []any{map[string]any{
		"key": "INC 1", "type": "incident", "title": "Of an own importer", "status": "resolved", "startAt": "2026-05-01T10:00:00Z", "endAt": "2026-05-01T11:00:00Z", "components": []any{map[string]any{"key": "gate"}},
		"timeline": []any{map[string]any{"key": "first", "at": "2026-05-01T10:00:00Z", "status": "resolved", "html": "<p>Over.</p>"}},
	}}}, nil)
	a.run(2, "import", "statuspage", fixture(t, "statuspage"), "--dashboard", "second")
	post("/app/subscribers/email/import", map[string]any{"dashboardId": home, "rows": []any{
		map[string]any{"email": "ada@example.com", "confirmed": true}, map[string]any{"email": "bob@example.com", "confirmed": true, "componentIds": []string{gate.Component.ID}, "locale": "fr"},
		map[string]any{"email": "eve@example.com"},
	}}, nil)

	a.run(0, "export", "--lines", "all.jsonl")
	all := a.read("all.jsonl")
	if !strings.Contains(all, `"key":"INC 1"`) || !strings.Contains(all, `"A < B"`) && !strings.Contains(all, "A &lt; B") {
		t.Errorf("the lines are %s", all)
	}
	file := filepath.Join(a.folder, "all.jsonl")
	b.run(2, "import", "lines", file, "--all-dashboards", "--only", "components,events,subscribers") // eve has not confirmed
	enable := map[string]bool{"harbour": true, "second": true}
	for _, m := range there {
		for _, d := range m.everything("/app/dashboards", "dashboards") {
			if slug := d["slug"].(string); enable[slug] {
				send(t, http.MethodPatch, m.BaseURL+"/app/dashboards/"+d["id"].(string), m.app(), map[string]any{"enabled": true}).expect(t, http.StatusOK)
			}
		}
		m.run(0, "export", "--lines", "enabled.jsonl")
	}
	lines := func(m *mover) []string {
		all := slices.Collect(strings.Lines(m.read("enabled.jsonl")))
		return slices.DeleteFunc(all, func(line string) bool { return strings.Contains(line, "eve@example.com") })
	}
	want, got := lines(a), lines(b)
	for i := range want {
		if i >= len(got) || want[i] != got[i] {
			t.Errorf("the line\n%sbecame\n%s", want[i], got[min(i, len(got)-1)])
		}
	}
	if len(got) > len(want) {
		t.Errorf("%d more lines: %s", len(got)-len(want), got[len(want)])
	}
	for slug := range enable {
		if paths := unlike(a.shown(slug), b.shown(slug), a.BaseURL, b.BaseURL); len(paths) > 0 {
			t.Errorf("of %s %v differ", slug, paths)
		}
		for _, month := range []string{"2019-06", "2021-05", "2026-03", "2026-04"} {
			if one, other := a.report(slug, month), b.report(slug, month); one != other {
				t.Errorf("the report of %s about %s\n%s\nbecame\n%s", slug, month, one, other)
			}
		}
	}
}

// report returns the report of a month without ids.
func (m *mover) report(slug, month string) string {
	m.t.Helper()
	for _, d := range m.everything("/app/dashboards", "dashboards") {
		if d["slug"] == slug {
			got := send(m.t, http.MethodGet, m.BaseURL+"/app/reports/uptime?month="+month+"&dashboardId="+d["id"].(string), m.app(), nil).expect(m.t, http.StatusOK)
			return regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`).ReplaceAllString(string(got.body), "ID")
		}
	}
	m.t.Fatalf("there is no dashboard %s", slug)
	return ""
}

// fixture returns the path of a fixture of the readers.
func fixture(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs("../../libs/moving/source/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A process is killed at a random moment of an import: each service in turn, the gateway, and the command itself. Then
// the same command leads to the same state as an import without a kill. Nothing is there twice, and nobody is notified.
func TestAKilledImportEndsAsOneWithoutAKill(t *testing.T) {
	t.Parallel()
	eachDocuments(t, func(t *testing.T, documents string) {
		kills := 3
		if strings.HasPrefix(documents, "DOCUMENTS_URL=mongodb") {
			kills = 1 // a kill of the events service; the others write as on SQLite
		}
		killImports(t, documents, setting(t, "MOVE_KILLS", kills, 20))
	})
}

// killImports imports a history once without a kill, and then kills times with one.
func killImports(t *testing.T, documents string, kills int) {
	r, env := startReceiver(t)
	cluster := startCluster(t, append(env, documents, "APP_RATE_PER_MINUTE=1000000")...)
	c := provision(t, cluster.base, "Acme", "acme-admin", "admin", "api")
	send(t, http.MethodPatch, cluster.base+"/operator/v1/organizations/"+c.OrganizationID, c.operator(), map[string]any{"limits": map[string]any{"uniqueEndpoints": 1000}}).expect(t, http.StatusOK)
	victims := []string{"events", "command", "gateway", "subscribers", "identity", "integrations"}
	want, until := "", time.Now() // one time for all imports, which are compared
	killed := 0
	events := setting(t, "MOVE_KILL_EVENTS", 150, 450)
	for n := range kills + 1 {
		m := newMover(actor{t, c})
		scope := fmt.Sprintf("zq%02d", n)
		m.receives(scope)
		file := history(t, scope, until, 40, events, 4*events, 100)
		arguments := []string{"import", "lines", file, "--dashboard", scope, "--only", "components,events,subscribers"}
		if n > 0 {
			victim := victims[(n-1)%len(victims)]
			first := m.command(arguments...)
			if err := first.Start(); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Duration(rand.IntN(3*events)) * time.Millisecond) // a random moment for the kill; an event takes about 3 ms
			if victim == "command" {
				if first.Process.Kill() == nil {
					killed++
				}
				_ = first.Wait()
			} else {
				process := cluster.processes[victim]
				process.kill()
				killed++
				<-time.After(time.Duration(rand.IntN(300)) * time.Millisecond) // the time until the process starts again
				process.start()
				eventually(t, time.Minute, victim+" ready again", ready("http://"+cluster.addresses[victim]))
				eventually(t, time.Minute, "the platform ready again", ready(cluster.base))
				_ = first.Wait() // it goes on when the process is back, or not
			}
		}
		m.run(0, arguments...)
		again := counted(m.run(0, arguments...), "PLAN")
		if fmt.Sprint(again["event"], again["component"], again["subscriber"]) != fmt.Sprintf("[0 0 %d 0 0 0] [0 0 40 0 0 0] [0 0 100 0 0 0]", events) {
			t.Errorf("%s: the same import again: %v", scope, again)
		}
		m.run(2, "export", "--dashboard", scope, "--lines", "out.jsonl") // the URL of the endpoint is missing
		lines := slices.Collect(strings.Lines(strings.ReplaceAll(m.read("out.jsonl"), scope, "SCOPE")))
		lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, `{"kind":"warning"`) })
		if got := strings.Join(lines, ""); n == 0 {
			want = got
		} else if got != want {
			t.Errorf("%s, after a kill: the dashboard has %d lines, and %d after an import without one; %s", scope, len(lines), strings.Count(want, "\n"), firstDifference(want, got))
		}
	}
	if sent := quiet(t, r); sent != 0 {
		t.Errorf("%d messages were sent", sent)
	}
	t.Logf("%d kills", killed)
}

// receives creates a dashboard with a component of the history, and an endpoint that gets everything about it.
func (m *mover) receives(scope string) {
	m.t.Helper()
	var dashboard struct{ Dashboard struct{ ID string } }
	send(m.t, http.MethodPost, m.BaseURL+"/app/dashboards", m.app(), map[string]any{"name": "Harbour", "slug": scope}).expect(m.t, http.StatusCreated).into(m.t, &dashboard)
	var part struct{ Component struct{ ID string } }
	send(m.t, http.MethodPost, m.BaseURL+"/app/components", m.app(), map[string]any{
		"name": "Part 0", "groupName": "Europe", "externalRefs": []string{"x:" + scope + ":c0"}, "publicId": scope + "-c0", "startAt": "2020-01-01T00:00:00Z", "dashboardIds": []string{dashboard.Dashboard.ID},
	}).expect(m.t, http.StatusCreated).into(m.t, &part)
	m.DashboardID, m.DashboardSlug = dashboard.Dashboard.ID, scope
	m.endpoint("https://"+receiverHost+"/hooks/"+scope, part.Component.ID)
}

// firstDifference returns the first line of got that is not in want.
func firstDifference(want, got string) string {
	for line := range strings.Lines(got) {
		if !strings.Contains(want, line) {
			return "the line " + line
		}
	}
	return "lines are missing or in another order"
}
