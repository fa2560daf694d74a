package api

import (
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

func (a *API) audienceOperation() web.Operation {
	return web.Declare(web.Operation{
		Method: "POST", Path: "/app/notifications/audience", ID: "countAudience", Tag: "delivery logs",
		Summary: "Count to whom a change of an event would be sent",
		Description: "Nothing is stored or sent. Each channel counts the recipients that the message would reach now: not those that are paused, " +
			"unconfirmed or suppressed, or that did not subscribe to the components. Up to 10,000 are counted. " +
			"eventId, componentIds or dashboardIds is required. An event without components concerns all recipients of its dashboards, dashboardIds. " +
			"Without componentIds and dashboardIds, those of the event are taken.",
		Roles: []string{passport.RoleEvent}, Status: 200,
		Example: web.Example{
			Request: `{"componentIds": ["01890a5d-ac96-774b-bcce-b302099a8061"], "eventId": "01890a5d-ac96-774b-bcce-b302099a8062", "kind": "incident.updated"}`,
			Response: `{"audience": {"email": {"recipients": 1204, "more": false}, "gchat": {"recipients": 0, "more": false}, "slack": {"recipients": 0, "more": false}, "discord": {"recipients": 0, "more": false}, "sms": {"recipients": 10000, "more": true},
				"teams": {"recipients": 0, "more": false}, "webhook": {"recipients": 3, "more": false}, "whatsapp": {"recipients": 0, "more": false}}}`,
		},
	}, a.audience)
}

type audienceBody struct {
	ComponentIDs optional.Value[[]string] `json:"componentIds" minItems:"1" maxItems:"100"`
	DashboardIDs optional.Value[[]string] `json:"dashboardIds" minItems:"1" maxItems:"50" description:"The dashboards of an event without components. Beside componentIds: 400."`
	EventID      optional.Value[string]   `json:"eventId" format:"uuid" description:"The event that would be changed."`
	Kind         optional.Value[string]   `json:"kind" enum:"incident.created,incident.updated,incident.resolved,incident.reopened,incident.post_mortem_published,maintenance.scheduled,maintenance.rescheduled,maintenance.reminder,maintenance.started,maintenance.updated,maintenance.completed,maintenance.reopened" description:"The kind of the message, because webhooks choose kinds. Default: incident.created, with eventId incident.updated or maintenance.updated."`
}

type audienceCountView struct {
	Recipients int  `json:"recipients" description:"At most 10000."`
	More       bool `json:"more" description:"There are more than 10000."`
}

type audienceView struct {
	Audience map[topic.Channel]audienceCountView `json:"audience" description:"All channels of the App interface."`
}

func (a *API) audience(c *web.Call[web.None, audienceBody]) (audienceView, error) {
	in, err := c.Body()
	if err != nil {
		return audienceView{}, err
	}
	counts, err := a.Planner.Audience(c, dispatch.AudienceQuery{
		Organization: c.Caller.Organization, EventID: in.EventID.Value, Kind: topic.Kind(in.Kind.Value), Components: in.ComponentIDs.Value, Dashboards: in.DashboardIDs.Value,
	})
	view := audienceView{make(map[topic.Channel]audienceCountView, len(counts))}
	for channel, count := range counts {
		view.Audience[channel] = audienceCountView(count)
	}
	return view, err
}
