package dispatch

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// slowReads is a store whose reads of waiting rows take some time.
type slowReads struct {
	plainParts
	rows []deliverylog.Delivery
	took time.Duration
}

func (s *slowReads) Waiting(context.Context, int, string, int) ([]deliverylog.Delivery, string, error) {
	time.Sleep(s.took)
	return s.rows, "", nil
}

// A row that becomes due while the partition is being read is queued in time.
func TestARowThatBecomesDueDuringAReadIsQueuedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const took = 200 * time.Millisecond // of each read
		start := time.Now()
		row := func(id string, due time.Duration) deliverylog.Delivery {
			at := start.Add(due)
			return deliverylog.Delivery{ID: id, ChangeID: id, Recipient: id, EventID: id, Organization: "o",
				Channel: topic.Webhook, Status: deliverylog.StatusRetrying, NextAttemptAt: &at}
		}
		s := NewSender(Parts{Store: &slowReads{rows: []deliverylog.Delivery{row("a", 0), row("b", took+took/2), row("c", 2*took+took/2), row("d", 3*took+took/2)}, took: took},
			Now: time.Now, Log: slog.New(slog.DiscardHandler), Traces: untraced{}, Observer: unobserved{}})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		s.Assigned(ownsFirst(ctx))
		go func() { s.retry(ctx); close(ended) }()
		time.Sleep(10 * took)
		synctest.Wait()
		if n := len(s.retries.partitions[0].queued); n != 4 {
			t.Errorf("%d of 4 rows were queued", n)
		}
		stop()
		<-ended
	})
}
