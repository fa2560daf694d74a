package dispatch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	unstoredRows = 4096 // rows that wait for a batch
	batchRows    = 1024
	batchWait    = 10 * time.Millisecond // how long a batch of rows waits for more rows
	// Outcomes are not urgent, and for the broker a batch of them costs about as much as one.
	batchOutcomes = 4096
	outcomeWait   = 100 * time.Millisecond
	writePause    = 100 * time.Millisecond // after the first failure; it doubles with each failure
	maxWritePause = 5 * time.Second
)

// batchWriter stores the rows of first attempts in batches. Then it publishes the outcomes of the ended
// deliveries, in batches too.
type batchWriter struct {
	Parts
	stored   func(*member, *Delivery) // called when a row is durable; the row is nil after an interruption
	finish   func(*shard, bool)       // called after stored, when the outcome is published; false after an interruption
	rows     chan newRow
	outcomes chan newOutcome
	done     chan struct{}
}

// newRow is a row to be stored.
type newRow struct {
	row    Delivery
	member *member
}

// newOutcome is an outcome to be published, or nil.
type newOutcome struct {
	outcome *topic.Outcome
	shard   *shard
}

// run stores rows and publishes outcomes until close is called. After ctx has ended it only calls back.
func (w *batchWriter) run(ctx context.Context) {
	defer close(w.done)
	var publisher sync.WaitGroup
	publisher.Go(func() { w.publish(ctx) })
	for first := range w.rows {
		w.write(ctx, collect(first, w.rows, batchRows, batchWait))
	}
	close(w.outcomes)
	publisher.Wait()
}

// close waits until all rows are stored and all outcomes are published. No call of the other methods may
// follow.
func (w *batchWriter) close() {
	close(w.rows)
	<-w.done
}

// collect returns a batch of first and the values that more delivers within wait, at most limit in all.
func collect[T any](first T, more <-chan T, limit int, wait time.Duration) []T {
	batch := []T{first}
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

// write stores a batch of rows and hands their outcomes to publish.
func (w *batchWriter) write(ctx context.Context, batch []newRow) {
	rows := make([]Delivery, len(batch))
	for i := range batch {
		rows[i] = batch[i].row
	}
	inserted := make(map[string]bool, len(rows))
	failed := w.persist(ctx, "Deliveries cannot be stored yet.", func() error {
		if err := w.saveRequests(ctx, batch); err != nil {
			return err
		}
		stored, err := w.Store.Insert(ctx, rows)
		for i := range stored {
			inserted[stored[i].ID] = true
		}
		return err
	})
	for _, n := range batch {
		row, err := n.row, failed
		if err == nil && !inserted[row.ID] {
			row, err = w.merge(ctx, row)
		}
		if err != nil {
			w.stored(n.member, nil)
			w.finish(n.member.shard, false)
			continue
		}
		w.stored(n.member, &row)
		w.outcomes <- newOutcome{row.outcome(), n.member.shard}
	}
}

// merge returns the row that another process stored first under the id of row, during a rebalance. If row is delivered and
// the stored row waits for a retry, merge makes the stored row delivered and appends row's attempts. Otherwise the
// stored row does not change.
func (w *batchWriter) merge(ctx context.Context, row Delivery) (Delivery, error) {
	return w.settle(ctx, row.ID, func(d *Delivery) bool {
		if row.Status != StatusDelivered {
			return false
		}
		attempts := append(d.Attempts, row.Attempts...)
		d.DashboardID, d.URLHash, d.URLDisplay, d.SentAt = row.DashboardID, row.URLHash, row.URLDisplay, row.SentAt
		d.MaxAttempts, d.Request, d.Response = row.MaxAttempts, row.Request, row.Response
		d.end(StatusDelivered, "", *row.EndedAt)
		d.Attempts = attempts
		return true
	})
}

// settle ends a row that waits for a retry, unless change returns false. change gets the row and sets the state after
// the end. settle returns the stored row.
func (w *batchWriter) settle(ctx context.Context, id string, change func(*Delivery) bool) (Delivery, error) {
	for {
		var rows []Delivery
		err := w.persist(ctx, "A delivery cannot be read yet.", func() (err error) {
			rows, err = w.Store.Deliveries(ctx, []string{id})
			return err
		})
		if err == nil && len(rows) == 0 {
			err = fault.New(fault.NotFound, "There is no such delivery.") // deleted after the retention time
		}
		if err != nil {
			return Delivery{}, err
		}
		next := rows[0]
		next.Attempts = slices.Clip(next.Attempts)
		if next.Status != StatusRetrying || !change(&next) {
			return rows[0], nil
		}
		stored, err := w.advance(ctx, len(rows[0].Attempts), next)
		if err != nil || stored.Status != StatusRetrying {
			return stored, err
		}
	}
}

// advance makes next the state of a row that waits for a retry after the number of attempts, and returns the stored row.
// If an attempt was made before, advance stores the log of next first. The first log with a number wins: if another log
// has it, because a process was killed before it changed the row, or because another process is faster, that log is the
// next state.
func (w *batchWriter) advance(ctx context.Context, number int, next Delivery) (Delivery, error) {
	if number > 0 {
		log := next.asLog(number)
		err := w.persist(ctx, "A log cannot be stored yet.", func() error {
			stored, err := w.Store.Insert(ctx, []Delivery{log})
			if err == nil && len(stored) == 0 {
				stored, err = w.Store.Deliveries(ctx, []string{log.ID})
			}
			if err == nil && len(stored) > 0 {
				next = stored[0]
			}
			return err
		})
		if err != nil {
			return Delivery{}, err
		}
	}
	return w.amend(ctx, topic.LogID(next.ID, 0), func(d *Delivery) bool { return d.advance(number, &next) })
}

// amend changes a stored row unless change returns false. It retries until the store succeeds or ctx ends.
func (w *batchWriter) amend(ctx context.Context, id string, change func(*Delivery) bool) (Delivery, error) {
	var row Delivery
	err := w.persist(ctx, "A delivery cannot be changed yet.", func() (err error) {
		row, err = w.Store.Amend(ctx, id, func(d *Delivery) (*topic.Outcome, error) {
			if !change(d) {
				return nil, fault.ErrUnchanged
			}
			return d.outcome(), nil
		})
		return err
	})
	return row, err
}

// publish publishes the outcomes until the channel is closed.
func (w *batchWriter) publish(ctx context.Context) {
	for first := range w.outcomes {
		batch := collect(first, w.outcomes, batchOutcomes, outcomeWait)
		var outcomes []topic.Outcome
		for _, n := range batch {
			if n.outcome != nil {
				outcomes = append(outcomes, *n.outcome)
			}
		}
		var err error
		if len(outcomes) > 0 {
			err = w.persist(ctx, "Outcomes cannot be published yet.", func() error { return w.Bus.Outcomes(ctx, outcomes) })
		}
		for _, n := range batch {
			w.finish(n.shard, err == nil)
		}
	}
}

// persist calls try until it succeeds, finds no record, or ctx ends.
func (w *batchWriter) persist(ctx context.Context, complaint string, try func() error) error {
	pause := writePause
	for {
		err := try()
		if err == nil || fault.Is(err, fault.NotFound) {
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
		w.Log.WarnContext(ctx, complaint, "error", err)
		rest(ctx, ctx, pause)
		pause = min(2*pause, maxWritePause)
	}
}
