package store

import (
	"context"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

const (
	fieldOccurredAt = "occurredAt"
	fieldOf         = "of"       // id of the event of a change; a notice has no value
	fieldReplayOf   = "replayOf" // id of the log that a row replays; other rows have no value, so the index contains only replays
	valuesAtOnce    = 400        // maximum number of values in one condition
)

func changedEvent(c *dispatch.Content) any {
	if c.Notice != nil {
		return nil
	}
	return c.Event.ID
}

func replayOf(d *deliverylog.Delivery) any {
	if d.ReplayOf == "" || d.Log > 0 {
		return nil
	}
	return d.ReplayOf
}

// ChangesOf implements dispatch.Store.
func (s *Store) ChangesOf(ctx context.Context, organization, event string, limit int) ([]topic.EventChange, error) {
	found, err := s.changes.Find(ctx, find.Query{
		Where: []find.Condition{find.Eq(fieldOf, event)}, Order: []find.Order{{Field: fieldOccurredAt, Descending: true}}, Limit: limit,
	})
	var changes []topic.EventChange
	for _, content := range found.Items {
		if content.EventChange != nil && content.Organization == organization {
			changes = append(changes, *content.EventChange)
		}
	}
	return changes, err
}

// PlannedPages implements dispatch.Store.
func (s *Store) PlannedPages(ctx context.Context, ids []string) (map[string]bool, error) {
	pages, err := s.pages.GetMany(ctx, ids)
	planned := make(map[string]bool, len(pages))
	for _, page := range pages {
		planned[page.ID] = true
	}
	return planned, err
}

// Recorded implements dispatch.Store.
func (s *Store) Recorded(ctx context.Context, changes []string, recipients []dispatch.Placed) ([]deliverylog.Delivery, error) {
	var ids, names []string
	var places []int64
	for _, recipient := range recipients {
		names = append(names, recipient.Recipient)
		for _, change := range changes {
			ids, places = append(ids, topic.DeliveryID(change, recipient.Recipient)), append(places, placeOf(change, recipient.Partition))
		}
	}
	slices.Sort(ids)
	slices.Sort(places)
	rows, err := s.deliveries.GetMany(ctx, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	wanted := deliverylog.NewWanted(names)
	for some := range slices.Chunk(slices.Compact(places), valuesAtOnce) {
		blocks, err := s.blocks.Keys(ctx, find.Query{Where: []find.Condition{find.In(fieldPlace, some...)}}, fieldRecipients)
		if err != nil {
			return nil, err
		}
		members, err := s.membersOf(ctx, blocks, wanted, func(b *deliverylog.Block) bool { return slices.Contains(changes, b.ChangeID) })
		if err != nil {
			return nil, err
		}
		rows = append(rows, members...)
	}
	return rows, nil
}

// Replays implements dispatch.Store.
func (s *Store) Replays(ctx context.Context, logs []string) (rows []deliverylog.Delivery, err error) {
	for some := range slices.Chunk(logs, valuesAtOnce) {
		page, err := s.deliveries.Find(ctx, find.Query{Where: []find.Condition{find.In(fieldReplayOf, some...)}})
		if err != nil {
			return nil, err
		}
		rows = append(rows, page.Items...)
	}
	return rows, nil
}
