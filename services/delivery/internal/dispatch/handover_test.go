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

// counting is a store that counts the members of blocks, and the work on a shard. ended is when the work ended.
type counting struct {
	plainParts
	stored, done, abandoned *atomic.Int64
	ended                   *atomic.Int64 // milliseconds after began
	began                   time.Time
}

func (c counting) InsertBlocks(_ context.Context, blocks []deliverylog.Block) error {
	for i := range blocks {
		c.stored.Add(int64(blocks[i].Size))
	}
	return nil
}

func (c counting) Insert(_ context.Context, rows []deliverylog.Delivery) ([]deliverylog.Delivery, error) {
	c.stored.Add(int64(len(rows)))
	return rows, nil
}

func (c counting) Done() { c.end(c.done) }

func (c counting) Abandon() { c.end(c.abandoned) }

func (c counting) end(counter *atomic.Int64) {
	counter.Add(1)
	c.ended.Store(max(c.ended.Load(), time.Since(c.began).Milliseconds()))
}

// When a partition is to move, the sender starts none of its deliveries any more. Shards that wait, and deliveries that wait
// for their turn, end at once. Those under way end and are stored, and only then does their shard end. The deliveries of
// other partitions go on.
func TestNothingStartsOfAPartitionThatMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const took, after, gap = time.Second, 100 * time.Millisecond, time.Second
		hooks, chats := &sending{took: took}, &slowly{gap: gap}
		c := counting{stored: &atomic.Int64{}, done: &atomic.Int64{}, abandoned: &atomic.Int64{}, ended: &atomic.Int64{}, began: time.Now().Add(gap)}
		s := NewSender(Parts{Store: c, Bus: c, Channels: map[topic.Channel]Channel{topic.Webhook: hooks, topic.GChat: chats},
			Recipients: map[topic.RecipientService]Recipients{topic.Integrations: directory{}}, Now: time.Now, Log: slog.New(slog.DiscardHandler), Traces: untraced{}, Observer: unobserved{}})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { _ = s.Run(ctx); close(ended) }()
		open, revoke := context.WithCancel(ctx)
		s.Assigned(Ownership{Partition: 0, Open: open, Owned: ctx, Held: func() bool { return true }})
		s.Assigned(Ownership{Partition: 1, Open: ctx, Owned: ctx, Held: func() bool { return true }})
		take := func(ctx context.Context, partition int, channel topic.Channel, name string, n int, work Work) {
			recipients := make([]string, n)
			for i := range recipients {
				recipients[i] = name + strconv.Itoa(i)
			}
			s.Take(ctx, partition, topic.Shard{ID: name, ChangeID: name, Organization: name, Channel: channel, Recipients: recipients}, work)
		}
		started := cap(s.slots.Fast)
		time.Sleep(gap)                           // the former owner may have sent just before
		take(open, 0, topic.GChat, "paced", 3, c) // one is sent, two wait for 1 and 2 s
		time.Sleep(after / 2)
		for i := range 4 {
			take(open, 0, topic.Webhook, "moves"+strconv.Itoa(i), started, c)
		}
		time.Sleep(after / 2)
		revoke()
		take(open, 0, topic.Webhook, "late", 5, c)
		take(ctx, 1, topic.Webhook, "stays", 5, plainParts{})
		synctest.Wait()
		if c.abandoned.Load() == 0 || c.ended.Load() > after.Milliseconds() {
			t.Errorf("%d shards ended at once, after %d ms", c.abandoned.Load(), c.ended.Load())
		}
		time.Sleep(10 * took)
		if sent, stored := hooks.sent.Load(), c.stored.Load(); sent != int64(started+5) || stored != sent+int64(len(chats.times(""))) {
			t.Errorf("%d were sent instead of %d, %d stored", sent, started+5, stored)
		}
		// A shard is done if all its deliveries were under way.
		if ended := c.ended.Load(); c.done.Load() > 1 || c.done.Load()+c.abandoned.Load() != 6 || ended < took.Milliseconds() || ended > 2*took.Milliseconds() {
			t.Errorf("%d shards are done, %d abandoned, the last after %d ms", c.done.Load(), c.abandoned.Load(), ended)
		}
		stop()
		<-ended
	})
}
