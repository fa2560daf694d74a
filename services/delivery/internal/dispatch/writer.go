package dispatch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/failurelog"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// A kill -9 repeats at most 208 quick attempts: those in fast slots (maxFastSlots) and one batch of results
// (batchRows). A result that is not in a batch yet keeps its slot. A kill -9 may also repeat the attempts in slow
// slots. The limit for repetitions is 256. The difference is for attempts that are slow only because the machine is
// busy, for example after a start, when each attempt opens a connection.
const (
	batchRows = 80                   // maximum number of first attempts in a batch
	batchWait = 5 * time.Millisecond // how long a batch waits for further results
	// Up to waitingBatches batches of outcomes wait for outcomeWait and are published together. Outcomes are not urgent, and
	// a message with many outcomes costs the broker about as much as a message with one.
	waitingBatches = 32
	outcomeWait    = 100 * time.Millisecond
	writePause     = 100 * time.Millisecond // pause after the first failure; doubles with each failure
	maxWritePause  = 5 * time.Second
)

// batchWriter stores the results of first attempts in batches, as blocks and rows. Then it publishes the outcomes of
// the ended deliveries, also in batches.
type batchWriter struct {
	Parts
	owned   func(partition int) bool
	stored  func(*member, *deliverylog.Delivery)      // called when a result is durable, or with nil if it is not stored
	finish  func(s *shard, members int, durable bool) // called after stored: when the outcomes are published, or at once for a result that is not stored
	rows    chan newRow
	batches chan outcomeBatch
	done    chan struct{}
}

// newRow is a result to be stored.
type newRow struct {
	row    *deliverylog.Delivery
	member *member
}

// outcomeBatch has outcomes to be published. members is the number of members, or of holds (queue.hold), of each shard that
// publish finishes afterwards.
type outcomeBatch struct {
	outcomes []topic.Outcome
	members  map[*shard]int
}

// run stores results and publishes outcomes until close is called. After ctx has ended, it stores and publishes
// nothing, and only calls stored and finish.
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

// close waits until all results are stored and all outcomes are published. No other method may be called afterwards.
func (w *batchWriter) close() {
	close(w.rows)
	<-w.done
}

// collect returns a batch: first, and the values received from more within wait. The batch has at most limit values.
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

// write stores a batch of results and sends their outcomes to publish.
func (w *batchWriter) write(ctx context.Context, batch []newRow) {
	inserted := make(map[string]bool)
	var blocks []deliverylog.Block
	failed := w.persist(ctx, "Deliveries cannot be stored yet.", func() error {
		kept := w.release(batch)
		switch {
		case blocks == nil:
			blocks = deliverylog.BlocksOf(results(kept))
		case len(kept) < len(batch): // new blocks would have new ids, and the try before may have stored these
			blocks = slices.DeleteFunc(blocks, func(b deliverylog.Block) bool {
				return !slices.ContainsFunc(kept, func(n newRow) bool { return n.row.Partition == b.Partition })
			})
		}
		batch = kept
		return w.insert(ctx, batch, blocks, inserted)
	})
	out := outcomeBatch{members: make(map[*shard]int)}
	var ended []*deliverylog.Delivery
	for _, n := range batch {
		row, err := n.row, failed
		if err == nil && !row.InBlock() && !inserted[row.ID] { // the row was stored before
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

// release returns the results whose partitions this process still owns. It drops the other results, because the new
// owner of the partition makes these deliveries. It drops all results of a partition or none.
func (w *batchWriter) release(batch []newRow) []newRow {
	kept, owned := make([]newRow, 0, len(batch)), make(map[int]bool)
	for _, n := range batch {
		if _, asked := owned[n.row.Partition]; !asked {
			owned[n.row.Partition] = w.owned(n.row.Partition)
		}
		if owned[n.row.Partition] {
			kept = append(kept, n)
			continue
		}
		w.stored(n.member, nil)
		w.finish(n.member.shard, 1, false)
	}
	return kept
}

func results(batch []newRow) []*deliverylog.Delivery {
	return find.Values(batch, func(n newRow) *deliverylog.Delivery { return n.row })
}

// insert stores the batch. blocks contain those deliveries of the batch for which InBlock is true. insert adds to inserted
// the ids of the rows that were not stored before.
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

// read returns a stored row. It retries until the store responds or ctx ends. It returns fault.NotFound if the row is not
// stored any more.
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

// settle ends a row that waits for a retry. change ends the row that it gets, or returns false if the row must not end.
// settle returns the stored row, also if the row does not wait or must not end.
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

// advance replaces the state of a row by next, if the row waits for a retry and the number of its attempts is number. It
// returns the stored row. If number is not 0, advance first stores a log with this number and the state next. A log with this
// number may be stored already, by a process that was killed before it changed the row, or by a faster process. Then the row
// gets the state of the stored log.
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

// amend changes a stored row, if change returns true. It returns the stored row. It retries until the store succeeds or returns
// fault.NotFound, or until ctx ends.
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

// publish publishes outcomes until the channel batches is closed.
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

// persist calls try until try succeeds or returns fault.NotFound, or until ctx ends.
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
