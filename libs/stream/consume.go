package stream

import (
	"context"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/failurelog"
)

// Claim is a record that a handler got and has not finished.
type Claim struct {
	Record    Record
	Partition int
	Offset    int64

	handout *handout
}

// Done reports that the effect of the record is durable. It may be called from any goroutine, in any order, more than
// once, and after the partition was lost.
func (c Claim) Done() { c.handout.end(true) }

// Abandon reports that the work on the record has ended without a durable effect. A stop then does not wait for this
// record. The committed offset stays at or before the record. So the record and those after it are handed out again
// when the partition is assigned the next time.
func (c Claim) Abandon() { c.handout.end(false) }

// Consume passes records to handle, as a member of the group, until ctx ends. It then waits at most StopTimeout for
// unfinished claims, commits the offsets, leaves the group and returns nil. It returns an error only if the
// subscription is invalid.
//
// handle gets the records of a partition in order, in one goroutine per partition. It may return before the record is
// finished, but Done or Abandon must be called later. While MaxPending claims are unfinished, handle is not called. The
// ctx of handle carries the record's trace in a span that ends with the claim. This ctx ends when the group takes the
// partition away or the consumer stops: no new work may then begin for the record. The partition is given back when
// Done or Abandon was called for each of its claims, at the latest StopTimeout after the end of this ctx.
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

// handOut counts the records that a handler got, and marks them as handed out in the partition. release is called once,
// when the work on the records has ended.
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

// ConsumeBatches passes batches of records to handle, as a member of the group, until ctx ends, like Consume. A batch
// has up to MaxPending records of one partition, in order. handle may run for several partitions at the same time. If
// handle returns nil, the effects of all records must be durable. If handle returns an error, it gets the same batch
// again after a pause (0.1 s at first, 30 s at most), and no other record of the partition before that. So handle must
// skip records that it can never process, as Read does. The ctx of handle carries the trace of the first record of the
// batch. Client.Context returns a ctx with the trace of another record.
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
