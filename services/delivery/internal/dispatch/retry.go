package dispatch

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// retry puts the rows that are due into the queue until ctx ends.
func (s *Sender) retry(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.waits.wake:
		case <-timer.C:
		}
		partitions, pause := s.waits.due(s.Now())
		for _, partition := range partitions {
			rows, owned, err := s.waits.collect(ctx, partition, s.Now())
			if err != nil && ctx.Err() == nil {
				s.Log.WarnContext(ctx, "what is due cannot be read", "partition", partition, "error", err)
			}
			s.enqueue(owned, partition, rows)
		}
		if len(partitions) > 0 {
			_, pause = s.waits.due(s.Now())
		}
		timer.Reset(max(pause, time.Millisecond))
	}
}

// enqueue groups due rows into shards, a change and channel each.
func (s *Sender) enqueue(owned context.Context, partition int, rows []Delivery) {
	type group struct {
		change  string
		channel topic.Channel
	}
	groups := make(map[group]*shard)
	var order []*shard
	for i := range rows {
		row := &rows[i]
		key := group{row.ChangeID, row.Channel}
		sh := groups[key]
		if sh == nil {
			sh = &shard{
				ctx: owned, trace: s.Traces.Resume(s.work, row.Trace), partition: partition,
				organization: row.Organization, channel: row.Channel, changeID: row.ChangeID, retry: true,
				settle: func(bool) {},
			}
			groups[key] = sh
			order = append(order, sh)
		}
		sh.members = append(sh.members, &member{shard: sh, id: row.ID, recipient: row.Recipient, row: row})
	}
	for _, sh := range order {
		s.queue.push(sh)
	}
}

// lease takes a due row before it is attempted, or keeps one that was taken, so that no other
// process attempts it meanwhile; false when another was faster.
func (s *Sender) lease(m *member) (bool, error) {
	now := s.Now()
	until := now.Add(s.Timeout + leaseMargin)
	taken := false
	row, err := s.amend(m.id, func(d *Delivery) (*topic.Outcome, error) {
		taken = d.Status == StatusRetrying &&
			(!d.NextAttemptAt.After(now) || m.leased && d.NextAttemptAt.Equal(*m.row.NextAttemptAt))
		if !taken {
			return nil, fault.ErrUnchanged
		}
		d.NextAttemptAt = &until
		return nil, nil
	})
	if err != nil {
		return false, err
	}
	if m.leased = taken; taken {
		*m.row = row
	}
	return taken, nil
}

// amend changes a row, until the store answers or the sender is interrupted.
func (s *Sender) amend(id string, change func(*Delivery) (*topic.Outcome, error)) (Delivery, error) {
	var row Delivery
	err := s.ledger.persist(s.work, "a delivery cannot be changed yet", func() (err error) {
		row, err = s.Store.Amend(s.work, id, change)
		return err
	})
	return row, err
}
