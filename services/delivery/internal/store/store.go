// Package store stores deliveries and changes as documents.
//
// The collection "changes" holds one document for each change. The collection "deliveries" holds one row for
// each delivery. It is the delivery log. The platform writes more rows than any other document, so they have
// only two indexes: due, for retries and retention, and log, for the log of an organization and channel.
package store

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// Store implements dispatch.Store.
type Store struct {
	changes    *document.Collection[topic.EventChange]
	deliveries *document.Collection[dispatch.Delivery]
}

// New declares the collections in db.
func New(db *document.Database) *Store {
	return &Store{
		changes: document.Declare(db, document.Schema[topic.EventChange]{
			Name: "changes",
			Key:  func(c *topic.EventChange) string { return c.ID },
			Fields: []document.Field[topic.EventChange]{
				{Name: "occurredAt", Value: func(c *topic.EventChange) any { return c.OccurredAt }},
			},
			Indexes: []document.Index{{Name: "age", Fields: []string{"occurredAt"}}},
		}),
		deliveries: document.Declare(db, document.Schema[dispatch.Delivery]{
			Name: "deliveries",
			Key:  func(d *dispatch.Delivery) string { return d.ID },
			Fields: []document.Field[dispatch.Delivery]{
				{Name: "organization", Value: func(d *dispatch.Delivery) any { return d.Organization }},
				{Name: "channel", Value: func(d *dispatch.Delivery) any { return d.Channel }},
				{Name: "sentAt", Value: func(d *dispatch.Delivery) any { return d.SentAt }},
				{Name: "waitsIn", Value: waitsIn},
				{Name: "nextAttemptAt", Value: nextAttemptAt},
			},
			Indexes: []document.Index{
				{Name: "due", Fields: []string{"waitsIn", "nextAttemptAt"}},
				{Name: "log", Fields: []string{"organization", "channel", "sentAt"}},
			},
		}),
	}
}

// waitsIn returns the partition of a row that waits for a retry, and nil for other rows.
func waitsIn(d *dispatch.Delivery) any {
	if d.Status != dispatch.StatusRetrying {
		return nil
	}
	return d.Partition
}

// nextAttemptAt returns the due time of a row that waits for a retry. For other rows it returns SentAt, which
// Prune needs. Each new row is at the end of the index.
func nextAttemptAt(d *dispatch.Delivery) any {
	if d.NextAttemptAt == nil {
		return d.SentAt
	}
	return *d.NextAttemptAt
}

func (s *Store) SaveChange(ctx context.Context, change topic.EventChange) error {
	_, err := s.changes.InsertMany(ctx, []topic.EventChange{change})
	return err
}

func (s *Store) Change(ctx context.Context, id string) (topic.EventChange, error) {
	return s.changes.Get(ctx, id)
}

func (s *Store) Deliveries(ctx context.Context, ids []string) ([]dispatch.Delivery, error) {
	return s.deliveries.GetMany(ctx, ids)
}

func (s *Store) Insert(ctx context.Context, rows []dispatch.Delivery) ([]dispatch.Delivery, error) {
	return s.deliveries.InsertMany(ctx, rows)
}

// Amend implements dispatch.Store. It stores the outcome in the row's outbox.
func (s *Store) Amend(ctx context.Context, id string, change func(*dispatch.Delivery) (*topic.Outcome, error)) (dispatch.Delivery, error) {
	return s.deliveries.Update(ctx, id, func(d *dispatch.Delivery) ([]topic.Message, error) {
		outcome, err := change(d)
		if err != nil || outcome == nil {
			return nil, err
		}
		return []topic.Message{*outcome}, nil
	})
}

func (s *Store) Waiting(ctx context.Context, partition int, after string, limit int) ([]dispatch.Delivery, string, error) {
	page, err := s.deliveries.Find(ctx, find.Query{
		Where: []find.Condition{find.Eq("waitsIn", int64(partition))},
		Order: []find.Order{{Field: "nextAttemptAt"}}, Limit: limit, After: after,
	})
	return page.Items, page.Next, err
}

func (s *Store) Prune(ctx context.Context, before time.Time, limit int) (int64, error) {
	ended := []find.Condition{find.Absent("waitsIn"), find.Lt("nextAttemptAt", before)}
	rows, err := s.deliveries.DeleteMany(ctx, find.Query{Where: ended, Limit: limit})
	if err != nil {
		return rows, err
	}
	changes, err := s.changes.DeleteMany(ctx, find.Query{Where: []find.Condition{find.Lt("occurredAt", before)}, Limit: limit})
	return rows + changes, err
}
