package dispatch

import (
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/failurelog"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// open opens shards. All have the same change, or there is only one, of a replay. The first time (shard.checked is false),
// it loads the change and removes the members that are stored already. Every time, it resolves the destinations of the
// members. It asks once for all shards.
func (s *Sender) open(group []*opened) {
	var unchecked, loaded []*opened
	for _, o := range group {
		if o.err = s.load(o); o.err == nil && !o.shard.checked && !o.shard.retry {
			unchecked = append(unchecked, o)
		}
	}
	s.withoutRows(unchecked)
	for _, o := range group {
		if o.shard.replay != "" { // withoutRows has added the waiting row of the replay to the retryIndex
			o.members = nil
		}
		if o.err == nil && len(o.members) > 0 {
			loaded = append(loaded, o)
		}
	}
	s.resolve(loaded)
}

// load loads the change of a shard that is opened for the first time.
func (s *Sender) load(o *opened) error {
	sh := o.shard
	if sh.replay != "" {
		return nil
	}
	_, kept := s.Recipients[sh.recipientService()]
	if _, known := s.Channels[sh.channel]; !known || !kept { // a process of another version has stored the shard or row
		return s.fail(o, deliverylog.CodeUnavailable)
	}
	if sh.checked {
		return nil
	}
	if err := s.retries.awaitLoaded(sh.ctx, sh.partition); err != nil {
		return err
	}
	var err error
	o.change, err = s.snapshots.get(s.work, sh.changeID)
	if fault.Is(err, fault.NotFound) {
		return s.fail(o, deliverylog.CodeExpired)
	}
	return s.note(sh, err, cannotOpen)
}

// resolve sets the destinations of the shards.
func (s *Sender) resolve(group []*opened) {
	if len(group) == 0 {
		return
	}
	first := group[0]
	query := topic.ResolveQuery{Kind: first.change.Kind, Channel: first.shard.channel}
	if first.change.To != "" {
		query.Channel = topic.Email // the service knows members by mail only
	}
	for _, o := range group {
		o.requestedAt = s.queue.now()
		for _, m := range o.members {
			query.IDs = append(query.IDs, m.recipient)
		}
	}
	service := first.shard.recipientService()
	destinations, err := s.Recipients[service].Resolve(first.shard.trace, first.shard.organization, query)
	if err == nil && len(destinations) != len(query.IDs) {
		err = fault.New(fault.Internal, "%d recipients were requested, but %d were returned.", len(query.IDs), len(destinations))
	}
	err = s.note(first.shard, err, failurelog.Cause{Message: "Recipients cannot be resolved yet.", Of: string(service)})
	for _, o := range group {
		if o.err = err; err != nil {
			continue
		}
		o.destinations, destinations = destinations[:len(o.members)], destinations[len(o.members):]
		if o.change.To != "" {
			for i := range o.destinations {
				o.destinations[i].Channel, o.destinations[i].Address = o.shard.channel, o.change.To
			}
		}
	}
}

var cannotOpen = failurelog.Cause{Message: "Shards cannot be opened yet."}

// note notes a failure or a success of a shard in the failurelog. It returns err.
func (s *Sender) note(sh *shard, err error, cause failurelog.Cause) error {
	if err != nil {
		s.outages.Failed(sh.trace, cause, err, "change", sh.changeID, "organization", sh.organization)
	} else {
		s.outages.Over(sh.trace, cause)
	}
	return err
}

// withoutRows removes the members whose deliveries are stored, as a row or in a block. It publishes the outcomes of ended
// deliveries again, because the process that stored a delivery may have been killed before it published the outcome. It adds
// waiting rows to the retryIndex, because the former owner of the partition may have stored them after the index was loaded.
func (s *Sender) withoutRows(group []*opened) {
	if len(group) == 0 {
		return
	}
	rows, err := s.storedRows(group)
	err = s.note(group[0].shard, err, cannotOpen)
	for _, o := range group {
		if o.err = err; err == nil && len(rows) > 0 {
			s.withoutRow(o, rows)
		}
	}
}

// withoutRow does the work of withoutRows for a shard. rows are those of all shards.
func (s *Sender) withoutRow(o *opened, rows []deliverylog.Delivery) {
	sh := o.shard
	stored := make(map[string]*deliverylog.Delivery)
	for i := range rows {
		// A row of another partition was sent to another URL of the same endpoint.
		if sh.replay != "" || rows[i].Partition == sh.partition {
			stored[rows[i].ID] = &rows[i]
		}
	}
	var found []*deliverylog.Delivery
	o.members = slices.DeleteFunc(slices.Clone(o.members), func(m *member) bool {
		row, is := stored[m.id]
		if is {
			found = append(found, row)
		}
		return is
	})
	for _, row := range found {
		if row.Status == deliverylog.StatusRetrying {
			s.retries.add(row)
		}
	}
	if outcomes := deliverylog.Outcomes(found); len(outcomes) > 0 {
		s.queue.hold(sh)
		s.writer.batches <- outcomeBatch{outcomes, map[*shard]int{sh: 1}}
	}
}

// storedRows sets the ids of the members, and returns their stored deliveries, as rows.
func (s *Sender) storedRows(group []*opened) ([]deliverylog.Delivery, error) {
	var ids, recipients []string
	var partitions []int
	for _, o := range group {
		if !slices.Contains(partitions, o.shard.partition) {
			partitions = append(partitions, o.shard.partition)
		}
		for _, m := range o.members {
			if m.id = o.shard.replay; m.id == "" {
				m.id = topic.DeliveryID(o.shard.changeID, m.recipient)
			}
			ids, recipients = append(ids, m.id), append(recipients, m.recipient)
		}
	}
	sh := group[0].shard
	if sh.replay != "" {
		return s.Store.Deliveries(sh.trace, ids)
	}
	return s.Store.Stored(sh.trace, sh.changeID, partitions, ids, deliverylog.NewWanted(recipients))
}

// fail ends the waiting rows of a shard whose change is no longer stored, or whose channel this process does not have.
// Members without a row are dropped.
func (s *Sender) fail(o *opened, code deliverylog.Code) error {
	sh := o.shard
	s.Log.WarnContext(sh.trace, "Deliveries failed without an attempt.", "change", sh.changeID, "deliveries", len(o.members), "code", code)
	for _, m := range o.members {
		if m.row == nil {
			continue
		}
		row, err := s.writer.settle(s.work, m.row.ID, func(d *deliverylog.Delivery) bool {
			d.Skip(deliverylog.StatusFailed, code, s.Now())
			return true
		})
		if err != nil {
			return err
		}
		s.retries.remove(&row)
	}
	o.change, o.members = nil, nil
	return nil
}
