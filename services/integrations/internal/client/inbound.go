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
func (s *Services) Ingest(ctx context.Context, organization string, in inbound.Signed) (inbound.Outcome, error) {
	done, err := s.events.Ingest(ctx, organization, peer.Inbound{
		ID: in.ID, KeyID: in.KeyID, KeyName: in.KeyName, IP: in.IP, RequestID: in.RequestID,
		Action: in.Action, ExternalID: in.ExternalID, Title: in.Title, Description: in.Description, Message: in.Message.Message,
		Status: in.Status, Severity: in.Severity, DefaultSeverity: in.DefaultSeverity, Components: in.Components, Impact: in.Impact,
		Timestamp: in.Timestamp, Publish: *in.Publish, Notify: in.Notify,
	})
	return inbound.Outcome(done), err
}
