package dispatch

import (
	"context"
	"log/slog"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// plainParts is a store, a bus and work without errors.
type plainParts struct{ Store }

func (plainParts) Waiting(context.Context, int, time.Time, string, int) ([]deliverylog.Delivery, string, error) {
	return nil, "", nil
}

func (plainParts) Content(_ context.Context, id string) (Content, error) {
	return Content{EventChange: &topic.EventChange{ID: id}}, nil
}
func (plainParts) Deliveries(context.Context, []string) ([]deliverylog.Delivery, error) {
	return nil, nil
}
func (plainParts) Insert(_ context.Context, rows []deliverylog.Delivery) ([]deliverylog.Delivery, error) {
	return rows, nil
}
func (plainParts) InsertBlocks(context.Context, []deliverylog.Block) error { return nil }
func (plainParts) Stored(context.Context, string, []int, []string, deliverylog.Wanted) ([]deliverylog.Delivery, error) {
	return nil, nil
}
func (plainParts) Shards(context.Context, []topic.Shard) error     { return nil }
func (plainParts) Outcomes(context.Context, []topic.Outcome) error { return nil }
func (plainParts) Done()                                           {}
func (plainParts) Abandon()                                        {}

type unobserved struct{}

func (unobserved) Attempted(topic.Channel, string, time.Duration) {}
func (unobserved) InFlight(int)                                   {}
func (unobserved) SlowSlots(int)                                  {}
func (unobserved) Waiting(int)                                    {}
func (unobserved) Planned(time.Duration)                          {}
func (unobserved) HostPaused(time.Time)                           {}

type untraced struct{}

func (untraced) Adopt(ctx, _ context.Context) context.Context         { return ctx }
func (untraced) Carry(context.Context) string                         { return "" }
func (untraced) Resume(ctx context.Context, _ string) context.Context { return ctx }

// ownsFirst is the ownership of partition 0 until ctx ends.
func ownsFirst(ctx context.Context) Ownership {
	return Ownership{Open: ctx, Owned: ctx, Held: func() bool { return true }, Hold: func() func() { return func() {} }}
}

// directory is a Recipients that takes a different time for many ids and for one.
type directory struct {
	Recipients
	many, one time.Duration
	paused    *atomic.Bool // nil: no recipient is paused
}

func (d directory) Resolve(_ context.Context, _ string, query topic.ResolveQuery) ([]topic.Destination, error) {
	ids := query.IDs
	state := topic.RecipientActive
	if d.paused != nil && d.paused.Load() {
		state = topic.RecipientPaused
	}
	took := d.many
	if len(ids) == 1 {
		took = d.one
	}
	time.Sleep(took)
	out := make([]topic.Destination, len(ids))
	for i, id := range ids {
		out[i] = topic.Destination{ID: id, State: state}
	}
	return out, nil
}

// sending is a Channel that takes some time and counts attempts.
type sending struct {
	took time.Duration
	sent atomic.Int64
	last atomic.Pointer[time.Time] // attempt that began
}

func (s *sending) Send(_ context.Context, message Message) Result {
	s.last.Store(&message.At)
	time.Sleep(s.took)
	s.sent.Add(1)
	return Result{}
}

// Deliveries that wait for a service that hangs do not use up the slots of other channels.
func TestAServiceThatHangsDoesNotUseUpTheSlotsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hung = 5 * time.Second
		mails, hooks := &sending{took: time.Second}, &sending{}
		s := NewSender(Parts{Store: plainParts{}, Bus: plainParts{}, Channels: map[topic.Channel]Channel{topic.Email: mails, topic.Webhook: hooks},
			Recipients: map[topic.RecipientService]Recipients{topic.Subscribers: directory{one: hung}, topic.Integrations: directory{}}, Now: time.Now, Log: slog.New(slog.DiscardHandler), Traces: untraced{}, Observer: unobserved{}})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { _ = s.Run(ctx); close(ended) }()
		s.Assigned(ownsFirst(ctx))
		people := make([]string, min(2*cap(s.slots.Fast), cap(s.slots.Slow)))
		for i := range people {
			people[i] = strconv.Itoa(i)
		}
		for _, change := range []string{"first", "second"} { // the second waits for the lock of the first, and is then resolved again
			s.Take(ctx, 0, topic.Shard{ID: change, ChangeID: change, Organization: "a", Channel: topic.Email, Recipients: people}, plainParts{})
		}
		time.Sleep(hung / 2)
		s.Take(ctx, 0, topic.Shard{ID: "hook", ChangeID: "first", Organization: "b", Channel: topic.Webhook, Recipients: []string{"h"}}, plainParts{})
		time.Sleep(hung / 5)
		if hooks.sent.Load() != 1 {
			t.Error("the webhook waits for the mails' service")
		}
		if n := mails.sent.Load(); n != int64(len(people)) {
			t.Errorf("%d mails were sent to %d people", n, len(people))
		}
		stop()
		<-ended
	})
}

