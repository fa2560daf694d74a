package dispatch

import (
	"cmp"
	"context"
	"hash/maphash"
	"maps"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/failurelog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

const (
	waitingPage = 1000
	fewDueRows  = 32 // number of rows in the first read of collect, unless it continues a read; most reads find fewer due rows
	// pagesAtOnce limits the reads of one collect, because the rows of other partitions wait meanwhile.
	pagesAtOnce = 4
	// A tenant gets at most tenantDueRows rows of a partition into the queue. While maxDueRows rows of the partition are
	// queued, it gets at most fewQueued. So a tenant does not wait until all due rows of another tenant have been queued.
	tenantDueRows = 512
	maxDueRows    = 768
	fewQueued     = 16
	indexPause    = 200 * time.Millisecond
	maxTimerWait  = time.Hour
)

// waitingUnread never changes.
var waitingUnread = failurelog.Cause{Message: "The deliveries that wait for a retry cannot be read yet."}

// retryIndex is an index in memory of the rows that wait for a retry (StatusRetrying) in the partitions of this process. find
// returns the newest waiting delivery of an event to a recipient, so that a newer delivery can replace it. due returns the
// partitions that have due rows. When this process gets a partition, the waiting rows are loaded from the store.
type retryIndex struct {
	store    Store
	outages  *failurelog.Log
	observer Observer
	seed     maphash.Seed
	wake     signal
	loading  sync.Mutex // partitions are loaded one after the other

	mu         sync.Mutex
	partitions map[int]*partitionRetries
	entries    map[uint64]waitingDelivery // by the result of key
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
	loaded  chan struct{}
	next    time.Time            // the earliest due time of rows to be collected; zero: none
	queued  map[string]tenantKey // due rows in the sender's queue, by id
	tenants map[tenantKey]int    // number of rows in queued
	// Each row due before front is queued, or its tenant is in skipped. The same holds for the rows due at front, up to the
	// position after.
	front time.Time
	after string // cursor of the store; empty: no row that is due at front was read
	// skipped contains the tenants with due rows that are not queued, because these tenants had their share. refill searches
	// for these rows from the first due row to the last one. again contains the tenants that were skipped after refill began
	// with the first row.
	skipped, again map[tenantKey]struct{}
	refillAt       time.Time // when refill searches next, if a tenant in skipped has few rows in queued then; zero: no search is scheduled
	back           string    // cursor of the store at which refill continues; only for collect
}

// refillsLocked reports whether refillAt has passed and a tenant in skipped has few rows in queued (shortLocked). If refillAt
// has passed, refillsLocked sets it to the time of the next check.
func (p *partitionRetries) refillsLocked(now time.Time) bool {
	if p.refillAt.IsZero() || p.refillAt.After(now) {
		return false
	}
	p.refillAt = now.Add(indexPause)
	return len(p.shortLocked()) > 0
}

// dequeueLocked removes a row from queued.
func (p *partitionRetries) dequeueLocked(id string) {
	tenant, queued := p.queued[id]
	if !queued {
		return
	}
	delete(p.queued, id)
	if p.tenants[tenant]--; p.tenants[tenant] == 0 {
		delete(p.tenants, tenant)
	}
}

// shareLocked returns how many rows a tenant may have in queued.
func (p *partitionRetries) shareLocked() int {
	if len(p.queued) < maxDueRows {
		return tenantDueRows
	}
	return fewQueued
}

// shortLocked returns the tenants in skipped that have at most half of their share in queued.
func (p *partitionRetries) shortLocked() (short []tenantKey) {
	for tenant := range p.skipped {
		if p.tenants[tenant] <= p.shareLocked()/2 {
			short = append(short, tenant)
		}
	}
	return short
}

func newRetryIndex(store Store, outages *failurelog.Log, observer Observer) *retryIndex {
	return &retryIndex{store: store, outages: outages, observer: observer, seed: maphash.MakeSeed(), wake: make(signal, 1),
		partitions: make(map[int]*partitionRetries), entries: make(map[uint64]waitingDelivery)}
}

// assign adds a partition and starts to load it. The partition is removed when its ownership ends.
func (x *retryIndex) assign(owned Ownership) {
	p := &partitionRetries{Ownership: owned, loaded: make(chan struct{}), queued: make(map[string]tenantKey), tenants: make(map[tenantKey]int),
		skipped: make(map[tenantKey]struct{}), again: make(map[tenantKey]struct{})}
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

// owns reports whether this process owns the partition. It also returns false if the process was suspended for too long. Then
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
		rows, next, err := x.store.Waiting(ctx, partition, time.Time{}, after, waitingPage)
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

// isLoaded reports whether the partition is loaded, or not owned.
func (x *retryIndex) isLoaded(partition int) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	p := x.partitions[partition]
	if p == nil {
		return true
	}
	select {
	case <-p.loaded:
		return true
	default:
		return false
	}
}

// key returns a 64-bit hash of the subject (Delivery.Subject) and the recipient of a row. Collisions are very improbable. After
// a collision, replaceOlder never ends the waiting row, because it compares subject and recipient first. But if the waiting row
// is newer, the attempted row is skipped, because replaceOlder compares nothing: that would need a read of the store.
func (x *retryIndex) key(event, recipient string) uint64 {
	return maphash.Comparable(x.seed, [2]string{event, recipient})
}

// add adds a row that waits for a retry, and makes its partition due at the due time of the row. It removes the row from
// queued. If this process does not own the partition, add does nothing.
func (x *retryIndex) add(row *deliverylog.Delivery) {
	x.mu.Lock()
	defer x.mu.Unlock()
	p := x.partitions[row.Partition]
	if p == nil {
		return
	}
	p.dequeueLocked(row.ID)
	p.searchLocked(*row.NextAttemptAt)
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
		p.dequeueLocked(row.ID)
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
		p.dequeueLocked(row.ID)
		p.searchLocked(*row.NextAttemptAt)
		x.scheduleLocked(p, now.Add(indexPause))
	}
}

