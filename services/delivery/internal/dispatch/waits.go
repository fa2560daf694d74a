package dispatch

import (
	"context"
	"hash/maphash"
	"log/slog"
	"sync"
	"time"
)

const (
	waitingPage   = 1000
	retriesAtMost = 512 // of one partition in the queue at the same time
	loadPause     = 200 * time.Millisecond
)

// waits knows which deliveries of the partitions owned wait for another attempt: which one of
// an event and recipient, so that a newer one can take its place, and when the next
// of a partition is due. It is filled from the store whenever partitions are assigned.
type waits struct {
	store Store
	log   *slog.Logger
	seed  maphash.Seed
	wake  chan struct{}

	mu       sync.Mutex
	portions map[int]*portion
	entries  map[uint64]waiting
	observer Observer
}

// waiting is one such delivery, by the hash of its event and recipient. A collision
// is harmless: the row itself is asked before it is changed.
type waiting struct {
	id        string
	sequence  int64
	partition int
}

// portion is one partition's part.
type portion struct {
	ctx    context.Context
	loaded chan struct{}
	next   time.Time           // when the earliest is due; zero: none waits
	queued map[string]struct{} // due, and in the sender's hands
}

func newWaits(store Store, log *slog.Logger, observer Observer) *waits {
	return &waits{store: store, log: log, seed: maphash.MakeSeed(), wake: make(chan struct{}, 1),
		portions: make(map[int]*portion), entries: make(map[uint64]waiting), observer: observer}
}

// assigned takes note of the partitions owned from now on until ctx ends.
func (w *waits) assigned(ctx context.Context, partitions []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.portions = make(map[int]*portion, len(partitions))
	w.entries = make(map[uint64]waiting)
	w.observer.Waiting(0)
	for _, partition := range partitions {
		w.portions[partition] = &portion{ctx: ctx, loaded: make(chan struct{}), queued: make(map[string]struct{})}
	}
	go w.load(ctx, partitions, w.portions)
}

// load reads what waits in the partitions, again and again until it is read.
func (w *waits) load(ctx context.Context, partitions []int, portions map[int]*portion) {
	for _, partition := range partitions {
		for ctx.Err() == nil {
			err := w.loadOne(ctx, partition, portions[partition])
			if err == nil {
				break
			}
			w.log.WarnContext(ctx, "waiting to read the deliveries that wait", "partition", partition, "error", err)
			rest(ctx, ctx, loadPause)
		}
	}
}

func (w *waits) loadOne(ctx context.Context, partition int, p *portion) error {
	after := ""
	for first := true; first || after != ""; first = false {
		rows, next, err := w.store.Waiting(ctx, partition, after, waitingPage)
		if err != nil {
			return err
		}
		for i := range rows {
			w.add(&rows[i])
		}
		after = next
	}
	close(p.loaded)
	w.rouse()
	return nil
}

// ready waits until what waits in the partition is known.
func (w *waits) ready(ctx context.Context, partition int) error {
	w.mu.Lock()
	p := w.portions[partition]
	w.mu.Unlock()
	if p == nil {
		return nil
	}
	select {
	case <-p.loaded:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *waits) rouse() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *waits) key(event, recipient string) uint64 {
	var h maphash.Hash
	h.SetSeed(w.seed)
	h.WriteString(event)
	h.WriteByte(0)
	h.WriteString(recipient)
	return h.Sum64()
}

// add notes a row that waits.
func (w *waits) add(row *Delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.portions[row.Partition]
	if p == nil {
		return
	}
	delete(p.queued, row.ID)
	if p.next.IsZero() || row.NextAttemptAt.Before(p.next) {
		p.next = *row.NextAttemptAt
		w.rouse()
	}
	key := w.key(row.EventID, row.Recipient)
	if known, ok := w.entries[key]; !ok || known.sequence <= row.Sequence {
		w.entries[key] = waiting{row.ID, row.Sequence, row.Partition}
	}
	w.observer.Waiting(len(w.entries))
}

// remove forgets a row that does not wait any more.
func (w *waits) remove(row *Delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.portions[row.Partition]; p != nil {
		delete(p.queued, row.ID)
	}
	key := w.key(row.EventID, row.Recipient)
	if w.entries[key].id == row.ID {
		delete(w.entries, key)
		w.observer.Waiting(len(w.entries))
	}
}

// release gives up a due row that was not attempted: the store is asked again after a while.
func (w *waits) release(row *Delivery, again time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.portions[row.Partition]; p != nil {
		delete(p.queued, row.ID)
		p.soonest(again)
		w.rouse()
	}
}

// of is the delivery of the event that waits for the recipient.
func (w *waits) of(event, recipient string) (waiting, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	found, ok := w.entries[w.key(event, recipient)]
	return found, ok
}

// due lists the partitions in which something is due, and how long until the next: 0 when there are any.
func (w *waits) due(now time.Time) (partitions []int, pause time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	pause = time.Hour
	for partition, p := range w.portions {
		select {
		case <-p.loaded:
		default:
			continue
		}
		switch {
		case p.next.IsZero() || p.ctx.Err() != nil:
		case p.next.After(now):
			pause = min(pause, p.next.Sub(now))
		default:
			partitions, pause = append(partitions, partition), 0
		}
	}
	return partitions, pause
}

// collect takes the rows of a partition that are due.
func (w *waits) collect(ctx context.Context, partition int, now time.Time) ([]Delivery, context.Context, error) {
	w.mu.Lock()
	p := w.portions[partition]
	if p == nil || len(p.queued) >= retriesAtMost {
		if p != nil {
			p.next = now.Add(loadPause)
		}
		w.mu.Unlock()
		return nil, nil, nil
	}
	p.next = time.Time{}
	limit := len(p.queued) + shardSize + 1
	w.mu.Unlock()
	rows, _, err := w.store.Waiting(ctx, partition, "", limit)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		p.soonest(now.Add(loadPause))
		return nil, nil, err
	}
	var due []Delivery
	for _, row := range rows {
		if row.NextAttemptAt.After(now) {
			p.soonest(*row.NextAttemptAt)
			return due, p.ctx, nil
		}
		if _, taken := p.queued[row.ID]; !taken {
			p.queued[row.ID] = struct{}{}
			due = append(due, row)
		}
	}
	if len(rows) == limit {
		p.soonest(now.Add(loadPause))
	}
	return due, p.ctx, nil
}

func (p *portion) soonest(at time.Time) {
	if p.next.IsZero() || at.Before(p.next) {
		p.next = at
	}
}
