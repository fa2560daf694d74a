// Package api serves the delivery service's operations of the App interface: the delivery log, replays, test messages, counts
// and explanations of deliveries, and the setup of channels. Each handler calls the domain and returns a view of the result.
package api

import (
	"time"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// API has the dependencies of the handlers.
type API struct {
	Logs    *deliverylog.Logs
	Planner *dispatch.Planner // for replays, test messages, Audience and Why
	Pages   web.Pages
	Mail    boot.Mail
	Texts   boot.Texts
}

// Operations returns the operations that the service offers on the App interface.
func Operations() []web.Operation { return (&API{}).operations() }

// Mount adds the routes to the engine.
func (a *API) Mount(engine *gin.Engine) error { return web.Mount(engine, a.operations()) }

func (a *API) operations() []web.Operation {
	declared := func(method, path, id, summary, description string, status int, example web.Example) web.Operation {
		return web.Operation{
			Method: method, Path: "/app/notifications/{kind}/logs" + path, ID: id, Tag: "delivery logs", Summary: summary, Description: description,
			Roles: []string{passport.RoleSubscriber}, Status: status, Example: example,
		}
	}
	replay := declared("POST", "/{logId}/replay", "replayDelivery", "Send the message of a log again",
		"A new delivery of the same message to the same recipient. Its logs have this log as replayOf. "+
			"404: the recipient, the event or the message no longer exists. 409: the recipient is paused, suppressed or not confirmed, the event is a draft or "+
			"names no component any more, the message is a test to a phone, or the delivery of the log waits for its next attempt.",
		202, web.Example{Request: `{"sentAt": "2026-01-31T09:30:00.000Z"}`, Response: `{"deliveryId": "01890a5d-ac96-874b-bcce-b302099a8100"}`})
	replay.Entitlement = web.Integrations
	replay.Errors = []int{409}
	return []web.Operation{
		web.Declare(declared("GET", "", "listDeliveryLogs", "List logs, newest first",
			"Each attempt has a log. A delivery that ends without an attempt has one, too. Logs are kept for 30 days. "+
				"The kinds are those of the endpoints, email, sms and whatsapp. A page may have fewer logs than limit although others follow.",
			200, web.Example{Response: `{"logs": [` + example + `}], "nextToken": null}`}), a.list),
		web.Declare(declared("GET", "/{logId}", "getDeliveryLog", "Read a log with its request and response",
			"Credentials, signatures, addresses of recipients and the parts of URLs that urlDisplay does not show are replaced by ***.",
			200, web.Example{Response: `{"log": ` + example + `, "request": {"method": "POST", "urlDisplay": "hooks.example.com/bellbu…",
				"headers": {"Content-Type": "application/json", "Webhook-Signature": "***"}, "body": "{\"id\":\"01890a5d-ac96-874b-bcce-b302099a8100\"}"},
				"response": {"httpStatus": 204, "headers": {"Date": "Sat, 31 Jan 2026 09:30:00 GMT"}, "body": ""},
				"attempts": [{"logId": "01890a5d-ac96-874b-bcce-b302099a8100", "at": "2026-01-31T09:30:00.000Z", "durationMs": 12, "httpStatus": 204, "errorCode": null}]}}`}),
			a.get),
		web.Declare(replay, a.replay),
		a.progressOperation(),
		a.countsOperation(),
		a.audienceOperation(),
		a.whyOperation(),
		a.channelsOperation(),
		a.testMailOperation(),
		a.testTextOperation(topic.SMS, "testSMS", "Send a test message to a phone by SMS"),
		a.testTextOperation(topic.WhatsApp, "testWhatsApp", "Send a test message to a phone by WhatsApp"),
	}
}

const example = `{"logId": "01890a5d-ac96-874b-bcce-b302099a8100", "sentAt": "2026-01-31T09:30:00.000Z", "deliveryId": "01890a5d-ac96-874b-bcce-b302099a8100",
	"kind": "webhook", "dashboardId": "01890a5d-ac96-774b-bcce-b302099a8060", "urlHash": "9b74c9897bac770ffc029102a200c5de5f4f1f7a9f0c8d1b2a3f4e5d6c7b8a90",
	"urlDisplay": "hooks.example.com/bellbu…", "eventId": "01890a5d-ac96-774b-bcce-b302099a8062", "eventKind": "incident.created", "status": "delivered",
	"attempt": 1, "maxAttempts": 7, "httpStatus": 204, "durationMs": 12, "errorCode": null, "nextAttemptAt": null, "replayOf": null`

type listParameters struct {
	Kind string `path:"kind" description:"webhook, teams, gchat, slack, discord, email, sms or whatsapp."`
	web.Paging
	DashboardID *string    `query:"dashboardId" format:"uuid"`
	URLHash     *string    `query:"urlHash" format:"sha256"`
	EventID     *string    `query:"eventId" format:"uuid"`
	Status      *string    `query:"status" enum:"delivered,retrying,failed,skipped,suppressed"`
	From        *time.Time `query:"from" description:"Only logs sent at or after this time."`
	To          *time.Time `query:"to" description:"Only logs sent before this time."`
}

func (a *API) list(c *web.Call[listParameters, web.None]) (logsView, error) {
	in := c.Parameters
	channel, err := channelOf(in.Kind)
	if err != nil {
		return logsView{}, err
	}
	logs, next, err := web.Listed(a.Pages, c.List, in.Paging, func(limit int, after string) (find.Page[deliverylog.Delivery], error) {
		return a.Logs.List(c, deliverylog.Query{
			Organization: c.Caller.Organization, Channel: channel, Limit: limit, After: after,
			Filter: deliverylog.Filter{
				DashboardID: optional.OrZero(in.DashboardID), URLHash: optional.OrZero(in.URLHash), EventID: optional.OrZero(in.EventID), Status: deliverylog.Status(optional.OrZero(in.Status)),
				From: optional.OrZero(in.From), To: optional.OrZero(in.To),
			},
		})
	}, viewLog)
	return logsView{logs, next}, err
}

type getParameters struct {
	Kind   string    `path:"kind" description:"webhook, teams, gchat, slack, discord, email, sms or whatsapp."`
	LogID  string    `path:"logId" format:"uuid" record:"log"`
	SentAt time.Time `query:"sentAt" required:"true" description:"The sentAt of the log."`
}

func (a *API) get(c *web.Call[getParameters, web.None]) (oneLogView, error) {
	in := c.Parameters
	channel, err := channelOf(in.Kind)
	if err != nil {
		return oneLogView{}, err
	}
	found, err := a.Logs.Get(c, deliverylog.Key{Organization: c.Caller.Organization, Channel: channel, ID: in.LogID, SentAt: in.SentAt})
	if err != nil {
		return oneLogView{}, err
	}
	return oneLogView{viewExchange(&found)}, nil
}

type replayParameters struct {
	Kind  string `path:"kind" description:"webhook, teams, gchat, slack, discord, email, sms or whatsapp."`
	LogID string `path:"logId" format:"uuid" record:"log"`
}

type replayBody struct {
	SentAt optional.Value[time.Time] `json:"sentAt" required:"true" description:"The sentAt of the log."`
}

func (a *API) replay(c *web.Call[replayParameters, replayBody]) (replayView, error) {
	channel, err := channelOf(c.Parameters.Kind)
	if err != nil {
		return replayView{}, err
	}
	in, err := c.Body()
	if err != nil {
		return replayView{}, err
	}
	id, err := a.Planner.Replay(c, deliverylog.Key{
		Organization: c.Caller.Organization, Channel: channel, ID: c.Parameters.LogID, SentAt: in.SentAt.Value,
	})
	return replayView{id}, err
}

// channelOf returns the channel with the name. It returns fault.NotFound for an unknown channel, and for a channel of
// topic.Nobody, on which nothing is sent.
func channelOf(kind string) (topic.Channel, error) {
	channel := topic.Channel(kind)
	if service := channel.RecipientService(); service == "" || service == topic.Nobody {
		return "", fault.New(fault.NotFound, "There is no such kind of notification.")
	}
	return channel, nil
}
