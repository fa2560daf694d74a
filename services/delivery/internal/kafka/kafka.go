// Package kafka connects package dispatch to Kafka. It reads changes, notices and shards, and publishes shards and outcomes.
package kafka

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

const (
	planGroup   = "delivery-plan"
	noticeGroup = "delivery-notices"
	sendGroup   = "delivery-send"
	// plansPending is the maximum number of changes in progress, and of notices. sendsPending is the maximum number of
	// shards. planBytes and sendBytes limit the sums of the sizes of changes and shards in progress, in bytes. One change may
	// have 700 KB. When a limit is reached, no more messages of this kind are read from Kafka. A change is in progress until
	// it is planned on all of its channels. So if a service with recipients is down for longer than it takes to write 256
	// changes that notify its recipients, no change is planned on any channel until the service responds. If one organization
	// writes 256 changes to many recipients, the changes of other organizations wait until some of these are planned.
	plansPending = 256
	sendsPending = 1024
	planBytes    = 8 << 20
	sendBytes    = 16 << 20
)

// Bus implements dispatch.Bus, and passes messages to a planner and a sender.
type Bus struct {
	stream *stream.Client
	log    *slog.Logger
}

func New(client *stream.Client, log *slog.Logger) *Bus { return &Bus{client, log} }

// Shards implements dispatch.Bus. The partition of a shard is its bucket.
func (b *Bus) Shards(ctx context.Context, shards []topic.Shard) error {
	return publish(ctx, b.stream, shards)
}

func (b *Bus) Outcomes(ctx context.Context, outcomes []topic.Outcome) error {
	return publish(ctx, b.stream, outcomes)
}

// publish publishes the messages. A message that is a topic.Placed chooses its partition.
func publish[T topic.Message](ctx context.Context, client *stream.Client, messages []T) error {
	records := make([]stream.Record, len(messages))
	for i, message := range messages {
		value, err := json.Marshal(message)
		if err != nil {
			return fmt.Errorf("encode a message of %s: %w", message.Topic(), err)
		}
		records[i] = stream.Record{Topic: message.Topic(), Key: message.Key(), Value: value}
		if placed, is := any(message).(topic.Placed); is {
			partition := placed.Partition()
			records[i].Partition = &partition
		}
	}
	return client.Publish(ctx, records...)
}

// Plan passes changes to the planner until ctx ends.
func (b *Bus) Plan(ctx context.Context, planner *dispatch.Planner) error {
	subscription := stream.Subscription{Group: planGroup, Topics: []string{topic.EventChanges}, MaxPending: plansPending}
	pending := semaphore.NewWeighted(planBytes)
	return b.stream.Consume(ctx, subscription, func(claimed context.Context, claim stream.Claim) {
		change, ok := read(claimed, b, claim, func(c *topic.EventChange) bool {
			return c.ID != "" && c.Organization != "" && c.Event.ID != ""
		})
		if !ok {
			return
		}
		if work := weigh(claimed, pending, planBytes, claim); work != nil {
			planner.Take(context.WithoutCancel(claimed), claimed, change, work)
		}
	})
}

// Notices passes notices to the planner until ctx ends.
func (b *Bus) Notices(ctx context.Context, planner *dispatch.Planner) error {
	subscription := stream.Subscription{Group: noticeGroup, Topics: []string{topic.Notices}, MaxPending: plansPending}
	return b.stream.Consume(ctx, subscription, func(claimed context.Context, claim stream.Claim) {
		notice, ok := read(claimed, b, claim, func(n *topic.Notice) bool { return n.ID != "" && n.Organization != "" && n.Recipient != "" })
		if ok {
			planner.Notify(context.WithoutCancel(claimed), claimed, notice, claim)
		}
	})
}

// Send passes shards to the sender until ctx ends.
func (b *Bus) Send(ctx context.Context, sender *dispatch.Sender) error {
	subscription := stream.Subscription{
		Group: sendGroup, Topics: []string{topic.Deliveries}, MaxPending: sendsPending,
		Assigned: func(o stream.Ownership) {
			sender.Assigned(dispatch.Ownership{Partition: o.Partition, Open: o.Open, Owned: o.Owned, Held: o.Held, Hold: o.Hold})
		},
	}
	pending := semaphore.NewWeighted(sendBytes)
	return b.stream.Consume(ctx, subscription, func(claimed context.Context, claim stream.Claim) {
		shard, ok := read(claimed, b, claim, func(s *topic.Shard) bool { return s.ChangeID != "" && s.Organization != "" })
		if !ok {
			return
		}
		if work := weigh(claimed, pending, sendBytes, claim); work != nil {
			sender.Take(claimed, claim.Partition, shard, work)
		}
	})
}

// weighed is a claim. Its size counts toward the limit of pending bytes until Done or Abandon is called.
type weighed struct {
	stream.Claim
	release func()
}

// weigh waits until the size of the claim fits in the limit of pending bytes, and returns the claim as a weighed. If ctx ends
// first, weigh abandons the claim and returns nil.
func weigh(ctx context.Context, pending *semaphore.Weighted, limit int, claim stream.Claim) dispatch.Work {
	bytes := int64(min(len(claim.Record.Value), limit))
	if pending.Acquire(ctx, bytes) != nil {
		claim.Abandon()
		return nil
	}
	return weighed{claim, sync.OnceFunc(func() { pending.Release(bytes) })}
}

// Done implements dispatch.Work.
func (w weighed) Done() {
	w.release()
	w.Claim.Done()
}

// Abandon implements dispatch.Work.
func (w weighed) Abandon() {
	w.release()
	w.Claim.Abandon()
}

// read decodes the record of a claim. If the record is invalid or incomplete, read logs an error, finishes the claim and
// returns false, because a repetition would fail again.
func read[T any](ctx context.Context, b *Bus, claim stream.Claim, complete func(*T) bool) (T, bool) {
	var message T
	err := json.Unmarshal(claim.Record.Value, &message)
	if err == nil && !complete(&message) {
		err = errors.New("an id is missing")
	}
	if err != nil {
		b.log.ErrorContext(ctx, "A message is invalid and is skipped.", "topic", claim.Record.Topic, "partition", claim.Partition,
			"offset", claim.Offset, "error", err)
		claim.Done()
		return message, false
	}
	return message, true
}
