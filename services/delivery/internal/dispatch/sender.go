package dispatch

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/cache"
	"github.com/bellbuoy/bellbuoy/libs/failurelog"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/slots"
)

const (
	stopTimeout = 15 * time.Second // time that deliveries in progress have after the stop
	leaseMargin = 2 * time.Second  // added to the time limit of an attempt; a lease ends after both

	fastPerCore  = 64  // fast slots for each processor core; with more, attempts wait for the processor and delay other work
	maxFastSlots = 128 // maximum number of fast slots; see batchRows
	slowSlots    = 1024
	fastTime     = deliverylog.MaxQuick  // how long an attempt may use a fast slot
	overtakeTime = 75 * time.Millisecond // how long an attempt that many others have overtaken may use a fast slot
	// overtakers is the number of released slots, for each fast slot, after which an attempt counts as overtaken. With a lower
	// number, attempts would move to slow slots early on a busy machine, and other attempts would start in their fast slots.
	// Then a kill -9 could repeat more attempts than the limit.
	overtakers = 8
)

// Sender sends the deliveries of shards, and retries deliveries that are due.
//
// The names of its goroutines are in brackets:
//
//	Kafka: Take(shard)          [retry]: rows that are due, grouped into shards
//	        \                      /        ^
//	         v                    v         |
//	queue: per organization, channel and service, the requeued members, then the shards
//	  |      shard: closed -> opening -> open -> exhausted -> complete: Work.Done or Abandon
//	  |               ^ [openGroup]               |  opening loads the change, drops deliveries that are
//	  |               +---- stale, or failed -----+  stored, and resolves the destinations, for some shards of a change at once
//	  v
//	[pump]: waits for a fast slot and a member, then locks the recipient
//	  |       recipient locked: the member waits in recipientLocks, without a slot
//	  v
//	[deliverAll, one for each slot]: deliver
//	  |  postponed: requeued after a pause; keeps the lock
//	  |  interrupted: abandoned; its shard or row comes again
//	  |  first attempt                              retry
//	  v                                             v
//	[batchWriter.run]: inserts blocks and rows    Store.Amend: changes the row; its outbox
//	  |                                           publishes the outcome
//	  |  durable: the lock is free; the next member of the recipient is requeued
//	  |           the row waits for a retry: added to retryIndex ----> [retry]
//	  v
//	[batchWriter.publish]: publishes outcomes, then finishes the member of the shard
//
// If deliver runs for more than fastTime, its slot becomes slow. Run starts pump, retry and batchWriter. At the stop,
// pump and retry end first, then the queue, then deliver, then batchWriter.
type Sender struct {
	Parts
	queue     *queue
	locks     recipientLocks
	slots     slots.Slots
	receivers receivers
	paces     paces
	retries   *retryIndex
	writer    *batchWriter
	snapshots *snapshots
	events    *eventStates
	inFlight  sync.WaitGroup
	tasks     chan task       // tasks for deliverAll goroutines that wait; closed at the end
	idle      chan struct{}   // one element for each deliverAll goroutine that waits
	work      context.Context // context of attempts and writes; ends at most stopTimeout after the stop
	interrupt context.CancelFunc
}

// NewSender returns a sender. It works while Run runs.
func NewSender(parts Parts) *Sender {
	work, interrupt := context.WithCancel(context.Background())
	parts.outages = failurelog.New(parts.Log)
	s := &Sender{
		Parts: parts, retries: newRetryIndex(parts.Store, parts.outages, parts.Observer),
		slots: slots.Slots{
			Fast: make(chan struct{}, min(maxFastSlots, fastPerCore*runtime.GOMAXPROCS(0))), Slow: make(chan struct{}, slowSlots),
			FastTime: fastTime, OvertakeTime: overtakeTime, Overtakers: overtakers, Moved: parts.Observer.SlowSlots,
		},
		locks:     recipientLocks{queues: make(map[lockKey][]*member)},
		receivers: newReceivers(),
		paces:     paces{known: make(map[sharedLimit]pace), owned: make(map[int]time.Time)},
		tasks:     make(chan task),
		snapshots: newSnapshots(parts.Store),
		events:    &eventStates{events: parts.Events, timeout: cmp.Or(parts.StateTimeout, stateTimeout), outages: parts.outages, known: cache.NewRecent[eventKey, *topic.EventState](stateLife, maxStates, time.Now)},
		work:      work, interrupt: interrupt,
	}
	s.idle = make(chan struct{}, cap(s.slots.Fast))
	s.queue = newQueue(s.open)
	s.writer = &batchWriter{Parts: parts, owned: s.retries.owns, stored: s.stored, finish: s.queue.finish,
		rows: make(chan newRow), batches: make(chan outcomeBatch, waitingBatches), done: make(chan struct{})}
	return s
}

// Assigned adds a partition that this process now owns. It is called before Take gets a shard of the partition.
func (s *Sender) Assigned(owned Ownership) {
	s.paces.assigned(owned.Partition, time.Now())
	s.retries.assign(owned)
	context.AfterFunc(owned.Open, s.sweep)
}

// sweep abandons the waiting deliveries whose partition is to move. The next owner makes these deliveries.
func (s *Sender) sweep() {
	for _, m := range s.queue.sweep() {
		s.abandon(m)
	}
}

// Take queues a shard and returns. ctx contains the trace. ctx ends when the partition is to move to another process.
// From then on no delivery of the shard begins, and work ends when the deliveries in progress have ended.
func (s *Sender) Take(ctx context.Context, partition int, order topic.Shard, work Work) {
	s.queue.push(&shard{
		id: order.ID, work: work, ctx: ctx, trace: s.Traces.Adopt(s.work, ctx), partition: partition, organization: order.Organization,
		channel: order.Channel, service: order.Service, changeID: order.ChangeID, recipients: order.Recipients, replay: order.Replay,
	})
}

