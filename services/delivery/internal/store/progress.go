package store

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// The collection "pages" has the number of planned deliveries of each page of recipients. Rows are counted by
// fieldProgress, a hash of the event, the channel and the delivery's status. Of blocks the sizes are added, which the index
// by event has.
const (
	fieldProgress  = "progress"
	fieldPlannedAt = "plannedAt"
)

func declarePages(db *document.Database) *document.Collection[dispatch.PlannedPage] {
	return document.Declare(db, document.Schema[dispatch.PlannedPage]{
		Name: "pages",
		Key:  func(p *dispatch.PlannedPage) string { return p.ID },
		Fields: []document.Field[dispatch.PlannedPage]{
			{Name: fieldEvent, Value: func(p *dispatch.PlannedPage) any { return p.EventID }},
			{Name: fieldPlannedAt, Value: func(p *dispatch.PlannedPage) any { return p.PlannedAt }},
		},
		Indexes: []document.Index{
			{Name: fieldEvent, Fields: []string{fieldEvent}},
			{Name: "age", Fields: []string{fieldPlannedAt}},
		},
	})
}

// progressOf returns the value of fieldProgress.
func progressOf(d *dispatch.Delivery) any {
	status, counts := d.Counts()
	if !counts {
		return nil
	}
	return progressHash(d.Organization, d.EventID, d.Channel, status)
}

func progressHash(organization, event string, channel topic.Channel, status dispatch.Status) int64 {
	return dispatch.Hash("progress", organization, event, string(channel), string(status))
}

// SavePage implements dispatch.Store.
func (s *Store) SavePage(ctx context.Context, page dispatch.PlannedPage) error {
	_, err := s.pages.InsertMany(ctx, []dispatch.PlannedPage{page})
	return err
}

// Planned implements dispatch.Store.
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

// Progress implements dispatch.Store. It reads retrying last: a delivery that ends meanwhile is then counted at most once.
func (s *Store) Progress(ctx context.Context, organization, event string, channel topic.Channel) (dispatch.Progress, error) {
	var p dispatch.Progress
	for _, part := range []struct {
		status dispatch.Status
		into   *int64
	}{
		{dispatch.StatusDelivered, &p.Delivered}, {dispatch.StatusFailed, &p.Failed}, {dispatch.StatusSkipped, &p.Skipped},
		{dispatch.StatusSuppressed, &p.Suppressed}, {dispatch.StatusRetrying, &p.Retrying},
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
