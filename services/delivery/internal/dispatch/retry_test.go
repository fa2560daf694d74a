package dispatch

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// slowReads is a store with two rows that wait, the second of which becomes due while it is asked for the
// first.
type slowReads struct {
	Store
	rows []Delivery
	took time.Duration
}

func (s *slowReads) Waiting(context.Context, int, string, int) ([]Delivery, string, error) {
	time.Sleep(s.took)
	return s.rows, "", nil
}

type unobserved struct{}

func (unobserved) Attempted(topic.Channel, string, time.Duration) {}
func (unobserved) InFlight(int)                                   {}
func (unobserved) SlowLane(int)                                   {}
func (unobserved) Waiting(int)                                    {}
func (unobserved) Planned(time.Duration)                          {}

type untraced struct{}

func (untraced) Adopt(ctx, _ context.Context) context.Context         { return ctx }
func (untraced) Carry(context.Context) string                         { return "" }
func (untraced) Resume(ctx context.Context, _ string) context.Context { return ctx }

// What becomes due while the partition is being read is not slept over.
func TestSender_retry_due_meanwhile(t *testing.T) {
	start := time.Now()
	row := func(id string, due time.Duration) Delivery {
		at := start.Add(due)
		return Delivery{ID: id, ChangeID: id, Recipient: id, EventID: id, Organization: "o",
			Channel: topic.Webhook, Status: StatusRetrying, NextAttemptAt: &at}
	}
	store := &slowReads{rows: []Delivery{row("a", 0), row("b", 250*time.Millisecond)}, took: 200 * time.Millisecond}
	s := NewSender(Parts{Store: store, Now: time.Now, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Traces: untraced{}, Observer: unobserved{}})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	s.Assigned(ctx, []int{0})
	if err := s.waits.ready(ctx, 0); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { s.retry(ctx); close(ended) }()
	deadline := time.Now().Add(20 * time.Second)
	for found := 0; found < 2; {
		if time.Now().After(deadline) {
			t.Fatalf("%d of 2 rows were brought", found)
		}
		time.Sleep(time.Millisecond)
		s.queue.mu.Lock()
		if tenant := s.queue.tenants[line{"o", topic.Webhook}]; tenant != nil {
			found = len(tenant.shards)
		}
		s.queue.mu.Unlock()
	}
	stop()
	<-ended
}
