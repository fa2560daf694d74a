package api

import (
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/channel"
)

func (a *API) testMailOperation() web.Operation {
	return web.Declare(web.Operation{
		Method: "POST", Path: "/app/notifications/email/test", ID: "testMail", Tag: "delivery logs",
		Summary: "Send a test mail to your own address",
		Description: "The logs of kind email show the result. 409: the operator has set up no mail server, or your account has no address. " +
			"At most 5 in an hour, then 429 with Retry-After.",
		Roles: []string{passport.RoleEvent, passport.RoleSubscriber}, Access: web.SignedIn, Status: 202, Errors: []int{409, 429},
		Example: web.Example{Response: `{"deliveryId": "01890a5d-ac96-874b-bcce-b302099a8100"}`},
	}, a.testMail)
}

type testMailView struct {
	DeliveryID string `json:"deliveryId" format:"uuid" description:"Of the delivery in the logs."`
}

func (a *API) testMail(c *web.Call[web.None, web.None]) (testMailView, error) {
	if missing := channel.SetupOf(topic.Email, a.Mail, a.Texts).Missing; missing != "" {
		return testMailView{}, fault.New(fault.Conflict, "Mail is not set up: the operator of this installation must set %s.", missing)
	}
	id, err := a.Planner.TestMail(c, c.Caller.Organization, c.Caller.User)
	return testMailView{id}, err
}
