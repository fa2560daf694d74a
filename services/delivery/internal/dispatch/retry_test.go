package dispatch

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// slowReads is a store whose reads of waiting rows take some time.
type slowReads struct {
	plainParts
	rows []deliverylog.Delivery
	took time.Duration
}

func (s *slowReads) Waiting(context.Context, int, time.Time, string, int) ([]deliverylog.Delivery, string, error) {
	time.Sleep(s.took)
	return s.rows, "", nil
}

// A row that becomes due while the partition is being read is queued in time.
func TestARowThatBecomesDueDuringAReadIsQueuedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const took = 200 * time.Millisecond // the time of each read
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

// waitingRows returns n rows of an organization that are due.
func waitingRows(organization string, n int, due time.Time) []deliverylog.Delivery {
	rows := make([]deliverylog.Delivery, n)
	for i := range rows {
		id := fmt.Sprintf("%s-%d", organization, i)
		at := due.Add(time.Duration(i) * time.Millisecond)
		rows[i] = deliverylog.Delivery{ID: topic.DeliveryID(organization, id), ChangeID: organization, Recipient: id, EventID: organization, Organization: organization,
			Channel: topic.Webhook, Status: deliverylog.StatusRetrying, NextAttemptAt: &at}
	}
	return rows
}

// reading is a store that counts the rows that are read.
type reading struct {
	remembering
	read atomic.Int64
}

func (r *reading) Waiting(ctx context.Context, partition int, from time.Time, after string, limit int) ([]deliverylog.Delivery, string, error) {
	rows, next, err := r.remembering.Waiting(ctx, partition, from, after, limit)
	r.read.Add(int64(len(rows)))
	return rows, next, err
}

// All receivers of three organizations hang, and each organization has more due rows than the queue takes. A row of another
// organization that becomes due later is sent at once. When the receivers respond, all rows are sent once. Rows that stay in the
// queue are not read again and again.
func TestDueRowsOfAnOrganizationDoNotWaitForThoseOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 800
		store, due := &reading{}, time.Now().Add(-time.Minute)
		for _, organization := range []string{"a", "b", "c"} {
			_, _ = store.Insert(t.Context(), waitingRows(organization, n, due))
		}
		answer := make(chan struct{})
		hooks := &hanging{answer: answer, sent: make(map[string]int)}
		s := NewSender(Parts{Store: store, Bus: plainParts{}, Channels: map[topic.Channel]Channel{topic.Webhook: hooks}, Recipients: integrations(directory{}),
			Timeout: time.Hour, Policy: Policy{time.Hour}, Now: time.Now, Log: slog.New(slog.DiscardHandler), Traces: untraced{}, Observer: unobserved{}, Events: published{}})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { _ = s.Run(ctx); close(ended) }()
		s.Assigned(ownsFirst(ctx))
		time.Sleep(10 * time.Second)
		queued := store.read.Load()
		time.Sleep(time.Minute)
		if again := store.read.Load() - queued; again > 0 {
			t.Errorf("%d rows were read although the queue was full", again)
		}
		_, _ = store.Insert(t.Context(), waitingRows("quick", 1, time.Now().Add(time.Second)))
		late := store.rows[topic.DeliveryID("quick", "quick-0")]
		s.retries.add(&late)
		time.Sleep(2 * time.Second)
		if hooks.count("quick-0") != 1 {
			t.Error("the row of another organization waits")
		}
		close(answer)
		time.Sleep(5 * time.Minute)
		stop()
		<-ended
		for _, row := range store.all() {
			if row.Status != deliverylog.StatusDelivered || hooks.count(row.Recipient) != 1 {
				t.Fatalf("sent %d times: %+v", hooks.count(row.Recipient), row)
			}
		}
		if read := store.read.Load(); read > 4*3*n {
			t.Errorf("%d rows were read for %d", read, 3*n)
		}
	})
}

// hanging is a Channel whose receivers hang until answer is closed, except those of the organization "quick".
type hanging struct {
	answer chan struct{}
	mu     sync.Mutex
	sent   map[string]int
}

