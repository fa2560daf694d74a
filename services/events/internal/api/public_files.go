package api

import (
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/web"
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

// filesPublic declares the files of a dashboard, the redirect from addresses of Statuspage, and the password form. Each
// operation is declared only once, with /d/{slug}. The document says that a host of the dashboard has the same paths
// without /d/{slug}.
func filesPublic() []web.Public {
	var all []web.Public
	unknown := web.Response{Status: 404, Description: "There is no such dashboard, event, component or month.",
		Contents: []web.Content{{Media: "text/html", Of: ""}, {Media: "text/plain", Of: ""}, {Media: "application/json"}}}
	for _, file := range peer.DashboardFiles() {
		missing, body := unknown, any("")
		if file.Media == peer.JSON || file.Media == peer.JSONFeed {
			body = map[string]any{}
		}
		refused := web.Response{Status: 403, Description: "The dashboard is private. The body is the form for the password, or empty.", Contents: []web.Content{{Media: "text/html", Of: ""}}}
		if strings.HasPrefix(file.Path, "/api/") {
			missing = web.Response{Status: 404, Description: "There is no such dashboard.", Contents: []web.Content{{Media: "application/json"}}}
		}
		if !file.IsPage() {
			refused = web.Response{Status: 403, Description: "The dashboard is private."}
		}
		all = append(all, web.Public{
			Method: "GET", Path: "/d/{slug}" + file.Path, ID: file.ID, Tag: publicTag, Summary: file.Summary,
			Parameters: parametersOf(file.Path),
			Responses: []web.Response{
				{Status: 200, Description: "The file, as plain text, gzip or Brotli.", Headers: []string{"ETag"}, Contents: []web.Content{{Media: file.Media, Of: body}}},
				web.NotModified(), refused, missing,
			},
			Errors: []int{503},
		})
	}
	return append(all, web.Public{
		Method: "GET", Path: "/d/{slug}/incidents/{id}", ID: "moveToEvent", Tag: publicTag, Summary: "Go to an event by its former address",
		Description: "The id is that of an event, as in addresses of Statuspage, or incidents/{id} is an alias of the dashboard. Other aliases of a dashboard redirect too.",
		Parameters:  idParameters{},
		Responses: []web.Response{{Status: 308, Description: "The present address.", Headers: []string{"Location"}},
			{Status: 403, Description: "The dashboard is private, and the id is not that of an event. The body is the form for the password, or empty.", Contents: []web.Content{{Media: "text/html", Of: ""}}}, unknown},
		Errors: []int{503},
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

// entryForm describes the form of enter for the API document.
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
