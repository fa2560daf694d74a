package dispatch

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// interrupted is a store whose first insert of rows fails. When it fails, a partition is lost.
type interrupted struct {
	remembering
	failed atomic.Bool
	blocks map[string]deliverylog.Block // by id
}

func (i *interrupted) Insert(ctx context.Context, rows []deliverylog.Delivery) ([]deliverylog.Delivery, error) {
	if !i.failed.Swap(true) {
		return nil, fault.New(fault.Unavailable, "the store is down")
	}
	return i.remembering.Insert(ctx, rows)
}

func (i *interrupted) InsertBlocks(_ context.Context, blocks []deliverylog.Block) error {
	for _, b := range blocks {
		if _, stored := i.blocks[b.ID]; !stored {
			i.blocks[b.ID] = b
		}
	}
	return nil
}

// refusing is a Channel whose receiver "bad" refuses.
type refusing struct{}

func (refusing) Send(_ context.Context, message Message) Result {
	if message.To.ID == "bad" {
		return Result{HTTPStatus: 500, Code: deliverylog.CodeServerError}
	}
	return Result{HTTPStatus: 200}
}

// A write of results fails after its blocks are stored, and a partition is lost before the next try. Each delivery is stored once.
func TestAWriteThatIsRepeatedAfterTheLossOfAPartitionStoresNoDeliveryTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 10
		store, lost, kept := &interrupted{blocks: map[string]deliverylog.Block{}}, &ending{}, &ending{}
		s := NewSender(Parts{Store: store, Bus: plainParts{}, Channels: map[topic.Channel]Channel{topic.Webhook: refusing{}}, Recipients: integrations(directory{}),
			Policy: Policy{time.Hour}, Now: time.Now, Log: slog.New(slog.DiscardHandler), Traces: untraced{}, Observer: unobserved{}})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { _ = s.Run(ctx); close(ended) }()
		s.Assigned(ownsFirst(ctx))
		second := ownsFirst(ctx)
		second.Partition, second.Held = 1, func() bool { return !store.failed.Load() }
		s.Assigned(second)
		synctest.Wait() // the waiting rows of both partitions are loaded, so the shards open at once and their results are one batch
		for partition, shard := range []struct {
			recipients []string
			work       Work
		}{{append(members("kept", n), "bad"), kept}, {members("lost", n), lost}} {
			s.Take(ctx, partition, topic.Shard{ID: shard.recipients[0], ChangeID: "c", Organization: "o", Channel: topic.Webhook, Recipients: shard.recipients}, shard.work)
		}
		time.Sleep(time.Minute)
		stop()
		<-ended
		var stored []string
		for _, b := range store.blocks {
			rows, err := b.Select(deliverylog.Filter{})
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				stored = append(stored, row.Recipient)
			}
		}
		slices.Sort(stored)
		if !slices.Equal(stored, append(members("kept", n), members("lost", n)...)) || len(store.all()) != 1 {
			t.Errorf("stored are %s and %d rows", strings.Join(stored, " "), len(store.all()))
		}
		if *kept != (ending{done: 1}) || *lost != (ending{abandoned: 1}) {
			t.Errorf("the shards ended with %+v and %+v", *kept, *lost)
		}
	})
}
