package api

import (
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/channel"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

func (a *API) whyOperation() web.Operation {
	return web.Declare(web.Operation{
		Method: "POST", Path: "/app/notifications/why", ID: "explainDeliveries", Tag: "delivery logs",
		Summary: "Show why a recipient got a message about an event, or got none",
		Description: "Nothing is stored or sent. For each change of the event, newest first, there is one result for each dashboard on which the recipient is subscribed. " +
			"A result is a delivery, or status waiting, or status none with the rule that kept the message back. code is stable, text is for people. " +
			"The body has one of email (kind email), phone (kind sms or whatsapp) and urlHash (the other kinds). " +
			"asOfToday: delivery does not record why a recipient was left out. The rule holds today, and the recipient was changed after the change of the event. " +
			"Deliveries to a former URL of an endpoint may be missing. 404: the event or the endpoint does not exist.",
		Roles: []string{passport.RoleSubscriber}, Status: 200, Errors: []int{404},
		Example: web.Example{
			Request: `{"eventId": "01890a5d-ac96-774b-bcce-b302099a8062", "kind": "email", "email": "ann@example.com"}`,
			Response: `{"why": {"messages": [{"eventKind": "incident.created", "occurredAt": "2026-01-31T09:30:00.000Z", "statusId": "01890a5d-ac96-774b-bcce-b302099a8063",
				"results": [{"dashboardId": "01890a5d-ac96-774b-bcce-b302099a8060", "recipientId": "01890a5d-ac96-774b-bcce-b302099a8064", "status": "none", "code": "paused",
				"text": "The subscription is paused.", "asOfToday": false, "since": null, "suppression": null, "log": null, "attempts": 0, "nextAttemptAt": null, "replays": []}]}],
				"more": false, "keptFrom": "2026-01-01T09:30:00.000Z", "older": false}}`,
		},
	}, a.why)
}

type whyBody struct {
	EventID optional.Value[string] `json:"eventId" format:"uuid" required:"true"`
	Kind    optional.Value[string] `json:"kind" required:"true" enum:"email,sms,whatsapp,webhook,teams,gchat,slack,discord"`
	Email   optional.Value[string] `json:"email" maxLength:"254"`
	Phone   optional.Value[string] `json:"phone" maxLength:"40"`
	URLHash optional.Value[string] `json:"urlHash" format:"sha256"`
}

// query returns the query of the body. It returns an error if the body lacks the recipient that its kind needs, or has a
// recipient of another kind.
func (in *whyBody) query(organization string) (dispatch.WhyQuery, error) {
	q := dispatch.WhyQuery{Organization: organization, EventID: in.EventID.Value, Channel: topic.Channel(in.Kind.Value)}
	wanted := "urlHash"
	switch {
	case q.Channel == topic.Email:
		wanted = "email"
	case q.Channel.RecipientService() == topic.Subscribers:
		wanted = "phone"
	}
	for _, of := range []struct {
		name string
		optional.Value[string]
		into *string
	}{{"email", in.Email, &q.Address}, {"phone", in.Phone, &q.Address}, {"urlHash", in.URLHash, &q.URLHash}} {
		switch {
		case of.name == wanted && of.Value.Value == "":
			return q, fault.Field(of.name, "is required for kind %s", q.Channel)
		case of.name != wanted && of.Value.Value != "":
			return q, fault.Field(of.name, "is not for kind %s, which needs %s", q.Channel, wanted)
		case of.name == wanted:
			*of.into = of.Value.Value
		}
	}
	return q, nil
}

type whyLogView struct {
	LogID  string   `json:"logId" format:"uuid" description:"Its newest log."`
	SentAt web.Time `json:"sentAt"`
	Status string   `json:"status" enum:"delivered,retrying,failed,skipped,suppressed" description:"Of the delivery."`
}

type whySuppressionView struct {
	Reason string   `json:"reason" enum:"bounce,complaint,invalid,unsubscribed,gone,failures"`
	Since  web.Time `json:"since"`
}

type whyResultView struct {
	DashboardID   *string             `json:"dashboardId" format:"uuid" description:"Null if the result is not about one dashboard."`
	RecipientID   *string             `json:"recipientId" format:"uuid" description:"The subscriber or endpoint; null if there is none today."`
	Status        string              `json:"status" enum:"delivered,retrying,failed,skipped,suppressed,waiting,none"`
	Code          string              `json:"code" description:"Of a delivery: delivered, not_configured, or its errorCode. Waiting: held, planning, queued, or channel_unavailable. None: the rule."`
	Text          string              `json:"text"`
	AsOfToday     bool                `json:"asOfToday"`
	Since         *web.Time           `json:"since" description:"Of codes subscribed_later, chosen_later and confirmed_later."`
	Suppression   *whySuppressionView `json:"suppression" description:"The suppression of the recipient today."`
	Log           *whyLogView         `json:"log" description:"Of the delivery; null before its first attempt."`
	Attempts      int                 `json:"attempts"`
	NextAttemptAt *web.Time           `json:"nextAttemptAt"`
	Replays       []whyLogView        `json:"replays" description:"Oldest first, without those that wait for their first attempt."`
}

type whyMessageView struct {
	EventKind  topic.Kind      `json:"eventKind"`
	OccurredAt web.Time        `json:"occurredAt"`
	StatusID   *string         `json:"statusId" format:"uuid" description:"The timeline entry of the change."`
	Results    []whyResultView `json:"results"`
}

type whyView struct {
	Messages []whyMessageView `json:"messages"`
	More     bool             `json:"more" description:"There are older messages. The newest 100 are shown."`
	KeptFrom web.Time         `json:"keptFrom" description:"Logs are kept for 30 days. Older messages are not shown."`
	Older    bool             `json:"older" description:"The event was created before keptFrom."`
}

type whyOneView struct {
	Why whyView `json:"why"`
}

func (a *API) why(c *web.Call[web.None, whyBody]) (whyOneView, error) {
	in, err := c.Body()
	if err != nil {
		return whyOneView{}, err
	}
	query, err := in.query(c.Caller.Organization)
	if err != nil {
		return whyOneView{}, err
	}
	found, err := a.Planner.Why(c, query)
	if err != nil {
		return whyOneView{}, err
	}
	setup := channel.SetupOf(query.Channel, a.Mail, a.Texts)
	view := whyView{Messages: []whyMessageView{}, More: found.More, KeptFrom: web.Time(found.KeptFrom), Older: found.Older}
	for _, m := range found.Messages {
		view.Messages = append(view.Messages, whyMessageView{
			EventKind: m.Kind, OccurredAt: web.Time(m.At), StatusID: optional.OrNull(m.Entry),
			Results: find.Values(m.Results, func(r dispatch.WhyResult) whyResultView { return viewWhy(&r, query.Channel, setup.ToFiles()) }),
		})
	}
	return whyOneView{view}, nil
}

// viewWhy shows a result. toFiles means that messages on the channel are written to files.
func viewWhy(r *dispatch.WhyResult, on topic.Channel, toFiles bool) whyResultView {
	if toFiles && r.Status == dispatch.WhyStatus(deliverylog.StatusDelivered) {
		r.Code = codeNotConfigured
	}
	view := whyResultView{
		DashboardID: optional.OrNull(r.DashboardID), RecipientID: optional.OrNull(r.Recipient), Status: string(r.Status), Code: r.Code,
		Text: whyText(r, on), AsOfToday: r.Today, Replays: []whyLogView{},
	}
	if !r.Since.IsZero() {
		view.Since = new(web.Time(r.Since))
	}
	if s := r.Suppression; s != nil {
		view.Suppression = &whySuppressionView{s.Reason, web.Time(s.Since)}
	}
	if r.Delivery != nil {
		view.Log, view.Attempts, view.NextAttemptAt = viewLastLog(r.Delivery), len(r.Delivery.Attempts), web.TimeOf(r.Delivery.NextAttemptAt)
	}
	for i := range r.Replays {
		if log := viewLastLog(&r.Replays[i]); log != nil {
			view.Replays = append(view.Replays, *log)
		}
	}
	return view
}

func viewLastLog(d *deliverylog.Delivery) *whyLogView {
	id, at, logged := d.LastLog()
	if !logged {
		return nil
	}
	return &whyLogView{id, web.Time(at), string(d.Status)}
}
