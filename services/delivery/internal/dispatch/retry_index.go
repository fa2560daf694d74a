package dispatch

import (
	"context"
	"hash/maphash"
	"maps"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/failurelog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

const (
	waitingPage  = 1000
	fewDueRows   = 32  // number of rows in the first read of due rows; most reads find fewer that are due
	maxDueRows   = 512 // maximum number of due rows of one partition in the queue
	indexPause   = 200 * time.Millisecond
	maxTimerWait = time.Hour
)

// waitingUnread never changes.
var waitingUnread = failurelog.Cause{Message: "The deliveries that wait for a retry cannot be read yet."}

// retryIndex is an index in memory of the rows that wait for a retry in the partitions of this process. find returns
// the waiting delivery of an event to a recipient, so that a newer delivery can replace it. due returns the partitions
// that have due rows. When this process gets a partition, the waiting rows are loaded from the store.
type retryIndex struct {
	store    Store
	outages  *failurelog.Log
	observer Observer
	seed     maphash.Seed
	wake     signal
	loading  sync.Mutex    // partitions are loaded one after the other
	none     chan struct{} // closed: there is nothing to load

	mu         sync.Mutex
	partitions map[int]*partitionRetries
	entries    map[uint64]waitingDelivery // by key
}

// waitingDelivery is what the index stores of a row that waits for a retry.
type waitingDelivery struct {
	id        string
	sequence  int64
	partition int
}

// partitionRetries is the part of the index for one partition.
type partitionRetries struct {
	Ownership
	loaded chan struct{}
	next   time.Time           // the earliest due time; zero: no row waits
	queued map[string]struct{} // ids of due rows in the sender's queue
}

func newRetryIndex(store Store, outages *failurelog.Log, observer Observer) *retryIndex {
	x := &retryIndex{store: store, outages: outages, observer: observer, seed: maphash.MakeSeed(), wake: make(signal, 1),
		partitions: make(map[int]*partitionRetries), entries: make(map[uint64]waitingDelivery), none: make(chan struct{})}
	close(x.none)
	return x
}

// assign adds a partition until its ownership ends, and starts to load it.
func (x *retryIndex) assign(owned Ownership) {
	p := &partitionRetries{Ownership: owned, loaded: make(chan struct{}), queued: make(map[string]struct{})}
	x.mu.Lock()
	x.partitions[p.Partition] = p
	x.mu.Unlock()
	context.AfterFunc(p.Owned, func() { x.drop(p) })
	go func() {
		x.loading.Lock()
		defer x.loading.Unlock()
		for err := x.load(p.Open, p.Partition); err != nil && p.Open.Err() == nil; err = x.load(p.Open, p.Partition) {
			x.outages.Failed(p.Open, waitingUnread, err, "partition", p.Partition)
			rest(p.Open, p.Open, indexPause)
		}
		if p.Open.Err() == nil {
			x.outages.Over(p.Open, waitingUnread)
		}
		close(p.loaded)
		x.wake.set()
	}()
}

// drop removes p and its rows, unless its partition was assigned again since.
func (x *retryIndex) drop(p *partitionRetries) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.partitions[p.Partition] != p {
		return
	}
	delete(x.partitions, p.Partition)
	maps.DeleteFunc(x.entries, func(_ uint64, waiting waitingDelivery) bool { return waiting.partition == p.Partition })
	x.observer.Waiting(len(x.entries))
}

// owns reports whether this process owns the partition. It returns false if the process stood still too long. Then
// another process may have made the deliveries, and a result of this process would be a second log.
func (x *retryIndex) owns(partition int) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	p := x.partitions[partition]
	return p != nil && p.Held()
}

// load adds the waiting rows of a partition.
func (x *retryIndex) load(ctx context.Context, partition int) error {
	after := ""
	for first := true; first || after != ""; first = false {
		rows, next, err := x.store.Waiting(ctx, partition, after, waitingPage)
		if err != nil {
			return err
		}
		for i := range rows {
			x.add(&rows[i])
		}
		after = next
	}
	return nil
}

// awaitLoaded waits until the partition is loaded or ctx ends.
func (x *retryIndex) awaitLoaded(ctx context.Context, partition int) {
	select {
	case <-x.loaded(partition):
	case <-ctx.Done():
	}
}

// isLoaded reports whether the partition is loaded, or not owned.
func (x *retryIndex) isLoaded(partition int) bool {
	select {
	case <-x.loaded(partition):
		return true
	default:
		return false
	}
}

