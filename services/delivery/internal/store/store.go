// Package store stores deliveries and changes as documents.
//
// The collection "changes" has one document for each change of an event and each notice. "requests" has one document
// for each different text of a change that was sent. "blocks" (blocks.go) has the deliveries that succeeded quickly at the first attempt.
// "deliveries" has one row for each other delivery, and the later logs of deliveries with several attempts. "pages" has
// the numbers of planned deliveries (progress.go). The indexes for the lists are in logs.go. A list merges rows and
// members of blocks (merge.go).
package store

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// Store implements dispatch.Store and deliverylog.Store.
type Store struct {
	changes    *document.Collection[dispatch.Content]
	deliveries *document.Collection[deliverylog.Delivery]
	requests   *document.Collection[deliverylog.Request]
	blocks     *document.Collection[deliverylog.Block]
	pages      *document.Collection[deliverylog.PlannedPage]
}

// Reasons why queries ask every shard. The key of a record is its shard key, so that a fan-out of one organization writes to
// all shards, and the id of a delivery is unique also after its endpoint moved to another bucket.
const (
	scatterAge    = "Records of all organizations are deleted after the retention time."
	scatterList   = "A list of logs merges the pages of all shards."
	scatterStored = "A part of a fan-out with up to 256 recipients asks once what is stored, from the index alone."
	scatterSum    = "Numbers of an event or a channel are the sums of all shards, from the index alone."
)

// New declares the collections in db.
func New(db *document.Database) *Store {
	return &Store{
		blocks: declareBlocks(db),
		pages:  declarePages(db),
		changes: document.Declare(db, document.Schema[dispatch.Content]{
			Name:  "changes",
			Key:   (*dispatch.Content).ChangeID,
			Shard: document.ByKey(),
			Fields: []document.Field[dispatch.Content]{
				{Name: fieldOccurredAt, Value: func(c *dispatch.Content) any { return c.At() }},
				{Name: fieldOf, Value: changedEvent},
			},
			Indexes: []document.Index{
				{Name: "age", Fields: []string{fieldOccurredAt}, Scatter: scatterAge},
				{Name: fieldOf, Fields: []string{fieldOf, fieldOccurredAt}, Scatter: "A member replays the changes of an event."},
			},
		}),
		deliveries: document.Declare(db, document.Schema[deliverylog.Delivery]{
			Name:  "deliveries",
			Key:   func(d *deliverylog.Delivery) string { return d.ID },
			Shard: document.ByKey(),
			Fields: append(logFields(),
				document.Field[deliverylog.Delivery]{Name: fieldProgress, Value: progressOf},
				document.Field[deliverylog.Delivery]{Name: fieldPlace, Value: rowPlace},
				document.Field[deliverylog.Delivery]{Name: fieldWaits, Value: waits},
				document.Field[deliverylog.Delivery]{Name: fieldReplayOf, Value: replayOf},
				document.Field[deliverylog.Delivery]{Name: "waitsIn", Value: waitsIn},
				document.Field[deliverylog.Delivery]{Name: "nextAttemptAt", Value: nextAttemptAt}),
			Indexes: append(logIndexes(),
				document.Index{Name: fieldPlace, Fields: []string{fieldPlace}, Scatter: scatterStored},
				document.Index{Name: fieldProgress, Fields: []string{fieldProgress, fieldSentAt}, Counted: true, Scatter: scatterSum},
				document.Index{Name: fieldWaits, Fields: []string{fieldWaits}, Scatter: scatterSum},
				document.Index{Name: fieldReplayOf, Fields: []string{fieldReplayOf}, Scatter: "A replay asks once for up to 400 logs."},
				document.Index{
					Name: "due", Fields: []string{"waitsIn", "nextAttemptAt"},
					Scatter: "The owner of a partition reads its waiting deliveries once. Also, records are deleted after the retention time.",
				}),
		}),
		requests: document.Declare(db, document.Schema[deliverylog.Request]{
			Name:  "requests",
			Key:   func(r *deliverylog.Request) string { return r.ID },
			Shard: document.ByKey(),
			Fields: []document.Field[deliverylog.Request]{
				{Name: "storedAt", Value: func(r *deliverylog.Request) any { return r.StoredAt }},
			},
			Indexes: []document.Index{{Name: "age", Fields: []string{"storedAt"}, Scatter: scatterAge}},
		}),
	}
}

