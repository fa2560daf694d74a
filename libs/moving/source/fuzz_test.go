package source_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
	"github.com/bellbuoy/bellbuoy/libs/moving/source"
)

// fuzz reads a source whose file name has any content. The reader must not panic, and what it writes must be valid lines.
func fuzz(f *testing.F, name, file string, others map[string]string, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	root := folder(f, others)
	path := filepath.Join(root, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		set, err := source.Read(t.Context(), name, root, options())
		if err != nil {
			return
		}
		text := written(t, set)
		again, err := lines.Read(t.Context(), bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if other := written(t, again); !bytes.Equal(other, text) {
			t.Errorf("the lines are refused:\n%s\nbecome\n%s", text, other)
		}
	})
}

// seed returns the content of a file of testdata.
func seed(f *testing.F, name string) string {
	f.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		f.Fatal(err)
	}
	return string(content)
}

func FuzzStatuspage(f *testing.F) {
	fuzz(f, "statuspage", "records.json", nil, seed(f, "statuspage/incidents-1.json"), seed(f, "statuspage/components.json"), seed(f, "statuspage/subscribers-active.json"), seed(f, "statuspage/page.json"))
}

func FuzzKuma(f *testing.F) {
	fuzz(f, "uptime-kuma", "page.json", nil, seed(f, "kuma/harbour.json"), seed(f, "kuma/history.json"))
}

func FuzzCStateIssue(f *testing.F) {
	fuzz(f, "cstate", "content/issues/x.md", map[string]string{"config.yml": "title: H\n"}, seed(f, "cstate/content/issues/2025-01-10-gateway-down.md"), seed(f, "cstate/content/issues/2026-12-24-planned.md"))
}

func FuzzCStateConfig(f *testing.F) {
	fuzz(f, "cstate", "config.yml", nil, seed(f, "cstate/config.yml"))
}

func FuzzUpptimeIssues(f *testing.F) {
	fuzz(f, "upptime", "issues.json", map[string]string{".upptimerc.yml": "owner: o\nrepo: r\nsites: [{name: Harbour Shop}]\n"}, seed(f, "upptime/issues.json"), seed(f, "upptime/issues-comments.json"))
}

func FuzzUpptimeConfig(f *testing.F) {
	fuzz(f, "upptime", ".upptimerc.yml", nil, seed(f, "upptime/.upptimerc.yml"))
}

func FuzzGatus(f *testing.F) {
	fuzz(f, "gatus", "config.yaml", nil, seed(f, "gatus/config.yaml"))
}

func FuzzCachetTables(f *testing.F) {
	fuzz(f, "cachet", "incidents.csv", map[string]string{"components.csv": "id,name\n1,Shop\n"}, seed(f, "cachet2/incidents.csv"))
}

func FuzzCachetSaved(f *testing.F) {
	fuzz(f, "cachet", "incidents.json", nil, seed(f, "cachet3/incidents.json"), seed(f, "cachet3/schedules.json"), seed(f, "cachet3/components.json"))
}
