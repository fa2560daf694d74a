package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The exit code says whether the file was written, and whether everything is in it.
func TestImportWritesLinesAndSaysWhatWasLost(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	page := filepath.Join(folder, "page.json")
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("page.json", `{"page": {"id": "p", "name": "Harbour", "time_zone": "Europe/Paris"}, "components": [{"id": "c", "name": "Gate", "status": "operational"}],
		"subscribers": [{"id": "s", "mode": "email", "email": "ada@reader.example", "state": "active", "components": []}]}`)
	out := filepath.Join(folder, "out.jsonl")
	table := succeed(t, nil, "import", "statuspage", page, "--lines", out)
	if field(t, table, "components, shown") != "1" || field(t, table, "subscribers") != "0" || field(t, table, "warnings") != "0" {
		t.Errorf("printed %s", table)
	}
	content, err := os.ReadFile(out)
	if err != nil || strings.Count(string(content), "\n") != 2 || strings.Contains(string(content), "reader.example") {
		t.Errorf("%v: %s", err, content)
	}
	if info, err := os.Stat(out); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, mode %v", err, info.Mode())
	}
	again := succeed(t, nil, "import", "lines", out, "--lines", out) // the file replaces itself
	if same, err := os.ReadFile(out); err != nil || string(same) != string(content) || again != table {
		t.Errorf("%v: read again, it becomes %s", err, same)
	}

	write("page.json", `{"page": {"id": "p", "name": "Harbour", "time_zone": "Harbour time"}}`)
	table, failure, code := command(t, nil, "import", "statuspage", page, "--only", "subscribers", "--lines", out)
	if want := "statuspage:p:page: timezone: \"Harbour time\" is no IANA time zone; it becomes UTC\n"; code != 2 || failure != want || field(t, table, "warnings") != "1" {
		t.Errorf("ended with code %d: %q, %s", code, failure, table)
	}

	refuse(t, "give --dashboard SLUG, or --lines OUT", nil, "import", "statuspage", page)
	refuse(t, "belong to --dashboard", nil, "import", "statuspage", page, "--lines", out, "--dry-run")
	refuse(t, "BELLBUOY_APP_KEY must be set", nil, "import", "statuspage", page, "--dashboard", "harbour")
	refuse(t, "possible are lines, statuspage", nil, "import", "pigeon", page, "--lines", out)
	refuse(t, "no such file", nil, "import", "statuspage", filepath.Join(folder, "none"), "--lines", out)
	refuse(t, "exists and is no file of lines", nil, "import", "statuspage", page, "--lines", page)
	refuse(t, "no IANA time zone", nil, "import", "statuspage", page, "--lines", out, "--timezone", "Mars")
	refuse(t, `"pigeons" is unknown`, nil, "import", "statuspage", page, "--lines", out, "--only", "pigeons")
	refuse(t, "is for uptime-kuma", nil, "import", "statuspage", page, "--lines", out, "--outages", "5m")
	refuse(t, "set IMPORT_TOKEN", nil, "import", "statuspage", "https://api.statuspage.io/v1/pages/p", "--lines", out)
	refuse(t, "must be https://api.statuspage.io/", []string{"IMPORT_TOKEN=x"}, "import", "statuspage", "https://evil.example/v1/pages/p", "--lines", out)
	refuse(t, "only statuspage can be read from an address", nil, "import", "cstate", "https://status.example/", "--lines", out)
	if _, _, code := command(t, nil, "import", "statuspage", page); code != 1 {
		t.Errorf("an import that wrote nothing ended with code %d", code)
	}
	help := succeed(t, nil, "import", "-h")
	for _, words := range []string{"Nobody is notified", "Exit code 0", "import undo"} {
		if !strings.Contains(strings.Join(strings.Fields(help), " "), words) {
			t.Errorf("the help lacks %q: %s", words, help)
		}
	}
}
