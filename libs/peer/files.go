package peer

import (
	"cmp"
	"strings"
)

// DashboardFile is a file that visitors find below the address of a dashboard. The events service renders the file from
// an edition, and the gateway serves it.
type DashboardFile struct {
	Path    string // below the address of the dashboard; {id} and {month} match any value
	Media   string // media type
	ID      string // operation id in the OpenAPI document
	Summary string // summary of the operation in the OpenAPI document
	AtOnce  bool   // the gateway reads the file with each edition; it reads other files at their first request
	// Of, if not empty, is the Path of another file. The gateway serves the other file for Path.
	Of string
}

// The media types of the files.
const (
	HTML       = "text/html"
	JSON       = "application/json"
	RSS        = "application/rss+xml"
	Atom       = "application/atom+xml"
	JSONFeed   = "application/feed+json"
	Calendar   = "text/calendar"
	SVG        = "image/svg+xml"
	JavaScript = "text/javascript"
	PlainText  = "text/plain"
)

// DashboardFiles returns all files. A new file is one row here, and one function in the package site of the events service.
func DashboardFiles() []DashboardFile {
	return []DashboardFile{
		{Path: "/", Media: HTML, ID: "showPage", Summary: "Show the page of a dashboard", AtOnce: true},
		{Path: "/events/{id}", Media: HTML, ID: "showEvent", Summary: "Show an event"},
		{Path: "/components/{id}", Media: HTML, ID: "showComponent", Summary: "Show a component"},
		{Path: "/history", Media: HTML, ID: "showHistory", Summary: "List the months of the history"},
		{Path: "/history/{month}", Media: HTML, ID: "showMonth", Summary: "Show a month"},
		{Path: "/subscribe", Media: HTML, ID: "showSubscribe", Summary: "Show the form of each channel"},
		{Path: "/subscribe/sent", Media: HTML, ID: "showSent", Summary: "Show what follows after a form"},
		{Path: "/embed", Media: HTML, ID: "showEmbed", Summary: "Show the state, for a frame of another page"},
		{Path: "/embed.js", Media: JavaScript, ID: "getEmbedScript", Summary: "Get the script that shows a banner on another page"},
		{Path: "/feed.rss", Media: RSS, ID: "getRSS", Summary: "Get the feed of a dashboard as RSS", AtOnce: true},
		{Path: "/feed.atom", Media: Atom, ID: "getAtom", Summary: "Get the feed of a dashboard as Atom", AtOnce: true},
		{Path: "/feed.json", Media: JSONFeed, ID: "getJSONFeed", Summary: "Get the feed of a dashboard as JSON Feed", AtOnce: true},
		{Path: "/history.rss", Media: RSS, ID: "getHistoryRSS", Summary: "Get the feed of a dashboard as RSS, by its address on Statuspage", Of: "/feed.rss"},
		{Path: "/history.atom", Media: Atom, ID: "getHistoryAtom", Summary: "Get the feed of a dashboard as Atom, by its address on Statuspage", Of: "/feed.atom"},
		{Path: "/components/{id}/feed.rss", Media: RSS, ID: "getComponentRSS", Summary: "Get the feed of a component as RSS"},
		{Path: "/components/{id}/feed.atom", Media: Atom, ID: "getComponentAtom", Summary: "Get the feed of a component as Atom"},
		{Path: "/components/{id}/feed.json", Media: JSONFeed, ID: "getComponentJSONFeed", Summary: "Get the feed of a component as JSON Feed"},
		{Path: "/maintenance.ics", Media: Calendar, ID: "getCalendar", Summary: "Get the maintenances of a dashboard as iCalendar"},
		{Path: "/badge.svg", Media: SVG, ID: "getBadge", Summary: "Get the badge of a dashboard", AtOnce: true},
		{Path: "/components/{id}/badge.svg", Media: SVG, ID: "getComponentBadge", Summary: "Get the badge of a component"},
		{Path: "/robots.txt", Media: PlainText, ID: "getRobots", Summary: "Get the rules for crawlers"},
		{Path: "/api/v2/summary.json", Media: JSON, ID: "getSummary", Summary: "Get the state, components, open incidents and maintenances", AtOnce: true},
		{Path: "/api/v2/status.json", Media: JSON, ID: "getStatus", Summary: "Get the state of a dashboard", AtOnce: true},
		{Path: "/api/v2/components.json", Media: JSON, ID: "getComponents", Summary: "Get the components of a dashboard"},
		{Path: "/api/v2/incidents.json", Media: JSON, ID: "getIncidents", Summary: "Get the newest 50 incidents"},
		{Path: "/api/v2/incidents/unresolved.json", Media: JSON, ID: "getUnresolvedIncidents", Summary: "Get the open incidents"},
		{Path: "/api/v2/scheduled-maintenances.json", Media: JSON, ID: "getMaintenances", Summary: "Get the newest 50 maintenances"},
		{Path: "/api/v2/scheduled-maintenances/active.json", Media: JSON, ID: "getActiveMaintenances", Summary: "Get the maintenances in progress"},
		{Path: "/api/v2/scheduled-maintenances/upcoming.json", Media: JSON, ID: "getUpcomingMaintenances", Summary: "Get the planned maintenances"},
	}
}

