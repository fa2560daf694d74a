package api

import (
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/web"
)

// publicFile is a file of a dashboard. The gateway serves it from an edition.
type publicFile struct {
	path, id, summary, media string // path is below the URL of the dashboard
}

func publicFiles() []publicFile {
	return []publicFile{
		{"/", "showPage", "Show the page of a dashboard", htmlMedia},
		{"/events/{id}", "showEvent", "Show an event", htmlMedia},
		{"/components/{id}", "showComponent", "Show a component", htmlMedia},
		{"/history", "showHistory", "Show the current month", htmlMedia},
		{"/history/{month}", "showMonth", "Show a month", htmlMedia},
		{"/subscribe", "showSubscribe", "Show the form of each channel", htmlMedia},
		{"/subscribe/sent", "showSent", "Show what follows after a form", htmlMedia},
		{"/embed", "showEmbed", "Show the state, for a frame of another page", htmlMedia},
		{"/embed.js", "getEmbedScript", "Get the script that shows a banner on another page", "text/javascript"},
		{"/feed.rss", "getRSS", "Get the feed of a dashboard as RSS", rssMedia},
		{"/feed.atom", "getAtom", "Get the feed of a dashboard as Atom", atomMedia},
		{"/feed.json", "getJSONFeed", "Get the feed of a dashboard as JSON Feed", jsonFeedMedia},
		{"/history.rss", "getHistoryRSS", "Get the feed of a dashboard as RSS, by its address on Statuspage", rssMedia},
		{"/history.atom", "getHistoryAtom", "Get the feed of a dashboard as Atom, by its address on Statuspage", atomMedia},
		{"/components/{id}/feed.rss", "getComponentRSS", "Get the feed of a component as RSS", rssMedia},
		{"/components/{id}/feed.atom", "getComponentAtom", "Get the feed of a component as Atom", atomMedia},
		{"/components/{id}/feed.json", "getComponentJSONFeed", "Get the feed of a component as JSON Feed", jsonFeedMedia},
		{"/maintenance.ics", "getCalendar", "Get the maintenances of a dashboard as iCalendar", "text/calendar"},
		{"/badge.svg", "getBadge", "Get the badge of a dashboard", "image/svg+xml"},
		{"/components/{id}/badge.svg", "getComponentBadge", "Get the badge of a component", "image/svg+xml"},
		{"/robots.txt", "getRobots", "Get the rules for crawlers", "text/plain"},
		{"/api/v2/summary.json", "getSummary", "Get the state, components, open incidents and maintenances", jsonMedia},
		{"/api/v2/status.json", "getStatus", "Get the state of a dashboard", jsonMedia},
		{"/api/v2/components.json", "getComponents", "Get the components of a dashboard", jsonMedia},
		{"/api/v2/incidents.json", "getIncidents", "Get the newest 50 incidents", jsonMedia},
		{"/api/v2/incidents/unresolved.json", "getUnresolvedIncidents", "Get the open incidents", jsonMedia},
		{"/api/v2/scheduled-maintenances.json", "getMaintenances", "Get the newest 50 maintenances", jsonMedia},
		{"/api/v2/scheduled-maintenances/active.json", "getActiveMaintenances", "Get the maintenances in progress", jsonMedia},
		{"/api/v2/scheduled-maintenances/upcoming.json", "getUpcomingMaintenances", "Get the planned maintenances", jsonMedia},
	}
}

// The media types of several files.
const (
	htmlMedia     = "text/html"
	jsonMedia     = "application/json"
	jsonFeedMedia = "application/feed+json"
	rssMedia      = "application/rss+xml"
	atomMedia     = "application/atom+xml"
)

const publicTag = "dashboard"

type slugParameters struct {
	Slug string `path:"slug" pattern:"^[a-z0-9-]{3,63}$" description:"The slug of the dashboard."`
}

type idParameters struct {
	slugParameters
	ID string `path:"id" description:"The id of the event or the component."`
}

type monthParameters struct {
	slugParameters
	Month string `path:"month" description:"The month in the dashboard's zone, yyyy-mm."`
}

// filesPublic declares the files of a dashboard, and what belongs to them. The document says that a dashboard's own host
// has the same paths without /d/{slug}, so each operation is declared once.
func filesPublic() []web.Public {
	var all []web.Public
	unknown := web.Response{Status: 404, Description: "There is no such dashboard, event, component or month.",
		Contents: []web.Content{{Media: "text/html", Of: ""}, {Media: "text/plain", Of: ""}, {Media: "application/json"}}}
	for _, file := range publicFiles() {
		missing, body := unknown, any("")
		if file.media == jsonMedia || file.media == jsonFeedMedia {
			body = map[string]any{}
		}
		refused := web.Response{Status: 403, Description: "The dashboard is private. The body is the form for the password, or empty.", Contents: []web.Content{{Media: "text/html", Of: ""}}}
		if strings.HasPrefix(file.path, "/api/") {
			missing = web.Response{Status: 404, Description: "There is no such dashboard.", Contents: []web.Content{{Media: "application/json"}}}
		}
		if file.media != htmlMedia {
			refused = web.Response{Status: 403, Description: "The dashboard is private."}
		}
		all = append(all, web.Public{
			Method: "GET", Path: "/d/{slug}" + file.path, ID: file.id, Tag: publicTag, Summary: file.summary,
			Parameters: parametersOf(file.path),
			Responses: []web.Response{
				{Status: 200, Description: "The file, as plain text, gzip or Brotli.", Headers: []string{"ETag"}, Contents: []web.Content{{Media: file.media, Of: body}}},
				web.NotModified(), refused, missing,
			},
			Errors: []int{503},
		})
	}
	return append(all, web.Public{
		Method: "GET", Path: "/d/{slug}/incidents/{id}", ID: "moveToEvent", Tag: publicTag, Summary: "Go to an event by its address on Statuspage",
		Parameters: idParameters{},
		Responses:  []web.Response{{Status: 308, Description: "The address of the event.", Headers: []string{"Location"}}, unknown},
	}, web.Public{
		Method: "POST", Path: "/d/{slug}/enter", ID: "enter", Tag: publicTag, Summary: "Enter the password of a private dashboard",
		Parameters: slugParameters{},
		Bodies:     []web.Content{{Media: "application/x-www-form-urlencoded", Of: entryForm{}, Example: `{"password": "correct horse"}`}},
		Responses: []web.Response{
			{Status: 303, Description: "The password is right. A cookie opens the dashboard for 30 days.", Headers: []string{"Location"}},
			{Status: 403, Description: "The password is wrong. The body is the form.", Contents: []web.Content{{Media: "text/html", Of: ""}}},
			{Status: 404, Description: "There is no such dashboard, or it has no password.", Contents: []web.Content{{Media: "text/html", Of: ""}, {Media: "text/plain", Of: ""}}},
			{Status: 429, Description: "There were 10 wrong passwords within an hour.", Headers: []string{"Retry-After"}, Contents: []web.Content{{Media: "text/html", Of: ""}}},
		},
		Errors: []int{400, 413, 503},
	})
}

// entryForm describes the form of enter.
type entryForm struct {
	Password string `json:"password" required:"true"`
}

// parametersOf returns the parameters of the file at path.
func parametersOf(path string) any {
	switch {
	case strings.Contains(path, "{id}"):
		return struct {
			idParameters
			web.Conditional
		}{}
	case strings.Contains(path, "{month}"):
		return struct {
			monthParameters
			web.Conditional
		}{}
	default:
		return struct {
			slugParameters
			web.Conditional
		}{}
	}
}
