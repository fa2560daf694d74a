package api

import (
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
)

// endpointView is the specification's "Outbound integration endpoint record", with
// the legacy id by which the legacy interface's channels name it.
type endpointView struct {
	LegacyID            int64         `json:"legacyId"`
	Channel             topic.Channel `json:"channel"`
	DashboardID         string        `json:"dashboardId"`
	DashboardName       string        `json:"dashboardName"`
	URLHash             string        `json:"urlHash"`
	URL                 string        `json:"url,omitempty"` // create only
	URLDisplay          string        `json:"urlDisplay"`
	ManagementEmail     string        `json:"managementEmail"`
	Verified            bool          `json:"verified"`
	VerifiedAt          *web.Time     `json:"verifiedAt"`
	Paused              bool          `json:"paused"`
	Locked              bool          `json:"locked"`
	Suppressed          bool          `json:"suppressed"`
	ComponentIDs        []string      `json:"componentIds"`
	EventKinds          []topic.Kind  `json:"eventKinds,omitempty"` // signed kinds only
	Secret              string        `json:"secret,omitempty"`     // create and rotation only
	ConsecutiveFailures int           `json:"consecutiveFailures"`
	LastSuccessAt       *web.Time     `json:"lastSuccessAt"`
	CreatedAt           web.Time      `json:"createdAt"`
	UpdatedAt           web.Time      `json:"updatedAt"`
}

type oneView struct {
	Endpoint endpointView `json:"endpoint"`
}

type listView struct {
	Endpoints []endpointView `json:"endpoints"`
	NextToken *string        `json:"nextToken"`
	Usage     struct {
		UniqueEndpoints int `json:"uniqueEndpoints"`
		Limit           int `json:"limit"`
	} `json:"usage"`
}

func view(kind endpoint.Kind, record endpoint.Record) endpointView {
	e := record.Endpoint
	out := endpointView{
		LegacyID: e.LegacyID, Channel: e.Channel, DashboardID: e.DashboardID, DashboardName: e.DashboardName,
		URLHash: e.URLHash, URL: record.URL, URLDisplay: e.URLDisplay, ManagementEmail: e.ManagementEmail,
		Verified: e.VerifiedAt != nil, VerifiedAt: web.TimeOf(e.VerifiedAt),
		Paused: e.Paused, Locked: e.Locked, Suppressed: record.Suppressed,
		ComponentIDs: e.ComponentIDs, Secret: record.Secret,
		ConsecutiveFailures: record.ConsecutiveFailures, LastSuccessAt: web.TimeOf(record.LastSuccessAt),
		CreatedAt: web.Time(e.CreatedAt), UpdatedAt: web.Time(e.UpdatedAt),
	}
	if out.ComponentIDs == nil {
		out.ComponentIDs = []string{}
	}
	if kind.Signed {
		out.EventKinds = e.Kinds()
	}
	return out
}
