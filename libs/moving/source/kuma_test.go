package source_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/moving/source"
)

func TestBadRecordsOfUptimeKumaAreNamedAndTheOthersStay(t *testing.T) {
	page := `{"config": {"slug": "harbour", "title": "H", "published": true}, "publicGroupList": [], "maintenanceList": [%], "incidents": [`
	good := `{"id": 1, "style": "info", "title": "T", "content": "c", "pin": true, "active": true, "createdDate": "2024-05-01 10:00:00"}`
	with := func(incidents, maintenances string) map[string]string {
		return map[string]string{"page.json": strings.Replace(page, "%", maintenances, 1) + incidents + "]}"}
	}
	kept := []string{"uptime-kuma:harbour:incident-1"}
	checkAll(t, map[string]ugly{
		"cut off": {source: "uptime-kuma", files: map[string]string{"history.json": `{"incidents": [` + good, "page.json": with(good, "")["page.json"]}, events: kept,
			warnings: []string{"uptime-kuma:file:history.json: : is cut off in line 1, after 138 bytes"}},
		"no time": {source: "uptime-kuma", files: with(good+`, {"id": 2, "title": "x", "createdDate": "soon"}`, ""), events: kept, warnings: []string{
			`uptime-kuma:harbour:incident-2: created_date: "soon" is no time`, "uptime-kuma:harbour:incident-2: created_date: is missing; the incident is left out"}},
		"end before the start": {source: "uptime-kuma", events: []string{"uptime-kuma:harbour:incident-1", "uptime-kuma:harbour:maintenance-9"},
			files: with(good, `{"id": 9, "title": "M", "description": "", "strategy": "single", "active": true, "dateRange": ["2026-12-02 00:00:00", "2026-12-01 00:00:00"], "timezone": "UTC"}`), warnings: []string{
				"uptime-kuma:harbour:maintenance-9: scheduledEndAt: is 2026-12-01T00:00:00Z, not after the planned start; it becomes 1 min later"}},
		"unknown strategy": {source: "uptime-kuma", events: kept, files: with(good, `{"id": 9, "title": "M", "strategy": "moon", "active": true}`), warnings: []string{
			`uptime-kuma:harbour:maintenance-9: strategy: the next time of a maintenance "moon" is not known; it is left out`}},
		"foreign": {source: "uptime-kuma", files: map[string]string{"a.json": `{"page": {}}`}, fails: "has no status page and no monitor"},
	})
}

func TestAFileThatIsNoDatabaseIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kuma.db")
	whole, err := os.ReadFile(database(t, "testdata/kuma.sql"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"text": strings.Repeat("no database ", 100), "empty": "", "cut off": string(whole[:3000])} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := source.Read(t.Context(), "uptime-kuma", path, options()); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// The database stays as it was, and nothing appears beside it.
func TestReadingADatabaseChangesNothing(t *testing.T) {
	path := database(t, "testdata/kuma.sql")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := source.Read(t.Context(), "uptime-kuma", path, options()); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(path)
	if err != nil || string(before) != string(after) {
		t.Errorf("%v, %d bytes become %d", err, len(before), len(after))
	}
	if beside, err := os.ReadDir(filepath.Dir(path)); err != nil || len(beside) != 1 {
		t.Errorf("%v, the folder has %v", err, beside)
	}
}

// A maintenance that recurs has a key for each start, so that a later run does not replace one that took place by the next one.
// The key of a manual one stays, since its planned start is another one each day.
func TestEachStartOfAMaintenanceHasItsKey(t *testing.T) {
	path, o := database(t, "testdata/kuma.sql"), options()
	starts := map[string][]string{} // by the title and the key
	for _, later := range []time.Duration{0, 24 * time.Hour, 5 * 24 * time.Hour} {
		o.Now = options().Now.Add(later)
		set, err := source.Read(t.Context(), "uptime-kuma", path, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range set.Events {
			if name := e.Title + " " + e.Key; e.Title == "Each Monday" || e.Title == "By hand" {
				starts[name] = append(starts[name], e.ScheduledStartAt.Format(time.RFC3339))
			}
		}
	}
	monday := "Each Monday uptime-kuma:harbour:maintenance-3-"
	if a, b := starts[monday+"20261130"], starts[monday+"20261207"]; len(starts) != 3 || len(a) != 2 || a[0] != a[1] || len(b) != 1 || len(starts["By hand uptime-kuma:harbour:maintenance-2"]) != 3 {
		t.Errorf("starts by key: %v", starts)
	}
}
