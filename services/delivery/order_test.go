package delivery_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

func sequenceOf(t *testing.T, a arrival) int64 {
	t.Helper()
	var body struct{ Sequence int64 }
	if err := json.Unmarshal(a.body, &body); err != nil {
		t.Fatal(err)
	}
	return body.Sequence
}

// A delivery that waits for its retry is replaced by a newer delivery of the same event, not by one of another
// event.
func TestAWaitingDeliveryIsReplacedByANewerOneOfTheSameEvent(t *testing.T) {
	t.Parallel()
	const wait = 10 * time.Second // long enough for what follows on a busy machine
	w := newWorld(t)
	hooks := w.receiver("hooks.test", inTurn(status(500), status(200)))
	w.peer.add("r1", "https://hooks.test/")
	w.start(w.config(wait))
	event := newEvent()
	first, second, other := change(event, 1), change(event, 2), change(newEvent(), 1)
	w.publish(first, nil)
	id := topic.DeliveryID(first.ID, "r1")
	apitest.Eventually(t, "the first to wait", func() bool {
		rows := w.rows(id)
		return len(rows) == 1 && rows[0].Status == deliverylog.StatusRetrying
	})
	w.publish(other, nil)
	w.ended(other.ID, "r1")
	if row := w.rows(id)[0]; row.Status != deliverylog.StatusRetrying {
		t.Errorf("another event's delivery replaced it: %+v", row)
	}
	w.publish(second, nil)
	w.ended(second.ID, "r1")
	row := w.ended(first.ID, "r1")[0]
	if row.Status != deliverylog.StatusSkipped || row.ErrorCode != deliverylog.CodeReplaced || len(row.Attempts) != 1 {
		t.Errorf("row %+v", row)
	}
	if outcome := w.outcomes.of(t, id); outcome.Result != topic.Skipped || outcome.Attempts != 1 {
		t.Errorf("outcome %+v", outcome)
	}
	// It is not sent at its former due time either.
	third := change(event, 3)
	time.AfterFunc(time.Until(row.SentAt.Add(wait+wait/4)), func() { w.publish(third, nil) })
	w.ended(third.ID, "r1")
	for i, a := range hooks.got()[1:] {
		if a.id() == id {
			t.Errorf("request %d repeats the replaced delivery", i+1)
		}
	}
}

// Fast updates arrive one after the other and in order, even at a slow receiver.
func TestUpdatesArriveInOrderAtASlowReceiver(t *testing.T) {
	w := newWorld(t)
	var mu sync.Mutex
	busy := 0
	hooks := w.receiver("hooks.test", func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if busy++; busy > 1 {
			t.Error("two at once at one endpoint")
		}
		mu.Unlock()
		timer := time.NewTimer(30 * time.Millisecond)
		defer timer.Stop()
		<-timer.C
		mu.Lock()
		busy--
		mu.Unlock()
		rw.WriteHeader(http.StatusOK)
	})
	w.peer.add("r1", "https://hooks.test/")
	w.start(w.config())
	event := newEvent()
	var last topic.EventChange
	const n = 12
	for i := range n {
		last = change(event, int64(i+1))
		w.publish(last, nil)
	}
	w.ended(last.ID, "r1")
	got := hooks.got()
	if len(got) != n {
		t.Fatalf("%d of %d arrived", len(got), n)
	}
	for i, a := range got {
		if sequence := sequenceOf(t, a); sequence != int64(i+1) {
			t.Errorf("request %d has sequence %d", i+1, sequence)
		}
	}
}

// The recipient is resolved again before each retry.
func TestTheRecipientIsResolvedAgainBeforeEachRetry(t *testing.T) {
	w := newWorld(t)
	hooks := w.receiver("hooks.test", func(out http.ResponseWriter, _ *http.Request) {
		w.peer.set("r1", func(d *topic.Destination) { d.State = topic.RecipientPaused })
		out.WriteHeader(http.StatusInternalServerError)
	})
	w.peer.add("r1", "https://hooks.test/")
	w.start(w.config(500 * time.Millisecond))
	sent := change(newEvent(), 1)
	w.publish(sent, nil)
	row := w.ended(sent.ID, "r1")[0]
	if row.Status != deliverylog.StatusSkipped || row.ErrorCode != deliverylog.CodePaused || len(hooks.got()) != 1 {
		t.Errorf("row %+v", row)
	}
	if outcome := w.outcomes.of(t, row.ID); outcome.Result != topic.Skipped {
		t.Errorf("outcome %+v", outcome)
	}
}

