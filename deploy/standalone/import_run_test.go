package main_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/moving/transfer"
	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// responses is a double of the App interface: a status and a body by method and path. Any other GET is an empty object.
type responses map[string]struct {
	status int
	body   string
}

func (r responses) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	response, there := r[request.Method+" "+request.URL.Path]
	switch {
	case !there && request.Method != http.MethodGet:
		w.WriteHeader(http.StatusNotFound)
	case !there:
		_, _ = io.WriteString(w, "{}") // the command reports a lost response
	default:
		w.WriteHeader(response.status)
		_, _ = io.WriteString(w, response.body) // the command reports a lost response
	}
}

// talksTo returns a mover whose platform is the double.
func talksTo(t *testing.T, double responses) *mover {
	server := httptest.NewServer(double)
	t.Cleanup(server.Close)
	return newMover(actor{t, credentials{BaseURL: server.URL, AppKey: "key"}})
}

// An import that wrote nothing leaves no file of a run. If the platform declined its first request, the exit code is 1.
func TestAnImportThatWroteNothingLeavesNoRun(t *testing.T) {
	t.Parallel()
	known := struct {
		status int
		body   string
	}{200, `{"dashboards": [{"id": "d", "slug": "acme"}]}`}
	for name, c := range map[string]struct {
		double responses
		code   int
	}{
		"without the role":   {responses{"POST /app/dashboards": {403, `{"error": "The role admin is needed."}`}}, 1},
		"a wrong slug":       {responses{"POST /app/dashboards": {400, `{"error": "slug: must be 3 to 63 characters"}`}}, 1},
		"each record fails":  {responses{"GET /app/dashboards": known, "POST /app/components": {400, `{"error": "name: is wrong"}`}}, 2},
		"the platform fails": {responses{"GET /app/dashboards": known, "POST /app/components": {500, ""}}, 2},
	} {
		m := talksTo(t, c.double)
		page := filepath.Join(t.TempDir(), "page.jsonl")
		content := `{"kind":"dashboard","key":"x:s:page","name":"Acme","slug":"acme"}` + "\n" + `{"kind":"component","key":"x:s:c","name":"Gate"}` + "\n"
		if err := os.WriteFile(page, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		m.run(c.code, "import", "lines", page, "--dashboard", "acme")
		if runs := m.runs(); len(runs) > 0 && name != "the platform fails" { // a failed request may have written
			t.Errorf("%s: runs %v", name, runs)
		}
	}
}

// Undo names events and subscribers that the run has updated and that keep their new state. The same undo again does not count again what
// it has deleted.
func TestUndoNamesUpdatedEventsAndCountsEachRecordOnce(t *testing.T) {
	t.Parallel()
	const run = "01890a5d-ac96-774b-bcce-b302099a8060"
	m := talksTo(t, responses{"DELETE /app/events/import/" + run: {200, `{"deleted": 0, "kept": 0, "remaining": 0}`}, "DELETE /app/components/c": {204, ""}, "DELETE /app/dashboards/d/aliases": {200, `{"deleted": 1}`}})
	content := `{"kind":"run","runId":"` + run + `","url":"` + m.BaseURL + `","dashboard":"acme","source":"lines","file":"x","startedAt":"2026-01-01T00:00:00Z"}
{"kind":"component","key":"x:s:c","status":"created","id":"c","mark":"1"}
{"kind":"component","key":"x:s:lost","status":"created","id":"lost","mark":"1"}
{"kind":"alias","key":"old/a","status":"created","dashboardId":"d"}
{"kind":"event","key":"x:s:e","status":"updated","id":"e"}
{"kind":"subscriber","key":"x:s:s","status":"updated","id":"s","dashboardId":"d","channel":"email"}
{"kind":"event","key":"x:s:f","status":"created","id":"f"}
{"kind":"done"}
`
	if err := os.WriteFile(filepath.Join(m.folder, "import-"+run+".jsonl"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"UNDONE DELETED KEPT/event 0 1/alias 1 0/subscriber 0 1/component 1 0", "UNDONE DELETED KEPT/event 0 1/subscriber 0 1"} {
		var out, failure bytes.Buffer
		undo := m.command("import", "undo", run)
		undo.Stdout, undo.Stderr = &out, &failure
		_ = undo.Run() // the code says more than the error
		rows := strings.Join(regexp.MustCompile(` +`).Split(strings.ReplaceAll(strings.TrimSpace(out.String()), "\n", "/"), -1), " ")
		if undo.ProcessState.ExitCode() != 2 || rows != want || !strings.Contains(failure.String(), "x:s:e: keeps what the run has updated") || !strings.Contains(failure.String(), "x:s:s: keeps what the run has updated") || strings.Contains(failure.String(), "x:s:f") {
			t.Errorf("%v: %s, %s, want %s", undo.ProcessState, rows, failure.String(), want)
		}
	}
}

// A command with another --only does not go on with an interrupted run, which would be done before all of its kinds are written. The
// order of the kinds does not matter.
func TestAnotherOnlyIsAnotherRun(t *testing.T) {
	t.Parallel()
	const run = "01890a5d-ac96-774b-bcce-b302099a8060"
	m := talksTo(t, responses{"GET /app/dashboards": {200, `{"dashboards": [{"id": "d", "slug": "acme"}]}`}, "GET /app/components": {200, `{"components": [{"id": "c", "name": "Gate", "groupName": "default", "externalRefs": ["x:s:c"], "dashboardIds": ["d"], "version": 1}]}`},
		"PATCH /app/components/c": {200, `{"component": {"id": "c", "version": 2}}`}})
	page, name := filepath.Join(t.TempDir(), "page.jsonl"), "import-"+run+".jsonl"
	content := `{"kind":"run","runId":"` + run + `","url":"` + m.BaseURL + `","dashboard":"acme","source":"lines","file":"` + page + `","only":["components","events"],"startedAt":"2026-01-01T00:00:00Z"}` + "\n"
	for file, text := range map[string]string{
		filepath.Join(m.folder, name): content + `{"kind":"component","key":"x:s:c","status":"created","planned":true}` + "\n",
		page:                          `{"kind":"dashboard","key":"x:s:page","name":"Acme","slug":"acme"}` + "\n" + `{"kind":"component","key":"x:s:c","name":"Gate","statusOverride":{"status":"degraded_performance"}}` + "\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		only string
		done bool
	}{{"components", false}, {"components,events,endpoints", false}, {"events,components", true}} {
		m.run(0, "import", "lines", page, "--dashboard", "acme", "--only", c.only)
		if done := strings.Contains(m.read(name), `"done"`); done != c.done {
			t.Errorf("after --only %s, the run is done: %t", c.only, done)
		}
	}
	if written := m.read(name); !strings.Contains(written, `"id":"c","mark":"2"`) { // the state by hand, before which the run was interrupted
		t.Errorf("the run that goes on has written %s", written)
	}
}

// What a later run has created is not that of an interrupted run that was also about to create it.
func TestUndoLeavesAloneWhatALaterRunHasCreated(t *testing.T) {
	t.Parallel()
	const former, later = "01890a5d-ac96-774b-bcce-b302099a8060", "01890a5d-ac96-774b-bcce-b302099a8061"
	m := talksTo(t, responses{"DELETE /app/events/import/" + former: {200, `{"deleted": 0, "kept": 0, "remaining": 0}`}, "DELETE /app/components/a": {204, ""}, "DELETE /app/components/b": {500, ""},
		"GET /app/components": {200, `{"components": [{"id": "a", "name": "Gate", "externalRefs": ["x:s:a"], "dashboardIds": [], "version": 1}, {"id": "b", "name": "Pier", "externalRefs": ["x:s:b"], "dashboardIds": [], "version": 1}]}`}})
	head := func(run, started string) string {
		return `{"kind":"run","runId":"` + run + `","url":"` + m.BaseURL + `","dashboard":"acme","source":"lines","file":"page.jsonl","only":["components"],"startedAt":"` + started + `"}` + "\n"
	}
	for name, content := range map[string]string{
		"import-" + former + ".jsonl": head(former, "2026-01-01T00:00:00Z") + `{"kind":"component","key":"x:s:a","status":"created","planned":true}` + "\n" + `{"kind":"component","key":"x:s:b","status":"created","planned":true}` + "\n",
		"import-" + later + ".jsonl":  head(later, "2026-01-02T00:00:00Z") + `{"kind":"component","key":"x:s:b","status":"created","id":"b","mark":"1"}` + "\n" + `{"kind":"done"}` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(m.folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if undone := m.run(0, "import", "undo", former); !strings.Contains(undone, "1") {
		t.Error(undone)
	}
}

// The import leaves out the old addresses that the platform would refuse, and no others.
func TestTheImportKnowsWhichAddressesCanBeAliases(t *testing.T) {
	t.Parallel()
	paths := []string{"", "a", "/a", "a/", "a/../b", "a b", "ä", "incidents", "incidents/a", "issues/a.md", "status/a/rss", "api", "enter/x", "uptime", "subscriptions/x", "historical", strings.Repeat("a", 200), strings.Repeat("a", 201)}
	for _, file := range peer.DashboardFiles() {
		path := strings.TrimPrefix(regexp.MustCompile(`\{[a-z]+\}`).ReplaceAllString(file.Path, "x"), "/")
		folder, _, _ := strings.Cut(path, "/")
		paths = append(paths, path, folder, folder+"/web", folder+"s")
	}
	for _, path := range paths {
		if err := peer.CheckAlias("path", path); transfer.IsAlias(path) != (err == nil) {
			t.Errorf("the import takes %.30q: %t; the platform: %v", path, transfer.IsAlias(path), err)
		}
	}
}
