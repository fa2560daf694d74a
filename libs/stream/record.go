package stream

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"

	"github.com/segmentio/kafka-go"
)

// Record is one message of a topic. Records of one key keep their order; without a
// key a record goes to any partition.
type Record struct {
	Topic   string
	Key     string
	Value   []byte
	Headers map[string]string
	// Partition, if set, is where Publish puts the record, whatever its key; one that the
	// topic does not have is taken modulo its partitions. It is not set on what is consumed.
	Partition *int
}

// message is the record in Kafka's form, with extra headers where the record has
// none of that name.
func (r Record) message(extra map[string]string) kafka.Message {
	message := kafka.Message{Topic: r.Topic, Value: r.Value}
	if r.Partition != nil {
		message.WriterData = *r.Partition
	}
	if r.Key != "" {
		message.Key = []byte(r.Key)
	}
	for name, value := range r.Headers {
		message.Headers = append(message.Headers, kafka.Header{Key: name, Value: []byte(value)})
	}
	for name, value := range extra {
		if _, has := r.Headers[name]; !has {
			message.Headers = append(message.Headers, kafka.Header{Key: name, Value: []byte(value)})
		}
	}
	slices.SortFunc(message.Headers, func(a, b kafka.Header) int { return strings.Compare(a.Key, b.Key) })
	return message
}

// placed is the balancer of records that say where they go; the others go where it
// would put them anyway.
type placed struct{ kafka.Balancer }

// Balance implements kafka.Balancer. A message's own field for its partition may not be
// set by writers, so the wish comes as data of the writer's.
func (p placed) Balance(message kafka.Message, partitions ...int) int {
	if wish, ok := message.WriterData.(int); ok && wish >= 0 {
		return partitions[wish%len(partitions)]
	}
	return p.Balancer.Balance(message, partitions...)
}

// Read decodes the JSON of a batch. A record that cannot be read would not be readable
// the next time either: it is logged and left out, and holds up no other.
func Read[T any](ctx context.Context, log *slog.Logger, batch []Record) []T {
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
