package dispatch

import (
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// slowPause is how long a delivery is put off for which the slow lane has no room, or its channel.
const slowPause = 2 * time.Second

// deliver takes one delivery as far as it goes now: to its end, to its next attempt, or
// back where it came from.
func (s *Sender) deliver(m *member, slot *slot) {
	slot.begin()
	defer slot.release()
	if m.shard.ctx.Err() != nil || s.work.Err() != nil {
		<-s.flow
		s.giveBack(m)
		return
	}
	if s.early(m) || s.repeated(m) {
		return
	}
	if m.row != nil {
		taken, err := s.lease(m)
		if err != nil || !taken {
			<-s.flow
			s.giveBack(m)
			return
		}
	}
	if !s.fresh(m) {
		s.putOff(m, openPause)
		return
	}
	row := s.begin(m)
	if !s.without(m, &row, slot) {
		switch wait := s.claim(m); {
		case wait > 0 && s.crowded(m):
			s.hold(m, &row)
		case wait > 0:
			s.putOff(m, wait)
			return
		case !s.attempt(m, &row, slot):
			<-s.flow
			s.giveBack(m)
			return
		}
	}
	slot.release()
	s.conclude(m, row)
}

// repeated ends the work on a member of a shard that came again, if the first has recorded the
// delivery meanwhile, and reports that it did.
func (s *Sender) repeated(m *member) bool {
	if !m.shard.again {
		return false
	}
	missing, err := s.unrecorded(m.shard, []*member{m})
	switch {
	case err != nil:
		s.putOff(m, openPause)
	case len(missing) == 0:
		<-s.flow
		s.pass(m)
		s.queue.finish(m.shard, true)
	default:
		return false
	}
	return true
}

// fresh makes sure that what is known of the destination is not stale.
func (s *Sender) fresh(m *member) bool {
	now := s.queue.now()
	if now.Sub(m.asked) <= strictlyAfter {
		return true
	}
	destinations, err := s.resolve(m.shard, []string{m.recipient})
	if err != nil {
		return false
	}
	m.to, m.asked = &destinations[0], now
	return true
}

// begin is the row as it was before this attempt, and says where this one goes.
func (s *Sender) begin(m *member) Delivery {
	var row Delivery
	if m.row != nil {
		row = *m.row
	} else {
		row = newDelivery(m.id, m.shard.channel, m.recipient, &m.change.EventChange, s.Policy, s.Now())
		row.Partition = m.shard.partition
	}
	if m.to.State != topic.RecipientGone {
		row.DashboardID, row.URLHash, row.URLDisplay = m.to.Dashboard.ID, m.to.URLHash, m.to.URLDisplay
	}
	return row
}

// without ends or puts off what is not to be attempted now, and reports that it did.
func (s *Sender) without(m *member, row *Delivery, slot *slot) bool {
	now := s.Now()
	if !s.replace(m, row) {
		row.end(StatusSkipped, CodeReplaced, now)
		return true
	}
	switch m.to.State {
	case topic.RecipientActive:
	case topic.RecipientPaused:
		row.end(StatusSkipped, CodePaused, now)
		return true
	case topic.RecipientSuppressed:
		row.end(StatusSuppressed, CodeSuppressed, now)
		return true
	default:
		row.end(StatusSkipped, CodeNoRecipient, now)
		return true
	}
	m.components = m.change.componentsFor(m.to)
	if len(m.components) == 0 && len(m.change.Event.Components) > 0 {
		row.end(StatusSkipped, CodeNotConcerned, now)
		return true
	}
	if until, held := s.receivers.heldUntil(m.to.URLHash, now); held {
		row.wait(CodeHeld, until, s.Traces.Carry(m.shard.trace))
		return true
	}
	if s.receivers.isSlow(m.to.URLHash, now) && !slot.slowly() {
		row.wait(CodeHeld, now.Add(slowPause+jitter(slowPause)), s.Traces.Carry(m.shard.trace))
		return true
	}
	return false
}

// replace ends what waits of the same event for the same recipient, in favour of this
// delivery; false when that is the newer one.
func (s *Sender) replace(m *member, row *Delivery) bool {
	older, found := s.waits.of(row.EventID, row.Recipient)
	if !found || older.id == row.ID {
		return true
	}
	if older.sequence > row.Sequence {
		return false
	}
	ended, err := s.amend(older.id, func(d *Delivery) (*topic.Outcome, error) {
		if d.Status != StatusRetrying || d.EventID != row.EventID || d.Recipient != row.Recipient {
			return nil, fault.ErrUnchanged
		}
		d.end(StatusSkipped, CodeReplaced, s.Now())
		return d.outcome(), nil
	})
	if err == nil && ended.Status != StatusRetrying {
		s.waits.remove(&ended)
	}
	return true
}

// attempt tries to reach the receiver and enters the result; false when the stop came in
// between and nothing is known.
func (s *Sender) attempt(m *member, row *Delivery, slot *slot) bool {
	s.Observer.InFlight(1)
	at, start := s.Now(), time.Now()
	result := s.Routes[m.shard.channel].Channel.Send(m.shard.trace, Message{
		DeliveryID: m.id, Change: m.change, To: m.to, Components: m.components, At: at,
	})
	took := time.Since(start)
	slot.release()
	s.Observer.InFlight(-1)
	if result.Code != "" && s.work.Err() != nil {
		return false
	}
	s.Observer.Attempted(m.shard.channel, label(result.Code), took)
	if result.Code == CodeHeld {
		row.wait(CodeHeld, s.Now().Add(slowPause+jitter(slowPause)), s.Traces.Carry(m.shard.trace))
		return true
	}
	s.receivers.learn(m.to.URLHash, result, s.Now())
	row.Attempts = append(row.Attempts, Attempt{At: at, DurationMS: took.Milliseconds(), HTTPStatus: result.HTTPStatus, ErrorCode: result.Code})
	s.judge(m, row, result)
	return true
}

// judge decides how the delivery goes on after an result.
func (s *Sender) judge(m *member, row *Delivery, result Result) {
	now := s.Now()
	if result.Code == "" {
		row.end(StatusDelivered, "", now)
		return
	}
	wait, again := s.Policy.next(len(row.Attempts), result)
	if !again {
		row.end(StatusFailed, result.Code, now)
		return
	}
	row.wait(result.Code, now.Add(wait), s.Traces.Carry(m.shard.trace))
}

func label(code Code) string {
	if code == "" {
		return "success"
	}
	return string(code)
}

// conclude makes the row durable and then lets the recipient's next delivery go.
func (s *Sender) conclude(m *member, row Delivery) {
	sh := m.shard
	if m.row == nil {
		s.ledger.add(entry{row: row,
			kept: func(stored *Delivery) {
				<-s.flow
				s.kept(m, stored)
			},
			told: func(durable bool) { s.queue.finish(sh, durable) },
		})
		return
	}
	stored, err := s.amend(m.id, func(d *Delivery) (*topic.Outcome, error) {
		if d.Status != StatusRetrying {
			return nil, fault.ErrUnchanged
		}
		*d = row
		return row.outcome(), nil
	})
	<-s.flow
	if err != nil {
		s.giveBack(m)
		return
	}
	s.kept(m, &stored)
	s.queue.finish(sh, true)
}

// kept takes note of a durable row and ends the recipient's turn. Without a row nothing is
// durable, because the sender was interrupted.
func (s *Sender) kept(m *member, stored *Delivery) {
	if stored != nil {
		if stored.Status == StatusRetrying {
			s.waits.add(stored)
		} else {
			s.waits.remove(stored)
		}
	}
	m.to, m.components, m.change = nil, nil, nil
	s.pass(m)
}

// pass ends the member's turn and brings the one whose turn it is now.
func (s *Sender) pass(m *member) {
	if !m.turn {
		return
	}
	m.turn = false
	if next := s.turns.leave(m); next != nil {
		next.turn = true
		s.bring(next)
	}
}

// bring puts a member back into the queue, or gives it back when that has ended.
func (s *Sender) bring(m *member) {
	if !s.queue.back(m) {
		s.giveBack(m)
	}
}

// giveBack ends the work on a member of which nothing is durable. A retry is still in the
// store; the rest of its shard goes on.
func (s *Sender) giveBack(m *member) {
	if m.row != nil {
		s.waits.release(m.row, s.Now().Add(loadPause))
	}
	s.pass(m)
	s.queue.finish(m.shard, m.row != nil)
}
