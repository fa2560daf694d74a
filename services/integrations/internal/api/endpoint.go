package api

import (
	"cmp"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
)

// resource serves the endpoints of one kind on the App interface.
type resource struct {
	*API
	kind endpoint.Kind
}

// declared returns an operation of the kind. path is appended to the path of the kind.
func (r resource) declared(method, path, verb, noun, summary, description string, status int, errors ...int) web.Operation {
	name := string(r.kind.Channel)
	return web.Operation{
		Method: method, Path: "/app/integrations/" + r.kind.Path + path, ID: verb + strings.ToUpper(name[:1]) + name[1:] + noun, Tag: name + " endpoints",
		Summary: summary, Description: description, Roles: []string{passport.RoleSubscriber}, Entitlement: web.Integrations, Status: status, Errors: errors,
	}
}

// operations declares list, create, change and delete, and for a signed kind the list of templates. Only the request
// bodies of signed kinds have the members of signedEndpointBody and signedEndpointPatch.
func (r resource) operations() []web.Operation {
	declared := func(method, verb, summary, description string, status int, errors ...int) web.Operation {
		operation := r.declared(method, "/endpoints", verb, "Endpoint", summary, description, status, errors...)
		operation.Versioned = true
		return operation
	}
	list := declared("GET", "list", "List endpoints", "No row shows the full URL.", 200, 404)
	create := declared("POST", "create", "Create an endpoint", "The full URL, and the secret of a webhook, are shown in this response only.", 201, 404, 409)
	change := declared("PATCH", "change", "Change an endpoint", "At least one member beside dashboardId and urlHash is required.", 200, 404, 409)
	remove := declared("DELETE", "delete", "Delete an endpoint", "urlHash or url is required. Values of the body precede those of the query.", 204, 404)
	remove.BodyOptional = true
	list.Example.Response = r.example(`{"endpoints": [`, `], "nextToken": null, "usage": {"uniqueEndpoints": 1, "limit": 25}}`, "")
	create.Example = web.Example{
		Request: `{"dashboardId": "01890a5d-ac96-774b-bcce-b302099a8060", "url": "` + r.exampleURL() + `",
			"managementEmail": "ops@example.com", "componentIds": ["01890a5d-ac96-774b-bcce-b302099a8061"]}`,
		Response: r.example(`{"endpoint": `, `}`, `"url": "`+r.exampleURL()+`", `),
	}
	change.Example = web.Example{
		Request: `{"dashboardId": "01890a5d-ac96-774b-bcce-b302099a8060",
			"urlHash": "9b74c9897bac770ffc029102a200c5de5f4f1f7a9f0c8d1b2a3f4e5d6c7b8a90", "paused": true}`,
		Response: r.example(`{"endpoint": `, `}`, ""),
	}
	if r.kind.Signed {
		create, change = web.Declare(create, createFrom[signedEndpointBody](r)), web.Declare(change, changeFrom[signedEndpointPatch](r))
	} else {
		create, change = web.Declare(create, createFrom[endpointBody](r)), web.Declare(change, changeFrom[endpointPatch](r))
	}
	all := []web.Operation{web.Declare(list, r.list), create, change, web.Declare(remove, web.WithBody(r.remove))}
	if r.kind.Signed {
		all = append(all, r.templatesOperation())
	}
	return all
}

func (r resource) exampleURL() string {
	return cmp.Or(r.kind.Example, "https://hooks.example.com/bellbuoy")
}

func (r resource) example(before, after, more string) string {
	return before + `{"legacyId": 1, "version": 1, "channel": "` + string(r.kind.Channel) + `", "dashboardId": "01890a5d-ac96-774b-bcce-b302099a8060", "dashboardName": "Acme",
		"urlHash": "9b74c9897bac770ffc029102a200c5de5f4f1f7a9f0c8d1b2a3f4e5d6c7b8a90", ` + more + `"urlDisplay": "hooks.example.com/bellb...",
		"managementEmail": "ops@example.com", "verified": true, "verifiedAt": "2026-01-31T09:30:00.000Z", "paused": false, "locked": false, "suppressed": false,
		"componentIds": ["01890a5d-ac96-774b-bcce-b302099a8061"], "consecutiveFailures": 0, "firstFailureAt": null, "lastSuccessAt": null,
		"createdAt": "2026-01-31T09:30:00.000Z", "updatedAt": "2026-01-31T09:30:00.000Z"}` + after
}

type listParameters struct {
	web.Paging
	DashboardID *string `query:"dashboardId" format:"uuid"`
	URLHash     *string `query:"urlHash" format:"sha256"`
	State       *string `query:"state" enum:"failing,paused,suppressed" description:"Failing are those with failures since the last success."`
}

