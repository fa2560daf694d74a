// Package documenttest finds a field of a collection that computes other values than before although its Revision is the
// same. Migrate computes a field of the stored records again only if its Revision has changed. Without that, a query by
// the field misses all records that were stored before.
package documenttest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/document"
)

// GoldenFile has a line for each field of the collections of a store: the collection, the field, the Revision, and a
// fingerprint of what the field computes.
const GoldenFile = "testdata/fields.golden"

// Fields fails unless the declared fields are those of GoldenFile, with their fingerprints. With APITEST_UPDATE=1 it
// writes the file, but not the line of a field whose fingerprint has changed and whose Revision has not. declare declares
// the collections of a store. values are constants by which records differ, such as their statuses: a fingerprint depends
// on what the fields compute for each of them.
func Fields(t *testing.T, declare func(*document.Database), values ...any) {
	t.Helper()
	db, err := document.Open("sqlite:"+t.TempDir(), "fields", document.Options{})
	if err != nil {
		t.Fatal(err)
	}
	declare(db)
	var lines []line
	for _, c := range db.Declarations() {
		lines = append(lines, fields(c, values)...)
	}
	golden, err := read()
	if err != nil {
		t.Fatal(err)
	}
	update := os.Getenv("APITEST_UPDATE") == "1"
	for _, problem := range compare(golden, lines, update) {
		t.Error(problem)
	}
	if update && !t.Failed() {
		if err := write(lines); err != nil {
			t.Fatal(err)
		}
	}
}

// line is a line of GoldenFile.
type line struct {
	collection, field string
	revision          int
	fingerprint       string
}

func (l line) String() string {
	return fmt.Sprintf("%s %s %d %s", l.collection, l.field, l.revision, l.fingerprint)
}

func (l line) name() string { return l.collection + "." + l.field }

// compare returns what is wrong with the declared lines. With update, lines may differ from the golden ones, except for a
// changed fingerprint with the same Revision.
func compare(golden, declared []line, update bool) (problems []string) {
	known := make(map[string]line, len(golden))
	for _, l := range golden {
		known[l.name()] = l
	}
	for _, l := range declared {
		old, found := known[l.name()]
		delete(known, l.name())
		switch {
		case found && old.revision == l.revision && old.fingerprint != l.fingerprint:
			problems = append(problems, fmt.Sprintf("%s computes other values than before, but its Revision is still %d: stored records keep the former values; "+
				"raise the Revision, then run this test with APITEST_UPDATE=1", l.name(), l.revision))
		case old != l && !update:
			problems = append(problems, fmt.Sprintf("%s is new or has another Revision; run this test with APITEST_UPDATE=1, which writes %s", l.name(), GoldenFile))
		}
	}
	if update {
		return problems
	}
	for name := range known {
		problems = append(problems, fmt.Sprintf("%s is not declared any more; run this test with APITEST_UPDATE=1, which writes %s", name, GoldenFile))
	}
	return problems
}

func read() ([]line, error) {
	text, err := os.ReadFile(GoldenFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var lines []line
	for text := range strings.Lines(string(text)) {
		parts := strings.Fields(text)
		if len(parts) != 4 {
			return nil, fmt.Errorf("%s: %q must have four words", GoldenFile, text)
		}
		revision, err := strconv.Atoi(parts[2])
		if err != nil {
			return nil, fmt.Errorf("%s: %q must have a number as its third word", GoldenFile, text)
		}
		lines = append(lines, line{parts[0], parts[1], revision, parts[3]})
	}
	return lines, nil
}

func write(lines []line) error {
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.String() + "\n"
	}
	slices.Sort(texts)
	if err := os.MkdirAll(filepath.Dir(GoldenFile), 0o755); err != nil {
		return err
	}
	return os.WriteFile(GoldenFile, []byte(strings.Join(texts, "")), 0o644)
}
