package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// unsteady is a store of which some reads fail. It counts the reads.
type unsteady struct {
	remembering
	reads int
	fails func() bool
}

func (u *unsteady) Waiting(ctx context.Context, partition int, from time.Time, after string, limit int) ([]deliverylog.Delivery, string, error) {
	if u.reads++; u.fails != nil && u.fails() {
		return nil, "", errors.New("the store is down")
	}
	return u.remembering.Waiting(ctx, partition, from, after, limit)
}

// loaded returns an index whose only partition has the rows of the store.
func loaded(t *testing.T, store Store) (*retryIndex, *partitionRetries) {
	t.Helper()
	s := NewSender(Parts{Store: store, Now: time.Now, Log: slog.New(slog.DiscardHandler), Traces: untraced{}, Observer: unobserved{}})
	s.Assigned(ownsFirst(t.Context()))
	p := s.retries.partitions[0]
	<-p.loaded
	return s.retries, p
}

// end ends rows as a Sender does.
func (u *unsteady) end(x *retryIndex, rows []deliverylog.Delivery) {
	for i := range rows {
		rows[i].Status = deliverylog.StatusDelivered
		x.remove(&rows[i])
	}
	_, _ = u.Insert(context.Background(), rows)
}

// An organization has 5,000 due rows, many of them with the same due time. No call reads more than a few pages, so that other
// partitions need not wait. The calls follow one another without a pause until they have reached the last row, which
// is of another organization, and no row is read twice.
func TestDueRowsAreReadInFewPagesAtOnce(t *testing.T) {
	store, due := &unsteady{}, time.Now().Add(-time.Hour)
	rows := waitingRows("a", 5_000, due)
	for i := range rows {
		rows[i].NextAttemptAt = &[]time.Time{due, due.Add(time.Second)}[i/2_500]
	}
	_, _ = store.Insert(t.Context(), rows)
	_, _ = store.Insert(t.Context(), waitingRows("b", 1, due.Add(time.Minute)))
	x, p := loaded(t, store)
	store.reads = 0
	for calls, found := 0, false; !found; calls++ {
		before := store.reads
		if partitions, wait := x.due(time.Now()); len(partitions) != 1 || wait != 0 {
			t.Fatalf("after %d calls the next one comes in %v", calls, wait)
		}
		got, err := x.collect(t.Context(), p, time.Now())
		if n := store.reads - before; err != nil || n > 2*pagesAtOnce {
			t.Fatalf("call %d reads %d pages: %v", calls, n, err)
		}
		for i := range got {
			found = found || got[i].Organization == "b"
		}
	}
	if most := 5_000/shardSize + 3; store.reads > most {
		t.Errorf("%d pages were read instead of %d", store.reads, most)
	}
}

// The search for the rows of an organization that had enough reads them while the organization still has enough. Then a read
// fails, and the rows that it had end. The search goes on behind its other rows and finds none. They are found later.
func TestAFailedReadHidesNoDueRow(t *testing.T) {
	store, now := &unsteady{}, time.Now()
	rows := map[string][]deliverylog.Delivery{}
	for i, n := range []int{tenantDueRows + shardSize, maxDueRows - tenantDueRows, fewQueued + 1} {
		name := []string{"much", "fills", "little"}[i]
		rows[name] = waitingRows(name, n, now.Add(time.Duration(i-10)*time.Minute))
		_, _ = store.Insert(t.Context(), rows[name])
	}
	x, p := loaded(t, store)
	collect := func(calls, want int) {
		t.Helper()
		found := 0
		for range calls {
			got, _ := x.collect(t.Context(), p, now)
			found, now = found+len(got), now.Add(indexPause)
		}
		if found != want {
			t.Fatalf("%d rows were found instead of %d", found, want)
		}
	}
	collect(2, maxDueRows+fewQueued)
	leased := rows["much"][:tenantDueRows]
	for i := range leased {
		leased[i].NextAttemptAt = new(now.Add(time.Hour))
	}
	_, _ = store.Insert(t.Context(), leased)
	store.end(x, rows["fills"])
	store.end(x, rows["little"])
	store.reads = 0
	store.fails = func() bool { return store.reads > 2 } // the second page of the search
	collect(1, 0)
	store.fails = nil
	store.end(x, leased)
	collect(2, shardSize)
}

// Reads fail, and rows end, are tried again and come in any order. Each row is found until it ends, and never while it is in the
// queue.
func TestEachDueRowIsFoundAlthoughReadsFail(t *testing.T) {
	for seed := range uint64(3) {
		random, now := rand.New(rand.NewPCG(seed, 0)), time.Now()
		store := &unsteady{}
		for i, n := range []int{900, 600, 540, 30, 3} {
			rows := waitingRows(fmt.Sprint(seed, i), n, now.Add(-time.Hour))
			for row := range rows {
				rows[row].NextAttemptAt = new(now.Add(-time.Duration(random.IntN(8)) * time.Minute))
			}
			_, _ = store.Insert(t.Context(), rows)
		}
		x, p := loaded(t, store)
		store.fails = func() bool { return random.IntN(4) == 0 }
		var queued []deliverylog.Delivery
		known, ended := map[string]bool{}, 0
		for calls := 0; ended < 2073; calls++ {
			if now = now.Add(indexPause); calls > 3000 {
				t.Fatalf("seed %d: %d of 2073 rows have ended, %d are in the queue", seed, ended, len(queued))
			}
			if partitions, _ := x.due(now); len(partitions) > 0 {
				got, _ := x.collect(t.Context(), p, now)
				for _, row := range got {
					if known[row.ID] {
						t.Fatalf("seed %d: row %s is in the queue twice", seed, row.ID)
					}
					known[row.ID] = true
				}
				queued = append(queued, got...)
			}
			random.Shuffle(len(queued), func(i, j int) { queued[i], queued[j] = queued[j], queued[i] })
			done := queued[:random.IntN(len(queued)+1)/(1+random.IntN(8))]
			queued = queued[len(done):]
			if released := min(3, len(queued)); random.IntN(5) == 0 { // attempts without a stored result
				for i := range queued[:released] {
					delete(known, queued[i].ID)
					x.release(&queued[i], now)
				}
				queued = queued[released:]
			}
			store.end(x, done)
			ended += len(done)
		}
	}
}
