// Package site renders the files of a public dashboard: pages, feeds, calendars, badges and the read interface of
// Statuspage. It computes each file from a snapshot (catalog.Snapshot) and nothing else: it reads no clock, no record
// and no request. So a file of an edition is always the same bytes, and it can be stored.
package site

import (
	"html/template"
	"path"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// File is a rendered file.
type File struct {
	Media  string // the Content-Type
	Body   []byte
	Policy string // the Content-Security-Policy; empty for a file that is no HTML
}

// The files that are served in place of others, or as a part of others. No address of a dashboard leads to them. The links of a page
// are relative, so the password form of an address such as events/{id} is another file than that of the page.
const (
	EnterFile      = "enter"       // the password form
	EnterBelowFile = "enter/below" // the same, for an address with a slash
	EnterWrongFile = "enter/wrong" // the response of POST /enter to a wrong password
	EnterLateFile  = "enter/late"  // the response of POST /enter after too many wrong passwords
	MissingFile    = "404"         // for an address that the dashboard does not have
	FrameFile      = "frame"       // the design around the pages of other services, as JSON of peer.Frame
)

// AtOnce is the names of the files that the gateway reads with each edition. Others are read at their first request. A
// name is the path below the dashboard's address; that of the page is empty.
func AtOnce() []string {
	return []string{"", "api/v2/summary.json", "api/v2/status.json", "badge.svg", "feed.rss", "feed.atom", "feed.json"}
}

// Site renders files. It holds the parsed templates and the words, and never changes.
type Site struct {
	pages map[string]*template.Template // by locale
	words map[string]*locale
	texts *texts
	style string
	// confirm is the URL that takes the code of a visitor.
	confirm string
	// script and scriptHash are the script of all pages and its source in a Content-Security-Policy.
	script, scriptHash string
}

// order is the file that Render was called for.
type order struct {
	*catalog.Snapshot
	name  string
	asked catalog.Asked
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
		{"embed.js", func(s *Site, o order) (File, error) { return embedJS(o.Snapshot, s.wording(o)) }},
		{"feed.rss", feedRow(feedRSS)},
		{"feed.atom", feedRow(feedAtom)},
		{"feed.json", feedRow(feedJSON)},
		{"history.rss", feedRow(feedRSS)},
		{"history.atom", feedRow(feedAtom)},
		{"components/*/feed.rss", feedRow(feedRSS)},
		{"components/*/feed.atom", feedRow(feedAtom)},
		{"components/*/feed.json", feedRow(feedJSON)},
		{"badge.svg", (*Site).badgeFile},
		{"components/*/badge.svg", (*Site).badgeFile},
		{"maintenance.ics", func(s *Site, o order) (File, error) { return calendar(o.Snapshot, s.wording(o), s.texts) }},
		{"robots.txt", func(_ *Site, o order) (File, error) { return robots(o.Snapshot) }},
		{"api/v2/*", (*Site).statuspageFile},
		{"api/v2/*/*", (*Site).statuspageFile},
		{EnterFile, (*Site).enterPage},
		{EnterBelowFile, (*Site).enterPage},
		{EnterWrongFile, (*Site).enterPage},
		{EnterLateFile, (*Site).enterPage},
		{MissingFile, (*Site).missingPage},
		{FrameFile, (*Site).frameFile},
	}
}

// Render returns the file of a snapshot by its name, or NotFound.
func (s *Site) Render(snapshot *catalog.Snapshot, name string, asked catalog.Asked) (File, error) {
	for _, one := range rows() {
		if matches, err := path.Match(one.pattern, name); err == nil && matches {
			return one.render(s, order{snapshot, name, asked})
		}
	}
	return File{}, unknownFile()
}

// component is the id of the component that a file below components/{id} is about; empty for a file about the dashboard.
func (o order) component() string {
	id, below := strings.CutPrefix(path.Dir(o.name), "components/")
	if !below {
		return ""
	}
	return id
}

// wording returns the words of the dashboard's locale.
func (s *Site) wording(o order) wording {
	l := s.localeOf(o.Snapshot)
	return func(key string) string { return l.word(key) }
}

func feedRow(render func(*catalog.Snapshot, string, wording, *texts) (File, error)) func(*Site, order) (File, error) {
	return func(s *Site, o order) (File, error) { return render(o.Snapshot, o.component(), s.wording(o), s.texts) }
}

func (s *Site) badgeFile(o order) (File, error) {
	return badge(o.Snapshot, o.component(), s.wording(o))
}

func (s *Site) statuspageFile(o order) (File, error) {
	return statuspage(o.Snapshot, strings.TrimPrefix(o.name, "api/v2/"), s.texts)
}

func unknownFile() error { return fault.New(fault.NotFound, "The dashboard has no such file.") }
