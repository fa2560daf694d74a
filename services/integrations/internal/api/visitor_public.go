package api

import (
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
)

const visitorTag = "visitors' endpoints"

// Public declares the forms with which visitors subscribe endpoints, and the pages of the links in mail.
func Public() []web.Public {
	var all []web.Public
	for _, at := range []struct {
		base, suffix, description string
		channel                   any
	}{
		{"/d/{slug}/subscribe", "", "", slugChannelParameters{}},
		{"/subscribe", "OnOwnHost", " Exists on a dashboard's own host only.", channelParameters{}},
	} {
		all = append(all, formOperations(at.base, at.suffix, at.description, at.channel)...)
	}
	return append(all, linkOperations()...)
}

type channelParameters struct {
	Channel string `path:"channel" description:"webhook, teams or gchat, where the dashboard allows the channel."`
}

type slugChannelParameters struct {
	Slug string `path:"slug" pattern:"^[a-z0-9-]{3,63}$" description:"The slug of the dashboard."`
	channelParameters
}

func html() web.Content { return web.Content{Media: "text/html", Of: ""} }

// refusal is a response with a page for a browser, and an error in JSON for a program.
func refusal(status int, description string, headers ...string) web.Response {
	return web.Response{
		Status: status, Description: description, Headers: headers, Contents: []web.Content{html(), {Media: "application/json"}},
	}
}

func shown(description string) web.Response {
	return web.Response{Status: 200, Description: description, Contents: []web.Content{html()}}
}

func formOperations(base, suffix, note string, channel any) []web.Public {
	unknown := refusal(404, "There is no such dashboard, the dashboard does not offer the channel, or the dashboard is private.")
	return []web.Public{{
		Method: "GET", Path: base + "/{channel}", ID: "askSubscribeEndpoint" + suffix, Tag: visitorTag, Summary: "Show the form that subscribes an endpoint",
		Description: "No other origin may read the response." + note, Parameters: channel,
		Responses: []web.Response{shown("A page."), unknown}, Errors: []int{503},
	}, {
		Method: "POST", Path: base + "/{channel}", ID: "subscribeEndpoint" + suffix, Tag: visitorTag, Summary: "Subscribe an endpoint",
		Description: "The management address gets a link that verifies the endpoint. The response does not depend on whether the URL is known, locked or suppressed. No other origin may read the response." + note,
		Parameters:  channel,
		Bodies: []web.Content{
			{Media: "application/x-www-form-urlencoded", Of: subscribeForm{}, Example: `{"url": "https://hooks.example.com/bellbuoy", "managementEmail": "ops@example.com"}`},
			{Media: "application/json", Of: subscribeBody{}, Example: `{"url": "https://hooks.example.com/bellbuoy", "managementEmail": "ops@example.com"}`},
		},
		Responses: []web.Response{
			{Status: 202, Description: "The request was sent as JSON.", Contents: []web.Content{{Media: "application/json", Of: sentView{}, Example: `{"status": "sent"}`}}},
			{Status: 303, Description: "The request was sent as a form.", Headers: []string{"Location"}},
			unknown,
			refusal(422, "A field is wrong. The form is shown again."),
			refusal(429, "There were too many requests from the network of the visitor.", "Retry-After"),
		},
		Errors: []int{413, 503},
	}}
}

type tokenParameters struct {
	Token string `query:"token" required:"true" description:"From the link in a mail."`
}

func linkOperations() []web.Public {
	ended := []web.Response{
		refusal(403, "The operator of the dashboard has locked the endpoint, or the dashboard has no room for it or takes none from visitors any more."),
		refusal(404, "The link is not valid."),
		refusal(410, "The link is used, has expired, or was replaced."),
	}
	operation := func(method, path, id, summary, description string, responses ...web.Response) web.Public {
		return web.Public{
			Method: method, Path: endpoint.LinkPath + path, ID: id, Tag: visitorTag, Summary: summary,
			Description: description + " No other origin may read the response.", Parameters: tokenParameters{},
			Responses: append(append([]web.Response{}, responses...), ended...), Errors: []int{503},
		}
	}
	const harmless = "Changes nothing, because programs follow the links in mail."
	manage := operation("POST", "manage", "manageEndpoint", "Change or delete the endpoint", "", shown("A page."),
		refusal(409, "The secret was replaced too often within 24 h."), refusal(422, "A field is wrong."))
	manage.Description = "The button of the form decides." + manage.Description
	manage.Bodies = []web.Content{{Media: "application/x-www-form-urlencoded", Of: manageForm{}, Example: `{"action": "unsubscribe"}`}}
	manage.Errors = append(manage.Errors, 413)
	return []web.Public{
		operation("GET", "verify", "askVerifyEndpoint", "Show the button that verifies an endpoint", harmless, shown("A page.")),
		operation("POST", "verify", "verifyEndpoint", "Verify an endpoint", "Works once. The page shows the signing secret of a webhook.", shown("A page.")),
		operation("GET", "manage", "askManageEndpoint", "Show the form that manages an endpoint", harmless, shown("A page.")),
		manage,
		operation("GET", "unsubscribe", "askUnsubscribeEndpoint", "Show the button that deletes an endpoint", harmless, shown("A page.")),
		operation("POST", "unsubscribe", "unsubscribeEndpoint", "Delete an endpoint", "Takes the one-click request of mail programs (RFC 8058) too.", shown("A page.")),
	}
}