// A service that takes longer than staleAfter delays deliveries, but they are not sent one at a time.
func TestDeliveriesAreSentTogetherWhileAServiceIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const took = 2 * strictlyAfter
		hooks := &sending{}
		s := NewSender(Parts{Store: plainParts{}, Bus: plainParts{}, Channels: map[topic.Channel]Channel{topic.Webhook: hooks},
			Recipients: map[topic.RecipientService]Recipients{topic.Integrations: directory{many: took, one: took}}, Now: time.Now, Log: slog.New(slog.DiscardHandler), Traces: untraced{}, Observer: unobserved{}})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { _ = s.Run(ctx); close(ended) }()
		s.Assigned(ownsFirst(ctx))
		recipients := make([]string, shardSize)
		for i := range recipients {
			recipients[i] = strconv.Itoa(i)
		}
		s.Take(ctx, 0, topic.Shard{ID: "a", ChangeID: "c", Organization: "o", Channel: topic.Webhook, Recipients: recipients}, plainParts{})
		time.Sleep(shardSize / 8 * took)
		if n := hooks.sent.Load(); n != shardSize {
			t.Errorf("%d of %d were sent", n, shardSize)
		}
		stop()
		<-ended
	})
}

// slowStore is a Store that takes a time to store results.
type slowStore struct {
	plainParts
	took time.Duration
}

func (s slowStore) InsertBlocks(ctx context.Context, blocks []deliverylog.Block) error {
	time.Sleep(s.took)
	return s.plainParts.InsertBlocks(ctx, blocks)
}

// While the store is slow, no more attempts start than a kill -9 may repeat, although results wait for longer than fastTime.
func TestNoMoreAttemptsStartThanAKillMayRepeatWhileTheStoreIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const took, shards = 5 * time.Second, 8
		hooks := &sending{}
		s := NewSender(Parts{Store: slowStore{took: took}, Bus: plainParts{}, Channels: map[topic.Channel]Channel{topic.Webhook: hooks},
			Recipients: map[topic.RecipientService]Recipients{topic.Integrations: directory{}}, Now: time.Now, Log: slog.New(slog.DiscardHandler), Traces: untraced{}, Observer: unobserved{}})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { _ = s.Run(ctx); close(ended) }()
		s.Assigned(ownsFirst(ctx))
		for shard := range shards {
			recipients := make([]string, shardSize)
			for i := range recipients {
				recipients[i] = strconv.Itoa(shard*shardSize + i)
			}
			s.Take(ctx, 0, topic.Shard{ID: recipients[0], ChangeID: "c", Organization: "o", Channel: topic.Webhook, Recipients: recipients}, plainParts{})
		}
		time.Sleep(took - time.Second)
		if n := hooks.sent.Load(); n < int64(cap(s.slots.Fast)) || n > maxFastSlots+batchRows {
			t.Errorf("%d attempts were made and none is stored", n)
		}
		time.Sleep(shards * shardSize / batchRows * 2 * took)
		if n := hooks.sent.Load(); n != shards*shardSize {
			t.Errorf("%d of %d were sent", n, shards*shardSize)
		}
		stop()
		<-ended
	})
}

// A pause holds for every attempt that starts more than 100 ms after the response to it.
func TestAPauseHoldsForEveryAttemptThatStarts100MillisecondsLater(t *testing.T) {
	for name, asking := range map[string]directory{
		"quickly asked": {many: 5 * time.Millisecond, one: time.Millisecond},
		"slowly asked":  {many: 2 * strictlyAfter, one: strictlyAfter / 2},
	} {
		for at := 600 * time.Millisecond; at < 800*time.Millisecond; at += 20 * time.Millisecond {
			t.Run(name+" "+at.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { pause(t, asking, at) })
			})
		}
	}
}

func pause(t *testing.T, asking directory, at time.Duration) {
	asking.paused = new(atomic.Bool)
	hooks := &sending{took: 150 * time.Millisecond}
	s := NewSender(Parts{Store: plainParts{}, Bus: plainParts{}, Channels: map[topic.Channel]Channel{topic.Webhook: hooks},
		Recipients: map[topic.RecipientService]Recipients{topic.Integrations: asking}, Now: time.Now, Log: slog.New(slog.DiscardHandler), Traces: untraced{}, Observer: unobserved{}})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { _ = s.Run(ctx); close(ended) }()
	s.Assigned(ownsFirst(ctx))
	shards := 4 + cap(s.slots.Fast)*8/shardSize // more than go until then
	for shard := range shards {
		recipients := make([]string, shardSize)
		for i := range recipients {
			recipients[i] = strconv.Itoa(shard*shardSize + i)
		}
		s.Take(ctx, 0, topic.Shard{ID: recipients[0], ChangeID: "c", Organization: "o", Channel: topic.Webhook, Recipients: recipients}, plainParts{})
	}
	time.Sleep(at)
	asking.paused.Store(true)
	paused := time.Now()
	time.Sleep(time.Minute)
	stop()
	<-ended
	if n := hooks.sent.Load(); n == 0 || n == int64(shards*shardSize) {
		t.Errorf("%d of %d were sent", n, shards*shardSize)
	}
	if late := hooks.last.Load().Sub(paused); late > 100*time.Millisecond {
		t.Errorf("an attempt started %v after the pause", late)
	}
}
