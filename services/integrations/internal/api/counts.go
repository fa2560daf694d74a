package api

import (
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
)

func (a *API) countsOperation() web.Operation {
	return web.Declare(web.Operation{
		Method: "GET", Path: "/app/integrations/counts", ID: "countEndpoints", Tag: "webhook endpoints",
		Summary:     "Count the endpoints that messages do not reach",
		Description: "By kind. An endpoint may be in several states. The lists of endpoints have the same states as a filter.",
		Roles:       []string{passport.RoleSubscriber}, Entitlement: web.Integrations, Status: 200,
		Example: web.Example{Response: `{"counts": {"webhook": {"failing": 1, "paused": 0, "suppressed": 0}, "teams": {"failing": 0, "paused": 0, "suppressed": 0},
			"gchat": {"failing": 0, "paused": 0, "suppressed": 0}, "slack": {"failing": 0, "paused": 0, "suppressed": 0}, "discord": {"failing": 0, "paused": 0, "suppressed": 0}}}`},
	}, a.counts)
}

type stateCountsView struct {
	Failing    int `json:"failing" description:"With failures since the last success."`
	Paused     int `json:"paused"`
	Suppressed int `json:"suppressed"`
}

type endpointCountsView struct {
	Counts map[topic.Channel]stateCountsView `json:"counts" description:"All kinds of endpoints."`
}

func (a *API) counts(c *web.Call[web.None, web.None]) (endpointCountsView, error) {
	found, err := a.endpoints.Counts(c, c.Caller.Organization)
	view := endpointCountsView{make(map[topic.Channel]stateCountsView, len(found))}
	for kind, counts := range found {
		view.Counts[kind] = stateCountsView(counts)
	}
	return view, err
}
