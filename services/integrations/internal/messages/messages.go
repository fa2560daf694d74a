// Package messages is the service's other door: what it hears through Kafka. Like a
// handler, each consumer reads its input and makes one call of the domain.
package messages

import (
	"context"
	"log/slog"

	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
)

// Consumer hands batches of messages to the domain.
type Consumer struct {
	endpoints *endpoint.Endpoints
	log       *slog.Logger
}

// New makes the consumer.
func New(endpoints *endpoint.Endpoints, log *slog.Logger) *Consumer {
	return &Consumer{endpoints: endpoints, log: log}
}

// Outcomes takes a batch of topic.DeliveryOutcomes.
func (c *Consumer) Outcomes(ctx context.Context, batch []stream.Record) error {
	suppressed, err := c.endpoints.Count(ctx, stream.Read[topic.Outcome](ctx, c.log, batch))
	if err != nil {
		return err
	}
	for _, s := range suppressed {
		c.log.InfoContext(ctx, "endpoint suppressed", "organization", s.OrganizationID, "channel", s.Channel,
			"url_hash", s.URLHash, "reason", s.Reason, "failures", s.ConsecutiveFailures)
	}
	return nil
}

// ComponentChanges takes a batch of topic.ComponentChanges.
func (c *Consumer) ComponentChanges(ctx context.Context, batch []stream.Record) error {
	for _, deleted := range stream.Read[topic.ComponentDeleted](ctx, c.log, batch) {
		if err := c.endpoints.ForgetComponent(ctx, deleted.Organization, deleted.ComponentID); err != nil {
			return err
		}
	}
	return nil
}
