package api

import (
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/phone"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/channel"
)

// testLimits describes the limits of test messages.
const testLimits = "At most 5 in an hour for each member, and 20 for the organization, then 429 with Retry-After."

func (a *API) testMailOperation() web.Operation {
	return web.Declare(web.Operation{
		Method: "POST", Path: "/app/notifications/email/test", ID: "testMail", Tag: "delivery logs",
		Summary:     "Send a test mail to your own address",
		Description: "The logs of kind email show the result. 409: the operator has set up no mail server, or your account has no address. " + testLimits,
		Roles:       []string{passport.RoleEvent, passport.RoleSubscriber}, Access: web.SignedIn, Status: 202, Errors: []int{409, 429},
		Example: web.Example{Response: `{"deliveryId": "01890a5d-ac96-874b-bcce-b302099a8100"}`},
	}, a.testMail)
}

// testTextOperation returns the operation that sends a test message on the channel name, SMS or WhatsApp.
func (a *API) testTextOperation(name topic.Channel, id, summary string) web.Operation {
	return web.Declare(web.Operation{
		Method: "POST", Path: "/app/notifications/" + string(name) + "/test", ID: id, Tag: "delivery logs",
		Summary: summary,
		Description: "The message goes through the operator's account and costs money. The logs of this kind show the result, without the number. " +
			"409: the operator has set up no account. " + testLimits,
		Roles: []string{passport.RoleAdmin}, Access: web.SignedIn, Status: 202, Errors: []int{409, 429},
		Example: web.Example{Request: `{"phone": "+4915112345678"}`, Response: `{"deliveryId": "01890a5d-ac96-874b-bcce-b302099a8100"}`},
	}, web.WithBody(func(c *web.Call[web.None, testTextBody], in testTextBody) (testView, error) {
		// Setup.Missing is not checked, because WhatsApp without a template accepts messages to recipients who have just
		// written.
		if channel.SetupOf(name, a.Mail, a.Texts).Server == nil {
			return testView{}, fault.New(fault.Conflict, "Texts are not set up: the operator of this installation must set %s.", channel.SettingTexts)
		}
		number, ok := phone.Possible(in.Phone.Value)
		if !ok {
			return testView{}, fault.New(fault.Invalid, "phone: %s", phone.Wanted)
		}
		deliveryID, err := a.Planner.SendTest(c, c.Caller.Organization, c.Caller.User, name, number)
		return testView{deliveryID}, err
	}))
}

type testTextBody struct {
	Phone optional.Value[string] `json:"phone" required:"true" description:"With a plus sign and the country code. Spaces, hyphens and brackets are ignored."`
}

type testView struct {
	DeliveryID string `json:"deliveryId" format:"uuid" description:"Of the delivery in the logs."`
}

func (a *API) testMail(c *web.Call[web.None, web.None]) (testView, error) {
	if missing := channel.SetupOf(topic.Email, a.Mail, a.Texts).Missing; missing != "" {
		return testView{}, fault.New(fault.Conflict, "Mail is not set up: the operator of this installation must set %s.", missing)
	}
	id, err := a.Planner.SendTest(c, c.Caller.Organization, c.Caller.User, topic.Email, "")
	return testView{id}, err
}
