package pages

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

const integrationsPath = "/integrations"

func integrationsAt(kind app.EndpointKind) string { return integrationsPath + "/" + string(kind) }

// endpointAt returns the path of the page of an endpoint.
func endpointAt(kind app.EndpointKind, hash, dashboard string) string {
	return integrationsAt(kind) + "/" + url.PathEscape(hash) + "/" + url.PathEscape(dashboard)
}

// kindWords has the texts of the pages about a kind of endpoints.
type kindWords struct{ Label, Add, Lede, Hint, None string }

func wordsOfKind(kind app.EndpointKind) kindWords {
	return map[app.EndpointKind]kindWords{
		app.Webhook: {"Webhooks", "Add a webhook", "A program that gets a signed JSON message", "It begins with https:// and has no password. Bellbuoy sends POST requests to it.",
			"No program gets webhooks yet. A webhook is a signed JSON message to an address of yours, for each event."},
		app.Teams: {"Teams", "Add a Teams channel", "A channel of Microsoft Teams that gets a card", "In Teams, create a workflow with the template “Post to a channel when a webhook request is received”. Teams then shows this URL.",
			"No channel of Microsoft Teams gets messages yet. A workflow of Teams posts each event as a card."},
		app.GChat: {"Google Chat", "Add a Google Chat space", "A space of Google Chat that gets a card", "In Google Chat, open the menu of the space, then Apps & integrations, Webhooks. The space then shows this URL.",
			"No space of Google Chat gets messages yet. A webhook of the space shows each event in a thread."},
		app.Slack: {"Slack", "Add a Slack channel", "A channel of Slack that gets a message", "In Slack, create an app with incoming webhooks, and add a webhook to a channel. Slack then shows this URL.",
			"No channel of Slack gets messages yet. An incoming webhook of Slack posts each event as a message."},
		app.Discord: {"Discord", "Add a Discord channel", "A channel of Discord that gets a message", "In Discord, open the settings of the channel, then Integrations, Webhooks. Copy the URL of a webhook.",
			"No channel of Discord gets messages yet. A webhook of Discord posts each event as a message."},
	}[kind]
}

// integrationTable returns the routes of the endpoints of each kind. All but the list of suppressed URLs need a plan with
// integrations.
func (p *pages) integrationTable(role string) (routes []route) {
	for _, kind := range app.EndpointKinds() {
		at := integrationsAt(kind)
		one := at + "/:hash/:dashboard"
		add := func(method, path string, handle func(*visit) error) {
			routes = append(routes, route{method, path, signedIn, role, entitled(handle)})
		}
		both := func(path string, handle func(*visit) error) {
			add(get, path, handle)
			add(post, path, handle)
		}
		routes = append(routes, route{get, at + "/suppression", signedIn, role, p.suppressionsOf(kind)})
		add(get, at, p.endpointsOf(kind))
		both(at+"/new", p.endpointNew(kind))
		add(get, at+"/:hash", p.endpointURL(kind))
		both(at+"/:hash/clear", p.suppressionClear(kind))
		both(one, p.endpoint(kind))
		both(one+"/delete", p.endpointDelete(kind))
		add(post, one+"/test", p.endpointTest(kind))
		add(get, "/parts"+one, p.endpointPart(kind))
		if kind == app.Webhook {
			both(one+"/secret", p.endpointSecret(kind))
			both(one+"/request", p.endpointRequest)
		}
		for _, what := range []string{"pause", "resume", "lock", "unlock"} {
			add(post, one+"/"+what, p.endpointAct(kind))
		}
	}
	return routes
}

// entitled returns a handler that refuses members of an organization whose plan has no integrations.
func entitled(handle func(*visit) error) func(*visit) error {
	return func(v *visit) error {
		if !v.caller.Features.Integrations {
			return &app.Error{Status: http.StatusForbidden, Message: "The plan of your organization does not include integrations. Whoever runs this installation can change the plan."}
		}
		return handle(v)
	}
}

// endpointRow is an endpoint with its kind.
type endpointRow struct {
	app.Endpoint
	Kind app.EndpointKind
}

// At returns the path of the page of the endpoint.
func (r endpointRow) At() string { return endpointAt(r.Kind, r.URLHash, r.DashboardID) }

// Failing reports whether the newest messages did not arrive, and the URL is not suppressed.
func (r endpointRow) Failing() bool { return r.ConsecutiveFailures > 0 && !r.Suppressed }

// Working reports whether messages are sent, and the newest message arrived or there was none.
func (r endpointRow) Working() bool {
	return r.Verified && !r.Paused && !r.Suppressed && r.ConsecutiveFailures == 0
}

func endpointRows(kind app.EndpointKind, endpoints []app.Endpoint) (rows []endpointRow) {
	for _, e := range endpoints {
		rows = append(rows, endpointRow{e, kind})
	}
	return rows
}

