package dispatch

import (
	"context"
	"log/slog"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// A process of an older version gets the deliveries on a channel that it does not have. They wait as rows. A process that has the
// channel sends them. If none gets the partition in time, they fail, so that they are in the log and can be replayed.
func TestDeliveriesOnAnUnknownChannelWaitForAProcessThatHasIt(t *testing.T) {
	for name, updated := range map[string]bool{"update": true, "no update": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n = 10
				store, hooks, work := &unheard{began: map[time.Time]bool{}}, &sending{}, &ending{}
				run := func(channels map[topic.Channel]Channel, during func(*Sender, context.Context)) {
					s := NewSender(Parts{Store: store, Bus: plainParts{}, Channels: channels, Recipients: integrations(directory{}), Policy: Policy{time.Minute}, Timeout: time.Second,
						Now: time.Now, Log: slog.New(slog.DiscardHandler), Traces: untraced{}, Observer: unobserved{}})
					ctx, stop := context.WithCancel(t.Context())
					ended := make(chan struct{})
					go func() { _ = s.Run(ctx); close(ended) }()
					s.Assigned(ownsFirst(ctx))
					during(s, ctx)
					stop()
					<-ended
				}
				run(nil, func(s *Sender, ctx context.Context) {
					s.Take(ctx, 0, topic.Shard{ID: "s", ChangeID: "c", Organization: "o", Channel: topic.Webhook, Recipients: members("r", n)}, work)
					time.Sleep(unavailableWait / 2)
					synctest.Wait()
					if *work != (ending{done: 1}) {
						t.Errorf("%+v", *work)
					}
					if !updated {
						time.Sleep(unavailableWait)
					}
				})
				if updated {
					run(map[topic.Channel]Channel{topic.Webhook: hooks}, func(*Sender, context.Context) { time.Sleep(unavailableWait) })
				}
				want, code := deliverylog.StatusDelivered, deliverylog.Code("")
				if !updated {
					want, code = deliverylog.StatusFailed, deliverylog.CodeUnavailable
				}
				for _, row := range store.all() {
					if row.Status != want || row.ErrorCode != code {
						t.Errorf("row %+v", row)
					}
				}
				if len(store.all()) != n || updated != (hooks.sent.Load() == n) {
					t.Errorf("%d rows, %d sent", len(store.all()), hooks.sent.Load())
				}
			})
		})
	}
}

// pages is a store with the row of a replay. The first write of a page fails.
type pages struct {
	unheard
	failed bool
	saved  []deliverylog.PlannedPage
}

func (p *pages) SavePages(_ context.Context, saved ...deliverylog.PlannedPage) error {
	if !p.failed {
		p.failed = true
		return fault.New(fault.Unavailable, "the store is down")
	}
	p.saved = append(p.saved, saved...)
	return nil
}

// A replay is planned when its row is stored: the owner of its partition stores the number with the shard of the row, also if the
// first write fails.
func TestAReplayWithARowIsPlanned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, hooks, work, due := &pages{}, &sending{}, &ending{}, time.Now()
		id := topic.DeliveryID("replay", "r")
		_, _ = store.remembering.Insert(t.Context(), []deliverylog.Delivery{{ID: id, ChangeID: "c", EventID: "e", ReplayOf: "log", Recipient: "r", Organization: "o",
			Channel: topic.Webhook, Status: deliverylog.StatusRetrying, NextAttemptAt: &due}})
		sendAll(t, hooks, Parts{Store: store, Bus: plainParts{}, Recipients: integrations(directory{}), Events: published{}}, func(s *Sender, ctx context.Context) {
			s.Assigned(ownsFirst(ctx))
			s.Take(ctx, 0, topic.Shard{ID: id, ChangeID: "c", Organization: "o", Channel: topic.Webhook, Recipients: []string{"r"}, Replay: id}, work)
		})
		want := []deliverylog.PlannedPage{{ID: id, Organization: "o", EventID: "e", Channel: topic.Webhook, Recipients: 1, PlannedAt: due.Add(openPause)}}
		if !reflect.DeepEqual(store.saved, want) || *work != (ending{done: 1}) || hooks.sent.Load() != 1 {
			t.Errorf("saved %+v, %d sent, work %+v", store.saved, hooks.sent.Load(), *work)
		}
	})
}