// FilesAtOnce returns the names of the files that the gateway reads with each edition.
func FilesAtOnce() (names []string) {
	for _, file := range DashboardFiles() {
		if file.AtOnce {
			names = append(names, file.Name())
		}
	}
	return names
}

// Name returns the name of the file in an edition. The name of the page is empty. For a file with a parameter, Name returns
// a pattern: the name of such a file is the path of the request.
func (f DashboardFile) Name() string { return strings.TrimPrefix(cmp.Or(f.Of, f.Path), "/") }

// HasParameter reports whether the path has a parameter, so that it matches several files.
func (f DashboardFile) HasParameter() bool { return strings.Contains(f.Path, "{") }

// IsPage reports whether the file is an HTML page for people.
func (f DashboardFile) IsPage() bool { return f.Media == HTML }

// IsShared reports whether scripts of other sites may read the file of a public dashboard.
func (f DashboardFile) IsShared() bool {
	shared, _ := readers(f.Media)
	return shared
}

// IsFeed reports whether the query parameter key opens the file of a private dashboard.
func (f DashboardFile) IsFeed() bool {
	_, keyed := readers(f.Media)
	return keyed
}

// readers reports who may read files of a media type, besides visitors with a browser: shared means scripts of other sites,
// keyed means programs with the key of a private dashboard. readers panics for a media type that it does not list. The
// gateway calls it for each file when the gateway starts.
func readers(media string) (shared, keyed bool) {
	switch media {
	case JSON, SVG:
		return true, false
	case RSS, Atom, JSONFeed:
		return true, true
	case Calendar:
		return false, true
	case HTML, JavaScript, PlainText:
		return false, false
	}
	panic("readers does not know the media type " + media)
}

// ContentType returns the value of the file's Content-Type header.
func (f DashboardFile) ContentType() string {
	if f.Media == SVG {
		return f.Media
	}
	return f.Media + "; charset=utf-8"
}

// The names of files that the gateway serves instead of other files, or that are parts of others. They have no
// address of their own. EnterBelowFile exists because the links of a page are relative, see EnterFileAt.
const (
	EnterFile      = "enter"       // the password form
	EnterBelowFile = "enter/below" // the password form for an address with one slash
	EnterWrongFile = "enter/wrong" // the response to a wrong password
	EnterLateFile  = "enter/late"  // the response to too many wrong passwords
	MissingFile    = "404"         // the response for an address that the dashboard does not have
	FrameFile      = "frame"       // a Frame as JSON, which the gateway does not serve
)

// MostEnterSlashes is the largest number of slashes for which EnterFileAt has a file of its own.
const MostEnterSlashes = 8

// EnterFileAt returns the name of the password form for an address with the number of slashes below the dashboard. The name has as
// many, and the relative links of the form lead out of as many folders. The first two names are EnterFile and EnterBelowFile. For
// an address with more slashes than MostEnterSlashes, the links are wrong.
func EnterFileAt(slashes int) string {
	return EnterFile + strings.Repeat("/below", min(slashes, MostEnterSlashes))
}
