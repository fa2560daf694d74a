package dispatch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/failurelog"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// A kill -9 repeats at most the attempts in fast slots (maxFastSlots) and a batch of results (batchRows): together 208. A
// result that no batch has taken keeps its slot. Beside them it may repeat the attempts in slow slots. Up to the bound of
// 256 there is room for attempts that only a busy machine makes slow, as after a start, when each attempt opens a
// connection.
const (
	batchRows = 80                   // number of first attempts in a batch
	batchWait = 5 * time.Millisecond // how long a batch waits for more results
	// Outcomes are not urgent, and a message with many outcomes costs the broker about as much as a message with one.
	waitingBatches = 32
	outcomeWait    = 100 * time.Millisecond
	writePause     = 100 * time.Millisecond // after the first failure; it doubles with each failure
	maxWritePause  = 5 * time.Second
)

// batchWriter stores the results of first attempts in batches: as blocks, and as rows. Then it publishes the outcomes of
// the ended deliveries, in batches too.
type batchWriter struct {
	Parts
	owned   func(partition int) bool
	stored  func(*member, *deliverylog.Delivery)      // called when a result is durable; the row is nil if it is not stored
	finish  func(s *shard, members int, durable bool) // called after stored, when the outcomes are published
	rows    chan newRow
	batches chan outcomeBatch
	done    chan struct{}
}

// newRow is a result to be stored.
type newRow struct {
	row    *deliverylog.Delivery
	member *member
}

// outcomeBatch holds outcomes to be published, and how many members of each shard end with that.
type outcomeBatch struct {
	outcomes []topic.Outcome
	members  map[*shard]int
}

// run stores results and publishes outcomes until close is called. After ctx has ended it only calls back.
func (w *batchWriter) run(ctx context.Context) {
	defer close(w.done)
	var publisher sync.WaitGroup
	publisher.Go(func() { w.publish(ctx) })
	for first := range w.rows {
		w.write(ctx, collect(first, w.rows, batchRows, batchWait))
	}
	close(w.batches)
	publisher.Wait()
}

// close waits until all results are stored and all outcomes are published. No call of the other methods may
// follow.
func (w *batchWriter) close() {
	close(w.rows)
	<-w.done
}

// collect returns a batch of first and the values that more delivers within wait, at most limit in all.
func collect[T any](first T, more <-chan T, limit int, wait time.Duration) []T {
	batch := append(make([]T, 0, limit), first)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for len(batch) < limit {
		select {
		case next, ok := <-more:
			if !ok {
				return batch
			}
			batch = append(batch, next)
		case <-timer.C:
			return batch
		}
	}
	return batch
}

// write stores a batch of results and hands their outcomes to publish.
func (w *batchWriter) write(ctx context.Context, batch []newRow) {
	inserted := make(map[string]bool)
	var blocks []deliverylog.Block
	failed := w.persist(ctx, "Deliveries cannot be stored yet.", func() error {
		if kept := w.release(batch); blocks == nil || len(kept) < len(batch) {
			batch, blocks = kept, deliverylog.BlocksOf(results(kept))
		}
		return w.insert(ctx, batch, blocks, inserted)
	})
	out := outcomeBatch{members: make(map[*shard]int)}
	var ended []*deliverylog.Delivery
	for _, n := range batch {
		row, err := n.row, failed
		if err == nil && !row.InBlock() && !inserted[row.ID] { // it was stored before
			var known deliverylog.Delivery
			known, err = w.read(ctx, row.ID)
			row = &known
		}
		if err != nil {
			w.stored(n.member, nil)
			w.finish(n.member.shard, 1, false)
			continue
		}
		w.stored(n.member, row)
		ended = append(ended, row)
		out.members[n.member.shard]++
	}
	out.outcomes = deliverylog.Outcomes(ended)
	w.batches <- out
}

// release returns the results of this process's partitions. It drops the other results: the new owner of their partition
// makes those deliveries.
func (w *batchWriter) release(batch []newRow) []newRow {
	kept := make([]newRow, 0, len(batch))
	for _, n := range batch {
		if w.owned(n.row.Partition) {
			kept = append(kept, n)
			continue
		}
		w.stored(n.member, nil)
		w.finish(n.member.shard, 1, false)
	}
	return kept
}

func results(batch []newRow) []*deliverylog.Delivery {
	out := make([]*deliverylog.Delivery, len(batch))
	for i, n := range batch {
		out[i] = n.row
	}
	return out
}

// insert stores the batch, of which blocks are the deliveries that are inBlock. It adds the ids of the new rows to
// inserted.
func (w *batchWriter) insert(ctx context.Context, batch []newRow, blocks []deliverylog.Block, inserted map[string]bool) error {
	if err := w.saveRequests(ctx, batch); err != nil {
		return err
	}
	var rows []deliverylog.Delivery
	for i := range batch {
		if !batch[i].row.InBlock() {
			rows = append(rows, *batch[i].row)
		}
	}
	if len(blocks) > 0 {
		if err := w.Store.InsertBlocks(ctx, blocks); err != nil {
			return err
		}
	}
	if len(rows) == 0 {
		return nil
	}
	stored, err := w.Store.Insert(ctx, rows)
	for i := range stored {
		inserted[stored[i].ID] = true
	}
	return err
}

