// Package site renders the files of a public dashboard: pages, feeds, calendars, badges and the read interface of
// Statuspage. It computes each file from a snapshot (catalog.Snapshot) and nothing else: it reads no clock, no record
// and no request. So a file of an edition is always the same bytes, and it can be stored.
package site

import (
	"html/template"
	"path"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// File is a rendered file.
type File struct {
	Media  string // the Content-Type
	Body   []byte
	Policy string // the Content-Security-Policy; empty for a file that is no HTML
}

// The files that the gateway serves in place of others. No address of a dashboard leads to them. The links of a page
// are relative, so the password form of an address such as events/{id} is another file than that of the page.
const (
	EnterFile      = "enter"       // the password form
	EnterBelowFile = "enter/below" // the same, for an address with a slash
	EnterWrongFile = "enter/wrong" // the response of POST /enter to a wrong password
	EnterLateFile  = "enter/late"  // the response of POST /enter after too many wrong passwords
	MissingFile    = "404"         // for an address that the dashboard does not have
)

// AtOnce is the names of the files that are rendered with each edition. Others are rendered at their first request.
// A name is the path below the dashboard's address; that of the page is empty.
func AtOnce() []string {
	return []string{"", "api/v2/summary.json", "api/v2/status.json", "badge.svg", "feed.rss", "feed.atom", "feed.json"}
}

// Asked is what a file needs beside the snapshot, for files about one event or one month.
type Asked struct {
	Event *catalog.ShownEvent // nil: the snapshot has the event
	Month *catalog.ShownMonth // nil: the snapshot has all events of the month
}

// Site renders files. It holds the parsed templates and the words, and never changes.
type Site struct {
	pages map[string]*template.Template // by locale
	words map[string]*locale
	style string
	// script and scriptHash are the script of all pages and its source in a Content-Security-Policy.
	script, scriptHash string
}

// order is the file that Render was called for.
type order struct {
	*catalog.Snapshot
	name  string
	asked Asked
}

// row is the files whose names match the pattern (path.Match).
type row struct {
	pattern string
	render  func(*Site, order) (File, error)
}

func rows() []row {
	return []row{
		{"", (*Site).indexPage},
		{"events/*", (*Site).eventPage},
		{"components/*", (*Site).componentPage},
		{"history", (*Site).historyPage},
		{"history/*", (*Site).monthPage},
		{"subscribe", (*Site).subscribePage},
		{"subscribe/sent", (*Site).sentPage},
		{"embed", (*Site).embedPage},
		{EnterFile, (*Site).enterPage},
		{EnterBelowFile, (*Site).enterPage},
		{EnterWrongFile, (*Site).enterPage},
		{EnterLateFile, (*Site).enterPage},
		{MissingFile, (*Site).missingPage},
	}
}

// Render returns the file of a snapshot by its name, or NotFound.
func (s *Site) Render(snapshot *catalog.Snapshot, name string, asked Asked) (File, error) {
	for _, one := range rows() {
		if matches, err := path.Match(one.pattern, name); err == nil && matches {
			return one.render(s, order{snapshot, name, asked})
		}
	}
	return File{}, unknownFile()
}

func unknownFile() error { return fault.New(fault.NotFound, "The dashboard has no such file.") }
