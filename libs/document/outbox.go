package document

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/propagation"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/engine"
	"github.com/bellbuoy/bellbuoy/libs/document/internal/plan"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// HeaderID names the header with the id of a message. The id is a UUID v7, and its time is that of the write.
const HeaderID = "outbox-id"

// recordOf returns the Kafka message of an entry.
func recordOf(e *engine.Entry) stream.Record {
	headers := make(map[string]string, len(e.Headers)+1)
	maps.Copy(headers, e.Headers)
	headers[HeaderID] = e.ID
	return stream.Record{Topic: e.Topic, Key: e.Key, Value: e.Value, Headers: headers, Partition: e.Partition}
}

// entries returns the outbox entries of messages, with the trace context of ctx. Without messages, it returns an entry
// without a topic if the collection has a Derive.
func (db *Database) entries(ctx context.Context, s *plan.Shape, messages []topic.Message) ([]engine.Entry, error) {
	var out []engine.Entry
	for _, message := range messages {
		value, err := json.Marshal(message)
		if err != nil {
			return nil, fmt.Errorf("encode a message to %s: %w", message.Topic(), err)
		}
		headers := propagation.MapCarrier{}
		db.propagator.Inject(ctx, headers)
		waiting := engine.Entry{ID: uuid.Must(uuid.NewV7()).String(), Topic: message.Topic(), Key: message.Key(), Value: value, Headers: headers}
		if placed, is := message.(topic.Placed); is {
			partition := placed.Partition()
			waiting.Partition = &partition
		}
		out = append(out, waiting)
	}
	if len(out) == 0 && s.Derives {
		out = append(out, engine.Entry{ID: uuid.Must(uuid.NewV7()).String()})
	}
	return out, nil
}
