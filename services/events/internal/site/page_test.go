package site

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

var update = flag.Bool("update", false, "write the golden files of pages, and sample pages to look at to the folder in LOOK")

func newSite(t testing.TB) *Site {
	t.Helper()
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func render(t testing.TB, s *Site, snapshot *catalog.Snapshot, name string) File {
	t.Helper()
	file, err := s.Render(snapshot, name, Asked{})
	if err != nil {
		t.Fatalf("%q: %v", name, err)
	}
	return file
}

// pageNames returns a name for each kind of page that the snapshot has.
func pageNames(s *catalog.Snapshot) []string {
	names := []string{"", "history", "subscribe", "subscribe/sent", "embed", EnterFile, EnterBelowFile, EnterWrongFile, EnterLateFile, MissingFile}
	for _, c := range s.Components {
		names = append(names, "components/"+c.ID)
	}
	for _, e := range s.Events {
		names = append(names, "events/"+e.ID)
	}
	for _, month := range s.Months {
		names = append(names, "history/"+month)
	}
	return names
}

// TestWritePages writes pages to look at, if it is asked for with -update and a folder in LOOK.
func TestWritePages(t *testing.T) {
	folder := os.Getenv("LOOK")
	if !*update || folder == "" {
		return
	}
	s := newSite(t)
	for label, snapshot := range map[string]*catalog.Snapshot{"calm": samplePage(), "trouble": troubledPage(), "large": largePage()} {
		for _, name := range pageNames(snapshot) {
			path := filepath.Join(folder, label, name, "index.html")
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, render(t, s, snapshot, name).Body, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = strings.ToLower
}

func BenchmarkIndex(b *testing.B) {
	s, snapshot := newSite(b), largePage()
	for b.Loop() {
		render(b, s, snapshot, "")
	}
}
