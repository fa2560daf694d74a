package api

import (
	"github.com/bellbuoy/bellbuoy/libs/page"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
)

const visitorTag = "visitors' endpoints"

// Public declares the forms with which visitors subscribe endpoints, the pages of the links in mail, and the inbound webhook.
func Public() []web.Public {
	var all []web.Public
	for _, at := range []struct {
		base, suffix, description string
		channel                   any
	}{
		{"/d/{slug}/subscribe", "", "", slugChannelParameters{}},
		{"/subscribe", "OnOwnHost", " Exists on a dashboard's own host only.", channelParameters{}},
	} {
		all = append(all, formOperation(at.base, at.suffix, at.description, at.channel))
	}
	return append(append(all, linkOperations()...), inboundPublic()...)
}

type channelParameters struct {
	Channel string `path:"channel" enum:"webhook,teams,gchat,slack,discord" description:"A channel that the dashboard allows."`
}

type slugChannelParameters struct {
	page.SlugParameters
	channelParameters
}

func formOperation(base, suffix, note string, channel any) web.Public {
	return web.Public{
		Method: "POST", Path: base + "/{channel}", ID: "subscribeEndpoint" + suffix, Tag: visitorTag, Summary: "Subscribe an endpoint",
		Description: "The management address gets a link that verifies the endpoint. The response does not depend on whether the URL is known, locked or suppressed. No other origin may read the response." + note,
		Parameters:  channel,
		Bodies: []web.Content{
			{Media: page.FormMedia, Of: subscribeForm{}, Example: `{"url": "https://hooks.example.com/bellbuoy", "managementEmail": "ops@example.com"}`},
			{Media: "application/json", Of: subscribeBody{}, Example: `{"url": "https://hooks.example.com/bellbuoy", "managementEmail": "ops@example.com"}`},
		},
		Responses: page.Subscribed(
			"There is no such dashboard, or the dashboard does not offer the channel.",
			"A field is wrong. The form is shown again."),
		Errors: []int{413, 503},
	}
}

func linkOperations() []web.Public {
	locked := page.Refusal(403, "The operator of the dashboard has locked the endpoint, or the dashboard has no room for it or takes none from visitors any more.")
	operation := func(method, path, id, summary, description string, responses ...web.Response) web.Public {
		return page.LinkOperation(web.Public{
			Method: method, Path: endpoint.LinkPath + path, ID: id, Tag: visitorTag, Summary: summary, Description: description,
		}, append(responses, locked)...)
	}
	const harmless = "Changes nothing, because programs follow the links in mail."
	manage := operation("POST", "manage", "manageEndpoint", "Change or delete the endpoint", "The button of the form decides.",
		page.Refusal(409, "The secret was replaced too often within 24 h."), page.Refusal(422, "A field is wrong."))
	manage.Bodies = []web.Content{{Media: page.FormMedia, Of: manageForm{}, Example: `{"action": "unsubscribe"}`}}
	manage.Errors = append(manage.Errors, 413)
	return []web.Public{
		operation("GET", "verify", "askVerifyEndpoint", "Show the button that verifies an endpoint", harmless),
		operation("POST", "verify", "verifyEndpoint", "Verify an endpoint", "Works once. The page shows the signing secret of a webhook."),
		operation("GET", "manage", "askManageEndpoint", "Show the form that manages an endpoint", harmless),
		manage,
		operation("GET", "unsubscribe", "askUnsubscribeEndpoint", "Show the button that deletes an endpoint", harmless),
		operation("POST", "unsubscribe", "unsubscribeEndpoint", "Delete an endpoint", "Takes the one-click request of mail programs (RFC 8058) too."),
	}
}