func (r resource) list(c *web.Call[listParameters, web.None]) (endpointsView, error) {
	filter := endpoint.Filter{
		DashboardID: optional.OrZero(c.Parameters.DashboardID), URLHash: optional.OrZero(c.Parameters.URLHash), State: endpoint.State(optional.OrZero(c.Parameters.State)),
	}
	var usage endpoint.Usage
	endpoints, next, err := web.Listed(r.pages, c.List, c.Parameters.Paging, func(limit int, after string) (page find.Page[endpoint.View], err error) {
		filter.Limit, filter.After = limit, after
		page, usage, err = r.endpoints.List(c, c.Caller.Organization, r.kind, filter)
		return page, err
	}, func(v endpoint.View) endpointView { return view(r.kind, v) })
	return endpointsView{endpoints, next, usageView(usage)}, err
}

type dashboardMember struct {
	DashboardID optional.Value[string] `json:"dashboardId" required:"true" format:"uuid"`
}

type endpointBody struct {
	dashboardMember
	URL             optional.Value[string]   `json:"url" required:"true" format:"uri" maxLength:"2048" description:"https, port 443, without credentials; on a host of the kind."`
	ManagementEmail optional.Value[string]   `json:"managementEmail" required:"true" format:"email" maxLength:"254" description:"Notified when deliveries fail."`
	ComponentIDs    optional.Value[[]string] `json:"componentIds" required:"true" minItems:"1" description:"Components of the dashboard."`
	Locked          optional.Value[bool]     `json:"locked" default:"false" description:"Visitors of the dashboard cannot manage the endpoint."`
}

type signedEndpointBody struct {
	endpointBody
	EventKinds    optional.Value[[]topic.Kind] `json:"eventKinds" minItems:"1" description:"The kinds to send; all if absent."`
	Format        optional.Value[topic.Format] `json:"format" enum:"bellbuoy,statuspage,slack,template" default:"bellbuoy" description:"Of the body. statuspage: that of Atlassian Statuspage, with the incident as api/v2 shows it. slack: for Slack-compatible receivers such as Mattermost and Rocket.Chat. Slack has a kind of its own. template: the request of template."`
	MinIntervalMs optional.Value[int]          `json:"minIntervalMs" minimum:"0" maximum:"60000" description:"Least time between two messages to the URL. The largest of the organization's webhooks with the URL counts. By default 1000 for slack, else 0."`
	templateMember
}

// createFrom returns the handler of a create with the body B. The handler finds the dashboard before it reads the
// rest of the body. So if the dashboard is unknown and a member of the body is wrong, the error is about the dashboard.
func createFrom[B interface{ draft() endpoint.Draft }](r resource) func(*web.Call[web.None, B]) (oneEndpointView, error) {
	return func(c *web.Call[web.None, B]) (oneEndpointView, error) {
		var of dashboardMember
		if err := c.Part(&of); err != nil {
			return oneEndpointView{}, err
		}
		created, err := r.endpoints.Create(c, c.Caller.Organization, r.kind, of.DashboardID.Value, func() (endpoint.Draft, error) {
			in, err := c.Body()
			return in.draft(), err
		})
		return oneEndpointView{view(r.kind, created)}, err
	}
}

func (b signedEndpointBody) draft() endpoint.Draft {
	draft := b.endpointBody.draft()
	draft.EventKinds, draft.Format, draft.MinIntervalMs = b.EventKinds.Value, cmp.Or(b.Format.Value, topic.FormatBellbuoy), b.MinIntervalMs.Pointer()
	draft.Template = b.template()
	return draft
}

func (b endpointBody) draft() endpoint.Draft {
	return endpoint.Draft{
		URL: b.URL.Value, ManagementEmail: b.ManagementEmail.Value, ComponentIDs: b.ComponentIDs.Value, Locked: b.Locked.Value,
	}
}

type targetMembers struct {
	DashboardID optional.Value[string] `json:"dashboardId" required:"true" format:"uuid"`
	URLHash     optional.Value[string] `json:"urlHash" required:"true" format:"sha256" description:"Of the present URL."`
}

type endpointPatch struct {
	targetMembers
	ComponentIDs    optional.Value[[]string] `json:"componentIds" minItems:"1" description:"Components of the dashboard."`
	URL             optional.Value[string]   `json:"url" format:"uri" maxLength:"2048" description:"A new URL; the response has its urlHash."`
	ManagementEmail optional.Value[string]   `json:"managementEmail" format:"email" maxLength:"254"`
	Paused          optional.Value[bool]     `json:"paused"`
	Locked          optional.Value[bool]     `json:"locked"`
}

type signedEndpointPatch struct {
	endpointPatch
	EventKinds    optional.Value[[]topic.Kind] `json:"eventKinds" minItems:"1"`
	Format        optional.Value[topic.Format] `json:"format" enum:"bellbuoy,statuspage,slack,template" description:"Also of messages that wait. Another format than template deletes the template."`
	MinIntervalMs optional.Value[int]          `json:"minIntervalMs" minimum:"0" maximum:"60000"`
	RotateSecret  optional.Value[bool]         `json:"rotateSecret" description:"The previous secret signs beside the new one for 24 h. At most 10 times within 24 h."`
	templateMember
}

