package document

import (
	"context"
	"math/rand/v2"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// batchSize bounds what goes to an engine at once, so that a bulk write keeps others waiting for
// milliseconds only.
const batchSize = 500

// UpsertMany stores items, replacing those whose keys are there. It is for rows nobody edits
// concurrently (projections, logs): no version is compared, no message written, nothing derived. On
// SQLite it is one transaction a batch, on MongoDB one bulk write.
func (c *Collection[T]) UpsertMany(ctx context.Context, items []T) error {
	ctx, end := c.db.span(ctx, "upsert many", c.shape.name)
	defer end()
	return c.batches(items, func(records []*record) error {
		return c.db.engine.putMany(ctx, c.shape, lastOfEach(records))
	})
}

// lastOfEach leaves the last of those with one key.
func lastOfEach(records []*record) []*record {
	at := make(map[string]int, len(records))
	out := records[:0:0]
	for _, r := range records {
		if i, ok := at[r.key]; ok {
			out[i] = r
			continue
		}
		at[r.key] = len(out)
		out = append(out, r)
	}
	return out
}

// InsertMany stores those of items whose keys are not there yet and returns them, in their order. Like
// UpsertMany it writes no messages and derives nothing.
func (c *Collection[T]) InsertMany(ctx context.Context, items []T) ([]T, error) {
	ctx, end := c.db.span(ctx, "insert many", c.shape.name)
	defer end()
	var stored []T
	done := 0
	err := c.batches(items, func(records []*record) error {
		isNew, err := c.db.engine.insertMany(ctx, c.shape, records)
		for i, fresh := range isNew {
			if fresh {
				stored = append(stored, items[done+i])
			}
		}
		done += len(records)
		return err
	})
	return stored, err
}

func (c *Collection[T]) batches(items []T, write func([]*record) error) error {
	for start := 0; start < len(items); start += batchSize {
		batch := items[start:min(start+batchSize, len(items))]
		records := make([]*record, len(batch))
		for i := range batch {
			r, err := c.record(&batch[i])
			if err != nil {
				return c.opaque(err, "write many")
			}
			r.version = rand.Int64N(1 << 62)
			records[i] = r
		}
		if err := write(records); err != nil {
			return c.opaque(err, "write many")
		}
	}
	return nil
}

// DeleteMany removes what q finds, at most q.Limit when that is set, and returns how many. It is for
// retention and projections: no messages, nothing derived. Messages of the records that wait to be
// relayed still are.
func (c *Collection[T]) DeleteMany(ctx context.Context, q find.Query) (int64, error) {
	ctx, end := c.db.span(ctx, "delete many", c.shape.name)
	defer end()
	if len(q.Order) > 0 || q.Offset > 0 || q.After != "" {
		return 0, fault.New(fault.Internal, "document: DeleteMany of %s knows conditions and a limit only", c.shape.name)
	}
	p, err := c.shape.plan(q, counting)
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
