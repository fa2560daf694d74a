package delivery_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// discords adds n endpoints of Discord, each with a webhook of its own, and returns their ids.
func (w *world) discords(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("d%d", i)
		w.peer.add(ids[i], fmt.Sprintf("https://discord.test/api/webhooks/%d/t", i))
		w.peer.set(ids[i], func(d *topic.Destination) { d.Channel, d.Secrets = topic.Discord, nil })
	}
	return ids
}

// toDiscord publishes a change that is sent to the endpoints of Discord.
func (w *world) toDiscord() topic.EventChange {
	w.t.Helper()
	sent := change(newEvent(), 1)
	sent.Notify = topic.Notify{topic.Discord: {}}
	w.publish(sent, nil)
	return sent
}

// Two processes share the deliveries. Together they keep the limit of Discord's host, of 50 requests in each second.
func TestTwoProcessesTogetherKeepTheLimitOfAHost(t *testing.T) {
	w := newWorld(t)
	w.peer.byChannel = true
	discord := w.receiver("discord.test", nil)
	ids := w.discords(330)
	w.start(w.config())
	w.start(w.config())
	apitest.Eventually(t, "both to own partitions", func() bool { return w.members(t.Context(), "delivery-send") == 2 })
	first, second := w.toDiscord(), w.toDiscord()
	var all []deliverylog.Delivery
	for _, sent := range []topic.EventChange{first, second} {
		all = append(all, w.ended(sent.ID, ids...)...)
	}
	if n := len(discord.got()); n != len(all) {
		t.Fatalf("%d of %d messages arrived", n, len(all))
	}
	const limit = 50
	at := firstAttempts(t, all)
	keepApart(t, "discord.test", at, time.Second/limit)
	t.Logf("%d messages in %v", len(at), at[len(at)-1].Sub(at[0]))
}

// firstAttempts returns when the attempts of the deliveries started, in order. Each must have arrived at the first one.
func firstAttempts(t *testing.T, rows []deliverylog.Delivery) (at []time.Time) {
	t.Helper()
	for _, row := range rows {
		if row.Status != deliverylog.StatusDelivered || len(row.Attempts) != 1 {
			t.Fatalf("row %+v", row)
		}
		at = append(at, row.Attempts[0].At)
	}
	slices.SortFunc(at, time.Time.Compare)
	return at
}

// keepApart checks that the requests to a receiver start at least gap apart. The receivers do not measure the gaps, because
// requests arrive late on a busy machine. A request starts at most a moment after its turn. There must be so many requests that
// the moment is a small part of the whole. (Package dispatch tests the exact times, without the load of other processes.)
func keepApart(t *testing.T, receiver string, at []time.Time, gap time.Duration) {
	t.Helper()
	const moment = 3 * time.Second
	for i := range at {
		for n := range i {
			if apart := at[i].Sub(at[n]); apart < time.Duration(i-n)*gap-moment {
				t.Fatalf("request %d to %s starts %v after request %d", i, receiver, apart, n)
			}
		}
	}
}

// Discord refuses a request for the sake of all webhooks, and then the process is killed. The deliveries that wait for the
// end of the pause keep waiting in the next process. A new delivery asks Discord again, and the host is paused again.
func TestAPauseOfAHostOutlivesItsProcess(t *testing.T) {
	w := newWorld(t)
	w.peer.byChannel = true
	var asked atomic.Int64
	w.receiver("discord.test", func(out http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		out.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(out, `{"global": true, "retry_after": 90}`)
	})
	const n, few = 250, 60 // few: requests that start before the response arrives; 60 take more than a second
	ids := w.discords(n)
	waits := func(sent topic.EventChange, least int64) {
		t.Helper()
		apitest.Eventually(t, "a request", func() bool { return asked.Load() >= least })
		apitest.Eventually(t, "all to wait", func() bool {
			rows := w.rows(deliveries(sent.ID, ids)...)
			for _, row := range rows {
				if row.Status != deliverylog.StatusRetrying || time.Until(*row.NextAttemptAt) < 30*time.Second {
					return false
				}
			}
			return len(rows) == n
		})
	}
	holder := w.child()
	sent := w.toDiscord()
	waits(sent, 1)
	before := asked.Load()
	holder.kill()
	w.forgetMembers()
	w.child()
	next := w.toDiscord()
	waits(next, before+1)
	waits(sent, 1)
	again := asked.Load() - before
	if t.Logf("%d requests before the kill, %d after", before, again); before > few || again < 1 || again > few {
		t.Errorf("%d and %d requests during a pause", before, again)
	}
}
