package main_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/stream"
)

// places contains texts in which no secret may appear, by the name of the place.
type places map[string]string

// addRecords adds the Kafka records.
func (p places) addRecords(records []stream.Record) {
	texts := joined{}
	for _, record := range records {
		texts.add("a message to "+record.Topic, string(record.Key), string(record.Value), fmt.Sprint(record.Headers))
	}
	p.addTexts(texts)
}

// joined contains the parts of texts by place.
type joined map[string]*strings.Builder

// add appends the parts to the text of the place.
func (j joined) add(place string, parts ...string) {
	if j[place] == nil {
		j[place] = &strings.Builder{}
	}
	for _, part := range parts {
		j[place].WriteString(part)
	}
}

func (p places) addTexts(texts joined) {
	for place, text := range texts {
		p[place] = text.String()
	}
}

// with returns the names of the places that contain the text.
func (p places) with(text string) (found []string) {
	for _, place := range slices.Sorted(maps.Keys(p)) {
		if strings.Contains(p[place], text) {
			found = append(found, place)
		}
	}
	return found
}

// expectWithout fails the test if a place contains the secret. It skips places whose names begin with one of the
// exceptions.
func (p places) expectWithout(t *testing.T, what, secret string, except ...string) {
	t.Helper()
	if len(secret) < 6 {
		t.Fatalf("%s is too short to be found: %q", what, secret)
	}
	for _, place := range p.with(secret) {
		if !slices.ContainsFunc(except, func(prefix string) bool { return strings.HasPrefix(place, prefix) }) {
			text := p[place]
			at := strings.Index(text, secret)
			t.Errorf("%s holds %s: …%q…", place, what, text[max(0, at-200):min(len(text), at+200)])
		}
	}
}

// addFiles adds every file of the data folder.
func (p places) addFiles(t *testing.T, data string) {
	t.Helper()
	err := filepath.WalkDir(data, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(data, path)
		p["the file "+name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
