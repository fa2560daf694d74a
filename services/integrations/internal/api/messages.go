package api

import (
	"context"
	"encoding/json"

	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Outcomes takes a batch of topic.DeliveryOutcomes.
func (a *API) Outcomes(ctx context.Context, batch []stream.Record) error {
	suppressed, err := a.endpoints.Count(ctx, read[topic.Outcome](ctx, a, batch))
	if err != nil {
		return err
	}
	for _, s := range suppressed {
		a.log.InfoContext(ctx, "endpoint suppressed", "organization", s.OrganizationID, "channel", s.Channel,
			"url_hash", s.URLHash, "reason", s.Reason, "failures", s.ConsecutiveFailures)
	}
	return nil
}

// ComponentChanges takes a batch of topic.ComponentChanges.
func (a *API) ComponentChanges(ctx context.Context, batch []stream.Record) error {
	for _, deleted := range read[topic.ComponentDeleted](ctx, a, batch) {
		if err := a.endpoints.ForgetComponent(ctx, deleted.Organization, deleted.ComponentID); err != nil {
			return err
		}
	}
	return nil
}

// read decodes the records of a batch. One that cannot be read would not be readable
// the next time either: it is logged and left out, and holds up no other.
func read[T any](ctx context.Context, a *API, batch []stream.Record) []T {
	messages := make([]T, 0, len(batch))
	for _, record := range batch {
		var message T
		if err := json.Unmarshal(record.Value, &message); err != nil {
			a.log.ErrorContext(ctx, "a message cannot be read", "topic", record.Topic, "key", record.Key, "error", err)
			continue
		}
		messages = append(messages, message)
	}
	return messages
}