func (h *hanging) Send(_ context.Context, message Message) Result {
	if !strings.HasPrefix(message.To.ID, "quick") {
		<-h.answer
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sent[message.To.ID]++
	return Result{HTTPStatus: 200}
}

func (h *hanging) count(recipient string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sent[recipient]
}

// published is an Events whose events are all published.
type published struct{ Events }

func (published) EventState(context.Context, string, string) (topic.EventState, error) {
	return topic.EventState{Published: true}, nil
}

// elsewhere is a store in which another process may have stored a delivery of a newer change of the event.
type elsewhere struct {
	unheard
	recorded bool
	searched int
	failed   bool
}

func (e *elsewhere) ChangesOf(_ context.Context, organization, event string, _ int) ([]topic.EventChange, error) {
	if e.searched++; !e.failed {
		e.failed = true
		return nil, fault.New(fault.Unavailable, "the store is down")
	}
	return []topic.EventChange{{ID: "newer", Organization: organization, Sequence: 2, Event: topic.Event{ID: event}}, {ID: "c", Organization: organization, Sequence: 1}}, nil
}

func (e *elsewhere) Recorded(_ context.Context, changes []string, recipients []Placed) ([]deliverylog.Delivery, error) {
	if !e.recorded || !slices.Equal(changes, []string{"newer"}) {
		return nil, nil
	}
	for partition := range topic.Buckets { // the URL may have been in any of them
		if !slices.Contains(recipients, Placed{"r", partition}) {
			return nil, nil
		}
	}
	return []deliverylog.Delivery{{ID: topic.DeliveryID("newer", "r")}}, nil
}

// renamed is a Recipients whose endpoints have got a URL.
type renamed struct {
	directory
	url string
}

func (r renamed) Resolve(ctx context.Context, organization string, query topic.ResolveQuery) ([]topic.Destination, error) {
	out, err := r.directory.Resolve(ctx, organization, query)
	for i := range out {
		out[i].URLHash = r.url
	}
	return out, err
}

// While a delivery waited for its retry, its endpoint got another URL. Another process, which owns the bucket of the new URL, has
// sent a newer delivery of the event. The retry is replaced, also if the bucket is of this process since. If none was sent, the
// retry is sent.
func TestARetryIsReplacedByANewerDeliveryToANewURLOfAnotherProcess(t *testing.T) {
	bucket := deliverylog.BucketOf("new URL")
	for name, x := range map[string]struct {
		recorded bool
		waits    int // partition of the delivery
		owned    int // number of partitions
		searched int
		status   deliverylog.Status
	}{
		"newer sent":          {true, 0, 1, 2, deliverylog.StatusSkipped},
		"none sent":           {false, 0, 1, 2, deliverylog.StatusDelivered},
		"bucket of its own":   {true, 0, topic.Buckets, 2, deliverylog.StatusSkipped},
		"bucket did not move": {true, bucket, topic.Buckets, 0, deliverylog.StatusDelivered},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, hooks, due := &elsewhere{recorded: x.recorded}, &sending{}, time.Now()
				id := topic.DeliveryID("c", "r")
				_, _ = store.remembering.Insert(t.Context(), []deliverylog.Delivery{{ID: id, ChangeID: "c", EventID: "e", Sequence: 1, Recipient: "r", Organization: "o",
					Partition: x.waits, Channel: topic.Webhook, Status: deliverylog.StatusRetrying, NextAttemptAt: &due}})
				sendAll(t, hooks, Parts{Store: store, Bus: plainParts{}, Recipients: integrations(renamed{url: "new URL"}), Events: published{}}, func(s *Sender, ctx context.Context) {
					owns(s, ctx, x.owned)
				})
				row := store.rows[id]
				sent := x.status == deliverylog.StatusDelivered
				if row.Status != x.status || !sent && row.ErrorCode != deliverylog.CodeReplaced || sent != (hooks.sent.Load() == 1) || store.searched != x.searched {
					t.Errorf("%d sent, %d searches, row %+v", hooks.sent.Load(), store.searched, row)
				}
			})
		})
	}
}