// Run sends until ctx ends. Then it starts no more deliveries, waits for those in progress, and stores their results.
func (s *Sender) Run(ctx context.Context) error {
	defer s.interrupt()
	go s.writer.run(s.work)
	var retries sync.WaitGroup
	retries.Go(func() { s.retry(ctx) })
	s.pump(ctx)
	timer := time.AfterFunc(stopTimeout, s.interrupt)
	defer timer.Stop()
	retries.Wait()
	for _, m := range s.queue.stop() {
		s.abandon(m)
	}
	s.queue.openers.Wait()
	s.inFlight.Wait()
	close(s.tasks)
	s.writer.close()
	return nil
}

// pump waits for a fast slot and a member, and starts the delivery. It repeats this until ctx ends.
func (s *Sender) pump(ctx context.Context) {
	for {
		slot := s.slots.Acquire(ctx)
		if slot == nil {
			return
		}
		turn := turnMembers
		if s.slots.Full() { // slots become free slowly, so a long turn would delay the other tenants
			turn = 1
		}
		m := s.queue.take(ctx, turn)
		if m == nil {
			slot.Release()
			return
		}
		// pump takes the lock, and not deliver, because goroutines start in any order.
		if !m.locked && !s.locks.lock(m) {
			slot.Release()
			continue
		}
		s.inFlight.Add(1)
		select {
		case s.tasks <- task{m, slot}:
		default:
			go s.deliverAll(task{m, slot})
		}
	}
}

// task is a delivery and its slot.
type task struct {
	member *member
	slot   *slots.Slot
}

// deliverAll processes t and then tasks from the channel. It returns if enough other goroutines wait for a task: one
// for each fast slot. Goroutines are reused, because the stack of a new goroutine would have to grow for each delivery.
func (s *Sender) deliverAll(t task) {
	for more := true; more; {
		s.deliver(t.member, t.slot)
		s.inFlight.Done()
		select {
		case s.idle <- struct{}{}:
			t, more = <-s.tasks
			<-s.idle
		default:
			more = false
		}
	}
}

// Reasons why attempt returns no row.
var (
	errInterrupted = errors.New("the sender stopped, or the partition or row belongs to another process")
	errStored      = errors.New("another copy of the shard has stored the delivery")
)

// deliver processes one delivery. It passes the row of a first attempt to the batchWriter. While the batchWriter is
// busy, deliver waits and keeps its slot, so that no more deliveries start.
func (s *Sender) deliver(m *member, slot *slots.Slot) {
	slot.Start()
	defer slot.Release()
	row, wait, err := s.attempt(m, slot)
	slot.Keep()
	if err == nil && wait == 0 && m.row == nil {
		s.writer.rows <- newRow{row, m}
		return
	}
	if err == nil && wait == 0 {
		*row, err = s.storeRetry(m, row)
	}
	switch {
	case wait > 0: // m keeps the lock of its recipient
		s.queue.postpone(m, wait, s.requeue)
	case err == nil:
		s.stored(m, row)
		s.queue.finish(m.shard, 1, true)
	case errors.Is(err, errStored):
		s.unlock(m)
		s.queue.finish(m.shard, 1, true)
	default:
		s.abandon(m)
	}
}

// storeRetry stores the row after a retry, if the stored row still waits. It returns the stored row. If no attempt was
// made and the delivery waits again, it adds no log.
func (s *Sender) storeRetry(m *member, row *deliverylog.Delivery) (deliverylog.Delivery, error) {
	made := len(m.row.Attempts)
	if row.Status == deliverylog.StatusRetrying && len(row.Attempts) == made {
		return s.writer.amend(s.work, m.id, func(d *deliverylog.Delivery) bool {
			waits := d.Status == deliverylog.StatusRetrying && len(d.Attempts) == made
			if waits {
				d.ScheduleRetry(row.ErrorCode, *row.NextAttemptAt, row.Trace)
			}
			return waits
		})
	}
	err := s.writer.persist(s.work, "A request cannot be stored yet.", func() error {
		return s.writer.saveRequests(s.work, []newRow{{row, m}})
	})
	if err != nil {
		return *row, err
	}
	return s.writer.advance(s.work, made, *row)
}

// stored updates the retryIndex when a row is durable, and unlocks the recipient. row is nil if the result was not
// stored.
func (s *Sender) stored(m *member, row *deliverylog.Delivery) {
	if row != nil && row.Status == deliverylog.StatusRetrying {
		s.retries.add(row)
	} else if row != nil {
		s.retries.remove(row)
	}
	m.to, m.components = nil, nil // free memory while the outcome waits
	s.unlock(m)
}

// unlock unlocks m's recipient and requeues the next member that waits for this lock.
func (s *Sender) unlock(m *member) {
	if !m.locked {
		return
	}
	if next := s.locks.unlock(m); next != nil {
		s.requeue(next)
	}
}

// requeue queues m again. If the queue has stopped, requeue abandons m.
func (s *Sender) requeue(m *member) {
	if !s.queue.requeue(m) {
		s.abandon(m)
	}
}

// abandon ends the work on m without a durable result. If m is a retry, its row is still stored and becomes due again.
// Otherwise Kafka delivers the shard again.
func (s *Sender) abandon(m *member) {
	if m.row != nil {
		s.retries.release(m.row, s.Now())
	}
	s.unlock(m)
	s.queue.finish(m.shard, 1, m.row != nil)
}
