// Package documenttest detects a field of a collection whose function has changed while its Revision is the same.
// Migrate computes the fields of the stored records again only if the declaration of a field has changed, such as its
// Revision. If the Revision is not raised, a query by the field misses the records that were stored before. The package
// also compares the shard keys of the collections with a file.
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
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// GoldenFile is a file with one line for each field of each collection of a store: the collection, the field, the
// Revision, and a fingerprint of the values that the field computes. It also has a line for each index, whose fingerprint
// is its fields.
const GoldenFile = "testdata/fields.golden"

// Fields fails if the declared fields and indexes and their fingerprints differ from the lines of GoldenFile. With
// APITEST_UPDATE=1 it writes the file. It does not write the file if the fingerprint of a field has changed while its
// Revision has not, or if an index has other fields and the same name. declare declares the collections of a store.
// values are constants that fields may depend on, such as statuses: a fingerprint includes what the fields compute for
// each of them.
func Fields(t *testing.T, declare func(*document.Database), values ...any) {
	t.Helper()
	db, err := document.Open("sqlite:"+t.TempDir(), "fields", document.Options{})
	if err != nil {
		t.Fatal(err)
	}
	declare(db)
	var lines []line
	for _, c := range db.Declarations() {
		lines = append(append(lines, fields(c, values)...), indexes(c)...)
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

// line is a line of GoldenFile. The line of an index has the revision 0, and indexPrefix before the name.
type line struct {
	collection, field string
	revision          int
	fingerprint       string
}

const indexPrefix = "index:"

// indexes returns the lines of the indexes of a collection.
func indexes(c document.Declaration) []line {
	return find.Values(c.Indexes, func(i document.Index) line {
		text := strings.Join(i.Fields, ",")
		if i.Unique {
			text += ":unique"
		}
		if i.Words {
			text += ":words"
		}
		return line{c.Name, indexPrefix + i.Name, 0, text}
	})
}

func (l line) String() string {
	return fmt.Sprintf("%s %s %d %s", l.collection, l.field, l.revision, l.fingerprint)
}

func (l line) name() string { return l.collection + "." + l.field }

// compare returns the differences between the golden and the declared lines. With update it returns only the fields
// whose fingerprint has changed although their Revision has not.
func compare(golden, declared []line, update bool) (problems []string) {
	known := find.Index(golden, func(l line) string { return l.name() })
	for _, l := range declared {
		old, found := known[l.name()]
		delete(known, l.name())
		switch {
		case found && old != l && strings.HasPrefix(l.field, indexPrefix):
			problems = append(problems, fmt.Sprintf("%s has other fields than before (%s, now %s): processes of the former version use the former index during an upgrade; "+
				"give it another name, then run this test with APITEST_UPDATE=1", l.name(), old.fingerprint, l.fingerprint))
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
	texts := find.Values(lines, func(l line) string { return l.String() + "\n" })
	slices.Sort(texts)
	if err := os.MkdirAll(filepath.Dir(GoldenFile), 0o755); err != nil {
		return err
	}
	return os.WriteFile(GoldenFile, []byte(strings.Join(texts, "")), 0o644)
}
