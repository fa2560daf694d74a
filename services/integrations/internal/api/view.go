package api

import (
	"cmp"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
)

// endpointView is the "Outbound integration endpoint record" of the specification, with the legacy id. A write of an event
// through the legacy interface selects the endpoints to notify by this id.
type endpointView struct {
	LegacyID            int64                `json:"legacyId"`
	Version             int64                `json:"version" description:"Increases with every change except results of deliveries."`
	Channel             topic.Channel        `json:"channel"`
	DashboardID         string               `json:"dashboardId" format:"uuid"`
	DashboardName       string               `json:"dashboardName"`
	URLHash             string               `json:"urlHash" format:"sha256" description:"SHA-256 of the normalized URL."`
	URL                 string               `json:"url,omitempty" format:"uri" description:"On create only."`
	URLDisplay          string               `json:"urlDisplay" description:"The host and a hint of the path."`
	ManagementEmail     string               `json:"managementEmail"`
	Verified            bool                 `json:"verified"`
	VerifiedAt          *web.Time            `json:"verifiedAt"`
	Paused              bool                 `json:"paused"`
	Locked              bool                 `json:"locked"`
	Suppressed          bool                 `json:"suppressed" description:"Nothing is sent after too many failures."`
	ComponentIDs        []string             `json:"componentIds"`
	EventKinds          []topic.Kind         `json:"eventKinds,omitempty" description:"Of webhooks."`
	Format              topic.Format         `json:"format,omitempty" enum:"bellbuoy,statuspage,slack,template" description:"Of webhooks."`
	Template            *webhookTemplateView `json:"template,omitempty" description:"Of webhooks with the format template."`
	MinIntervalMs       *int                 `json:"minIntervalMs,omitempty" description:"Of webhooks: least time between two messages to the URL."`
	Secret              string               `json:"secret,omitempty" description:"Of webhooks, on create and rotation only: whsec_ and Base64, for Standard Webhooks."`
	ConsecutiveFailures int                  `json:"consecutiveFailures"`
	FirstFailureAt      *web.Time            `json:"firstFailureAt" description:"Of the consecutive failures; null without one."`
	LastSuccessAt       *web.Time            `json:"lastSuccessAt"`
	CreatedAt           web.Time             `json:"createdAt"`
	UpdatedAt           web.Time             `json:"updatedAt"`
}

type oneEndpointView struct {
	Endpoint endpointView `json:"endpoint"`
}

// RecordVersion implements web.Versioned.
func (v oneEndpointView) RecordVersion() int64 { return v.Endpoint.Version }

type endpointsView struct {
	Endpoints []endpointView `json:"endpoints"`
	NextToken *string        `json:"nextToken"`
	Usage     usageView      `json:"usage"`
}

type usageView struct {
	UniqueEndpoints int `json:"uniqueEndpoints" description:"Unique URLs of the kind in the organization."`
	Limit           int `json:"limit"`
}

func view(kind endpoint.Kind, v endpoint.View) endpointView {
	e := v.Endpoint
	out := endpointView{
		LegacyID: e.LegacyID, Version: e.Version, Channel: e.Channel, DashboardID: e.DashboardID, DashboardName: e.DashboardName,
		URLHash: e.URLHash, URL: v.URL, URLDisplay: e.URLDisplay, ManagementEmail: e.ManagementEmail,
		Verified: e.VerifiedAt != nil, VerifiedAt: web.TimeOf(e.VerifiedAt),
		Paused: e.Paused, Locked: e.Locked, Suppressed: v.Suppressed,
		ComponentIDs: e.ComponentIDs, Secret: v.Secret,
		ConsecutiveFailures: v.ConsecutiveFailures, FirstFailureAt: web.TimeOf(v.FirstFailureAt), LastSuccessAt: web.TimeOf(v.LastSuccessAt),
		CreatedAt: web.Time(e.CreatedAt), UpdatedAt: web.Time(e.UpdatedAt),
	}
	if out.ComponentIDs == nil {
		out.ComponentIDs = []string{}
	}
	if kind.Signed {
		out.EventKinds, out.Format, out.MinIntervalMs = e.Kinds(), cmp.Or(e.Format, topic.FormatBellbuoy), new(e.MinInterval())
		out.Template = viewTemplate(e.Template)
	}
	return out
}
