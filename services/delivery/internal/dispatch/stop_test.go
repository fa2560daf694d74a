package dispatch

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// failing is a store with a due row of a deleted change. All writes fail.
type failing struct {
	Store
	row deliverylog.Delivery
}

func (f failing) Waiting(context.Context, int, time.Time, string, int) ([]deliverylog.Delivery, string, error) {
	return []deliverylog.Delivery{f.row}, "", nil
}

func (f failing) Deliveries(context.Context, []string) ([]deliverylog.Delivery, error) {
	return []deliverylog.Delivery{f.row}, nil
}

func (f failing) Content(context.Context, string) (Content, error) {
	return Content{}, fault.New(fault.NotFound, "gone")
}

func (f failing) Amend(context.Context, string, func(*deliverylog.Delivery) (*topic.Outcome, error)) (deliverylog.Delivery, error) {
	return deliverylog.Delivery{}, fault.New(fault.Unavailable, "no writes")
}

// The stop ends in time although a shard that is being opened waits for a store that is down.
func TestTheStopEndsInTimeWhileTheStoreIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		due := time.Now()
		s := NewSender(Parts{Store: failing{row: deliverylog.Delivery{ID: "a00", ChangeID: "a", Recipient: "a", EventID: "a", Organization: "o",
			Channel: topic.Webhook, Status: deliverylog.StatusRetrying, NextAttemptAt: &due}}, Channels: map[topic.Channel]Channel{topic.Webhook: nil},
			Now: time.Now, Log: slog.New(slog.DiscardHandler), Traces: untraced{}, Observer: unobserved{}})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		s.Assigned(ownsFirst(ctx))
		ended := make(chan struct{})
		go func() { _ = s.Run(ctx); close(ended) }()
		synctest.Wait()
		stop()
		select {
		case <-ended:
		case <-time.After(2 * stopTimeout):
			t.Error("the sender does not stop")
			s.interrupt()
			<-ended
		}
	})
}
