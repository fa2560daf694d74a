package source_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
	"github.com/bellbuoy/bellbuoy/libs/moving/source"
)

// options are those of the golden files. All kinds are read.
func options() source.Options {
	return source.Options{
		Only: []string{"components", "events", "subscribers", "endpoints"}, Zone: time.FixedZone("", 3600), Outages: 5 * time.Minute,
		Now: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC),
	}
}

// goldens names the file or folder of each golden file. Of a file of SQL, the database is read that it makes.
func goldens() map[string]struct{ source, path string } {
	return map[string]struct{ source, path string }{
		"statuspage":      {"statuspage", "testdata/statuspage"},
		"kuma":            {"uptime-kuma", "testdata/kuma.sql"},
		"kuma-saved":      {"uptime-kuma", "testdata/kuma"},
		"cstate":          {"cstate", "testdata/cstate"},
		"upptime":         {"upptime", "testdata/upptime"},
		"gatus":           {"gatus", "testdata/gatus/config.yaml"},
		"cachet-database": {"cachet", "testdata/cachet3.sql"},
		"cachet-tables":   {"cachet", "testdata/cachet2"},
		"cachet-saved":    {"cachet", "testdata/cachet3"},
		"openstatus":      {"openstatus", "testdata/openstatus.sql"},
	}
}

func TestEachReaderGivesItsGoldenLines(t *testing.T) {
	for name, golden := range goldens() {
		t.Run(name, func(t *testing.T) {
			path := golden.path
			if strings.HasSuffix(path, ".sql") {
				path = database(t, path)
			}
			set, err := source.Read(t.Context(), golden.source, path, options())
			if err != nil {
				t.Fatal(err)
			}
			got := written(t, set)
			file := filepath.Join("testdata", "golden", name+".jsonl")
			if os.Getenv("APITEST_UPDATE") != "" {
				if err := os.WriteFile(file, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, string(want), string(got))
		})
	}
}

// What a reader writes is accepted as input of the source lines, and becomes the same lines.
func TestGoldenLinesAreInputOfTheSourceLines(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.jsonl")
	if err != nil || len(files) != len(goldens()) {
		t.Fatalf("%d golden files of %d readers, %v", len(files), len(goldens()), err)
	}
	for _, file := range files {
		set, err := source.Read(t.Context(), "lines", file, options())
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, string(want), string(written(t, set)))
	}
}

func TestEachSourceHasAGoldenFile(t *testing.T) {
	for _, name := range source.Names() {
		covered := name == "lines"
		for _, golden := range goldens() {
			covered = covered || golden.source == name
		}
		if !covered {
			t.Errorf("no golden file shows what the source %s gives", name)
		}
	}
}

func written(t *testing.T, set *lines.Set) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := set.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// compare reports the first lines that differ.
func compare(t *testing.T, want, got string) {
	t.Helper()
	wanted, had := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(wanted), len(had)) {
		one, other := "", ""
		if i < len(wanted) {
			one = wanted[i]
		}
		if i < len(had) {
			other = had[i]
		}
		if one != other {
			t.Errorf("line %d:\nwant %s\ngot  %s", i+1, one, other)
			return
		}
	}
}

// folder writes files to a new folder and returns the folder.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// database makes a database of SQLite from a file of SQL. The folder DATABASES receives a copy, for the checks in a browser.
func database(t testing.TB, script string) string {
	t.Helper()
	content, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "made ?&%.db") // characters that have a meaning in a URL
	db, err := sql.Open("sqlite", "file:"+url.PathEscape(path))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), string(content)); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if folder := os.Getenv("DATABASES"); folder != "" {
		made, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, strings.TrimSuffix(filepath.Base(script), ".sql")+".db"), made, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// A folder may have many files that no reader opens.
func TestAFolderIsSearchedUntilTheContextEnds(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	for _, name := range []string{"cstate", "upptime", "gatus", "statuspage", "uptime-kuma", "cachet"} {
		if _, err := source.Read(ended, name, t.TempDir(), options()); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// ugly is a source with bad records, what it is warned about, and what stays.
type ugly struct {
	source   string
	files    map[string]string
	warnings []string // key: field: text
	events   []string // keys
	fails    string   // the error, if nothing can be read
}

func (u ugly) check(t *testing.T) {
	t.Helper()
	set, err := source.Read(context.Background(), u.source, folder(t, u.files), options())
	if err != nil || u.fails != "" {
		if err == nil || !strings.Contains(err.Error(), u.fails) || u.fails == "" {
			t.Errorf("error %v, want %q", err, u.fails)
		}
		return
	}
	var warnings, events []string
	for _, w := range set.Warnings {
		warnings = append(warnings, w.Key+": "+w.Field+": "+w.Text)
	}
	for _, e := range set.Events {
		events = append(events, e.Key)
	}
	if !slices.Equal(warnings, u.warnings) {
		t.Errorf("warnings\n%s\nwant\n%s", strings.Join(warnings, "\n"), strings.Join(u.warnings, "\n"))
	}
	if !slices.Equal(events, u.events) {
		t.Errorf("events %q, want %q", events, u.events)
	}
}

func checkAll(t *testing.T, cases map[string]ugly) {
	for name, u := range cases {
		t.Run(name, u.check)
	}
}