// changeFrom returns the handler of a change with the body B. The handler finds the endpoint before it reads the
// rest of the body. So if the endpoint is unknown and a member of the body is wrong, the error is about the endpoint.
func changeFrom[B interface{ patch() endpoint.Patch }](r resource) func(*web.Call[web.None, B]) (oneEndpointView, error) {
	return func(c *web.Call[web.None, B]) (oneEndpointView, error) {
		var of targetMembers
		if err := c.Part(&of); err != nil {
			return oneEndpointView{}, err
		}
		target := endpoint.Target{DashboardID: of.DashboardID.Value, URLHash: of.URLHash.Value, IfMatch: c.IfMatch}
		changed, err := r.endpoints.Change(c, c.Caller.Organization, r.kind, target, func() (endpoint.Patch, error) {
			in, err := c.Body()
			return in.patch(), err
		})
		return oneEndpointView{view(r.kind, changed)}, err
	}
}

func (b signedEndpointPatch) patch() endpoint.Patch {
	patch := b.endpointPatch.patch()
	patch.EventKinds, patch.RotateSecret = b.EventKinds.Value, b.RotateSecret.Value
	patch.Format, patch.MinIntervalMs, patch.Template = b.Format.Pointer(), b.MinIntervalMs.Pointer(), b.template()
	return patch
}

func (b endpointPatch) patch() endpoint.Patch {
	return endpoint.Patch{
		ComponentIDs: b.ComponentIDs.Value, URL: b.URL.Pointer(), ManagementEmail: b.ManagementEmail.Pointer(),
		Paused: b.Paused.Pointer(), Locked: b.Locked.Pointer(),
	}
}

type removeParameters struct {
	DashboardID *string `query:"dashboardId" format:"uuid" description:"Required here or in the body."`
	URLHash     *string `query:"urlHash" format:"sha256"`
	URL         *string `query:"url"`
}

type removedEndpointBody struct {
	DashboardID optional.Value[string] `json:"dashboardId" format:"uuid"`
	URLHash     optional.Value[string] `json:"urlHash" format:"sha256"`
	URL         optional.Value[string] `json:"url"`
}

func (r resource) remove(c *web.Call[removeParameters, removedEndpointBody], in removedEndpointBody) (web.None, error) {
	dashboardID := cmp.Or(in.DashboardID.Pointer(), c.Parameters.DashboardID)
	if dashboardID == nil {
		return web.None{}, fault.Field("dashboardId", "is required")
	}
	urlHash, err := r.named(c.Parameters, in)
	if err != nil {
		return web.None{}, err
	}
	return web.None{}, r.endpoints.Delete(c, c.Caller.Organization, r.kind, endpoint.Target{DashboardID: *dashboardID, URLHash: urlHash, IfMatch: c.IfMatch})
}

// named returns the urlHash that the request names, by urlHash or by url. If body and query have the same parameter,
// named uses the value of the body. It returns an error if there is neither a urlHash nor a url, or if they name different
// URLs, because the request could delete the wrong endpoint or suppression.
func (r resource) named(query removeParameters, body removedEndpointBody) (string, error) {
	hash, url := cmp.Or(body.URLHash.Pointer(), query.URLHash), cmp.Or(body.URL.Pointer(), query.URL)
	switch {
	case hash == nil && url == nil:
		return "", fault.New(fault.Invalid, "Either urlHash or url is required.")
	case url == nil:
		return *hash, nil
	}
	ofURL, err := r.endpoints.HashOf(*url)
	if err == nil && hash != nil && ofURL != *hash {
		err = fault.New(fault.Invalid, "urlHash and url must name the same endpoint.")
	}
	return ofURL, err
}

func (r resource) testOperation() web.Operation {
	test := r.declared("POST", "/endpoints/test", "test", "Endpoint", "Test an endpoint",
		"Sends an endpoint.test delivery with an example. Its result is logged and does not count as a failure or success. 409 while the endpoint is paused or suppressed. "+
			"At most 10 in an hour for each URL, and 60 for the organization. Then 403 for a key and 429 for a session, with Retry-After.", 202, 404, 409, 429)
	test.Example = web.Example{
		Request: `{"dashboardId": "01890a5d-ac96-774b-bcce-b302099a8060",
			"urlHash": "9b74c9897bac770ffc029102a200c5de5f4f1f7a9f0c8d1b2a3f4e5d6c7b8a90"}`,
		Response: `{"deliveryId": "01890a5d-ac96-874b-bcce-b302099a8070"}`,
	}
	return web.Declare(test, web.WithBody(r.test))
}

type testBody struct {
	DashboardID optional.Value[string] `json:"dashboardId" required:"true" format:"uuid"`
	URLHash     optional.Value[string] `json:"urlHash" required:"true" format:"sha256"`
}

type deliveryView struct {
	DeliveryID string `json:"deliveryId" format:"uuid" description:"Of the delivery in the logs."`
}

func (r resource) test(c *web.Call[web.None, testBody], in testBody) (deliveryView, error) {
	id, err := r.endpoints.Test(c, c.Caller.Organization, r.kind, in.DashboardID.Value, in.URLHash.Value)
	if fault.Is(err, fault.TooMany) && c.Caller.Session == "" { // a request with an API key gets 403 and not 429
		err = fault.Wrap(fault.Forbidden, err, "%s", fault.As(err).Message)
	}
	return deliveryView{id}, err
}
