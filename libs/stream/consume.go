package stream

import (
	"context"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/failurelog"
)

// Claim is one record that was handed out to a handler.
type Claim struct {
	Record    Record
	Partition int
	Offset    int64

	handout *handout
}

// Done reports that the effect of the record is durable. It may be called from any
// goroutine, in any order, more than once, and after the partition is lost.
func (c Claim) Done() { c.handout.end(true) }

// Abandon reports that nothing works on the record any more although its effect is not
// durable. A stop then does not wait for the record. The group's offset stays at or before an
// abandoned record, so the record and those after it are handed out again when the
// partition is assigned the next time.
func (c Claim) Abandon() { c.handout.end(false) }

// Consume consumes as a member of the group until ctx ends. It then waits for unfinished
// claims (at most StopTimeout), commits the offsets, leaves the group and returns nil. It
// returns an error only if the subscription is invalid.
//
// handle gets the records of a partition in order, in one goroutine per partition. It may
// return before the record is finished, and must see to it that Done or Abandon is called
// later. While MaxPending claims are unfinished, nothing is handed out and reading stops. The
// ctx of handle carries the record's trace in a span that ends with the claim. This ctx ends when nothing new may begin for
// the record, because the group takes the partition away or the consumer stops. The partition is given back when Done or
// Abandon was called for each of its claims, at most StopTimeout later.
func (c *Client) Consume(ctx context.Context, subscription Subscription, handle func(ctx context.Context, claim Claim)) error {
	return c.subscribe(ctx, subscription, func(m *member, p *partition) {
		for {
			taken := p.take(p.intake, 1)
			if len(taken) == 0 || m.slots.Acquire(p.intake, 1) != nil {
				return
			}
			ctx, span := c.consume(p.intake, m.subscription.Group, p.id, taken)
			handout := m.handOut(p, taken, func() {
				span.End()
				m.slots.Release(1)
			})
			handle(ctx, Claim{Record: taken[0], Partition: p.id, Offset: taken[0].offset, handout: handout})
		}
	})
}

// handOut counts the records of the partition as handed out to a handler. release is called
// once, when nothing works on them any more.
func (m *member) handOut(p *partition, records []Record, release func()) *handout {
	group, n := m.subscription.Group, float64(len(records))
	m.client.metrics.consumed.WithLabelValues(group, p.topic).Add(n)
	unfinished := m.client.metrics.unfinished.WithLabelValues(group, p.topic)
	unfinished.Add(n)
	return p.handOut(records[0].offset, records[len(records)-1].offset, func() {
		unfinished.Sub(n)
		release()
	})
}

// ConsumeBatches consumes as a member of the group until ctx ends, like Consume. handle gets
// up to MaxPending records of one partition, in order. It may run for several partitions at
// the same time. If handle returns nil, the effects of the records must be durable. If it
// returns an error, it gets the same records again after a pause (0.1 s at first, 30 s at
// most) and no other record of the partition before that. handle must therefore skip records
// that it can never process, as Read does. Its ctx carries the trace of the first record of
// the batch; see Context for the others.
func (c *Client) ConsumeBatches(ctx context.Context, subscription Subscription, handle func(ctx context.Context, batch []Record) error) error {
	return c.subscribe(ctx, subscription, func(m *member, p *partition) {
		for {
			batch := p.take(p.intake, m.subscription.MaxPending)
			if len(batch) == 0 || !m.batch(p, batch, handle) {
				return
			}
		}
	})
}

// batch passes records to handle until handle returns nil. It returns false if the intake ends before that.
func (m *member) batch(p *partition, records []Record, handle func(context.Context, []Record) error) (finished bool) {
	group := m.subscription.Group
	handout := m.handOut(p, records, func() {})
	defer func() { handout.end(finished) }()
	cause := failurelog.Cause{Message: "a batch failed and is retried", Of: group}
	pause := &backoff{min: 200 * time.Millisecond, max: 30 * time.Second}
	for {
		ctx, span := m.client.consume(p.work, group, p.id, records)
		err := handle(ctx, slices.Clone(records))
		finishSpan(span, err)
		if err == nil {
			m.client.outages.Over(ctx, cause)
			return true
		}
		m.client.metrics.failed.WithLabelValues(group, p.topic).Inc()
		if p.intake.Err() == nil {
			m.client.outages.Failed(ctx, cause, err,
				"topic", p.topic, "partition", p.id, "offset", records[0].offset, "records", len(records))
		}
		if !pause.wait(p.intake) {
			return false
		}
	}
}
