package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	commitRows  = 1024
	commitWait  = 10 * time.Millisecond // how long the first row of a batch waits for others
	commitPause = 100 * time.Millisecond
	// Nobody waits for an outcome; a batch of them costs a broker about what one does.
	told     = 4096
	tellWait = 100 * time.Millisecond
)

// ledger makes first attempts durable, many rows in one write, and then publishes
// the outcomes of those that ended, many in one batch. It ends when its input is closed.
type ledger struct {
	store  Store
	bus    Bus
	log    *slog.Logger
	rows   chan entry
	ended  chan telling
	done   chan struct{}
	closed sync.Once
}

// entry is a row to be kept.
type entry struct {
	row Delivery
	// kept is called when the row is durable, with what is stored: another's, if that was first;
	// with nil when it could not be made durable before the stop.
	kept func(stored *Delivery)
	// told is called after kept, when the outcome is published too or there is none.
	// False: it could not be done before the stop.
	told func(durable bool)
}

// telling is an outcome to be published.
type telling struct {
	outcome *topic.Outcome
	told    func(durable bool)
}

func newLedger(store Store, bus Bus, log *slog.Logger) *ledger {
	return &ledger{store: store, bus: bus, log: log,
		rows: make(chan entry, flowLimit), ended: make(chan telling, told), done: make(chan struct{})}
}

// run works until close was called and everything is written, or ctx ends.
func (l *ledger) run(ctx context.Context) {
	defer close(l.done)
	var publisher sync.WaitGroup
	publisher.Go(func() { l.publish(ctx) })
	for first := range l.rows {
		l.keep(ctx, gather(first, l.rows, commitRows, commitWait))
	}
	close(l.ended)
	publisher.Wait()
}

// close says that nothing is added any more, and waits for what was.
func (l *ledger) close() {
	l.closed.Do(func() { close(l.rows) })
	<-l.done
}

func (l *ledger) add(e entry) { l.rows <- e }

// tell publishes an outcome whose row is durable already.
func (l *ledger) tell(outcome *topic.Outcome, told func(durable bool)) {
	l.ended <- telling{outcome, told}
}

// gather takes what is there, and what comes within wait of the first.
func gather[T any](first T, more <-chan T, limit int, wait time.Duration) []T {
	batch := []T{first}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	over := false
	for len(batch) < limit {
		select { // what is there goes before the time
		case next, ok := <-more:
			if !ok {
				return batch
			}
			batch = append(batch, next)
			continue
		default:
		}
		if over {
			return batch
		}
		select {
		case next, ok := <-more:
			if !ok {
				return batch
			}
			batch = append(batch, next)
		case <-timer.C:
			over = true
		}
	}
	return batch
}

// keep writes a batch, until it succeeds or ctx ends.
func (l *ledger) keep(ctx context.Context, batch []entry) {
	rows := make([]Delivery, len(batch))
	for i := range batch {
		rows[i] = batch[i].row
	}
	fresh := make(map[string]bool, len(rows))
	err := l.persist(ctx, "deliveries cannot be recorded yet", func() error {
		stored, err := l.store.Insert(ctx, rows)
		for i := range stored {
			fresh[stored[i].ID] = true
		}
		return err
	})
	if err != nil {
		for _, e := range batch {
			e.kept(nil)
			e.told(false)
		}
		return
	}
	for _, e := range batch {
		row, err := e.row, error(nil)
		if !fresh[row.ID] {
			row, err = l.reconcile(ctx, row)
		}
		if err != nil {
			e.kept(nil)
			e.told(false)
			continue
		}
		e.kept(&row)
		l.ended <- telling{row.outcome(), e.told}
	}
}

// reconcile is for a row that another process recorded first, around a rebalance: the first
// stands, except that what was delivered is not tried again.
func (l *ledger) reconcile(ctx context.Context, row Delivery) (Delivery, error) {
	var stored Delivery
	err := l.persist(ctx, "a delivery cannot be recorded yet", func() (err error) {
		stored, err = l.store.Amend(ctx, row.ID, func(d *Delivery) (*topic.Outcome, error) {
			if d.Status != StatusRetrying || row.Status != StatusDelivered {
				return nil, fault.ErrUnchanged
			}
			d.Attempts = append(d.Attempts, row.Attempts...)
			d.end(StatusDelivered, "", *row.EndedAt)
			return d.outcome(), nil
		})
		return err
	})
	return stored, err
}

// publish tells the outcomes until there are no more.
func (l *ledger) publish(ctx context.Context) {
	for first := range l.ended {
		batch := gather(first, l.ended, told, tellWait)
		var outcomes []topic.Outcome
		for _, t := range batch {
			if t.outcome != nil {
				outcomes = append(outcomes, *t.outcome)
			}
		}
		err := error(nil)
		if len(outcomes) > 0 {
			err = l.persist(ctx, "outcomes cannot be published yet", func() error { return l.bus.Outcomes(ctx, outcomes) })
		}
		for _, t := range batch {
			t.told(err == nil)
		}
	}
}

// persist tries until try succeeds or ctx ends.
func (l *ledger) persist(ctx context.Context, complaint string, try func() error) error {
	pause := commitPause
	for {
		err := try()
		if err == nil || fault.Is(err, fault.NotFound) {
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
		l.log.WarnContext(ctx, complaint, "error", err)
		rest(ctx, ctx, pause)
		pause = min(2*pause, openLonger)
	}
}
