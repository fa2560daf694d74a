package dispatch

import (
	"cmp"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/failurelog"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/slots"
)

// newerUnread never changes.
var newerUnread = failurelog.Cause{Message: "Newer deliveries of an event cannot be read yet."}

// newerChanges is the maximum number of changes of an event that newerStored reads.
const newerChanges = 20

// fullPause is the time that a delivery waits if no slow slot or no connection of the channel is free, or if fresh returned
// false.
const fullPause = 2 * time.Second

// attempt makes an attempt, ends the delivery without one, or schedules a retry. It returns the row to be stored. If wait is
// not 0 or err is not nil, there is no row to store. If wait is not 0, the delivery must wait for this time.
func (s *Sender) attempt(m *member, slot *slots.Slot) (row *deliverylog.Delivery, wait time.Duration, err error) {
	if m.shard.ctx.Err() != nil || s.work.Err() != nil {
		return row, 0, errInterrupted
	}
	wait, held := s.pace(m, false) // the cheapest check is first
	if wait > soon && !held {
		return row, wait - soon, nil
	}
	if wait > 0 && !held {
		if !s.refresh(m) {
			return row, m.again(), nil
		}
		if wait, held = s.pace(m, false); wait > 0 && !held {
			return row, wait, nil
		}
	}
	if m.shard.duplicate {
		again := m.alone()
		if s.withoutStored([]*opened{again}); again.err != nil {
			return row, m.again(), nil
		}
		if len(again.members) == 0 {
			return row, 0, errStored
		}
	}
	if m.row != nil && !s.lease(m) {
		return row, 0, errInterrupted
	}
	if m.row != nil && m.row.SendingAt != nil {
		return s.ambiguous(m), 0, nil
	}
	event := s.events.of(m)                            // requested before the destination, because the destination must be the newest
	_, begins := s.Channels[m.shard.channel].(Account) // on an Account, begin can take long, and fresh calls refresh after begin
	if !held && !begins && !s.refresh(m) {
		return row, m.again(), nil
	}
	row = s.rowOf(m)
	if overtaken, err := s.overtaken(m); err != nil {
		return row, m.again(), nil
	} else if overtaken {
		row.Skip(deliverylog.StatusSkipped, deliverylog.CodeReplaced, s.Now())
		return row, 0, nil
	}
	if s.decided(m, row, event, slot) {
		return row, 0, nil
	}
	if !held {
		wait, held = s.pace(m, true)
	}
	switch {
	case held:
		s.retryAt(m, row, deliverylog.CodeHeld, s.Now().Add(wait+heldTogether).Truncate(heldTogether))
		return row, 0, nil
	case wait > 0:
		return row, wait, nil
	}
	if err := s.begin(m, row); err != nil {
		return row, 0, err
	}
	if !s.fresh(m, event) {
		s.retryAt(m, row, deliverylog.CodeHeld, s.Now().Add(fullPause+jitter(fullPause)))
		return row, 0, nil
	}
	return row, 0, s.send(m, row, event)
}

// refresh resolves m's destination again, if the destination was requested more than strictlyAfter ago. It returns false if
// this fails.
func (s *Sender) refresh(m *member) bool {
	if s.queue.now().Sub(m.requestedAt) <= strictlyAfter {
		return true
	}
	again := m.alone()
	s.resolve([]*opened{again})
	if again.err == nil {
		m.to, m.requestedAt = &again.destinations[0], again.requestedAt
	}
	return again.err == nil
}

// fresh reports whether the attempt may still start after its wait for the store or a connection. If the destination was
// requested more than tooLate ago, fresh calls refresh. It returns false if refresh fails, or if refusal returns a code for
// the new destination. fresh calls refresh only once, so that slow responses of the recipient's service stop no messages.
func (s *Sender) fresh(m *member, event *topic.EventState) bool {
	if s.queue.now().Sub(m.requestedAt) <= tooLate {
		return true
	}
	if !s.refresh(m) {
		return false
	}
	_, code := refusal(&m.shard.change.EventChange, m.to, s.componentsOf(m, event), event)
	return code == ""
}

// again returns the pause before m is tried again after a failure of the store or of another service. The first pause
// is openPause. Later pauses are longer.
func (m *member) again() time.Duration {
	m.failures++
	return openPause << min(m.failures-1, 4)
}

