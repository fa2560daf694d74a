package delivery_test

import (
	"fmt"
	"net/http"
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
	ids := w.discords(150)
	w.start(w.config())
	w.start(w.config())
	apitest.Eventually(t, "both to own partitions", func() bool { return w.members(t.Context(), "delivery-send") == 2 })
	first, second := w.toDiscord(), w.toDiscord()
	for _, sent := range []topic.EventChange{first, second} {
		for _, row := range w.ended(sent.ID, ids...) {
			if row.Status != deliverylog.StatusDelivered || len(row.Attempts) != 1 {
				t.Errorf("row %+v", row)
			}
		}
	}
	arrivals := discord.got()
	if len(arrivals) != 2*len(ids) {
		t.Fatalf("%d of %d messages arrived", len(arrivals), 2*len(ids))
	}
	const limit = 50
	for i := limit; i < len(arrivals); i++ {
		if apart := arrivals[i].at.Sub(arrivals[i-limit].at); apart < time.Second {
			t.Fatalf("%d messages arrived within %v", limit+1, apart)
		}
	}
	t.Logf("%d messages in %v", len(arrivals), arrivals[len(arrivals)-1].at.Sub(arrivals[0].at))
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
	const n, few = 200, 50 // few: requests that start before the response arrives; 50 take a second
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
