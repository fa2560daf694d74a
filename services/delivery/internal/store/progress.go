package store

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// The collection "pages" stores the number of planned deliveries for each page of recipients. Rows are counted by
// fieldProgress, a hash of the organization, the event, the channel and the delivery's status. For blocks, the sizes in the
// index by event are added.
const (
	fieldProgress  = "progress"
	fieldPlannedAt = "plannedAt"
)

func declarePages(db *document.Database) *document.Collection[deliverylog.PlannedPage] {
	return document.Declare(db, document.Schema[deliverylog.PlannedPage]{
		Name:  "pages",
		Key:   func(p *deliverylog.PlannedPage) string { return p.ID },
		Shard: document.ByKey(),
		Fields: []document.Field[deliverylog.PlannedPage]{
			{Name: fieldEvent, Value: func(p *deliverylog.PlannedPage) any { return p.EventID }},
			{Name: fieldPlannedAt, Value: func(p *deliverylog.PlannedPage) any { return p.PlannedAt }},
		},
		Indexes: []document.Index{
			{Name: fieldEvent, Fields: []string{fieldEvent}, Scatter: scatterSum},
			{Name: "age", Fields: []string{fieldPlannedAt}, Scatter: scatterAge},
		},
	})
}

// progressOf returns the value of fieldProgress.
func progressOf(d *deliverylog.Delivery) any {
	status, counts := d.Counts()
	if !counts {
		return nil
	}
	return progressHash(d.Organization, d.EventID, d.Channel, status)
}

func progressHash(organization, event string, channel topic.Channel, status deliverylog.Status) int64 {
	return deliverylog.Hash("progress", organization, event, string(channel), string(status))
}

// SavePages implements dispatch.Store.
func (s *Store) SavePages(ctx context.Context, pages ...deliverylog.PlannedPage) error {
	_, err := s.pages.InsertMany(ctx, pages)
	return err
}

// Planned implements deliverylog.Store.
func (s *Store) Planned(ctx context.Context, organization, event string) (map[topic.Channel]int64, error) {
	planned := make(map[topic.Channel]int64)
	pages, err := s.pages.Find(ctx, find.Query{Where: []find.Condition{find.Eq(fieldEvent, event)}})
	for _, page := range pages.Items {
		if page.Organization == organization {
			planned[page.Channel] += int64(page.Recipients)
		}
	}
	return planned, err
}

// Progress implements deliverylog.Store. It counts StatusRetrying last, so that a delivery that ends meanwhile is
// counted at most once.
func (s *Store) Progress(ctx context.Context, organization, event string, channel topic.Channel) (deliverylog.Progress, error) {
	var p deliverylog.Progress
	for _, part := range []struct {
		status deliverylog.Status
		into   *int64
	}{
		{deliverylog.StatusDelivered, &p.Delivered}, {deliverylog.StatusFailed, &p.Failed}, {deliverylog.StatusSkipped, &p.Skipped},
		{deliverylog.StatusSuppressed, &p.Suppressed}, {deliverylog.StatusRetrying, &p.Retrying},
	} {
		n, err := s.deliveries.Count(ctx, find.Query{Where: []find.Condition{
			find.Eq(fieldProgress, progressHash(organization, event, channel, part.status)),
		}})
		if err != nil {
			return p, err
		}
		*part.into = n
	}
	inBlocks, err := s.blocks.Sum(ctx, fieldSize, find.Query{Where: []find.Condition{find.Eq(fieldEvent, blockHash(organization, channel, event))}})
	p.Delivered += inBlocks
	return p, err
}
