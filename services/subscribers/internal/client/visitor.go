package client

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

// Sites implements audience.Sites with the events service.
type Sites struct{ Events peer.Events }

// PublicDashboard implements audience.Sites.
func (s Sites) PublicDashboard(ctx context.Context, at audience.Site) (audience.Public, error) {
	found, err := s.Events.PublicDashboard(ctx, peer.PublicAddress(at))
	if err != nil {
		return audience.Public{}, err
	}
	return audience.Public{Dashboard: dashboardOf(found.Dashboard), Organization: found.Organization, Channels: found.Channels}, nil
}
