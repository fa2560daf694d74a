package api

import (
	"net/http"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
	"github.com/gin-gonic/gin"
)

// resource is the endpoints of one kind in the App interface.
type resource struct {
	*API
	kind endpoint.Kind
}

func (r resource) list(c *gin.Context) error {
	limit, after, err := r.pages.Asked(c)
	if err != nil {
		return err
	}
	filter := endpoint.Filter{Limit: limit, After: after}
	if filter.DashboardID, err = queried(c, "dashboardId", endpoint.ParseID); err != nil {
		return err
	}
	if filter.URLHash, err = queried(c, "urlHash", endpoint.ParseURLHash); err != nil {
		return err
	}
	page, usage, err := r.endpoints.List(c.Request.Context(), web.Caller(c).Organization, r.kind, filter)
	if err != nil {
		return err
	}
	answer := listView{Endpoints: make([]endpointView, 0, len(page.Items)), NextToken: r.pages.Token(c, page.Next)}
	answer.Usage.UniqueEndpoints, answer.Usage.Limit = usage.UniqueEndpoints, usage.Limit
	for _, record := range page.Items {
		answer.Endpoints = append(answer.Endpoints, view(r.kind, record))
	}
	c.PureJSON(http.StatusOK, answer)
	return nil
}

type createBody struct {
	DashboardID     sent[string]       `json:"dashboardId"`
	URL             sent[string]       `json:"url"`
	ManagementEmail sent[string]       `json:"managementEmail"`
	ComponentIDs    sent[[]string]     `json:"componentIds"`
	Locked          sent[bool]         `json:"locked"`
	EventKinds      sent[[]topic.Kind] `json:"eventKinds"`
}

func (r resource) create(c *gin.Context) error {
	body, err := web.Body[createBody](c)
	if err != nil {
		return err
	}
	draft, err := r.draft(body)
	if err != nil {
		return err
	}
	record, err := r.endpoints.Create(c.Request.Context(), web.Caller(c).Organization, r.kind, draft)
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusCreated, oneView{view(r.kind, record)})
	return nil
}

func (r resource) draft(body createBody) (endpoint.Draft, error) {
	var in reader
	draft := endpoint.Draft{
		DashboardID:     required(&in, "dashboardId", body.DashboardID),
		URL:             required(&in, "url", body.URL),
		ManagementEmail: required(&in, "managementEmail", body.ManagementEmail),
		ComponentIDs:    required(&in, "componentIds", body.ComponentIDs),
	}
	if locked := optional(&in, "locked", body.Locked); locked != nil {
		draft.Locked = *locked
	}
	if kinds := r.eventKinds(&in, body.EventKinds); kinds != nil {
		draft.EventKinds = *kinds
	}
	in.id("dashboardId", &draft.DashboardID)
	return draft, in.err
}

type patchBody struct {
	DashboardID     sent[string]       `json:"dashboardId"`
	URLHash         sent[string]       `json:"urlHash"`
	ComponentIDs    sent[[]string]     `json:"componentIds"`
	URL             sent[string]       `json:"url"`
	ManagementEmail sent[string]       `json:"managementEmail"`
	Paused          sent[bool]         `json:"paused"`
	Locked          sent[bool]         `json:"locked"`
	EventKinds      sent[[]topic.Kind] `json:"eventKinds"`
	RotateSecret    sent[bool]         `json:"rotateSecret"`
}

func (r resource) change(c *gin.Context) error {
	body, err := web.Body[patchBody](c)
	if err != nil {
		return err
	}
	var in reader
	dashboardID, urlHash := required(&in, "dashboardId", body.DashboardID), required(&in, "urlHash", body.URLHash)
	patch := r.patch(&in, body)
	in.id("dashboardId", &dashboardID)
	in.hash("urlHash", &urlHash)
	if in.err != nil {
		return in.err
	}
	record, err := r.endpoints.Change(c.Request.Context(), web.Caller(c).Organization, r.kind, dashboardID, urlHash, patch)
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, oneView{view(r.kind, record)})
	return nil
}

func (r resource) patch(in *reader, body patchBody) endpoint.Patch {
	patch := endpoint.Patch{
		ComponentIDs:    optional(in, "componentIds", body.ComponentIDs),
		URL:             optional(in, "url", body.URL),
		ManagementEmail: optional(in, "managementEmail", body.ManagementEmail),
		Paused:          optional(in, "paused", body.Paused),
		Locked:          optional(in, "locked", body.Locked),
		EventKinds:      r.eventKinds(in, body.EventKinds),
	}
	if body.RotateSecret.given && !r.kind.Signed {
		in.fail(fault.Field("rotateSecret", "is not a field of this kind of endpoint"))
	}
	if rotate := optional(in, "rotateSecret", body.RotateSecret); rotate != nil {
		patch.RotateSecret = *rotate
	}
	return patch
}

// eventKinds are chosen for signed kinds only.
func (r resource) eventKinds(in *reader, kinds sent[[]topic.Kind]) *[]topic.Kind {
	if kinds.given && !r.kind.Signed {
		in.fail(fault.Field("eventKinds", "is not a field of this kind of endpoint"))
	}
	return optional(in, "eventKinds", kinds)
}

type deleteBody struct {
	DashboardID sent[string] `json:"dashboardId"`
	URLHash     sent[string] `json:"urlHash"`
	URL         sent[string] `json:"url"`
}

func (r resource) remove(c *gin.Context) error {
	body, err := web.OptionalBody[deleteBody](c)
	if err != nil {
		return err
	}
	dashboardID, urlHash, err := r.named(c, body)
	if err != nil {
		return err
	}
	if err := r.endpoints.Delete(c.Request.Context(), web.Caller(c).Organization, r.kind, dashboardID, urlHash); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	c.Writer.WriteHeaderNow()
	return nil
}

// named reads which endpoint is meant, from the query and the body: values of the
// body win, and an endpoint named there in either way wins over one named in the query.
func (r resource) named(c *gin.Context, body deleteBody) (dashboardID, urlHash string, err error) {
	if !body.URLHash.given && !body.URL.given {
		body.URLHash.query(c, "urlHash")
		body.URL.query(c, "url")
	}
	if !body.DashboardID.given {
		body.DashboardID.query(c, "dashboardId")
	}
	var in reader
	dashboardID = required(&in, "dashboardId", body.DashboardID)
	in.id("dashboardId", &dashboardID)
	hash, url := optional(&in, "urlHash", body.URLHash), optional(&in, "url", body.URL)
	if in.err != nil {
		return "", "", in.err
	}
	switch {
	case hash == nil && url == nil:
		return "", "", fault.New(fault.Invalid, "Either urlHash or url is required.")
	case hash != nil:
		if urlHash, err = endpoint.ParseURLHash("urlHash", *hash); err != nil || url == nil {
			return dashboardID, urlHash, err
		}
	}
	ofURL, err := r.endpoints.HashOf("url", *url)
	if err == nil && hash != nil && ofURL != urlHash {
		err = fault.New(fault.Invalid, "urlHash and url name different endpoints.")
	}
	return dashboardID, ofURL, err
}

// queried reads an optional query parameter.
func queried(c *gin.Context, name string, parse func(field, text string) (string, error)) (string, error) {
	text, given := c.GetQuery(name)
	if !given {
		return "", nil
	}
	return parse(name, text)
}
