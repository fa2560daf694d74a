package api

import (
	"time"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

func (a api) eventListOperations() []web.Operation {
	return []web.Operation{
		web.Declare(web.Operation{
			Method: "GET", Path: "/app/events", ID: "listEvents", Tag: "events", Summary: "List events",
			Description: "The newest start first. A row has every member of an event but timeline, notes and postMortem. An id that the organization does not have " +
				"selects no event. With q a page can have fewer events than limit, or none, and still a nextToken: a page compares at most 1000 events with q.",
			Roles: []string{passport.RoleEvent}, Status: 200,
			Example: web.Example{Response: `{"events": [{"id": "01890a5d-ac96-774b-bcce-b302099a8062", "legacyId": 12, "publicId": null, "type": "incident", "title": "Checkout fails",
				"description": "Some payments fail.", "impactAnalysis": null, "coordinator": null, "status": "identified", "severity": "major_outage",
				"startAt": "2026-01-31T09:30:00.000Z", "endAt": null, "scheduledStartAt": null, "scheduledEndAt": null, "autoStart": false, "autoEnd": false,
				"reminderMinutes": [], "publish": true, "dashboardIds": ["01890a5d-ac96-774b-bcce-b302099a8060"], "importKey": null,
				"notifyLater": {"email": true, "sms": false, "whatsapp": false, "webhook": false, "teams": false, "gchat": false, "slack": false, "discord": false}, "hiddenFromDashboard": false,
				"affectedComponents": [{"componentId": "01890a5d-ac96-774b-bcce-b302099a8061", "name": "Checkout", "impact": "major_outage"}],
				"hiddenFromUptimeReports": false, "externalId": null, "backfilled": false, "source": "app", "createdBy": ` + authorExample + `,
				"createdAt": "2026-01-31T09:31:00.000Z", "updatedAt": "2026-01-31T09:40:00.000Z", "publishedAt": "2026-01-31T09:31:00.000Z", "version": 2}],
				"nextToken": null}`},
		}, a.listEvents),
	}
}

type eventListParameters struct {
	web.Paging
	Type        *string    `query:"type" enum:"incident,maintenance"`
	Status      *string    `query:"status" enum:"investigating,identified,monitoring,resolved,planning,started,inprogress,verifying,completed"`
	Active      *bool      `query:"active" description:"True: published, begun and under way by the status. False: all others."`
	Publish     *bool      `query:"publish" description:"False: the drafts. True: all others."`
	DashboardID *string    `query:"dashboardId" format:"uuid" description:"Events that affect a component that is on the dashboard now."`
	ComponentID *string    `query:"componentId" format:"uuid" description:"Events that affect the component, which need not be on the dashboard of dashboardId."`
	From        *time.Time `query:"from" description:"Only events that end after this time. An open event has no end."`
	To          *time.Time `query:"to" description:"Only events that start before this time, which must be after from."`
	Text        *string    `query:"q" maxLength:"255" description:"Words of the title or of the text of the description, or parts of them, in any order and case."`
	legacyIDParameter
}

type eventsView struct {
	Events    []eventRowView `json:"events"`
	NextToken *string        `json:"nextToken"`
}

func (a api) listEvents(c *web.Call[eventListParameters, web.None]) (eventsView, error) {
	asked := c.Parameters
	if err := asked.alone(asked.Type != nil || asked.Status != nil || asked.Active != nil || asked.Publish != nil || asked.DashboardID != nil || asked.ComponentID != nil ||
		asked.From != nil || asked.To != nil || asked.Text != nil); err != nil {
		return eventsView{}, err
	}
	events, next, err := web.Listed(a.Pages, c.List, asked.Paging, func(limit int, after string) (find.Page[catalog.EventDetail], error) {
		if asked.LegacyID != nil {
			return a.catalog.EventWithLegacyID(c, c.Caller.Organization, int64(*asked.LegacyID))
		}
		return a.catalog.PageOfEvents(c, c.Caller.Organization, catalog.EventFilter{
			Type: catalog.EventType(optional.OrZero(asked.Type)), Status: catalog.Status(optional.OrZero(asked.Status)), Active: asked.Active, Publish: asked.Publish,
			DashboardID: optional.OrZero(asked.DashboardID), ComponentID: optional.OrZero(asked.ComponentID), From: asked.From, To: asked.To, Text: optional.OrZero(asked.Text),
		}, limit, after)
	}, viewEventRow)
	return eventsView{events, next}, err
}
