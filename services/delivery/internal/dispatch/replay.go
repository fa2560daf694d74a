package dispatch

import (
	"cmp"
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// Replay makes a new delivery with the message and recipient of a log, and returns the id of the new delivery. It returns an
// error if the old delivery waits for its next attempt, because the recipient would get the message twice. The row of the new
// delivery waits for its first attempt. One write stores this row and the shard with which the owner of the partition finds
// the row.
func (p *Planner) Replay(ctx context.Context, key deliverylog.Key) (deliveryID string, err error) {
	log, row, err := p.Logs.Find(ctx, key)
	if err != nil {
		return "", err
	}
	if row.Status == deliverylog.StatusRetrying {
		return "", fault.New(fault.Conflict, "The delivery is not over: it waits for its next attempt. Replay it when it has ended.")
	}
	content, err := p.Store.Content(ctx, row.ChangeID)
	if fault.Is(err, fault.NotFound) {
		return "", fault.New(fault.NotFound, "The message of this log is no longer stored.")
	}
	if err != nil {
		return "", err
	}
	if content.To != "" {
		return "", fault.New(fault.Conflict, "This is a test message to a number that a member has typed. Send a new test message.")
	}
	change := content.change()
	if err := p.shown(ctx, &row, &change); err != nil {
		return "", err
	}
	to, err := p.recipient(ctx, &row, change.Kind)
	if err != nil {
		return "", err
	}
	now := p.Now()
	again := deliverylog.NewDelivery(topic.DeliveryID(topic.NewID(), row.Recipient), row.Channel, row.Recipient, &change, p.Policy.attempts(), now)
	again.EventID, again.Service, again.ReplayOf = row.EventID, row.Service, log.ID
	again.DashboardID, again.Partition = to.Dashboard.ID, row.Partition
	if row.Channel.RecipientService() == topic.Integrations {
		again.URLHash, again.URLDisplay, again.Partition = to.URLHash, to.URLDisplay, deliverylog.BucketOf(p.destination(row.Channel, cmp.Or(to.Paced, to.URLHash)))
	}
	return again.ID, p.schedule(ctx, again, "delivery.replay", now)
}

// saveReplays stores a PlannedPage with one recipient for each of the rows that is a replay for an event. It is called when
// the shard of a replay is opened. This shard is published only if the row is stored. So no replay without a row is counted.
func (s *Sender) saveReplays(ctx context.Context, rows []*deliverylog.Delivery) error {
	var pages []deliverylog.PlannedPage
	for _, row := range rows {
		if row.ReplayOf != "" && row.EventID != "" {
			pages = append(pages, deliverylog.PlannedPage{ID: row.ID, Organization: row.Organization, EventID: row.EventID, Channel: row.Channel, Recipients: 1, PlannedAt: s.Now()})
		}
	}
	if len(pages) == 0 {
		return nil
	}
	return s.Store.SavePages(ctx, pages...)
}

// schedule stores a new row that waits for its first attempt, with its shard and an audit entry about the action.
func (p *Planner) schedule(ctx context.Context, row deliverylog.Delivery, action string, now time.Time) error {
	row.ScheduleRetry(deliverylog.CodeHeld, now, p.Traces.Carry(ctx))
	shard := topic.Shard{
		ID: row.ID, ChangeID: row.ChangeID, Organization: row.Organization, Channel: row.Channel, Service: row.Service,
		Bucket: row.Partition, Recipients: []string{row.Recipient}, Replay: row.ID,
	}
	return p.Store.Schedule(ctx, row, append(audit.Entry(audit.From(ctx), action, now, nil, &row), shard)...)
}

// shown returns an error if the event of a replayed delivery was deleted, or if nobody may be notified of it any more.
// If the events service does not respond, shown returns nil. The sender requests the state again before the attempt.
func (p *Planner) shown(ctx context.Context, row *deliverylog.Delivery, change *topic.EventChange) error {
	if row.EventID == "" {
		return nil
	}
	state, err := p.Events.EventState(ctx, row.Organization, row.EventID)
	switch {
	case fault.Is(err, fault.NotFound):
		return fault.New(fault.NotFound, "The event of this log no longer exists.")
	case err == nil && withdrawn(&state, change):
		return fault.New(fault.Conflict, "The event is a draft, its components are hidden from notifications, or its dashboards do not show it any more. Publish it, then replay the delivery.")
	}
	return nil
}

// recipient returns the current destination of the recipient of row. It returns an error if the recipient is not
// active.
func (p *Planner) recipient(ctx context.Context, row *deliverylog.Delivery, kind topic.Kind) (topic.Destination, error) {
	gone := fault.New(fault.NotFound, "The recipient of this log no longer exists, or has no component any more.")
	service, kept := p.Recipients[cmp.Or(row.Service, row.Channel.RecipientService())]
	if row.Recipient == "" || !kept {
		return topic.Destination{}, gone
	}
	found, err := service.Resolve(ctx, row.Organization, topic.ResolveQuery{Kind: kind, Channel: row.Channel, IDs: []string{row.Recipient}})
	if err != nil {
		return topic.Destination{}, err
	}
	if len(found) != 1 {
		return topic.Destination{}, fault.New(fault.Internal, "1 recipient was requested, but %d were returned.", len(found))
	}
	switch found[0].State {
	case topic.RecipientActive:
		return found[0], nil
	case topic.RecipientPaused:
		return topic.Destination{}, fault.New(fault.Conflict, "The recipient is paused. Resume it, then replay the delivery.")
	case topic.RecipientUnconfirmed:
		return topic.Destination{}, fault.New(fault.Conflict, "The recipient is not confirmed. Confirm it, then replay the delivery.")
	case topic.RecipientSuppressed:
		return topic.Destination{}, fault.New(fault.Conflict, "The recipient is suppressed. Clear the suppression, then replay the delivery.")
	}
	return topic.Destination{}, gone
}
