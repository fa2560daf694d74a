package stream

import (
	"context"
	"time"
)

// ConsumeBatches is a member of the group until ctx ends, like Consume. handle gets
// up to MaxPending records of one partition, in order; batches of different partitions
// at the same time. When it returns nil their effects are durable; when it returns an
// error it gets the same records again after a while (0.1 s at first, 30 s at most),
// and never another of that partition before; what can never be handled is therefore the
// handler's to leave out, as Read does. Its ctx carries the trace of the batch's first
// record; see Context for the others.
func (c *Client) ConsumeBatches(ctx context.Context, subscription Subscription, handle func(ctx context.Context, batch []Record) error) error {
	return c.subscribe(ctx, subscription, func(a *assignment, l *lane) {
		for {
			batch := l.take(a.intake, a.subscription.MaxPending)
			if len(batch) == 0 || !a.gate.enter() {
				return
			}
			finished := a.batch(l, batch, handle)
			a.gate.leave()
			if !finished {
				return
			}
		}
	})
}

// batch handles records until they are finished; false means that they are not and
// the assignment ends.
func (a *assignment) batch(l *lane, batch []fetched, handle func(context.Context, []Record) error) bool {
	group, n := a.subscription.Group, float64(len(batch))
	a.client.metrics.consumed.WithLabelValues(group, l.topic).Add(n)
	unfinished := a.client.metrics.unfinished.WithLabelValues(group, l.topic)
	unfinished.Add(n)
	held := l.handOut(batch[0].offset, batch[len(batch)-1].offset, func() { unfinished.Sub(n) })
	finished := a.persist(l, batch, handle)
	held.settle(finished)
	return finished
}

// persist tries until the handler is content.
func (a *assignment) persist(l *lane, batch []fetched, handle func(context.Context, []Record) error) bool {
	group := a.subscription.Group
	pace := &backoff{min: 200 * time.Millisecond, max: 30 * time.Second}
	for {
		err := a.attempt(l, batch, handle)
		if err == nil {
			return true
		}
		log := a.client.log.With("group", group, "topic", l.topic, "partition", l.partition,
			"offset", batch[0].offset, "records", len(batch), "error", err)
		ctx := a.client.Context(a.work, batch[0].record)
		a.client.metrics.failed.WithLabelValues(group, l.topic).Inc()
		if a.intake.Err() == nil {
			log.WarnContext(ctx, "a batch failed and is tried again")
		}
		if !pace.wait(a.intake) {
			return false
		}
	}
}

func (a *assignment) attempt(l *lane, batch []fetched, handle func(context.Context, []Record) error) error {
	records := make([]Record, len(batch))
	for i, each := range batch {
		records[i] = each.record
	}
	ctx, span := a.client.consume(a.work, a.subscription.Group, l.partition, batch[0].offset, records)
	err := handle(ctx, records)
	finishSpan(span, err)
	return err
}