// loaded returns a channel that is closed when the partition is loaded. It is closed for a partition that is not owned.
func (x *retryIndex) loaded(partition int) <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p := x.partitions[partition]; p != nil {
		return p.loaded
	}
	return x.none
}

// key returns a hash of the subject and recipient of a row. A collision is harmless, because the subject and recipient
// are compared before a row is changed.
func (x *retryIndex) key(event, recipient string) uint64 {
	return maphash.Comparable(x.seed, [2]string{event, recipient})
}

// add adds a row that waits for a retry.
func (x *retryIndex) add(row *deliverylog.Delivery) {
	x.mu.Lock()
	defer x.mu.Unlock()
	p := x.partitions[row.Partition]
	if p == nil {
		return
	}
	delete(p.queued, row.ID)
	x.scheduleLocked(p, *row.NextAttemptAt)
	key := x.key(row.Subject(), row.Recipient)
	if known, ok := x.entries[key]; !ok || known.sequence <= row.Sequence {
		x.entries[key] = waitingDelivery{row.ID, row.Sequence, row.Partition}
	}
	x.observer.Waiting(len(x.entries))
}

// remove removes a row that no longer waits for a retry.
func (x *retryIndex) remove(row *deliverylog.Delivery) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p := x.partitions[row.Partition]; p != nil {
		delete(p.queued, row.ID)
	}
	key := x.key(row.Subject(), row.Recipient)
	if x.entries[key].id == row.ID {
		delete(x.entries, key)
		x.observer.Waiting(len(x.entries))
	}
}

// release removes row from queued, and makes its partition due after indexPause. If the row is still due then, collect
// returns it again. The Sender calls release when it abandons a retry. The attempt may have been made without a stored
// result.
func (x *retryIndex) release(row *deliverylog.Delivery, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p := x.partitions[row.Partition]; p != nil {
		delete(p.queued, row.ID)
		x.scheduleLocked(p, now.Add(indexPause))
	}
}

// find returns the waiting delivery of the event to the recipient.
func (x *retryIndex) find(event, recipient string) (waitingDelivery, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	found, ok := x.entries[x.key(event, recipient)]
	return found, ok
}

// due returns the loaded partitions with due rows. If there are none, wait is the time until the next row is due, at
// most maxTimerWait.
func (x *retryIndex) due(now time.Time) (partitions []*partitionRetries, wait time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	wait = maxTimerWait
	for _, p := range x.partitions {
		select {
		case <-p.loaded:
		default:
			continue
		}
		switch {
		case p.next.IsZero() || p.Open.Err() != nil:
		case p.next.After(now):
			wait = min(wait, p.next.Sub(now))
		default:
			partitions, wait = append(partitions, p), 0
		}
	}
	return partitions, wait
}

// collect reads due rows of a partition that are not in the queue, and adds them to queued.
func (x *retryIndex) collect(ctx context.Context, p *partitionRetries, now time.Time) ([]deliverylog.Delivery, error) {
	x.mu.Lock()
	if len(p.queued) >= maxDueRows {
		p.next = now.Add(indexPause)
		x.mu.Unlock()
		return nil, nil
	}
	p.next = time.Time{}
	limit := len(p.queued) + fewDueRows
	x.mu.Unlock()
	var due []deliverylog.Delivery
	for after := ""; ; limit = shardSize {
		rows, next, err := x.store.Waiting(ctx, p.Partition, after, limit)
		more := x.queue(p, rows, now, &due)
		after = next
		if err != nil || more && after != "" && len(due) >= shardSize {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.scheduleLocked(p, now.Add(indexPause))
			return due, err
		}
		if !more || after == "" {
			return due, nil
		}
	}
}

// queue adds the due rows that are not in the queue to queued and to due. It returns false if one of the rows is not due
// yet. Then the partition is due with this row.
func (x *retryIndex) queue(p *partitionRetries, rows []deliverylog.Delivery, now time.Time, due *[]deliverylog.Delivery) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, row := range rows {
		if row.NextAttemptAt.After(now) {
			x.scheduleLocked(p, *row.NextAttemptAt)
			return false
		}
		if _, queued := p.queued[row.ID]; !queued {
			p.queued[row.ID] = struct{}{}
			*due = append(*due, row)
		}
	}
	return true
}

// scheduleLocked makes the partition due at the time, if it is not due earlier.
func (x *retryIndex) scheduleLocked(p *partitionRetries, at time.Time) {
	if p.next.IsZero() || at.Before(p.next) {
		p.next = at
		x.wake.set()
	}
}
