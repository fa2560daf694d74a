package dispatch

import (
	"errors"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/failurelog"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// open opens shards: the first time it loads them, and every time it resolves the destinations of their members.
func (s *Sender) open(group []*opened) {
	if !group[0].shard.checked {
		s.load(group)
	}
	s.resolve(group)
}

// unavailableWait is how long a first attempt waits if this process does not have its channel. During an update of the
// installation, a process of the newer version gets the partition within this time. If a planner does not have the channel of
// a change, it stores that nothing was sent (Planner.skip).
const unavailableWait = 5 * time.Minute

// These variables never change.
var (
	cannotOpen   = failurelog.Cause{Message: "Shards cannot be opened yet."}
	errNotLoaded = errors.New("the waiting deliveries of the partition are not loaded yet")
	errNotOwned  = errors.New("the partition may belong to another process")
)

// load loads the change of the shards. It removes the members that are stored already, except from shards of due rows. If the
// change is no longer stored, load calls fail. If this process does not have the channel, load calls fail for due rows, and
// delay for other members.
func (s *Sender) load(group []*opened) {
	sh := group[0].shard
	if sh.replay != "" { // withoutStored adds the waiting row of the replay to the retryIndex
		s.withoutStored(group)
		group[0].members = nil
		return
	}
	_, kept := s.Recipients[sh.recipientService()]
	_, known := s.Channels[sh.channel]
	available := known && kept // else a process of another version has published the shards or stored the rows
	if !available && sh.retry {
		s.fail(group, deliverylog.CodeUnavailable)
		return
	}
	var found []*opened
	for _, o := range group {
		if s.retries.isLoaded(o.shard.partition) {
			found = append(found, o)
		} else {
			o.err = errNotLoaded
		}
	}
	if len(found) == 0 {
		return
	}
	change, err := s.snapshots.get(s.work, sh.changeID)
	if fault.Is(err, fault.NotFound) {
		s.fail(found, deliverylog.CodeExpired)
		return
	}
	for _, o := range found {
		o.change, o.err = change, err
	}
	if err != nil || sh.retry {
		s.note(sh, err, cannotOpen)
		return
	}
	if s.withoutStored(found); !available {
		s.delay(found)
	}
}

// delay stores the members as rows that wait for unavailableWait.
func (s *Sender) delay(group []*opened) {
	for _, o := range group {
		if o.err == nil && !s.retries.owns(o.shard.partition) {
			o.err = errNotOwned
		}
		if o.err != nil || len(o.members) == 0 {
			continue
		}
		rows := make([]deliverylog.Delivery, len(o.members))
		for i, m := range o.members {
			rows[i] = s.firstRow(m, o.change)
			s.retryAt(m, &rows[i], deliverylog.CodeUnavailable, s.Now().Add(unavailableWait))
		}
		stored, err := s.Store.Insert(s.work, rows)
		if s.note(o.shard, err, cannotOpen); err != nil {
			o.err = err
			continue
		}
		for i := range stored {
			s.retries.add(&stored[i])
		}
		o.members = nil
	}
}

// resolve resolves the destinations of the members of those shards that have members and no error. If this fails, it sets the
// error of these shards.
func (s *Sender) resolve(group []*opened) {
	group = slices.DeleteFunc(slices.Clone(group), func(o *opened) bool { return o.err != nil || len(o.members) == 0 })
	if len(group) == 0 {
		return
	}
	first := group[0]
	query := topic.ResolveQuery{Kind: first.change.Kind, Channel: first.shard.channel}
	if first.change.To != "" {
		query.Channel = topic.Email // the identity service resolves members only for mail
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
	s.note(first.shard, err, failurelog.Cause{Message: "Recipients cannot be resolved yet.", Of: string(service)})
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

// note logs a failure of shards if err is not nil. Otherwise it logs the end of an outage with this cause.
func (s *Sender) note(sh *shard, err error, cause failurelog.Cause) {
	if err != nil {
		s.outages.Failed(sh.trace, cause, err, "change", sh.changeID, "organization", sh.organization)
	} else {
		s.outages.Over(sh.trace, cause)
	}
}

// withoutStored removes the members whose deliveries are stored, as a row or in a block. It publishes the outcomes of ended
// deliveries again, because the process that stored a delivery may have been killed before it published the outcome. It adds
// waiting rows to the retryIndex, because the former owner of the partition may have stored them after the index was loaded.
// For replays it stores a PlannedPage (saveReplays). If something fails, it sets the error of the shards.
func (s *Sender) withoutStored(group []*opened) {
	rows, err := s.storedRows(group)
	s.note(group[0].shard, err, cannotOpen)
	again := outcomeBatch{members: make(map[*shard]int)}
	for _, o := range group {
		if o.err = err; err != nil || len(rows) == 0 {
			continue
		}
		found := o.without(rows)
		if o.err = s.saveReplays(o.shard.trace, found); o.err != nil {
			s.note(o.shard, o.err, cannotOpen)
			continue
		}
		for _, row := range found {
			if row.Status == deliverylog.StatusRetrying {
				s.retries.add(row)
			}
		}
		if outcomes := deliverylog.Outcomes(found); len(outcomes) > 0 {
			s.queue.hold(o.shard)
			again.outcomes, again.members[o.shard] = append(again.outcomes, outcomes...), 1
		}
	}
	if len(again.outcomes) > 0 {
		s.writer.batches <- again
	}
}

// without removes the members whose deliveries are among the rows, and returns the rows of these deliveries. A row of another
// partition does not count, because it is a delivery to a former URL of the endpoint. The row of a replay counts in every
// partition.
func (o *opened) without(rows []deliverylog.Delivery) (found []*deliverylog.Delivery) {
	stored := make(map[string]bool, len(o.members)) // by id
	for _, m := range o.members {
		stored[m.id] = false
	}
	for i := range rows {
		if _, mine := stored[rows[i].ID]; mine && (o.shard.replay != "" || rows[i].Partition == o.shard.partition) {
			stored[rows[i].ID], found = true, append(found, &rows[i])
		}
	}
	o.members = slices.DeleteFunc(slices.Clone(o.members), func(m *member) bool { return stored[m.id] })
	return found
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

// fail ends the waiting rows of shards whose change is no longer stored, or whose channel this process does not have. For
// members without a row it stores nothing. Then it removes all members from the shards.
func (s *Sender) fail(group []*opened, code deliverylog.Code) {
	for _, o := range group {
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
				o.err = err
				break
			}
			s.retries.remove(&row)
		}
		o.members = nil
	}
}
