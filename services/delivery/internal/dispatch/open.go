package dispatch

import (
	"cmp"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/failurelog"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// open opens a shard. The first time (sh.checked is false), it loads the change and removes the members that are stored
// already. Every time, it resolves the destinations of the members. change and members are those of the shard. The
// first time, change is nil.
func (s *Sender) open(sh *shard, change *Snapshot, members []*member) (opened, error) {
	found := opened{change: change, members: members}
	if sh.replay != "" { // withoutRow adds the waiting row of the replay to the retryIndex
		_, err := s.withoutRow(sh, members)
		return opened{}, err
	}
	_, kept := s.Recipients[sh.recipientService()]
	if _, known := s.Channels[sh.channel]; !known || !kept { // a process of another version has stored the shard or row
		return s.fail(sh, members, deliverylog.CodeUnavailable)
	}
	if !sh.checked {
		if err := s.retries.awaitLoaded(sh.ctx, sh.partition); err != nil {
			return found, err
		}
		var err error
		found.change, err = s.snapshots.get(s.work, sh.changeID)
		if fault.Is(err, fault.NotFound) {
			return s.fail(sh, members, deliverylog.CodeExpired)
		}
		if err == nil && !sh.retry {
			found.members, err = s.withoutRow(sh, members)
		}
		cause := failurelog.Cause{Message: "Shards cannot be opened yet."}
		if err != nil {
			return found, s.warn(sh, err, cause)
		}
		s.outages.Over(sh.trace, cause)
	}
	if len(found.members) == 0 {
		return found, nil
	}
	ids := find.Values(found.members, func(m *member) string { return m.recipient })
	found.requestedAt = s.queue.now()
	var err error
	found.destinations, err = s.resolve(sh, found.change, ids)
	return found, err
}

func (s *Sender) resolve(sh *shard, change *Snapshot, ids []string) ([]topic.Destination, error) {
	query := topic.ResolveQuery{Kind: change.Kind, Channel: sh.channel, IDs: ids}
	if change.To != "" {
		query.Channel = topic.Email // the service knows members by mail only
	}
	destinations, err := s.Recipients[sh.recipientService()].Resolve(sh.trace, sh.organization, query)
	if err == nil && len(destinations) != len(ids) {
		err = fault.New(fault.Internal, "%d recipients were requested, but %d were returned.", len(ids), len(destinations))
	}
	cause := failurelog.Cause{Message: "Recipients cannot be resolved yet.", Of: string(sh.recipientService())}
	if err != nil {
		return nil, s.warn(sh, err, cause)
	}
	s.outages.Over(sh.trace, cause)
	if change.To != "" {
		for i := range destinations {
			destinations[i].Channel, destinations[i].Address = sh.channel, change.To
		}
	}
	return destinations, nil
}

func (s *Sender) warn(sh *shard, err error, cause failurelog.Cause) error {
	s.outages.Failed(sh.trace, cause, err, "change", sh.changeID, "organization", sh.organization)
	return err
}

// withoutRow returns the members whose deliveries are not stored, as a row or in a block. It publishes the outcomes of
// ended deliveries again, because the process that stored a delivery may have been killed before it published the
// outcome. It adds waiting rows to the retryIndex, because the former owner of the partition may have stored them after
// the index was loaded.
func (s *Sender) withoutRow(sh *shard, members []*member) ([]*member, error) {
	ids := make([]string, len(members))
	for i, m := range members {
		m.id = cmp.Or(sh.replay, topic.DeliveryID(sh.changeID, m.recipient))
		ids[i] = m.id
	}
	rows, err := s.storedRows(sh, members, ids)
	if err != nil || len(rows) == 0 {
		return members, err
	}
	stored, found := make(map[string]bool, len(rows)), make([]*deliverylog.Delivery, len(rows))
	for i := range rows {
		stored[rows[i].ID], found[i] = true, &rows[i]
		if rows[i].Status == deliverylog.StatusRetrying {
			s.retries.add(&rows[i])
		}
	}
	if outcomes := deliverylog.Outcomes(found); len(outcomes) > 0 {
		s.queue.hold(sh)
		s.writer.batches <- outcomeBatch{outcomes, map[*shard]int{sh: 1}}
	}
	return slices.DeleteFunc(slices.Clone(members), func(m *member) bool { return stored[m.id] }), nil
}

// storedRows returns the stored deliveries of the members, as rows. ids are the ids of these deliveries.
func (s *Sender) storedRows(sh *shard, members []*member, ids []string) ([]deliverylog.Delivery, error) {
	if sh.replay != "" {
		return s.Store.Deliveries(sh.trace, ids)
	}
	recipients := find.Values(members, func(m *member) string { return m.recipient })
	return s.Store.Stored(sh.trace, sh.changeID, sh.partition, ids, deliverylog.NewWanted(recipients))
}

// fail ends the waiting rows of a shard whose change is no longer stored, or whose channel this process does not have.
// Members without a row are dropped.
func (s *Sender) fail(sh *shard, members []*member, code deliverylog.Code) (opened, error) {
	s.Log.WarnContext(sh.trace, "Deliveries failed without an attempt.", "change", sh.changeID, "deliveries", len(members), "code", code)
	for _, m := range members {
		if m.row == nil {
			continue
		}
		row, err := s.writer.settle(s.work, m.row.ID, func(d *deliverylog.Delivery) bool {
			d.Skip(deliverylog.StatusFailed, code, s.Now())
			return true
		})
		if err != nil {
			return opened{}, err
		}
		s.retries.remove(&row)
	}
	return opened{}, nil
}
