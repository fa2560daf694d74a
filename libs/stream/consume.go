package stream

import "context"

// Claim is one record in a handler's hands.
type Claim struct {
	Record    Record
	Partition int
	Offset    int64

	handout *handout
}

// Done says that the record's effect is durable. It may be called from any
// goroutine, in any order, more than once, and after the partition is lost.
func (c Claim) Done() { c.handout.settle(true) }

// Abandon says that nobody works on the record any more although its effect is
// not durable: at a stop, nobody waits for it then. It keeps the partition from being
// committed further, so the record and what follows it are handed out again once the
// partition is assigned anew.
func (c Claim) Abandon() { c.handout.settle(false) }

// Consume is a member of the group until ctx ends; then it returns nil, after
// unfinished work was waited for (StopTimeout at most), offsets were committed and the
// group was left. An error means that the subscription itself is wrong.
//
// handle gets the records of a partition in order, from one goroutine per
// partition, and hands them on: it may return before the record is finished, and must
// see to it that the claim is Done (or abandoned) some day. While MaxPending claims are
// unfinished it gets no more, and reading stops. Its ctx carries the record's trace in
// a span that ends with the claim; ctx itself ends two seconds after the partition
// began to move to another member, or when the stop's time is over. The record is then
// another's.
func (c *Client) Consume(ctx context.Context, subscription Subscription, handle func(ctx context.Context, claim Claim)) error {
	return c.subscribe(ctx, subscription, func(a *assignment, l *lane) {
		for a.claim(l, handle) {
		}
	})
}

// claim hands out the lane's next record; false means that the assignment ends.
func (a *assignment) claim(l *lane, handle func(context.Context, Claim)) bool {
	taken := l.take(a.intake, 1)
	if len(taken) == 0 {
		return false
	}
	select {
	case <-a.intake.Done():
		return false
	case a.slots <- struct{}{}:
	}
	if !a.gate.enter() {
		return false
	}
	a.gate.again() // once for the claim, once for the call
	defer a.gate.leave()
	next := taken[0]
	group := a.subscription.Group
	unfinished := a.client.metrics.unfinished.WithLabelValues(group, l.topic)
	unfinished.Inc()
	a.client.metrics.consumed.WithLabelValues(group, l.topic).Inc()
	ctx, span := a.client.consume(a.work, group, l.partition, next.offset, []Record{next.record})
	handout := l.handOut(next.offset, next.offset, func() {
		span.End()
		unfinished.Dec()
		<-a.slots
		a.gate.leave()
	})
	handle(ctx, Claim{Record: next.record, Partition: l.partition, Offset: next.offset, handout: handout})
	return true
}
