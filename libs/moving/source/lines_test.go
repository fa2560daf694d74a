package source_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/moving/source"
)

// A file whose lines are all wrong says why.
func TestAFileWithoutAValidLineNamesTheFirstReasons(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.jsonl")
	if err := os.WriteFile(file, []byte(`{"kind":"component","key":"x","name":"Gate"}`+"\n"+`{"kind":"pigeon"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := source.Read(t.Context(), "lines", file, source.Options{})
	if err == nil || !strings.Contains(err.Error(), "has no valid line; ") || !strings.Contains(err.Error(), "line 1: must be source:scope:id") || !strings.Contains(err.Error(), "line 2: must be one of") {
		t.Errorf("error %v", err)
	}
}

// Titles and names become one line, which the platform takes.
func TestTitlesBecomeOneLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.json")
	content := `{"page": {"id": "p", "name": "Har\u202ebour"}, "components": [{"id": "c", "name": "Gate\n1", "status": "operational"}],
		"incidents": [{"id": "i", "name": "Gate\tis\u0007 slow", "status": "resolved", "created_at": "2025-01-01T00:00:00Z", "resolved_at": "2025-01-01T01:00:00Z",
			"incident_updates": [{"id": "u", "status": "resolved", "body": "\u200b", "display_at": "2025-01-01T01:00:00Z"}]}]}`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := source.Read(t.Context(), "statuspage", file, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if set.Dashboards[0].Name != "Harbour" || set.Components[0].Name != "Gate 1" || set.Events[0].Title != "Gate is slow" || set.Events[0].Timeline[0].HTML != "<p>Resolved</p>" {
		t.Errorf("read %+v", set)
	}
	var warned []string
	for _, w := range set.Warnings {
		warned = append(warned, w.Key+" "+w.Field)
	}
	if want := "[statuspage:p:page name statuspage:p:c name statuspage:p:i title]"; fmt.Sprint(warned) != want {
		t.Errorf("the warnings are about %s", warned)
	}
}