// rowOf returns the row of m as it is before this attempt, or a new row for a first attempt. Unless the recipient is gone,
// the row has the DashboardID and, for an endpoint, the URLHash and URLDisplay of the current destination.
func (s *Sender) rowOf(m *member) *deliverylog.Delivery {
	var row deliverylog.Delivery
	if m.row != nil {
		row = *m.row
	} else {
		row = s.firstRow(m, m.shard.change)
	}
	if m.to.State != topic.RecipientGone {
		row.DashboardID = m.to.Dashboard.ID
		if row.Channel.RecipientService() == topic.Integrations {
			row.URLHash, row.URLDisplay, row.MovedTo = m.to.URLHash, m.to.URLDisplay, "" // Advance sets MovedTo if the URL is not the first one
		}
	}
	return &row
}

// firstRow returns a new row for m, which is a delivery of the change.
func (s *Sender) firstRow(m *member, change *Snapshot) deliverylog.Delivery {
	row := deliverylog.NewDelivery(m.id, m.shard.channel, m.recipient, &change.EventChange, s.Policy.attempts(), s.Now())
	row.Partition, row.Service = m.shard.partition, m.shard.service
	if change.Notice != nil {
		row.EventID = "" // the event of a notice is an example
	}
	return row
}

// retryAt sets the row to wait for a retry at a time. It does not store the row.
func (s *Sender) retryAt(m *member, row *deliverylog.Delivery, code deliverylog.Code, at time.Time) {
	row.ScheduleRetry(code, at, s.Traces.Carry(m.shard.trace))
}

// decided returns true if no attempt must be made now. In this case it has ended the row or scheduled a retry. event is
// the result of eventStates.of.
func (s *Sender) decided(m *member, row *deliverylog.Delivery, event *topic.EventState, slot *slots.Slot) bool {
	now := s.Now()
	m.components = s.componentsOf(m, event)
	receiver := s.receivers.get(m.limit())
	paused, of := s.paused(m, receiver, now)
	refused, code := refusal(&m.shard.change.EventChange, m.to, m.components, event)
	switch {
	case !s.replaceOlder(row):
		row.Skip(deliverylog.StatusSkipped, deliverylog.CodeReplaced, now)
	case withdrawn(event, &m.shard.change.EventChange):
		row.Skip(deliverylog.StatusSkipped, deliverylog.CodeWithdrawn, now)
	case code != "":
		row.Skip(refused, code, now)
	case !paused.IsZero():
		s.retryAt(m, row, deliverylog.CodeHeld, s.afterPause(m, paused, of))
	case now.Before(receiver.slowUntil) && !slot.Move():
		s.retryAt(m, row, deliverylog.CodeHeld, now.Add(fullPause+jitter(fullPause)))
	default:
		return s.held(m, row)
	}
	return true
}

// componentsOf returns the components about which m's recipient is notified now.
func (s *Sender) componentsOf(m *member, event *topic.EventState) []topic.Component {
	if m.shard.change.Notice != nil { // the recipient of a notice need not have subscribed to its components
		return m.shard.change.Event.Components
	}
	return nameable(event, componentsFor(&m.shard.change.EventChange, m.to, event))
}

// refusal returns the status and the code of a delivery of the change that is not sent because of its recipient. The code is
// empty if the delivery may be sent. components are those about which the recipient is notified. state is the result of
// eventStates.of, or nil.
func refusal(change *topic.EventChange, to *topic.Destination, components []topic.Component, state *topic.EventState) (deliverylog.Status, deliverylog.Code) {
	switch {
	case to.State == topic.RecipientPaused:
		return deliverylog.StatusSkipped, deliverylog.CodePaused
	case to.State == topic.RecipientSuppressed:
		return deliverylog.StatusSuppressed, deliverylog.CodeSuppressed
	case to.State != topic.RecipientActive:
		return deliverylog.StatusSkipped, deliverylog.CodeNoRecipient
	case len(components) == 0 && len(change.Event.Components) > 0:
		return deliverylog.StatusSkipped, deliverylog.CodeNotConcerned
	case len(change.Event.Dashboards) > 0 && !slices.Contains(shownOn(change.Event.Dashboards, state), to.Dashboard.ID):
		return deliverylog.StatusSkipped, deliverylog.CodeNotConcerned
	}
	return "", ""
}

