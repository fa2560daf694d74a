package api

import (
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
)

// suppressionOperations declares list and clear of the kind's suppressions.
func (r resource) suppressionOperations() []web.Operation {
	name := string(r.kind.Channel)
	declared := func(method, verb, suffix, summary, description string, status int) web.Operation {
		return web.Operation{
			Method: method, Path: "/app/integrations/" + r.kind.Path + "/suppression", ID: verb + strings.ToUpper(name[:1]) + name[1:] + suffix,
			Tag: name + " endpoints", Summary: summary, Description: description, Roles: []string{passport.RoleSubscriber}, Status: status,
		}
	}
	list := declared("GET", "list", "Suppressions", "List suppressed URLs", "Nothing is sent to a suppressed URL. Oldest first.", 200)
	list.Example.Response = `{"entries": [{"kind": "` + name + `", "urlHash": "9b74c9897bac770ffc029102a200c5de5f4f1f7a9f0c8d1b2a3f4e5d6c7b8a90",
		"urlDisplay": "hooks.example.com/bellb...", "reason": "failures", "consecutiveFailures": 10, "firstFailureAt": "2026-01-31T09:30:00.000Z",
		"suppressedAt": "2026-01-31T12:30:00.000Z", "lastHttpStatus": 500, "lastError": "http_5xx",
		"dashboards": [{"id": "01890a5d-ac96-774b-bcce-b302099a8060", "name": "Acme"}]}], "nextToken": null}`
	clearing := declared("DELETE", "clear", "Suppression", "Clear a suppression",
		"The next message is sent again, and the failures count from 0. urlHash or url is required. Values of the body precede those of the query.", 204)
	clearing.Entitlement, clearing.BodyOptional, clearing.Errors = web.Integrations, true, []int{404}
	clearing.Example.Request = `{"urlHash": "9b74c9897bac770ffc029102a200c5de5f4f1f7a9f0c8d1b2a3f4e5d6c7b8a90"}`
	return []web.Operation{web.Declare(list, r.suppressions), web.Declare(clearing, r.clearSuppression)}
}

type suppressionView struct {
	Kind                topic.Channel     `json:"kind"`
	URLHash             string            `json:"urlHash" format:"sha256"`
	URLDisplay          string            `json:"urlDisplay" description:"The host and a hint of the path."`
	Reason              endpoint.Reason   `json:"reason" enum:"failures,gone" description:"failures: too many deliveries failed. gone: the receiver responded with 410."`
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
	after, err := r.pages.Position(c.List, c.Parameters)
	if err != nil {
		return suppressionsView{}, err
	}
	page, err := r.endpoints.Suppressions(c, c.Caller.Organization, r.kind, c.Parameters.Limit, after)
	response := suppressionsView{Entries: make([]suppressionView, len(page.Items)), NextToken: r.pages.Token(c.List, page.Next)}
	for i, item := range page.Items {
		response.Entries[i] = suppressed(item)
	}
	return response, err
}

func suppressed(s endpoint.SuppressedURL) suppressionView {
	out := suppressionView{
		Kind: s.Channel, URLHash: s.URLHash, URLDisplay: s.URLDisplay, Reason: s.Reason, ConsecutiveFailures: s.ConsecutiveFailures,
		FirstFailureAt: web.TimeOf(s.FirstFailureAt), SuppressedAt: web.Time(s.SuppressedAt), Dashboards: make([]dashboardInView, len(s.Dashboards)),
	}
	if s.LastHTTPStatus != 0 {
		out.LastHTTPStatus = &s.LastHTTPStatus
	}
	if s.LastError != "" {
		out.LastError = &s.LastError
	}
	for i, dashboard := range s.Dashboards {
		out.Dashboards[i] = dashboardInView{dashboard.ID, dashboard.Name}
	}
	return out
}

type urlParameters struct {
	URLHash *string `query:"urlHash" format:"sha256"`
	URL     *string `query:"url"`
}

type urlBody struct {
	URLHash optional.Value[string] `json:"urlHash" format:"sha256"`
	URL     optional.Value[string] `json:"url"`
}

func (r resource) clearSuppression(c *web.Call[urlParameters, urlBody]) (web.None, error) {
	in, err := c.Body()
	if err != nil {
		return web.None{}, err
	}
	urlHash, err := r.named(removeParameters{URLHash: c.Parameters.URLHash, URL: c.Parameters.URL}, removedEndpointBody{URLHash: in.URLHash, URL: in.URL})
	if err != nil {
		return web.None{}, err
	}
	return web.None{}, r.endpoints.Clear(c, c.Caller.Organization, r.kind, urlHash)
}
