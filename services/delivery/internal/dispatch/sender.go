package dispatch

import (
	"context"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	flowLimit   = 4096             // deliveries attempted or not yet durable; nothing is begun above it
	stopTimeout = 15 * time.Second // for what is in flight at the stop
	leaseMargin = 2 * time.Second  // beyond an attempt's time, before another may make it
)

// Sender delivers shards and makes the later attempts that are due.
type Sender struct {
	Parts
	queue     *queue
	turns     *turns
	lanes     *lanes
	receivers *receivers
	paces     *paces
	waits     *waits
	ledger    *ledger
	snapshots *snapshots
	flow      chan struct{}
	inFlight  sync.WaitGroup
	work      context.Context // of attempts and rows; it outlives the stop by a while
	interrupt context.CancelFunc
}

// NewSender makes a sender; it works once Run is called.
func NewSender(parts Parts) *Sender {
	work, interrupt := context.WithCancel(context.Background())
	s := &Sender{
		Parts: parts, turns: newTurns(), lanes: newLanes(parts.Observer), receivers: newReceivers(), paces: newPaces(),
		waits:     newWaits(parts.Store, parts.Log, parts.Observer),
		ledger:    newLedger(parts.Store, parts.Bus, parts.Log),
		snapshots: newSnapshots(parts.Store), flow: make(chan struct{}, flowLimit), work: work, interrupt: interrupt,
	}
	s.queue = newQueue(s.open)
	return s
}

// Assigned says which partitions are this sender's until ctx ends. It is told before
// the first shard of them comes.
func (s *Sender) Assigned(ctx context.Context, partitions []int) { s.waits.assigned(ctx, partitions) }

// Take accepts a shard and returns. ctx carries its trace and ends when the partition is
// another's.
func (s *Sender) Take(ctx context.Context, partition int, order topic.Shard, work Work) {
	sh := &shard{
		id: order.ID, ctx: ctx, trace: s.Traces.Adopt(s.work, ctx), partition: partition, organization: order.Organization,
		channel: order.Channel, changeID: order.ChangeID, recipients: order.Recipients,
		settle: func(finished bool) {
			if finished {
				work.Done()
			} else {
				work.Abandon()
			}
		},
	}
	s.queue.push(sh)
}

// Run sends until ctx ends; then nothing is begun any more, what is in flight
// finishes, and its rows are written.
func (s *Sender) Run(ctx context.Context) error {
	defer s.interrupt()
	go s.ledger.run(s.work)
	var retries sync.WaitGroup
	retries.Go(func() { s.retry(ctx) })
	s.pump(ctx)
	timer := time.AfterFunc(stopTimeout, s.interrupt)
	defer timer.Stop()
	retries.Wait()
	for _, m := range s.queue.stop() {
		s.giveBack(m)
	}
	s.queue.openers.Wait()
	s.inFlight.Wait()
	s.ledger.close()
	return nil
}

// pump begins one delivery after the other, as slots become free.
func (s *Sender) pump(ctx context.Context) {
	for {
		select {
		case s.flow <- struct{}{}:
		case <-ctx.Done():
			return
		}
		slot := s.lanes.acquire(ctx)
		if slot == nil {
			return
		}
		m := s.queue.take(ctx)
		if m == nil {
			slot.release()
			return
		}
		// Turns are taken here and not where the delivery runs: goroutines overtake each other.
		if !m.turn {
			if !s.turns.enter(m) {
				slot.release()
				<-s.flow // it is out of the flow until its turn comes
				continue
			}
			m.turn = true
		}
		s.inFlight.Add(1)
		go func() {
			defer s.inFlight.Done()
			s.deliver(m, slot)
		}()
	}
}

// open finds out what is recorded of a shard's members, if that is not known yet, and
// where those live that are to be sent to.
func (s *Sender) open(sh *shard, members []*member) (opened, error) {
	found := opened{members: members}
	if _, there := s.Routes[sh.channel]; !there { // a build that had it was here before
		return s.lost(sh, members, CodeUnavailable)
	}
	if !sh.looked {
		if err := s.waits.ready(sh.ctx, sh.partition); err != nil {
			return found, err
		}
		change, err := s.snapshots.get(s.work, sh.changeID)
		if fault.Is(err, fault.NotFound) {
			return s.lost(sh, members, CodeExpired)
		}
		if err == nil && !sh.retry {
			found.members, err = s.unrecorded(sh, members)
		}
		if err != nil {
			return found, s.complain(sh, err, "a shard cannot be opened yet")
		}
		found.change = change
	}
	if len(found.members) == 0 {
		return found, nil
	}
	ids := make([]string, len(found.members))
	for i, m := range found.members {
		ids[i] = m.recipient
	}
	found.asked = s.queue.now()
	destinations, err := s.resolve(sh, ids)
	found.destinations = destinations
	return found, err
}

func (s *Sender) resolve(sh *shard, ids []string) ([]topic.Destination, error) {
	destinations, err := s.Routes[sh.channel].Recipients.Resolve(sh.trace, sh.organization, ids)
	if err == nil && len(destinations) != len(ids) {
		err = fault.New(fault.Internal, "%d recipients were asked for, %d came", len(ids), len(destinations))
	}
	if err != nil {
		return nil, s.complain(sh, err, "recipients cannot be resolved yet")
	}
	return destinations, nil
}

func (s *Sender) complain(sh *shard, err error, what string) error {
	s.Log.WarnContext(sh.trace, what, "change", sh.changeID, "organization", sh.organization, "error", err)
	return err
}

// unrecorded leaves out the members that have a row. The outcomes of those that ended are
// published once more: the process that recorded them may have been killed before it could. Those that
// wait are noted: the partition's former owner may have recorded them after what waits was read.
func (s *Sender) unrecorded(sh *shard, members []*member) ([]*member, error) {
	ids := make([]string, len(members))
	for i, m := range members {
		m.id = DeliveryID(sh.changeID, m.recipient)
		ids[i] = m.id
	}
	rows, err := s.Store.Deliveries(sh.trace, ids)
	if err != nil || len(rows) == 0 {
		return members, err
	}
	recorded := make(map[string]bool, len(rows))
	for i := range rows {
		recorded[rows[i].ID] = true
		if rows[i].Status == StatusRetrying {
			s.waits.add(&rows[i])
		}
		if outcome := rows[i].outcome(); outcome != nil {
			s.queue.hold(sh)
			s.ledger.tell(outcome, func(durable bool) { s.queue.finish(sh, durable) })
		}
	}
	var missing []*member
	for _, m := range members {
		if !recorded[m.id] {
			missing = append(missing, m)
		}
	}
	return missing, nil
}

// lost ends deliveries of which there is no change any more, or no channel.
func (s *Sender) lost(sh *shard, members []*member, code Code) (opened, error) {
	s.Log.WarnContext(sh.trace, "deliveries can never be sent", "change", sh.changeID, "deliveries", len(members), "code", code)
	for _, m := range members {
		if m.row == nil {
			continue
		}
		row, err := s.amend(m.row.ID, func(d *Delivery) (*topic.Outcome, error) {
			if d.Status != StatusRetrying {
				return nil, fault.ErrUnchanged
			}
			d.end(StatusFailed, code, s.Now())
			return d.outcome(), nil
		})
		if err != nil {
			return opened{}, err
		}
		s.waits.remove(&row)
	}
	return opened{}, nil
}
