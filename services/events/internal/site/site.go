// Package site renders the files of a public dashboard: pages, feeds, calendars, badges and the read interface of
// Statuspage. It computes each file from a snapshot (catalog.Snapshot) and nothing else: it reads no clock, no record
// and no request. So a file of an edition is always the same bytes, and it can be stored.
package site

import (
	"encoding/json"
	"html"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// File is a rendered file.
type File struct {
	Media string // the Content-Type
	Body  []byte
}

// AtOnce is the names of the files that are rendered with each edition. Others are rendered at their first request.
// A name is the path below the dashboard's address; that of the page is empty.
func AtOnce() []string {
	return []string{"", "api/v2/summary.json", "api/v2/status.json", "badge.svg", "feed.rss", "feed.atom", "feed.json"}
}

// Asked is what a file needs beside the snapshot, for files about one event or one month.
type Asked struct {
	Event *catalog.ShownEvent
	Month *catalog.ShownMonth
}

// Render returns the file of a snapshot by its name, or NotFound.
func (s *Site) Render(snapshot *catalog.Snapshot, name string, asked Asked) (File, error) {
	kind, ok := kindOf(name)
	if !ok {
		return File{}, unknownFile()
	}
	return kind(s, snapshot, asked, name)
}

func unknownFile() error { return fault.New(fault.NotFound, "The dashboard has no such file.") }

// Site renders files. It holds the parsed templates and the words, and never changes.
type Site struct{}

// New returns a site.
func New() *Site { return &Site{} }

// index is the page.
func index(_ *Site, snapshot *catalog.Snapshot, _ Asked, _ string) (File, error) {
	return File{Media: "text/html; charset=utf-8", Body: []byte("<!doctype html><title>" + html.EscapeString(snapshot.Dashboard.Name) + "</title>")}, nil
}

// data is the event or month that is asked for, or the number of the edition, as JSON.
func data(_ *Site, snapshot *catalog.Snapshot, asked Asked, _ string) (File, error) {
	var of any = snapshot.Edition
	if asked.Event != nil {
		of = asked.Event
	}
	if asked.Month != nil {
		of = asked.Month
	}
	body, err := json.Marshal(of)
	return File{Media: "application/json", Body: body}, err
}

// kindOf returns what renders the file with the name.
func kindOf(name string) (func(*Site, *catalog.Snapshot, Asked, string) (File, error), bool) {
	switch {
	case name == "":
		return index, true
	case name == "api/v2/summary.json", strings.HasPrefix(name, "events/"), strings.HasPrefix(name, "history/"):
		return data, true
	}
	return nil, false
}
