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

// overlapping is a Channel whose first response asks for a pause. The responses to the other requests are later.
type overlapping struct {
	pause time.Duration
	sent  atomic.Int64
}

func (o *overlapping) Send(context.Context, Message) Result {
	if o.sent.Add(1) == 1 {
		time.Sleep(25 * time.Millisecond)
		return Result{HTTPStatus: 429, Code: deliverylog.CodeRateLimited, RetryAfter: o.pause}
	}
	time.Sleep(50 * time.Millisecond)
	return Result{}
}

// The successes of requests that were in flight when the receiver asked for a pause do not end the pause. The deliveries
// that wait for its end do not wake at the same time.
func TestAPauseOutlastsTheSuccessesOfEarlierRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, pause = 256, 100 * time.Second
		hooks, rows := &overlapping{pause: pause}, &remembering{}
		s := NewSender(Parts{Store: rows, Bus: plainParts{}, Channels: map[topic.Channel]Channel{topic.Webhook: hooks}, Recipients: integrations(&workflows{}),
			Policy: Policy{time.Minute}, Timeout: time.Second, Now: time.Now, Log: slog.New(slog.DiscardHandler), Traces: untraced{}, Observer: unobserved{}})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { _ = s.Run(ctx); close(ended) }()
		s.Assigned(ownsFirst(ctx))
		began := time.Now()
		for _, id := range []string{"1", "2"} {
			s.Take(ctx, 0, topic.Shard{ID: id, ChangeID: id, Organization: "a", Channel: topic.Webhook, Recipients: members("url", n)}, plainParts{})
			time.Sleep(time.Second)
		}
		time.Sleep(pause / 2)
		early := hooks.sent.Load()
		if early < 2 || early > int64(cap(s.slots.Fast)) {
			t.Errorf("%d requests were made in the pause and before it", early)
		}
		due := map[time.Time]int{}
		for _, row := range rows.all() {
			if row.Status != deliverylog.StatusRetrying {
				continue
			}
			due[*row.NextAttemptAt]++
			if wait := row.NextAttemptAt.Sub(began); wait < pause || wait > pause+pause/10+2*time.Second {
				t.Errorf("a row waits %v", wait)
			}
		}
		if len(due) < n/2 {
			t.Errorf("the rows are due at %d times", len(due))
		}
		time.Sleep(pause)
		if all := hooks.sent.Load(); all != 2*n+1 {
			t.Errorf("%d requests were made", all)
		}
		stop()
		<-ended
	})
}

// A pause may end while an older message of the recipient is stored.
func TestAPauseThatHasEndedIsNoWait(t *testing.T) {
	s := &Sender{Parts: Parts{Now: time.Now}}
	if ended := time.Now().Add(-time.Minute); !s.afterPause(nil, ended, Limit{}).Equal(ended) {
		t.Error("a delivery waits after the end of the pause")
	}
}
