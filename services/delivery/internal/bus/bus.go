// Package bus carries package dispatch's messages over Kafka: changes in, shards out
// and in, outcomes out.
package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

const (
	planGroup = "delivery-plan"
	sendGroup = "delivery-send"
	// How many changes and shards are in hand at the most; a shard holds up to 256 recipients' ids.
	plansPending = 256
	sendsPending = 1024
	partitions   = 12
)

// Bus implements dispatch.Bus, and feeds a planner and a sender.
type Bus struct {
	stream *stream.Client
	log    *slog.Logger
}

// New makes a bus.
func New(client *stream.Client, log *slog.Logger) *Bus { return &Bus{client, log} }

// EnsureTopics creates what this service reads and writes.
func (b *Bus) EnsureTopics(ctx context.Context) error {
	return b.stream.EnsureTopics(ctx,
		stream.Topic{Name: topic.EventChanges, Partitions: partitions},
		stream.Topic{Name: topic.Deliveries, Partitions: topic.Buckets},
		stream.Topic{Name: topic.DeliveryOutcomes, Partitions: partitions})
}

// Shards implements dispatch.Bus. A shard goes to the partition of its bucket.
func (b *Bus) Shards(ctx context.Context, shards []topic.Shard) error {
	records := make([]stream.Record, len(shards))
	for i := range shards {
		value, err := json.Marshal(&shards[i])
		if err != nil {
			return fmt.Errorf("write a shard: %w", err)
		}
		records[i] = stream.Record{Topic: shards[i].Topic(), Key: shards[i].Key(), Value: value, Partition: &shards[i].Bucket}
	}
	return b.stream.Publish(ctx, records...)
}

// Outcomes implements dispatch.Bus.
func (b *Bus) Outcomes(ctx context.Context, outcomes []topic.Outcome) error {
	records := make([]stream.Record, len(outcomes))
	for i := range outcomes {
		value, err := json.Marshal(&outcomes[i])
		if err != nil {
			return fmt.Errorf("write an outcome: %w", err)
		}
		records[i] = stream.Record{Topic: outcomes[i].Topic(), Key: outcomes[i].Key(), Value: value}
	}
	return b.stream.Publish(ctx, records...)
}

// Plan feeds the planner with changes until ctx ends.
func (b *Bus) Plan(ctx context.Context, planner *dispatch.Planner) error {
	subscription := stream.Subscription{Group: planGroup, Topics: []string{topic.EventChanges}, MaxPending: plansPending}
	return b.stream.Consume(ctx, subscription, func(claimed context.Context, claim stream.Claim) {
		change, ok := read(claimed, b, claim, func(c *topic.EventChange) bool {
			return c.ID != "" && c.Organization != "" && c.Event.ID != ""
		})
		if ok {
			planner.Take(claimed, ctx, change, claim)
		}
	})
}

// Send feeds the sender with shards until ctx ends.
func (b *Bus) Send(ctx context.Context, sender *dispatch.Sender) error {
	subscription := stream.Subscription{
		Group: sendGroup, Topics: []string{topic.Deliveries}, MaxPending: sendsPending,
		Assigned: func(ctx context.Context, _ string, partitions []int) { sender.Assigned(ctx, partitions) },
	}
	return b.stream.Consume(ctx, subscription, func(claimed context.Context, claim stream.Claim) {
		shard, ok := read(claimed, b, claim, func(s *topic.Shard) bool { return s.ChangeID != "" && s.Organization != "" })
		if ok {
			sender.Take(claimed, claim.Partition, shard, claim)
		}
	})
}

// read decodes a record. One that cannot be read, or lacks what makes it one, would be no
// better the next time: it is logged, and done with.
func read[T any](ctx context.Context, b *Bus, claim stream.Claim, complete func(*T) bool) (T, bool) {
	var message T
	err := json.Unmarshal(claim.Record.Value, &message)
	if err == nil && !complete(&message) {
		err = errors.New("it names no organization, change or event")
	}
	if err != nil {
		b.log.ErrorContext(ctx, "a message cannot be read", "topic", claim.Record.Topic, "partition", claim.Partition,
			"offset", claim.Offset, "error", err)
		claim.Done()
		return message, false
	}
	return message, true
}
