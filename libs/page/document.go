package page

import "github.com/bellbuoy/bellbuoy/libs/web"

// Refusal describes an error response: a page for a browser, JSON for a program.
func Refusal(status int, description string, headers ...string) web.Response {
	return web.Response{Status: status, Description: description, Headers: headers, Contents: []web.Content{htmlContent(), {Media: "application/json"}}}
}

func htmlContent() web.Content { return web.Content{Media: "text/html", Of: ""} }

// Subscribed describes the responses to a visitor's request for a subscription. unknown describes the response 404, wrong
// the response 422.
func Subscribed(unknown, wrong string) []web.Response {
	return []web.Response{
		{Status: 202, Description: "The request was sent as JSON.", Contents: []web.Content{{Media: "application/json", Of: SentView{}, Example: `{"status": "sent"}`}}},
		{Status: 303, Description: "The request was sent as a form.", Headers: []string{"Location"}},
		{Status: 403, Description: "The dashboard is private, and the visitor has no access. The body is the form for the password, or empty.",
			Contents: []web.Content{htmlContent()}},
		{Status: 404, Description: unknown, Contents: []web.Content{htmlContent(), {Media: "application/json"}, {Media: "text/plain", Of: ""}}},
		Refusal(422, wrong),
		Refusal(429, "There were too many requests from the network of the visitor.", "Retry-After"),
	}
}

// SlugParameters are the parameters of a path with the slug of a dashboard.
type SlugParameters struct {
	Slug string `path:"slug" pattern:"^[a-z0-9-]{3,63}$" description:"The slug of the dashboard."`
}

// TokenParameters are the parameters of a link in a message.
type TokenParameters struct {
	Token string `query:"token" required:"true" description:"From the link in a message."`
}

// LinkOperation returns the declaration of a page behind a link in a message: o with the token of the link, the responses that
// all such pages have, and responses.
func LinkOperation(o web.Public, responses ...web.Response) web.Public {
	o.Description += " No other origin may read the response."
	o.Parameters, o.Errors = TokenParameters{}, []int{503}
	o.Responses = append([]web.Response{
		{Status: 200, Description: "A page.", Contents: []web.Content{htmlContent()}}, Refusal(404, "The link is not valid."),
		Refusal(410, "The link was used, has expired or was replaced, or what it was for no longer exists."),
	}, responses...)
	return o
}
