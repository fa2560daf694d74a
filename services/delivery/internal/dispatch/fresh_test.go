package dispatch

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// waiting is a Channel whose attempts wait for a connection.
type waiting struct {
	wait time.Duration
	sent atomic.Int64
}

func (w *waiting) Send(_ context.Context, message Message) Result {
	time.Sleep(w.wait)
	if !message.Fresh() {
		return Result{Code: deliverylog.CodeHeld}
	}
	w.sent.Add(1)
	return Result{}
}

// once is a directory that counts the requests.
type once struct {
	directory
	requests atomic.Int64
}

func (o *once) Resolve(ctx context.Context, organization string, query topic.ResolveQuery) ([]topic.Destination, error) {
	o.requests.Add(1)
	return o.directory.Resolve(ctx, organization, query)
}

// slowBegin is a store that takes long to store a row.
type slowBegin struct{ remembering }

func (s *slowBegin) Insert(ctx context.Context, rows []deliverylog.Delivery) ([]deliverylog.Delivery, error) {
	time.Sleep(5 * time.Second)
	return s.remembering.Insert(ctx, rows)
}

// A recipient that is paused while its attempt waits for the channel or for the store gets no message. An attempt that
// did not wait long causes no request.
func TestARecipientThatIsPausedDuringAWaitGetsNoMessage(t *testing.T) {
	for name, x := range map[string]struct {
		channel  Channel
		store    Store
		pauses   bool
		requests int64
	}{
		"no wait":              {channel: &waiting{wait: tooLate / 2}, store: &remembering{}, requests: 1},
		"a wait":               {channel: &waiting{wait: 5 * time.Second}, store: &remembering{}, requests: 2},
		"a wait, pauses":       {channel: &waiting{wait: 5 * time.Second}, store: &remembering{}, pauses: true},
		"a slow store, pauses": {channel: &texting{}, store: &slowBegin{}, pauses: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				known := &once{directory: directory{many: time.Millisecond, one: time.Millisecond, paused: new(atomic.Bool)}}
				s := NewSender(Parts{Store: x.store, Bus: plainParts{}, Channels: map[topic.Channel]Channel{topic.Webhook: x.channel}, Recipients: integrations(known),
					Policy: Policy{time.Minute}, Timeout: time.Minute, Now: time.Now, Log: slog.New(slog.DiscardHandler), Traces: untraced{}, Observer: unobserved{}})
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() { _ = s.Run(ctx); close(ended) }()
				s.Assigned(ownsFirst(ctx))
				s.Take(ctx, 0, topic.Shard{ID: "1", ChangeID: "1", Organization: "a", Channel: topic.Webhook, Recipients: []string{"p"}}, plainParts{})
				time.Sleep(time.Second)
				known.paused.Store(x.pauses)
				time.Sleep(time.Minute)
				stop()
				<-ended
				var sent int64
				switch channel := x.channel.(type) {
				case *waiting:
					sent = channel.sent.Load()
				case *texting:
					sent = channel.sent.Load()
				}
				if requests := known.requests.Load(); (sent == 0) != x.pauses || !x.pauses && requests != x.requests {
					t.Errorf("%d messages were sent after %d requests", sent, requests)
				}
				if !x.pauses {
					return
				}
				var rows []deliverylog.Delivery
				switch store := x.store.(type) {
				case *remembering:
					rows = store.all()
				case *slowBegin:
					rows = store.all()
				}
				if len(rows) != 1 || rows[0].Status != deliverylog.StatusSkipped || rows[0].ErrorCode != deliverylog.CodePaused || len(rows[0].Attempts) > 0 {
					t.Errorf("the rows are %+v", rows)
				}
			})
		})
	}
}
