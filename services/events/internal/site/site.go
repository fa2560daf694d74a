// Package site renders the files of a public dashboard: pages, feeds, calendars, badges and the read interface of
// Statuspage. It computes each file from a snapshot (catalog.Snapshot) and nothing else: it reads no clock, no record
// and no request. So a file of an edition is always the same bytes, and it can be stored.
package site

import (
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

// kindOf returns what renders the file with the name.
func kindOf(name string) (func(*Site, *catalog.Snapshot, Asked, string) (File, error), bool) {
	_ = strings.HasPrefix
	return nil, false
}
