package stream

import (
	"context"
	"slices"
	"time"
)

// ConsumeBatches consumes as a member of the group until ctx ends, like Consume. handle gets
// up to MaxPending records of one partition, in order. It may run for several partitions at
// the same time. If handle returns nil, the effects of the records must be durable. If it
// returns an error, it gets the same records again after a pause (0.1 s at first, 30 s at
// most) and no other record of the partition before that. handle must therefore skip records
// that it can never process, as Read does. Its ctx carries the trace of the first record of
// the batch; see Context for the others.
func (c *Client) ConsumeBatches(ctx context.Context, subscription Subscription, handle func(ctx context.Context, batch []Record) error) error {
	return c.subscribe(ctx, subscription, func(a *assignment, p *partition) {
		for {
			batch := p.take(a.intake, a.subscription.MaxPending)
			if len(batch) == 0 || !a.batch(p, batch, handle) {
				return
			}
		}
	})
}

// batch passes records to handle until handle returns nil. It returns false if the
// assignment ends before that.
func (a *assignment) batch(p *partition, records []Record, handle func(context.Context, []Record) error) (finished bool) {
	group := a.subscription.Group
	handout := a.handOut(p, records, func() {})
	defer func() { handout.end(finished) }()
	pause := &backoff{min: 200 * time.Millisecond, max: 30 * time.Second}
	for {
		ctx, span := a.client.consume(a.work, group, p.id, records)
		err := handle(ctx, slices.Clone(records))
		finishSpan(span, err)
		if err == nil {
			return true
		}
		a.client.metrics.failed.WithLabelValues(group, p.topic).Inc()
		if a.intake.Err() == nil {
			a.client.log.WarnContext(ctx, "a batch failed and is retried",
				"group", group, "topic", p.topic, "partition", p.id, "offset", records[0].offset, "records", len(records), "error", err)
		}
		if !pause.wait(a.intake) {
			return false
		}
	}
}
