package peer

import (
	"context"
	"net/http"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// PublicAddress is where visitors find a dashboard. Exactly one of the two is set.
type PublicAddress struct {
	Slug string `json:"slug,omitempty"`
	Host string `json:"host,omitempty"` // in lower case
}

// PublicDashboard is a dashboard as visitors see it.
type PublicDashboard struct {
	Dashboard
	Organization string          `json:"organization"`
	Channels     []topic.Channel `json:"channels"` // that visitors may subscribe to
}

// PublicDashboard returns the dashboard at an address. It returns fault.NotFound if there is none or it is disabled. It
// returns private dashboards too: the gateway lets only visitors with access ask for something.
func (e Events) PublicDashboard(ctx context.Context, at PublicAddress) (PublicDashboard, error) {
	var out PublicDashboard
	err := e.call(ctx, "", http.MethodPost, Prefix+"/public-dashboards/lookup", at, &out)
	return out, err
}

// OnlyDashboard is the only enabled dashboard of the installation.
type OnlyDashboard struct {
	Slug string `json:"slug"`
}

// OnlyDashboard returns the enabled dashboard of the installation if there is exactly one, else fault.NotFound.
func (e Events) OnlyDashboard(ctx context.Context) (OnlyDashboard, error) {
	var out OnlyDashboard
	err := e.call(ctx, "", http.MethodGet, Prefix+"/public-dashboards/only", nil, &out)
	return out, err
}
