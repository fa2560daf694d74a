package api

import (
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
)

func (a *API) progressOperation() web.Operation {
	return web.Declare(web.Operation{
		Method: "GET", Path: "/app/events/{id}/deliveries", ID: "getEventDeliveries", Tag: "delivery logs",
		Summary: "Count the deliveries of an event",
		Description: "The counts are current while messages are being sent. planned is at least the sum of the others, and equal to it when " +
			"no message is left to be sent. A replay is a message like any other: it is counted from its request on, and its result counts for the " +
			"endpoint too. The counts of a deleted event remain as long as its logs.",
		Roles: []string{passport.RoleEvent}, Status: 200,
		Example: web.Example{Response: `{"deliveries": {"planned": 3, "delivered": 2, "retrying": 1, "failed": 0, "skipped": 0, "suppressed": 0,
			"channels": {"webhook": {"planned": 3, "delivered": 2, "retrying": 1, "failed": 0, "skipped": 0, "suppressed": 0}}}}`},
	}, a.progress)
}

type progressParameters struct {
	EventID string `path:"id" format:"uuid" record:"event"`
}

// progressCountsView shows the number of deliveries in each status.
type progressCountsView struct {
	Planned    int64 `json:"planned" description:"Messages to recipients that were found so far, and replays."`
	Delivered  int64 `json:"delivered"`
	Retrying   int64 `json:"retrying" description:"Waiting for another attempt."`
	Failed     int64 `json:"failed"`
	Skipped    int64 `json:"skipped" description:"Not sent because the recipient was paused or deleted, because a newer message replaced them, or because the event was deleted or became a draft while they waited."`
	Suppressed int64 `json:"suppressed"`
}

type progressView struct {
	progressCountsView
	Channels map[topic.Channel]progressCountsView `json:"channels" description:"The channels on which messages were planned."`
}

type deliveriesView struct {
	Deliveries progressView `json:"deliveries"`
}

func (a *API) progress(c *web.Call[progressParameters, web.None]) (deliveriesView, error) {
	all, channels, err := a.Logs.EventProgress(c, c.Caller.Organization, c.Parameters.EventID)
	view := deliveriesView{progressView{progressCountsView(all), make(map[topic.Channel]progressCountsView, len(channels))}}
	for channel, progress := range channels {
		view.Deliveries.Channels[channel] = progressCountsView(progress)
	}
	return view, err
}
