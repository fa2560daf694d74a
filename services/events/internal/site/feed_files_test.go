package site

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// The files of the sample. APITEST_UPDATE=1 writes them. scripts/clients reads them with the programs of others.
func TestPlainFilesOfTheSampleAreAsExpected(t *testing.T) {
	for name, file := range plainFiles(t, sampleSnapshot()) {
		path := filepath.Join("testdata", "public", filepath.FromSlash(name))
		if os.Getenv("APITEST_UPDATE") != "" {
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, file.Body, 0o600)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(want, file.Body) {
			t.Errorf("%s (%v): got\n%s\nwant\n%s", path, err, file.Body, want)
		}
	}
}

// The same snapshot gives the same bytes. A later snapshot that shows the same changes only the files with its time.
func TestTheSameSnapshotGivesTheSamePlainFiles(t *testing.T) {
	first, second := plainFiles(t, sampleSnapshot()), plainFiles(t, sampleSnapshot())
	if !reflect.DeepEqual(first, second) {
		t.Error("two renderings differ")
	}
	s := sampleSnapshot()
	s.Edition, s.At = s.Edition+1, s.At.Add(time.Minute)
	for name, file := range plainFiles(t, s) {
		if strings.HasPrefix(name, "api/v2/") { // has the time in page.updated_at
			continue
		}
		if !bytes.Equal(file.Body, first[name].Body) {
			t.Errorf("%s changes with an edition that shows the same", name)
		}
	}
}

// Each file stays valid in its format under hostile texts, and within its limit.
func TestHostileTextsLeavePlainFilesValid(t *testing.T) {
	for name, file := range plainFiles(t, hostileSnapshot()) {
		if !utf8.Valid(file.Body) {
			t.Errorf("%s is not UTF-8", name)
		}
		switch filepath.Ext(name) {
		case ".rss", ".atom", ".svg":
			checkXML(t, name, file.Body)
		case ".json":
			if !json.Valid(file.Body) {
				t.Errorf("%s is no JSON", name)
			}
		case ".ics":
			checkCalendar(t, file.Body)
		case ".js", ".txt":
		default:
			t.Errorf("%s has no check of its format", name)
		}
		for _, danger := range []string{"<script", "<svg onload", "\x00", "\x1b"} {
			if filepath.Ext(name) != ".ics" && bytes.Contains(file.Body, []byte(danger)) { // < has no meaning in a calendar
				t.Errorf("%s contains %q", name, danger)
			}
		}
		limit := map[string]int{".svg": 2048, ".js": 4096}[filepath.Ext(name)]
		if limit > 0 && len(file.Body) > limit {
			t.Errorf("%s has %d bytes, more than %d", name, len(file.Body), limit)
		}
	}
}

// checkXML reads a document to its end. The decoder refuses characters that XML forbids.
func checkXML(t *testing.T, name string, body []byte) {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(body))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if element, is := token.(xml.StartElement); is && (element.Name.Local == "script" || element.Name.Local == "svg" && len(element.Attr) < 5) {
			t.Errorf("%s has the element %s of a text", name, element.Name.Local)
		}
	}
}

func TestUnknownPlainFilesAreNotFound(t *testing.T) {
	s := sampleSnapshot()
	for name, call := range map[string]func() (File, error){
		"feed.rss of a component that is not shown":  func() (File, error) { return feedRSS(s, itemID(99), english, newTexts()) },
		"feed.atom of a component that is not shown": func() (File, error) { return feedAtom(s, itemID(99), english, newTexts()) },
		"feed.json of a component that is not shown": func() (File, error) { return feedJSON(s, itemID(99), english, newTexts()) },
		"badge of a component that is not shown":     func() (File, error) { return badge(s, itemID(99), english) },
		"api/v2/other.json":                          func() (File, error) { return statuspage(s, "other.json", newTexts()) },
	} {
		if _, err := call(); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// english returns our English word for a key. A key without a word panics.
func english(key string) string { return englishLocale().Word(key) }

var englishLocale = sync.OnceValue(func() *locale {
	all, err := readLocales()
	if err != nil {
		panic(err)
	}
	return all["en"]
})
