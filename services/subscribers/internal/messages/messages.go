// Package messages is the service's other door: what it hears through Kafka. Like a
// handler, each consumer reads its input and makes one call of the domain.
package messages

import (
	"bytes"
	"context"
	"log/slog"

	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

// Consumer hands batches of messages to the domain.
type Consumer struct {
	audience *audience.Audience
	log      *slog.Logger
}

// New makes the consumer.
func New(audience *audience.Audience, log *slog.Logger) *Consumer {
	return &Consumer{audience: audience, log: log}
}

// Outcomes takes a batch of topic.DeliveryOutcomes. Those that say of no receiver that it
// is gone, which are nearly all, are not even decoded.
func (c *Consumer) Outcomes(ctx context.Context, batch []stream.Record) error {
	var telling []stream.Record
	for _, record := range batch {
		if bytes.Contains(record.Value, []byte(`"gone"`)) {
			telling = append(telling, record)
		}
	}
	if len(telling) == 0 {
		return nil
	}
	blocked, err := c.audience.Suppress(ctx, stream.Read[topic.Outcome](ctx, c.log, telling))
	for _, address := range blocked {
		c.log.InfoContext(ctx, "address suppressed", "organization", address.OrganizationID, "channel", address.Channel, "address", address.ID)
	}
	return err
}

// ComponentChanges takes a batch of topic.ComponentChanges.
func (c *Consumer) ComponentChanges(ctx context.Context, batch []stream.Record) error {
	for _, deleted := range stream.Read[topic.ComponentDeleted](ctx, c.log, batch) {
		if err := c.audience.ForgetComponent(ctx, deleted.Organization, deleted.ComponentID); err != nil {
			return err
		}
	}
	return nil
}
