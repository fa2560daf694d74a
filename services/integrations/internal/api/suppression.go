package api

import (
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
)

// suppressionOperations declares the operations that list and clear the suppressions of the kind.
func (r resource) suppressionOperations() []web.Operation {
	list := r.declared("GET", "/suppression", "list", "Suppressions", "List suppressed URLs", "Nothing is sent to a suppressed URL. Oldest first.", 200)
	list.Entitlement = web.NoEntitlement
	list.Example.Response = `{"entries": [{"kind": "` + string(r.kind.Channel) + `", "urlHash": "9b74c9897bac770ffc029102a200c5de5f4f1f7a9f0c8d1b2a3f4e5d6c7b8a90",
		"urlDisplay": "hooks.example.com/bellb...", "reason": "failures", "consecutiveFailures": 10, "firstFailureAt": "2026-01-31T09:30:00.000Z",
		"suppressedAt": "2026-01-31T12:30:00.000Z", "lastHttpStatus": 500, "lastError": "http_5xx",
		"dashboards": [{"id": "01890a5d-ac96-774b-bcce-b302099a8060", "name": "Acme"}]}], "nextToken": null}`
	clearing := r.declared("DELETE", "/suppression", "clear", "Suppression", "Clear a suppression",
		"The next message is sent again, and the failures count from 0. urlHash or url is required. Values of the body precede those of the query.", 204, 404)
	clearing.BodyOptional = true
	clearing.Example.Request = `{"urlHash": "9b74c9897bac770ffc029102a200c5de5f4f1f7a9f0c8d1b2a3f4e5d6c7b8a90"}`
	return []web.Operation{web.Declare(list, r.suppressions), web.Declare(clearing, web.WithBody(r.clearSuppression))}
}

type suppressionView struct {
	Kind                topic.Channel     `json:"kind"`
	URLHash             string            `json:"urlHash" format:"sha256"`
	URLDisplay          string            `json:"urlDisplay" description:"The host and a hint of the path."`
	Reason              endpoint.Reason   `json:"reason" enum:"failures,gone" description:"failures: too many deliveries failed. gone: the receiver responded with 410, or as its chat program does for a webhook that no longer exists."`
	ConsecutiveFailures int               `json:"consecutiveFailures" description:"Of the endpoint that caused the suppression."`
	FirstFailureAt      *web.Time         `json:"firstFailureAt"`
	SuppressedAt        web.Time          `json:"suppressedAt"`
	LastHTTPStatus      *int              `json:"lastHttpStatus" description:"Null if there was no response."`
	LastError           *string           `json:"lastError"`
	Dashboards          []dashboardInView `json:"dashboards" description:"Those whose endpoints have the URL."`
}

type dashboardInView struct {
	ID   string `json:"id" format:"uuid"`
	Name string `json:"name"`
}

type suppressionsView struct {
	Entries   []suppressionView `json:"entries"`
	NextToken *string           `json:"nextToken"`
}

func (r resource) suppressions(c *web.Call[web.Paging, web.None]) (suppressionsView, error) {
	entries, next, err := web.Listed(r.pages, c.List, c.Parameters, func(limit int, after string) (find.Page[endpoint.SuppressedURL], error) {
		return r.endpoints.Suppressions(c, c.Caller.Organization, r.kind, limit, after)
	}, suppressed)
	return suppressionsView{entries, next}, err
}

func suppressed(s endpoint.SuppressedURL) suppressionView {
	return suppressionView{
		Kind: s.Channel, URLHash: s.URLHash, URLDisplay: s.URLDisplay, Reason: s.Reason, ConsecutiveFailures: s.ConsecutiveFailures,
		FirstFailureAt: web.TimeOf(s.FirstFailureAt), SuppressedAt: web.Time(s.SuppressedAt), LastHTTPStatus: optional.OrNull(s.LastHTTPStatus), LastError: optional.OrNull(s.LastError),
		Dashboards: find.Values(s.Dashboards, func(d topic.Dashboard) dashboardInView { return dashboardInView{d.ID, d.Name} }),
	}
}

type urlParameters struct {
	URLHash *string `query:"urlHash" format:"sha256"`
	URL     *string `query:"url"`
}

type urlBody struct {
	URLHash optional.Value[string] `json:"urlHash" format:"sha256"`
	URL     optional.Value[string] `json:"url"`
}

func (r resource) clearSuppression(c *web.Call[urlParameters, urlBody], in urlBody) (web.None, error) {
	urlHash, err := r.named(removeParameters{URLHash: c.Parameters.URLHash, URL: c.Parameters.URL}, removedEndpointBody{URLHash: in.URLHash, URL: in.URL})
	if err != nil {
		return web.None{}, err
	}
	return web.None{}, r.endpoints.Clear(c, c.Caller.Organization, r.kind, urlHash)
}