// replaceOlder looks for another delivery of the same event or notice to the same recipient that waits for a retry. It
// returns false if that delivery is newer than row. If it is older, replaceOlder ends it and returns true. If there is no
// such delivery, replaceOlder returns true.
func (s *Sender) replaceOlder(row *deliverylog.Delivery) bool {
	older, found := s.retries.find(row.Subject(), row.Recipient)
	if !found || older.id == row.ID {
		return true
	}
	if older.sequence > row.Sequence {
		return false
	}
	ended, err := s.writer.settle(s.work, older.id, func(d *deliverylog.Delivery) bool {
		replaced := d.Subject() == row.Subject() && d.Recipient == row.Recipient
		if replaced {
			d.Skip(deliverylog.StatusSkipped, deliverylog.CodeReplaced, s.Now())
		}
		return replaced
	})
	if err == nil && ended.Status != deliverylog.StatusRetrying {
		s.retries.remove(&ended)
	}
	return true
}

// overtaken reports whether a newer delivery of the event to the recipient of a retry is stored. It searches only if the
// endpoint now has a URL of another bucket than m's row. Newer deliveries are then in the buckets of the later URLs, whose
// owners did not know that m waits. If the endpoint has its first URL again, overtaken does not find deliveries to the URLs
// in between.
func (s *Sender) overtaken(m *member) (bool, error) {
	if m.row == nil || m.row.EventID == "" || m.row.ReplayOf != "" || m.to.URLHash == "" {
		return false, nil
	}
	if deliverylog.BucketOf(s.destination(m.shard.channel, cmp.Or(m.to.Paced, m.to.URLHash))) == m.row.Partition {
		return false, nil
	}
	found, err := s.newerStored(m)
	s.note(m.shard, err, newerUnread)
	return found, err
}

// newerStored reports whether a delivery of a newer change of m's event to m's recipient is stored, as a row or in a block of
// any partition. It searches only the newest newerChanges changes of the event.
func (s *Sender) newerStored(m *member) (bool, error) {
	changes, err := s.Store.ChangesOf(m.shard.trace, m.shard.organization, m.row.EventID, newerChanges)
	if err != nil {
		return false, err
	}
	var newer []string
	for i := range changes {
		if changes[i].Sequence > m.row.Sequence {
			newer = append(newer, changes[i].ID)
		}
	}
	if len(newer) == 0 {
		return false, nil
	}
	places := make([]Placed, topic.Buckets)
	for partition := range places {
		places[partition] = Placed{m.recipient, partition}
	}
	stored, err := s.Store.Recorded(m.shard.trace, newer, places)
	return len(stored) > 0, err
}

// send makes the attempt and adds its result to the row. If the channel made no attempt (CodeHeld), send schedules a retry.
// It returns errInterrupted if the attempt failed and the sender was interrupted.
func (s *Sender) send(m *member, row *deliverylog.Delivery, event *topic.EventState) error {
	s.Observer.InFlight(1)
	at, start := s.Now(), time.Now()
	result := s.Channels[m.shard.channel].Send(m.shard.trace, Message{
		DeliveryID: m.id, Change: m.shard.change, To: m.to, Components: m.components, At: at,
		Fresh: func() bool { return s.fresh(m, event) },
	})
	took := time.Since(start)
	s.Observer.InFlight(-1)
	if result.Code != "" && s.work.Err() != nil {
		return errInterrupted
	}
	s.Observer.Attempted(m.shard.channel, cmp.Or(string(result.Code), "success"), took)
	now := s.Now()
	if result.Code == deliverylog.CodeHeld {
		due := now.Add(fullPause + jitter(fullPause))
		if result.RetryAfter > 0 {
			due = now.Add(result.RetryAfter + heldTogether).Truncate(heldTogether)
		}
		s.retryAt(m, row, deliverylog.CodeHeld, due)
		return nil
	}
	s.receivers.record(m.limit(), result, now)
	s.rest(m, &result, now)
	made := deliverylog.Attempt{At: at, DurationMS: took.Milliseconds(), HTTPStatus: result.HTTPStatus, ErrorCode: result.Code}
	count := len(row.Attempts) + 1
	row.SentAt, row.MaxAttempts = at, s.Policy.granted(count, result)
	m.request = row.LogExchange(m.to, &result.Sent, &result.Received, m.shard.change.isLogged)
	wait, again := s.Policy.next(count, result)
	switch {
	case result.Code == "":
		row.Finish(deliverylog.StatusDelivered, "", now)
	case again:
		due := now.Add(wait)
		made.NextAttemptAt = &due
		s.retryAt(m, row, result.Code, due)
	default:
		row.Finish(deliverylog.StatusFailed, result.Code, now)
	}
	row.Attempts = append(row.Attempts[:count-1:count-1], made)
	return nil
}