// A stop abandons deliveries without an attempt. After the next start they are sent, and so are waiting retries.
func TestDeliveriesThatAStopAbandonedAreSentAfterTheNextStart(t *testing.T) {
	w := newWorld(t)
	hooks := w.receiver("hooks.test", inTurn(status(500), status(200)))
	w.peer.add("r1", "https://hooks.test/")
	s := w.start(w.config(2 * time.Second))
	sent := change(newEvent(), 1)
	w.publish(sent, nil)
	apitest.Eventually(t, "the first attempt to be recorded", func() bool { return len(w.rows(topic.DeliveryID(sent.ID, "r1"))) == 1 })
	w.peer.setDown(true)
	later := change(newEvent(), 1)
	w.publish(later, nil)
	apitest.Eventually(t, "the plan to fail", func() bool { return w.peer.refused() > 0 })
	began := time.Now()
	s.stop()
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the stop took %v", took)
	}
	w.peer.setDown(false)
	w.start(w.config(2 * time.Second))
	w.ended(later.ID, "r1")
	if row := w.ended(sent.ID, "r1")[0]; row.Status != deliverylog.StatusDelivered || len(row.Attempts) != 2 {
		t.Errorf("row %+v", row)
	}
	if n := len(hooks.got()); n != 3 {
		t.Errorf("%d requests arrived", n)
	}
}

// Receivers that hang do not delay others, although there are three times as many as fast slots. If they kept
// their slots, the last healthy receiver would never be notified, because no attempt times out here.
func TestReceiversThatHangDoNotDelayOthers(t *testing.T) {
	w := newWorld(t)
	cut := w.hanging("slow.test")
	fast := w.receiver("fast.test", nil)
	const healthy = 100
	slow := min(3*64*runtime.GOMAXPROCS(0)+16, 900)
	for i := range slow {
		w.peer.add(fmt.Sprintf("slow-%d", i), fmt.Sprintf("https://slow.test/%d", i))
	}
	ids := make([]string, healthy)
	for i := range healthy {
		ids[i] = fmt.Sprintf("fast-%d", i)
		w.peer.add(ids[i], fmt.Sprintf("https://fast.test/%d", i))
	}
	config := w.config(time.Hour)
	config.Timeout = 10 * time.Minute
	w.start(config)
	sent := change(newEvent(), 1)
	w.publish(sent, nil)
	w.ended(sent.ID, ids...)
	if n := len(fast.got()); n != healthy {
		t.Errorf("%d healthy receivers were told", n)
	}
	cut() // so that the stop does not wait for attempts
}

// Two processes share the work: each delivery is sent once.
func TestTwoProcessesSendEachDeliveryOnce(t *testing.T) {
	w := newWorld(t)
	hooks := w.receiver("hooks.test", nil)
	const n = 400
	ids := make([]string, n)
	for i := range n {
		ids[i] = fmt.Sprintf("r%d", i)
		w.peer.add(ids[i], fmt.Sprintf("https://hooks.test/%d", i))
	}
	first, second := w.start(w.config()), w.start(w.config())
	apitest.Eventually(t, "both to own partitions", func() bool { return w.members(t.Context(), "delivery-send") == 2 })
	const changes = 3
	for range changes {
		sent := change(newEvent(), 1)
		w.publish(sent, nil)
		w.ended(sent.ID, ids...)
	}
	seen := map[string]int{}
	for _, a := range hooks.got() {
		seen[a.id()]++
	}
	if len(seen) != n*changes {
		t.Errorf("%d of %d deliveries arrived", len(seen), n*changes)
	}
	for id, times := range seen {
		if times != 1 {
			t.Errorf("%s arrived %d times", id, times)
		}
	}
	first.stop()
	second.stop()
}

