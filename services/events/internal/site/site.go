// Package site renders the files of a public dashboard: pages, feeds, calendars, badges and the read interface of
// Statuspage. It computes each file from a snapshot (edition.Snapshot) and, for some files, from edition.Extra. It
// reads no clock, no record and no request, so a file can be stored and used for all requests.
package site

import (
	"fmt"
	"html/template"
	"path"
	"regexp"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
)

const pageType = peer.HTML + "; charset=utf-8"

// File is a rendered file.
type File struct {
	Media  string // the Content-Type; set by Site.render
	Body   []byte
	Policy string // the Content-Security-Policy; empty for a file other than HTML
}

// Site implements edition.Renderer. It has the parsed templates and the words. It is safe for concurrent use.
type Site struct {
	pages      map[string]*template.Template // by locale
	words      map[string]*locale
	texts      *texts
	style      string
	routes     []fileRoute
	compressor compressor
	// confirm is the URL to which a visitor sends a confirmation code.
	confirm string
	// script is the script of all pages, and scriptHash is the expression that allows it in a Content-Security-Policy.
	script, scriptHash string
}

// renderRequest is the arguments of a call of Render or Page.
type renderRequest struct {
	*edition.Snapshot
	name   string
	extra  edition.Extra
	frozen bool // the page has no script
}

// renderer renders a file. It does not set the content type.
type renderer func(*Site, renderRequest) (File, error)

// fileRoute is the renderer for the files whose names match the pattern, as in path.Match.
type fileRoute struct {
	pattern, contentType string
	render               renderer
}

// renderers returns the renderer of each file in peer.DashboardFiles, by path.
func renderers() map[string]renderer {
	return map[string]renderer{
		"/":                                   (*Site).indexPage,
		"/events/{id}":                        (*Site).eventPage,
		"/components/{id}":                    (*Site).componentPage,
		"/history":                            (*Site).historyPage,
		"/history/{month}":                    (*Site).monthPage,
		"/subscribe":                          (*Site).subscribePage,
		"/subscribe/sent":                     (*Site).sentPage,
		"/embed":                              (*Site).embedPage,
		"/embed.js":                           func(s *Site, r renderRequest) (File, error) { return embedJS(r.Snapshot, s.wording(r)) },
		"/feed.rss":                           feedFile(feedRSS),
		"/feed.atom":                          feedFile(feedAtom),
		"/feed.json":                          feedFile(feedJSON),
		"/history.rss":                        feedFile(feedRSS),
		"/history.atom":                       feedFile(feedAtom),
		"/components/{id}/feed.rss":           feedFile(feedRSS),
		"/components/{id}/feed.atom":          feedFile(feedAtom),
		"/components/{id}/feed.json":          feedFile(feedJSON),
		"/badge.svg":                          (*Site).badgeFile,
		"/components/{id}/badge.svg":          (*Site).badgeFile,
		"/maintenance.ics":                    func(s *Site, r renderRequest) (File, error) { return calendar(r.Snapshot, s.wording(r), s.texts) },
		"/robots.txt":                         func(_ *Site, r renderRequest) (File, error) { return robots(r.Snapshot) },
		"/api/v2/summary.json":                (*Site).statuspageFile,
		"/api/v2/status.json":                 (*Site).statuspageFile,
		"/api/v2/components.json":             (*Site).statuspageFile,
		"/api/v2/incidents.json":              (*Site).statuspageFile,
		"/api/v2/incidents/unresolved.json":   (*Site).statuspageFile,
		"/api/v2/scheduled-maintenances.json": (*Site).statuspageFile,
		"/api/v2/scheduled-maintenances/active.json":   (*Site).statuspageFile,
		"/api/v2/scheduled-maintenances/upcoming.json": (*Site).statuspageFile,
	}
}

// newRoutes returns a route for each file in peer.DashboardFiles, and for the files that have no path of their own: the
// frame, the page for a missing file and the password forms.
func newRoutes() ([]fileRoute, error) {
	routes := []fileRoute{{peer.FrameFile, peer.JSON, (*Site).frameFile}, {peer.MissingFile, pageType, (*Site).missingPage}}
	forms := []string{peer.EnterWrongFile, peer.EnterLateFile}
	for slashes := range peer.MostEnterSlashes + 1 {
		forms = append(forms, peer.EnterFileAt(slashes))
	}
	for _, name := range forms {
		routes = append(routes, fileRoute{name, pageType, (*Site).enterPage})
	}
	known := renderers()
	for _, file := range peer.DashboardFiles() {
		render, there := known[file.Path]
		if !there {
			return nil, fmt.Errorf("site: no function renders %s", file.Path)
		}
		delete(known, file.Path)
		pattern := parameter.ReplaceAllString(strings.TrimPrefix(file.Path, "/"), "*")
		routes = append(routes, fileRoute{pattern, file.ContentType(), render})
	}
	for row := range known {
		return nil, fmt.Errorf("site: %s is no row of peer.DashboardFiles", row)
	}
	return routes, nil
}

// parameter matches a parameter of a path, such as {id}.
var parameter = regexp.MustCompile(`\{[a-z]+\}`)

// Render implements edition.Renderer.
func (s *Site) Render(snapshot *edition.Snapshot, name string, extra edition.Extra) (edition.File, error) {
	file, err := s.render(snapshot, name, extra)
	if err != nil {
		return edition.File{}, err
	}
	codings, err := s.compressor.codings(file.Body)
	return edition.File{Name: name, Media: file.Media, Policy: file.Policy, Codings: codings}, err
}

// Page implements edition.Renderer.
func (s *Site) Page(snapshot *edition.Snapshot) (html []byte, policy string, err error) {
	file, err := s.indexPage(renderRequest{Snapshot: snapshot, frozen: true})
	return file.Body, file.Policy, err
}

// render returns the file of a snapshot by its name, or NotFound.
func (s *Site) render(snapshot *edition.Snapshot, name string, extra edition.Extra) (File, error) {
	for _, route := range s.routes {
		if matches, err := path.Match(route.pattern, name); err == nil && matches {
			file, err := route.render(s, renderRequest{Snapshot: snapshot, name: name, extra: extra})
			file.Media = route.contentType
			return file, err
		}
	}
	return File{}, unknownFile()
}

// component returns the id of the component if the file is below components/{id}, and an empty text for other files.
func (r renderRequest) component() string {
	id, below := strings.CutPrefix(path.Dir(r.name), "components/")
	if !below {
		return ""
	}
	return id
}

// wording returns the function that looks up words in the dashboard's locale.
func (s *Site) wording(r renderRequest) wording {
	l := s.localeOf(r.Snapshot)
	return func(key string) string { return l.Word(key) }
}

func feedFile(render func(*edition.Snapshot, string, wording, *texts) (File, error)) func(*Site, renderRequest) (File, error) {
	return func(s *Site, r renderRequest) (File, error) {
		return render(r.Snapshot, r.component(), s.wording(r), s.texts)
	}
}

func (s *Site) badgeFile(r renderRequest) (File, error) {
	return badge(r.Snapshot, r.component(), s.wording(r))
}

func (s *Site) statuspageFile(r renderRequest) (File, error) {
	return statuspage(r.Snapshot, strings.TrimPrefix(r.name, "api/v2/"), s.texts)
}

func unknownFile() error { return fault.New(fault.NotFound, "The dashboard has no such file.") }
