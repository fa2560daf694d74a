package client

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/inbound"
)

// HasIntegrations implements inbound.Services.
func (s *Services) HasIntegrations(ctx context.Context, organization string) (bool, error) {
	features, err := s.identity.Features(ctx, organization)
	return features.Integrations, err
}

// Ingest implements inbound.Services.
func (s *Services) Ingest(ctx context.Context, organization string, in inbound.Message) (inbound.Outcome, error) {
	done, err := s.events.Ingest(ctx, organization, peer.Inbound(in))
	return inbound.Outcome(done), err
}
