package api

import (
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
)

func (a *API) countsOperation() web.Operation {
	return web.Declare(web.Operation{
		Method: "GET", Path: "/app/notifications/counts", ID: "countDeliveries", Tag: "delivery logs",
		Summary: "Count the deliveries of the last 24 hours",
		Description: "Each delivery counts once, by how it ended: tests, confirmations and other mail too, as in the logs. retrying counts the deliveries " +
			"that wait for an attempt now, also older ones. The counts may be 5 seconds old.",
		Roles: []string{passport.RoleSubscriber}, Status: 200,
		Example: web.Example{Response: `{"counts": {"email": {"delivered": 1204, "retrying": 0, "failed": 2, "skipped": 0, "suppressed": 1},
			"gchat": {"delivered": 0, "retrying": 0, "failed": 0, "skipped": 0, "suppressed": 0}, "slack": {"delivered": 0, "retrying": 0, "failed": 0, "skipped": 0, "suppressed": 0}, "discord": {"delivered": 0, "retrying": 0, "failed": 0, "skipped": 0, "suppressed": 0}, "sms": {"delivered": 0, "retrying": 0, "failed": 0, "skipped": 0, "suppressed": 0},
			"teams": {"delivered": 0, "retrying": 0, "failed": 0, "skipped": 0, "suppressed": 0}, "webhook": {"delivered": 3, "retrying": 1, "failed": 0, "skipped": 0, "suppressed": 0},
			"whatsapp": {"delivered": 0, "retrying": 0, "failed": 0, "skipped": 0, "suppressed": 0}}, "since": "2026-01-30T09:30:00.000Z"}`},
	}, a.counts)
}

type recentCountsView struct {
	Delivered  int64 `json:"delivered"`
	Retrying   int64 `json:"retrying" description:"Waiting for an attempt now."`
	Failed     int64 `json:"failed"`
	Skipped    int64 `json:"skipped"`
	Suppressed int64 `json:"suppressed"`
}

type recentView struct {
	Counts map[topic.Channel]recentCountsView `json:"counts" description:"All channels of the App interface."`
	Since  web.Time                           `json:"since"`
}

func (a *API) counts(c *web.Call[web.None, web.None]) (recentView, error) {
	found, err := a.Logs.Recent(c, c.Caller.Organization)
	view := recentView{make(map[topic.Channel]recentCountsView, len(found.Channels)), web.Time(found.Since)}
	for channel, n := range found.Channels {
		view.Counts[channel] = recentCountsView{n.Delivered, n.Retrying, n.Failed, n.Skipped, n.Suppressed}
	}
	return view, err
}
