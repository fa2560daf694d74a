package stream

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/segmentio/kafka-go"
)

// Record is one message of a topic. Records with the same key are consumed in the order of their publication. A
// record without a key goes to any partition.
type Record struct {
	Topic   string
	Key     string
	Value   []byte
	Headers map[string]string
	// Partition, if set, selects the partition to which Publish writes the record, and Key does not. The number of the
	// partition is *Partition modulo the number of the topic's partitions. Partition is not set in consumed records.
	Partition *int

	offset int64 // offset of a consumed record
}

// message returns the record as a Kafka message, with the headers of extra too. If extra and the record have a header of
// the same name, the message has the record's header.
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

// placed is a balancer for writers. It chooses the partition that Record.Partition selects. For a record without a
// Partition it calls Balancer.
type placed struct {
	kafka.Balancer
	partitions sync.Map // by topic: the partitions with which Balance was called last
}

// place is a partition of a topic.
type place struct {
	topic     string
	partition int
}

// Balance implements kafka.Balancer. The partition is in WriterData, because the field Partition of a message must not
// be set for a writer.
func (p *placed) Balance(message kafka.Message, partitions ...int) int {
	if known, is := p.partitions.Load(message.Topic); !is || len(known.([]int)) != len(partitions) {
		p.partitions.Store(message.Topic, partitions)
	}
	return p.balance(message, partitions)
}

func (p *placed) balance(message kafka.Message, partitions []int) int {
	if partition, ok := message.WriterData.(int); ok && partition >= 0 {
		return partitions[partition%len(partitions)]
	}
	return p.Balancer.Balance(message, partitions...)
}

// place returns the partition of a message. It returns the partition -1 if no message was written to the topic yet, and
// for a message that has neither a key nor a Partition. The order of messages without a key does not matter.
func (p *placed) place(message kafka.Message) place {
	known, is := p.partitions.Load(message.Topic)
	if !is || message.Key == nil && message.WriterData == nil {
		return place{message.Topic, -1}
	}
	return place{message.Topic, p.balance(message, known.([]int))}
}

// Read decodes the JSON values of a batch. It logs and skips a record that it cannot decode. A retry could not decode
// it either, and would block the records after it.
func Read[T any](ctx context.Context, log *slog.Logger, batch []Record) []T {
	messages := make([]T, 0, len(batch))
	for _, record := range batch {
		var message T
		if err := json.Unmarshal(record.Value, &message); err != nil {
			log.ErrorContext(ctx, "a message cannot be decoded and is skipped", "topic", record.Topic, "key", record.Key, "error", err)
			continue
		}
		messages = append(messages, message)
	}
	return messages
}