// integrationsPage is the data of integrations.html.
type integrationsPage struct {
	Kind       app.EndpointKind
	Words      kindWords
	Views      []view
	Tallies    []tally // nil: the numbers cannot be read
	Usage      app.Usage
	Filter     *forms.Form // shows the problem of the filter
	State      string
	Dashboard  string
	Dashboards []app.Dashboard
	Filtered   bool
	Rows       []endpointRow
	More       string // address of the next page; empty: there is none
	First      bool
}

// At returns the path of the list.
func (d integrationsPage) At() string { return integrationsAt(d.Kind) }

// Full reports whether the plan allows no further URL.
func (d integrationsPage) Full() bool {
	return d.Usage.Limit > 0 && d.Usage.UniqueEndpoints >= d.Usage.Limit
}

func kindViews(at app.EndpointKind) (views []view) {
	for _, kind := range app.EndpointKinds() {
		views = append(views, view{integrationsAt(kind), wordsOfKind(kind).Label, kind == at})
	}
	return views
}

// endpointsOf returns the handler of the list of a kind. The filter is in the address.
func (p *pages) endpointsOf(kind app.EndpointKind) func(*visit) error {
	return func(v *visit) error {
		data := integrationsPage{Kind: kind, Words: wordsOfKind(kind), Views: kindViews(kind), State: v.Query("state"), Dashboard: v.Query("dashboard"), First: v.Query("after") == ""}
		data.Filter = forms.New(data.At(), "Show")
		data.Filtered = data.State+data.Dashboard != ""
		status := http.StatusOK
		if !slices.Contains([]string{"", "failing", "paused", "suppressed"}, data.State) {
			data.Filter.Problem = noSuchState
			data.State, status = "", http.StatusUnprocessableEntity
		}
		query := filled(map[string]string{"limit": "50", "state": data.State, "dashboardId": data.Dashboard, "nextToken": v.Query("after")})
		if err := v.readEndpoints(&data, query); err != nil {
			return err
		}
		if !data.Filter.OK() {
			data.Rows, data.More = nil, ""
		}
		return v.show(status, "integrations.html", "Integrations: "+data.Words.Label, data)
	}
}

// readEndpoints reads the list with its numbers. The page works without the numbers and the dashboards.
func (v *visit) readEndpoints(data *integrationsPage, query url.Values) error {
	var listed app.Endpoints
	var counts app.EndpointCounts
	var uncounted bool
	var work concurrent
	ctx := v.Request.Context()
	work.Go(func() (err error) {
		listed, err = v.app.Endpoints(ctx, data.Kind, query)
		return notFound(err)
	})
	work.Go(func() error {
		found, err := v.app.EndpointCounts(ctx)
		counts, uncounted = found.Counts[string(data.Kind)], err != nil
		return nil
	})
	work.Go(func() error {
		found, _ := v.firstDashboards()
		data.Dashboards = found.Dashboards
		return nil
	})
	if err := work.Wait(); err != nil {
		return err
	}
	data.Rows, data.Usage = endpointRows(data.Kind, listed.Endpoints), listed.Usage
	if !uncounted {
		for _, t := range []tally{{"failing", "Failing", "d", counts.Failing, false}, {"paused", "Paused", "m", counts.Paused, false}, {"suppressed", "Suppressed", "x", counts.Suppressed, false}} {
			data.Tallies = append(data.Tallies, tally{data.with(t.Path), t.Label, t.Class, t.Count, t.Path == data.State})
		}
	}
	data.More = nextPage(data.At(), v.Request.URL.Query(), listed.NextToken)
	return nil
}

// All returns the path without a filter by state.
func (d integrationsPage) All() string { return d.with("") }

// with returns the path of the list with the state, and with the dashboard of this list.
func (d integrationsPage) with(state string) string {
	return withQuery(d.At(), filled(map[string]string{"state": state, "dashboard": d.Dashboard}))
}

// urlPage is the data of integration_url.html.
type urlPage struct {
	Words kindWords
	List  string // path of the list
	Rows  []endpointRow
}

// endpointURL returns the handler of the page of a URL, which lists its endpoints: one for each dashboard. If the URL has
// only one endpoint, it redirects to the page of the endpoint.
func (p *pages) endpointURL(kind app.EndpointKind) func(*visit) error {
	return func(v *visit) error {
		found, err := v.app.Endpoints(v.Request.Context(), kind, url.Values{"urlHash": {v.Param("hash")}, "limit": {"100"}})
		if err != nil {
			return notFound(err)
		}
		switch len(found.Endpoints) {
		case 0:
			return errNotFound
		case 1:
			return v.redirect(endpointRow{found.Endpoints[0], kind}.At())
		}
		return v.show(http.StatusOK, "integration_url.html", found.Endpoints[0].URLDisplay, urlPage{wordsOfKind(kind), integrationsAt(kind), endpointRows(kind, found.Endpoints)})
	}
}
