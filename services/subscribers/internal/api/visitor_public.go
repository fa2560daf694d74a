package api

import (
	"github.com/bellbuoy/bellbuoy/libs/page"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

const visitorTag = "subscribers"

// Public declares the forms with which visitors subscribe, and the pages of the links in messages.
func Public() []web.Public {
	var all []web.Public
	for _, at := range []struct {
		base, suffix, note string
		path               any
	}{
		{"/d/{slug}/subscribe", "", "", page.SlugParameters{}},
		{"/subscribe", "OnOwnHost", " Exists on a dashboard's own host only.", nil},
	} {
		for _, channel := range topic.ChannelsOf(topic.Subscribers) {
			all = append(all, formOperation(at.base, at.suffix, at.note, at.path, channel))
		}
	}
	return append(all, linkOperations()...)
}

func formOperation(base, suffix, note string, path any, channel topic.Channel) web.Public {
	name := map[topic.Channel]string{topic.Email: "Email", topic.SMS: "SMS", topic.WhatsApp: "WhatsApp"}[channel]
	var body, form any = subscribePhoneBody{}, subscribePhoneForm{}
	example := `{"phone": "+4915112345678"}`
	link := "The phone number gets a link and a code that confirm the subscription."
	if channel == topic.Email {
		body, form, example = subscribeEmailBody{}, subscribeEmailForm{}, `{"email": "ann@example.com"}`
		link = "The mail address gets a link that confirms the subscription."
	}
	return web.Public{
		Method: "POST", Path: base + "/" + string(channel), ID: "subscribe" + name + suffix, Tag: visitorTag, Summary: "Subscribe by " + name,
		Description: link + " The response does not depend on whether the address is known, locked or suppressed. No other origin may read the response." + note,
		Parameters:  path,
		Bodies: []web.Content{
			{Media: page.FormMedia, Of: form, Example: example},
			{Media: "application/json", Of: body, Example: example},
		},
		Responses: page.Subscribed(
			"There is no such dashboard, or the dashboard does not offer the channel.",
			"A field is wrong. A browser gets the form again."),
		Errors: []int{413, 503},
	}
}

// formParts describes the fields that the forms of all channels have, for the API document.
type formParts struct {
	ComponentIDs string `json:"componentIds" description:"Once for each component. Absent: all components, also those that are added later."`
	Locale       string `json:"locale" description:"Language of the messages, BCP 47. Absent or empty: the dashboard's."`
}

type subscribeEmailForm struct {
	Email string `json:"email" required:"true"`
	formParts
}

type subscribePhoneForm struct {
	Phone string `json:"phone" required:"true" description:"With a plus sign and the country code."`
	formParts
}

type confirmParameters struct {
	Token string `query:"token" description:"From the link in a message. Absent: the body has a code."`
}

func linkOperations() []web.Public {
	locked := page.Refusal(403, "The operator of the dashboard has locked the subscription.")
	wrong := page.Refusal(422, "A field is wrong.")
	operation := func(method, path, id, summary, description string, responses ...web.Response) web.Public {
		return page.LinkOperation(web.Public{
			Method: method, Path: audience.LinkPath + path, ID: id, Tag: visitorTag, Summary: summary, Description: description,
		}, responses...)
	}
	const harmless = "Changes nothing, because programs follow the links in messages."
	const one = "The link concerns one dashboard and one address."

	confirm := operation("POST", audience.ToConfirm, "confirmSubscription", "Confirm a subscription",
		"By a link, which works once, or by the code in an SMS or WhatsApp message.", wrong,
		page.Refusal(429, "Too many codes were tried from the network of the visitor.", "Retry-After"))
	confirm.Parameters, confirm.Errors = confirmParameters{}, append(confirm.Errors, 413)
	confirm.Responses[0].Contents = append(confirm.Responses[0].Contents,
		web.Content{Media: "application/json", Of: subscriptionConfirmedView{}, Example: `{"status": "confirmed"}`})
	confirm.BodyOptional = true // a confirmation by link needs no body
	const code = `{"channel": "sms", "phone": "+4915112345678", "code": "123456"}`
	confirm.Bodies = []web.Content{{Media: page.FormMedia, Of: confirmCodeForm{}, Example: code}, {Media: "application/json", Of: confirmCodeBody{}, Example: code}}

	manage := operation("POST", audience.ToManage, "manageSubscription", "Change or delete a subscription", "The button of the form decides. "+one, locked, wrong)
	manage.Bodies = []web.Content{{Media: page.FormMedia, Of: manageSubscriptionForm{}, Example: `{"action": "unsubscribe"}`}}
	manage.Errors = append(manage.Errors, 413)

	unsubscribe := operation("POST", audience.ToUnsubscribe, "unsubscribe", "Delete a subscription",
		"The one-click request of mail programs (RFC 8058). "+one, wrong)
	unsubscribe.Errors = append(unsubscribe.Errors, 413)
	const oneClick = `{"List-Unsubscribe": "One-Click"}`
	unsubscribe.Bodies = []web.Content{
		{Media: page.FormMedia, Of: unsubscription{}, Example: oneClick}, {Media: "multipart/form-data", Of: unsubscription{}, Example: oneClick},
	}
	return []web.Public{
		operation("GET", audience.ToConfirm, "askConfirmSubscription", "Show the button that confirms a subscription", harmless),
		confirm,
		operation("GET", audience.ToManage, "askManageSubscription", "Show the form that manages a subscription", harmless, locked),
		manage,
		operation("GET", audience.ToUnsubscribe, "askUnsubscribe", "Show the button that deletes a subscription", harmless),
		unsubscribe,
	}
}

type unsubscription struct {
	OneClick string `json:"List-Unsubscribe" enum:"One-Click" required:"true"`
}