// saveRequests stores the requests of the batch that are not stored yet.
func (w *batchWriter) saveRequests(ctx context.Context, batch []newRow) error {
	var requests []deliverylog.Request
	for _, n := range batch {
		if request := n.member.request; request != nil && !n.member.shard.change.isLogged(n.row.Request) &&
			!slices.ContainsFunc(requests, func(r deliverylog.Request) bool { return r.ID == request.ID }) {
			requests = append(requests, *request)
		}
	}
	if len(requests) == 0 {
		return nil
	}
	if err := w.Store.SaveRequests(ctx, requests); err != nil {
		return err
	}
	for _, n := range batch {
		if n.member.request != nil {
			n.member.shard.change.setLogged(n.row.Request)
			n.member.request = nil
		}
	}
	return nil
}

// read returns a stored row.
func (w *batchWriter) read(ctx context.Context, id string) (row deliverylog.Delivery, err error) {
	err = w.persist(ctx, "A delivery cannot be read yet.", func() error {
		rows, err := w.Store.Deliveries(ctx, []string{id})
		if err == nil && len(rows) == 0 {
			err = fault.New(fault.NotFound, "There is no such delivery.") // deleted after the retention time
		}
		if err == nil {
			row = rows[0]
		}
		return err
	})
	return row, err
}

// settle ends a row that waits for a retry, unless change returns false. change gets the row and sets the state after
// the end. settle returns the stored row.
func (w *batchWriter) settle(ctx context.Context, id string, change func(*deliverylog.Delivery) bool) (deliverylog.Delivery, error) {
	for {
		known, err := w.read(ctx, id)
		if err != nil {
			return deliverylog.Delivery{}, err
		}
		next := known
		next.Attempts = slices.Clip(next.Attempts)
		if next.Status != deliverylog.StatusRetrying || !change(&next) {
			return known, nil
		}
		stored, err := w.advance(ctx, len(known.Attempts), next)
		if err != nil || stored.Status != deliverylog.StatusRetrying {
			return stored, err
		}
	}
}

// advance makes next the state of a row that waits for a retry after the number of attempts, and returns the stored row.
// If an attempt was made before, advance stores the log of next first. The first log with a number wins: if another log
// has it, because a process was killed before it changed the row, or because another process is faster, that log is the
// next state.
func (w *batchWriter) advance(ctx context.Context, number int, next deliverylog.Delivery) (deliverylog.Delivery, error) {
	if number > 0 {
		log := next.AsLog(number)
		err := w.persist(ctx, "A log cannot be stored yet.", func() error {
			stored, err := w.Store.Insert(ctx, []deliverylog.Delivery{log})
			if err == nil && len(stored) == 0 {
				stored, err = w.Store.Deliveries(ctx, []string{log.ID})
			}
			if err == nil && len(stored) > 0 {
				next = stored[0]
			}
			return err
		})
		if err != nil {
			return deliverylog.Delivery{}, err
		}
	}
	return w.amend(ctx, topic.LogID(next.ID, 0), func(d *deliverylog.Delivery) bool { return d.Advance(number, &next) })
}

// amend changes a stored row unless change returns false. It retries until the store succeeds or ctx ends.
func (w *batchWriter) amend(ctx context.Context, id string, change func(*deliverylog.Delivery) bool) (deliverylog.Delivery, error) {
	var row deliverylog.Delivery
	err := w.persist(ctx, "A delivery cannot be changed yet.", func() (err error) {
		row, err = w.Store.Amend(ctx, id, func(d *deliverylog.Delivery) (*topic.Outcome, error) {
			if !change(d) {
				return nil, fault.ErrUnchanged
			}
			return d.Outcome(), nil
		})
		return err
	})
	return row, err
}

// publish publishes the outcomes until the channel is closed.
func (w *batchWriter) publish(ctx context.Context) {
	for first := range w.batches {
		batches := collect(first, w.batches, waitingBatches, outcomeWait)
		var outcomes []topic.Outcome
		for _, b := range batches {
			outcomes = append(outcomes, b.outcomes...)
		}
		var err error
		if len(outcomes) > 0 {
			err = w.persist(ctx, "Outcomes cannot be published yet.", func() error { return w.Bus.Outcomes(ctx, outcomes) })
		}
		for _, b := range batches {
			for s, members := range b.members {
				w.finish(s, members, err == nil)
			}
		}
	}
}

// persist calls try until it succeeds, finds no record, or ctx ends.
func (w *batchWriter) persist(ctx context.Context, complaint string, try func() error) error {
	pause, cause := writePause, failurelog.Cause{Message: complaint}
	for {
		err := try()
		if err == nil || fault.Is(err, fault.NotFound) {
			w.outages.Over(ctx, cause)
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
		w.outages.Failed(ctx, cause, err)
		rest(ctx, ctx, pause)
		pause = min(2*pause, maxWritePause)
	}
}
