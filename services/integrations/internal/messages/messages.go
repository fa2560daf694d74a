// Package messages is the service's other door: what it hears through Kafka. Like a
// handler, each consumer reads its input and makes one call of the domain.
package messages

import (
	"context"
	"encoding/json"
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
	suppressed, err := c.endpoints.Count(ctx, read[topic.Outcome](ctx, c.log, batch))
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
	for _, deleted := range read[topic.ComponentDeleted](ctx, c.log, batch) {
		if err := c.endpoints.ForgetComponent(ctx, deleted.Organization, deleted.ComponentID); err != nil {
			return err
		}
	}
	return nil
}

// read decodes the records of a batch. One that cannot be read would not be readable
// the next time either: it is logged and left out, and holds up no other.
func read[T any](ctx context.Context, log *slog.Logger, batch []stream.Record) []T {
	messages := make([]T, 0, len(batch))
	for _, record := range batch {
		var message T
		if err := json.Unmarshal(record.Value, &message); err != nil {
			log.ErrorContext(ctx, "a message cannot be read", "topic", record.Topic, "key", record.Key, "error", err)
			continue
		}
		messages = append(messages, message)
	}
	return messages
}