// find returns the newest waiting delivery of the event or notice to the recipient, and false if there is none.
func (x *retryIndex) find(event, recipient string) (waitingDelivery, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	found, ok := x.entries[x.key(event, recipient)]
	return found, ok
}

// due returns the loaded partitions that have due rows or must be refilled. If there are none, wait is the time until a row
// is due or refill must search, at most maxTimerWait.
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
		case p.Open.Err() != nil:
			continue
		case !p.next.IsZero() && !p.next.After(now) || p.refillsLocked(now):
			partitions, wait = append(partitions, p), 0
			continue
		}
		for _, at := range []time.Time{p.next, p.refillAt} {
			if !at.IsZero() {
				wait = min(wait, at.Sub(now))
			}
		}
	}
	return partitions, wait
}

// searchLocked makes the next collect begin at the due time, if it would begin later.
func (p *partitionRetries) searchLocked(due time.Time) {
	if !due.After(p.front) {
		p.front, p.after = due, ""
	}
}

// collect reads due rows of a partition that are not in the queue, adds them to queued and returns them. It reads the rows
// that have become due since the last call. Then it reads rows of tenants that were skipped and have few rows in the queue
// now. If there are many rows, it stops, and the next call continues.
func (x *retryIndex) collect(ctx context.Context, p *partitionRetries, now time.Time) (due []deliverylog.Delivery, err error) {
	x.mu.Lock()
	from, after := p.front, p.after
	p.next, p.front, p.after = time.Time{}, now, "" // before the read, because add may be called meanwhile with a row that is due
	x.mu.Unlock()
	limit := fewDueRows
	if after != "" {
		limit = shardSize
	}
	for pages, more := 1, true; more; pages, limit = pages+1, shardSize {
		rows, next, err := x.store.Waiting(ctx, p.Partition, from, after, limit)
		if err == nil {
			more = x.queue(p, rows, now, &due) && next != ""
			if after = next; more {
				from = *rows[len(rows)-1].NextAttemptAt
			}
		}
		pause := indexPause
		switch {
		case err != nil, more && len(due) >= maxDueRows:
		case more && pages == pagesAtOnce:
			pause = 0
		default:
			continue
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		if from.Before(p.front) {
			p.front, p.after = from, after
		}
		x.scheduleLocked(p, now.Add(pause))
		return due, err
	}
	more, err := x.refill(ctx, p, now, &due)
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case more:
		p.refillAt = now
	case len(p.skipped) > 0:
		p.refillAt = now.Add(indexPause)
	default:
		p.refillAt = time.Time{}
	}
	return due, err
}

// refill reads rows of tenants that were skipped, if one of these tenants has few rows in the queue. It continues where the
// last call stopped. At the end of the due rows, it removes the tenants from skipped that were not skipped again. It returns
// true if it stopped after pagesAtOnce reads, before it found shardSize rows.
func (x *retryIndex) refill(ctx context.Context, p *partitionRetries, now time.Time, due *[]deliverylog.Delivery) (more bool, err error) {
	x.mu.Lock()
	short := len(p.shortLocked())
	if p.back == "" {
		p.again = make(map[tenantKey]struct{})
	}
	x.mu.Unlock()
	if short == 0 {
		return false, nil
	}
	enough := len(*due) + shardSize
	for range pagesAtOnce {
		rows, next, err := x.store.Waiting(ctx, p.Partition, time.Time{}, p.back, shardSize)
		if err != nil {
			return false, err
		}
		p.back = next
		if !x.queue(p, rows, now, due) || next == "" {
			x.mu.Lock()
			defer x.mu.Unlock()
			p.back, p.skipped = "", p.again
			return false, nil
		}
		if len(*due) >= enough {
			return false, nil
		}
	}
	return true, nil
}

// queue adds the due rows that are not in the queue to queued and to due. If a tenant has its share, queue adds the tenant to
// skipped and again instead of the row. It returns false if one of the rows is not due yet. Then it schedules the partition
// for the due time of this row.
func (x *retryIndex) queue(p *partitionRetries, rows []deliverylog.Delivery, now time.Time, due *[]deliverylog.Delivery) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range rows {
		row := &rows[i]
		if row.NextAttemptAt.After(now) {
			x.scheduleLocked(p, *row.NextAttemptAt)
			return false
		}
		if _, queued := p.queued[row.ID]; queued {
			continue
		}
		tenant := tenantKey{row.Organization, row.Channel, cmp.Or(row.Service, row.Channel.RecipientService())}
		if p.tenants[tenant] >= p.shareLocked() {
			p.skipped[tenant], p.again[tenant] = struct{}{}, struct{}{}
			continue
		}
		p.queued[row.ID] = tenant
		p.tenants[tenant]++
		*due = append(*due, *row)
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