// members returns how many members share the partitions of a stable group.
func (w *world) members(ctx context.Context, group string) int {
	w.t.Helper()
	members, err := groupMembers(ctx, w.broker.Addr(), group)
	if err != nil {
		w.t.Fatal(err)
	}
	return members
}

// A pause holds for attempts that start after it, except for destinations that were resolved shortly before: at
// most those of two calls. (Package dispatch tests the exact time, without the load of other processes.)
func TestAPauseHoldsForAttemptsThatStartLater(t *testing.T) {
	w := newWorld(t)
	const n, known = 1500, 2 * 256
	ids := make([]string, n)
	pausedAt := make(chan time.Time, 1)
	var pause sync.Once
	w.receiver("hooks.test", func(rw http.ResponseWriter, _ *http.Request) {
		pause.Do(func() {
			for _, id := range ids {
				w.peer.set(id, func(d *topic.Destination) { d.State = topic.RecipientPaused })
			}
			pausedAt <- time.Now()
		})
		timer := time.NewTimer(150 * time.Millisecond)
		defer timer.Stop()
		<-timer.C
		rw.WriteHeader(http.StatusOK)
	})
	for i := range n {
		ids[i] = fmt.Sprintf("r%d", i)
		w.peer.add(ids[i], fmt.Sprintf("https://hooks.test/%d", i))
	}
	w.start(w.config())
	sent := change(newEvent(), 1)
	w.publish(sent, nil)
	paused := <-pausedAt
	after, skipped := 0, 0
	for _, row := range w.ended(sent.ID, ids...) {
		if row.Status == deliverylog.StatusSkipped {
			skipped++
		}
		for _, attempt := range row.Attempts {
			if attempt.At.After(paused) {
				after++
			}
		}
	}
	t.Logf("%d of %d were skipped, %d sent after the pause", skipped, n, after)
	if after > known || skipped == 0 {
		t.Errorf("%d attempts started after the pause, %d were skipped", after, skipped)
	}
}

// Many deliveries of one organization do not delay the single delivery of another, although the receivers of the
// first hang, use every slot, and many more of its deliveries wait for one.
func TestOneOrganizationDoesNotDelayAnother(t *testing.T) {
	w := newWorld(t)
	answers := make(chan struct{})
	flood := w.receiver("flood.test", func(rw http.ResponseWriter, r *http.Request) {
		select {
		case <-answers:
		case <-r.Context().Done():
		}
		rw.WriteHeader(http.StatusNoContent)
	})
	single := w.counter("single.test")
	slots := 64*runtime.GOMAXPROCS(0) + 1024
	n := max(2000, slots*3/2)
	for i := range n {
		w.peer.add(fmt.Sprintf("r%d", i), fmt.Sprintf("https://flood.test/%d", i))
	}
	const other = "0190a000-0000-7000-8000-000000000002"
	w.peer.addFor(other, "single", "https://single.test/")
	asked := make(chan struct{})
	say := sync.OnceFunc(func() { close(asked) })
	w.peer.resolved = func(ids []string) {
		if slices.Contains(ids, "single") {
			say()
		}
	}
	config := w.config()
	config.Timeout = time.Minute
	w.start(config)
	t.Cleanup(func() { close(answers) }) // the service stops when its attempts have ended
	w.publish(change(newEvent(), 1), nil)
	apitest.Eventually(t, "the flood to begin", func() bool { return len(flood.got()) > 0 })
	sent := change(newEvent(), 1)
	sent.Organization = other
	w.publish(sent, nil)
	<-asked // it is about to be sent, or waits for a slot
	before := len(flood.got())
	apitest.Eventually(t, "the single one", func() bool {
		if single.arrived.Load() == 1 {
			return true
		}
		select {
		case answers <- struct{}{}: // frees one slot
		default:
		}
		return false
	})
	meanwhile := len(flood.got()) - before
	t.Logf("%d of the flood's %d went before it was to be sent, and %d before it was", before, n, meanwhile)
	if meanwhile > n/4 {
		t.Errorf("it waited for the flood")
	}
}
