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
)

// plainParts are a store, a bus and work in hand, where all goes well.
type plainParts struct{ Store }

func (plainParts) Waiting(context.Context, int, string, int) ([]Delivery, string, error) {
	return nil, "", nil
}

func (plainParts) Change(_ context.Context, id string) (topic.EventChange, error) {
	return topic.EventChange{ID: id}, nil
}
func (plainParts) Deliveries(context.Context, []string) ([]Delivery, error)      { return nil, nil }
func (plainParts) Insert(_ context.Context, rows []Delivery) ([]Delivery, error) { return rows, nil }
func (plainParts) Shards(context.Context, []topic.Shard) error                   { return nil }
func (plainParts) Outcomes(context.Context, []topic.Outcome) error               { return nil }
func (plainParts) Done()                                                         {}
func (plainParts) Abandon()                                                      {}

// directory answers at once, and for one alone after a while.
type directory struct {
	Recipients
	one time.Duration
}

func (d directory) Resolve(_ context.Context, _ string, ids []string) ([]Destination, error) {
	if len(ids) == 1 {
		time.Sleep(d.one)
	}
	out := make([]Destination, len(ids))
	for i, id := range ids {
		out[i] = Destination{ID: id, State: Active}
	}
	return out, nil
}

// sending takes its time, and counts.
type sending struct {
	took time.Duration
	sent atomic.Int64
}

func (s *sending) Send(context.Context, Message) Answer {
	time.Sleep(s.took)
	s.sent.Add(1)
	return Answer{}
}

// Deliveries that wait for a service that says nothing do not use up the slots of those that another knows.
func TestSender_serviceHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hung = 5 * time.Second
		mails, hooks := &sending{took: time.Second}, &sending{}
		s := NewSender(Parts{Store: plainParts{}, Bus: plainParts{}, Routes: map[topic.Channel]Route{
			topic.Email: {mails, directory{one: hung}}, topic.Webhook: {hooks, directory{}},
		}, Now: time.Now, Log: slog.New(slog.DiscardHandler), Traces: untraced{}, Observer: unobserved{}})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { _ = s.Run(ctx); close(ended) }()
		s.Assigned(ctx, []int{0})
		people := make([]string, min(2*cap(s.lanes.fast), cap(s.lanes.slow)))
		for i := range people {
			people[i] = strconv.Itoa(i)
		}
		for _, change := range []string{"first", "second"} { // which lines up behind the first, and is asked for again then
			s.Take(ctx, 0, topic.Shard{ID: change, ChangeID: change, Organization: "a", Channel: topic.Email, Recipients: people}, plainParts{})
		}
		time.Sleep(hung / 2)
		s.Take(ctx, 0, topic.Shard{ID: "hook", ChangeID: "first", Organization: "b", Channel: topic.Webhook, Recipients: []string{"h"}}, plainParts{})
		time.Sleep(hung / 5)
		if hooks.sent.Load() != 1 {
			t.Error("the webhook waits for the mails' service")
		}
		if n := mails.sent.Load(); n != int64(len(people)) {
			t.Errorf("%d mails were sent to %d people", n, len(people))
		}
		stop()
		<-ended
	})
}
