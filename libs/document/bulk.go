package document

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// batchSize bounds the records in one operation of an engine. Other writes wait for a bulk write for milliseconds only.
const batchSize = 500

// UpsertMany stores items and replaces those whose keys exist. It is for rows without concurrent
// edits (projections, logs): it compares no versions, writes no messages and does not run Derive.
// A batch is one transaction on SQLite and one bulk write on MongoDB.
func (c *Collection[T]) UpsertMany(ctx context.Context, items []T) error {
	defer c.span(&ctx, "upsert many")()
	return c.batches(items, func(_ []T, records []*record) error {
		return c.db.engine.putMany(ctx, c.shape, lastOfEach(records))
	})
}

// lastOfEach returns records with only the last of those with the same key.
func lastOfEach(records []*record) []*record {
	last := make(map[string]*record, len(records))
	for _, r := range records {
		last[r.key] = r
	}
	return slices.DeleteFunc(records, func(r *record) bool { return last[r.key] != r })
}

// InsertMany stores the items whose keys do not exist and returns them in their order. Like
// UpsertMany it writes no messages and does not run Derive.
func (c *Collection[T]) InsertMany(ctx context.Context, items []T) ([]T, error) {
	defer c.span(&ctx, "insert many")()
	var stored []T
	err := c.batches(items, func(batch []T, records []*record) error {
		isNew, err := c.db.engine.insertMany(ctx, c.shape, records)
		for i, fresh := range isNew {
			if fresh {
				stored = append(stored, batch[i])
			}
		}
		return err
	})
	return stored, err
}

func (c *Collection[T]) batches(items []T, write func([]T, []*record) error) error {
	for batch := range slices.Chunk(items, batchSize) {
		records := make([]*record, len(batch))
		for i := range batch {
			r, err := c.record(&batch[i], c.schema.Key(&batch[i]))
			if err != nil {
				return c.opaque(err, "write many")
			}
			r.version = rand.Int64N(1 << 62)
			records[i] = r
		}
		if err := write(batch, records); err != nil {
			return c.opaque(err, "write many")
		}
	}
	return nil
}

// DeleteMany deletes the records that match q, at most q.Limit if that is set, and returns their
// number. It is for retention and projections: it writes no messages and does not run Derive. The
// waiting messages of deleted records are still published.
func (c *Collection[T]) DeleteMany(ctx context.Context, q find.Query) (int64, error) {
	defer c.span(&ctx, "delete many")()
	if len(q.Order) > 0 || q.Offset > 0 || q.After != "" {
		return 0, fault.New(fault.Internal, "document: DeleteMany of %s accepts conditions and a limit only", c.shape.name)
	}
	p, err := c.shape.plan(q)
	if err != nil || p.empty {
		return 0, err
	}
	var total int64
	for {
		limit := batchSize
		if q.Limit > 0 {
			limit = min(limit, q.Limit-int(total))
		}
		if limit == 0 {
			return total, nil
		}
		n, err := c.db.engine.deleteSome(ctx, p, limit)
		total += n
		if err != nil {
			return total, c.opaque(err, "delete many")
		}
		if n < int64(limit) {
			return total, nil
		}
	}
}