// rowPlace returns the value of fieldPlace of a row. It returns nil for a later log.
func rowPlace(d *deliverylog.Delivery) any {
	if d.Log > 0 {
		return nil
	}
	return placeOf(d.ChangeID, d.Partition)
}

// waitsIn returns the partition of a row that waits for a retry, and nil for other rows and for later logs.
func waitsIn(d *deliverylog.Delivery) any {
	if d.Status != deliverylog.StatusRetrying || d.Log > 0 {
		return nil
	}
	return d.Partition
}

// nextAttemptAt returns the due time of a row that waits for a retry. For other rows and for later logs it returns SentAt,
// because Prune finds old records by this time. SentAt increases, so new rows are added at the end of the index.
func nextAttemptAt(d *deliverylog.Delivery) any {
	if d.NextAttemptAt == nil || d.Log > 0 {
		return d.SentAt
	}
	return *d.NextAttemptAt
}

func (s *Store) SaveContent(ctx context.Context, content dispatch.Content) error {
	_, err := s.changes.InsertMany(ctx, []dispatch.Content{content})
	return err
}

func (s *Store) Content(ctx context.Context, id string) (dispatch.Content, error) {
	return s.changes.Get(ctx, id)
}

func (s *Store) Deliveries(ctx context.Context, ids []string) ([]deliverylog.Delivery, error) {
	return s.deliveries.GetMany(ctx, ids)
}

func (s *Store) Insert(ctx context.Context, rows []deliverylog.Delivery) ([]deliverylog.Delivery, error) {
	return s.deliveries.InsertMany(ctx, rows)
}

// Schedule implements dispatch.Store.
func (s *Store) Schedule(ctx context.Context, row deliverylog.Delivery, messages ...topic.Message) error {
	return s.deliveries.Insert(ctx, row, messages...)
}

func (s *Store) SaveRequests(ctx context.Context, requests []deliverylog.Request) error {
	_, err := s.requests.InsertMany(ctx, requests)
	return err
}

func (s *Store) Request(ctx context.Context, id string) (deliverylog.Request, error) {
	return s.requests.Get(ctx, id)
}

// Amend implements dispatch.Store. It stores the outcome in the row's outbox.
func (s *Store) Amend(ctx context.Context, id string, change func(*deliverylog.Delivery) (*topic.Outcome, error)) (deliverylog.Delivery, error) {
	return s.deliveries.Update(ctx, id, func(d *deliverylog.Delivery) ([]topic.Message, error) {
		outcome, err := change(d)
		if err != nil || outcome == nil {
			return nil, err
		}
		return []topic.Message{*outcome}, nil
	})
}

func (s *Store) Waiting(ctx context.Context, partition int, from time.Time, after string, limit int) ([]deliverylog.Delivery, string, error) {
	query := find.Query{
		Where: []find.Condition{find.Eq("waitsIn", int64(partition))},
		Order: []find.Order{{Field: "nextAttemptAt"}}, Limit: limit, After: after,
	}
	if !from.IsZero() {
		query.Where = append(query.Where, find.Gte("nextAttemptAt", from))
	}
	page, err := s.deliveries.Find(ctx, query)
	return page.Items, page.Next, err
}

func (s *Store) Prune(ctx context.Context, before, requestsBefore time.Time, limit int) (deleted int64, err error) {
	older := func(field string, at time.Time) find.Query {
		return find.Query{Where: []find.Condition{find.Lt(field, at)}, Limit: limit}
	}
	ended := older("nextAttemptAt", before)
	ended.Where = append([]find.Condition{find.Absent("waitsIn")}, ended.Where...)
	for _, of := range []struct {
		prune func(context.Context, find.Query) (int64, error)
		query find.Query
	}{
		{s.deliveries.DeleteMany, ended}, {s.blocks.DeleteMany, older(fieldLast, before)}, {s.pages.DeleteMany, older(fieldPlannedAt, before)},
		{s.changes.DeleteMany, older(fieldOccurredAt, before)}, {s.requests.DeleteMany, older("storedAt", requestsBefore)},
	} {
		n, err := of.prune(ctx, of.query)
		if deleted += n; err != nil {
			return deleted, err
		}
	}
	return deleted, nil
}
