package dispatch

import (
	"context"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/failurelog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// retry queues due rows until ctx ends.
func (s *Sender) retry(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.retries.wake:
		case <-timer.C:
		}
		partitions, wait := s.retries.due(s.Now())
		for _, p := range partitions {
			rows, err := s.retries.collect(ctx, p, s.Now())
			cause := failurelog.Cause{Message: "The due deliveries cannot be read yet."}
			switch {
			case err == nil:
				s.outages.Over(ctx, cause)
			case ctx.Err() == nil:
				s.outages.Failed(ctx, cause, err, "partition", p.Partition)
			}
			s.enqueue(p, rows)
		}
		timer.Reset(max(wait, time.Millisecond))
	}
}

// enqueue groups due rows into shards by change and channel, and queues the shards.
func (s *Sender) enqueue(p *partitionRetries, rows []deliverylog.Delivery) {
	var shards []*shard
	for i := range rows {
		row := &rows[i]
		at := slices.IndexFunc(shards, func(sh *shard) bool { return sh.changeID == row.ChangeID && sh.channel == row.Channel })
		if at < 0 {
			at = len(shards)
			shards = append(shards, &shard{
				ctx: p.Open, trace: s.Traces.Resume(s.work, row.Trace), partition: p.Partition,
				organization: row.Organization, channel: row.Channel, service: row.Service, changeID: row.ChangeID, retry: true,
			})
		}
		shards[at].members = append(shards[at].members, &member{shard: shards[at], id: row.ID, recipient: row.Recipient, row: row})
	}
	for _, sh := range shards {
		if release := p.Hold(); release != nil {
			sh.work = hold(release)
			s.queue.push(sh)
		}
	}
}

// hold is the Work of a shard of due rows. While the shard is in progress, the partition is not given back, because the
// next owner could send a newer delivery before an attempt of this shard has ended.
type hold func()

// Done implements Work.
func (h hold) Done() { h() }

// Abandon implements Work.
func (h hold) Abandon() { h() }

// lease moves the due time of m's row to the latest end of this attempt, so that no other process makes an attempt, and
// returns true. It returns false if another process has leased or ended the row, or if the sender was interrupted.
func (s *Sender) lease(m *member) bool {
	now := s.Now()
	until := now.Add(s.Timeout + leaseMargin)
	taken := false
	row, err := s.writer.amend(s.work, m.id, func(d *deliverylog.Delivery) bool {
		taken = d.Status == deliverylog.StatusRetrying &&
			(!d.NextAttemptAt.After(now) || m.leased && d.NextAttemptAt.Equal(*m.row.NextAttemptAt))
		if taken {
			d.NextAttemptAt = &until
		}
		return taken
	})
	if m.leased = err == nil && taken; m.leased {
		*m.row = row
	}
	return m.leased
}
