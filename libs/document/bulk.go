package document

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/engine"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// UpsertMany stores items. An item replaces the stored record with its key, if there is one. UpsertMany compares no
// versions, writes no messages and does not run Derive, so it is for rows that only one writer changes (projections,
// logs). It writes 500 items at a time, in one transaction on SQLite and in one bulk write on MongoDB. It returns an
// error if MongoDB can shard the collection by a field.
func (c *Collection[T]) UpsertMany(ctx context.Context, items []T) error {
	defer c.span(&ctx, "upsert many")()
	if c.shape.Shard.ByField && c.shape.Shards() { // MongoDB needs the shard key in the filter of an upsert
		return fault.New(fault.Internal, "document: UpsertMany cannot write %s, which is sharded by a field", c.shape.Name)
	}
	return c.batches(items, func(_ []T, records []*engine.Record) error {
		return c.db.engine.PutMany(ctx, c.shape, lastOfEach(records))
	})
}

// UpdateMany is Update for many records. It reads and writes 500 records at a time. In each try it calls change once,
// with all existing records of keys. change alters the records, and returns messages by the key of their record.
// UpdateMany stores the records that change altered and the records with messages. Each write is guarded by the
// version of its record and atomic with its messages, but the writes are not atomic together. If another writer has
// replaced or deleted one of the records meanwhile, UpdateMany starts over. The failed try may have stored some of the
// records. change then gets these records again in their new state, so change must recognize its own effect. If change
// returns fault.ErrUnchanged, UpdateMany writes nothing in this try and returns no error. UpdateMany returns an error for
// a collection with a Derive.
func (c *Collection[T]) UpdateMany(ctx context.Context, keys []string, change func(items []*T) (map[string][]topic.Message, error)) error {
	defer c.span(&ctx, "update many")()
	if c.shape.Derives {
		return fault.New(fault.Internal, "document: UpdateMany cannot write %s, which has a Derive", c.shape.Name)
	}
	for try := 0; ; try++ {
		altered, err := c.altered(ctx, keys, change)
		if errors.Is(err, fault.ErrUnchanged) {
			return nil
		}
		for batch := range slices.Chunk(altered, engine.BatchSize) {
			if err == nil {
				err = c.db.engine.ReplaceMany(ctx, c.shape, batch)
			}
		}
		if slices.ContainsFunc(altered, func(r *engine.Record) bool { return len(r.Entries) > 0 }) {
			c.db.notify(c.shape)
		}
		if !errors.Is(err, engine.ErrStale) {
			return c.opaque(err, "update many")
		}
		if !engine.Backoff(ctx, try) {
			return c.opaque(ctx.Err(), "update many")
		}
	}
}

// altered loads the records of keys and calls change with them. It returns the altered records and the records with
// messages, each with its new version.
func (c *Collection[T]) altered(ctx context.Context, keys []string, change func([]*T) (map[string][]topic.Message, error)) ([]*engine.Record, error) {
	var loaded []*engine.Record
	for batch := range slices.Chunk(keys, engine.BatchSize) {
		found, err := c.db.engine.LoadMany(ctx, c.shape, batch)
		if err != nil {
			return nil, err
		}
		loaded = append(loaded, found...)
	}
	items, decoder := make([]*T, len(loaded)), newDecoder()
	for i, r := range loaded {
		items[i] = new(T)
		if err := decoder.decode(r.Body, items[i]); err != nil {
			return nil, err
		}
	}
	messages, err := change(items)
	if err != nil {
		return nil, err
	}
	var altered []*engine.Record
	for i, before := range loaded {
		r, err := c.record(items[i], before.Key)
		if err != nil {
			return nil, err
		}
		if r.Entries, err = c.db.entries(ctx, c.shape, messages[before.Key]); err != nil {
			return nil, err
		}
		if r.Version = before.Version + 1; len(r.Entries) > 0 || !bytes.Equal(r.Body, before.Body) {
			altered = append(altered, r)
		}
	}
	return altered, nil
}

// WriteMany inserts, replaces and deletes many records. It loads the records of keys, at most 500, and calls decide
// with the stored records by key. decide returns the writes, at most 500. A write whose key is not in stored inserts a
// record. Other writes replace the stored record, or delete it if Item is nil. Each write is guarded by the version of
// its record and atomic with its messages, but the writes are not atomic together. One DeriveMany serves all of them.
//
// WriteMany returns fault.Conflict if another writer was faster, or if a value of a unique index exists already. If the
// returned error is find.ErrPartlyWritten too, WriteMany has made the first write, and perhaps others. After a Conflict
// without find.ErrPartlyWritten it has made none. So a message about all writes belongs to the first write. After
// find.ErrPartlyWritten the caller must read the records to know which writes are made. The key of an inserted record
// must never have been stored before.
func (c *Collection[T]) WriteMany(ctx context.Context, keys []string, decide func(stored map[string]*T) ([]find.Write[T], error)) error {
	defer c.span(&ctx, "write many")()
	if !c.shape.Derives || c.schema.DeriveMany == nil {
		return fault.New(fault.Internal, "document: WriteMany cannot write %s, which has no DeriveMany", c.shape.Name)
	}
	loaded, err := c.db.engine.LoadMany(ctx, c.shape, keys)
	if err != nil {
		return c.opaque(err, "load")
	}
	stored, versions, decoder := make(map[string]*T, len(loaded)), make(map[string]int64, len(loaded)), newDecoder()
	for _, r := range loaded {
		item := new(T)
		if err := decoder.decode(r.Body, item); err != nil {
			return c.opaque(err, "load")
		}
		stored[r.Key], versions[r.Key] = item, r.Version
	}
	wanted, err := decide(stored)
	if err != nil || len(wanted) == 0 {
		return err
	}
	if len(keys) > engine.BatchSize || len(wanted) > engine.BatchSize {
		return fault.New(fault.Internal, "document: WriteMany of %s writes at most %d records", c.shape.Name, engine.BatchSize)
	}
	writes := make([]engine.Write, len(wanted))
	for i, w := range wanted {
		r := &engine.Record{Key: w.Key}
		if w.Item != nil {
			if r, err = c.record(w.Item, w.Key); err != nil {
				return c.opaque(err, "write many")
			}
		}
		if r.Entries, err = c.db.entries(ctx, c.shape, w.Messages); err != nil {
			return c.opaque(err, "write many")
		}
		before := versions[w.Key]
		if r.Version = before + 1; before == 0 {
			r.Version = 1 + rand.Int64N(1<<62)
		}
		writes[i] = engine.Write{Record: *r, Before: before}
	}
	err = c.commitMany(ctx, writes)
	if errors.Is(err, engine.ErrStale) {
		return fault.Wrap(fault.Conflict, err, "Another write was faster.")
	}
	return c.opaque(err, "write many")
}

// lastOfEach removes each record for which a later record has the same key.
func lastOfEach(records []*engine.Record) []*engine.Record {
	last := find.Index(records, func(r *engine.Record) string { return r.Key })
	return slices.DeleteFunc(records, func(r *engine.Record) bool { return last[r.Key] != r })
}

// InsertMany stores the items whose keys do not exist, and returns the stored items in the order of items. Like
// UpsertMany it writes no messages and does not run Derive. If an item violates a unique index, InsertMany returns
// fault.Conflict with the items that are stored. On MongoDB these include items of the same 500. After other errors
// InsertMany may have stored more items than it returns.
func (c *Collection[T]) InsertMany(ctx context.Context, items []T) ([]T, error) {
	defer c.span(&ctx, "insert many")()
	var stored []T
	err := c.batches(items, func(batch []T, records []*engine.Record) error {
		isNew, err := c.db.engine.InsertMany(ctx, c.shape, records)
		for i, fresh := range isNew {
			if fresh {
				stored = append(stored, batch[i])
			}
		}
		return err
	})
	return stored, err
}

func (c *Collection[T]) batches(items []T, write func([]T, []*engine.Record) error) error {
	for batch := range slices.Chunk(items, engine.BatchSize) {
		records := make([]*engine.Record, len(batch))
		for i := range batch {
			r, err := c.record(&batch[i], c.schema.Key(&batch[i]))
			if err != nil {
				return c.opaque(err, "write many")
			}
			r.Version = rand.Int64N(1 << 62)
			records[i] = r
		}
		if err := write(batch, records); err != nil {
			return c.opaque(err, "write many")
		}
	}
	return nil
}

// DeleteMany deletes the records that match q, at most q.Limit if that is set, and returns their number. It is for
// retention and projections: it writes no messages and does not run Derive. Messages of deleted records that are in
// the outbox are still published.
func (c *Collection[T]) DeleteMany(ctx context.Context, q find.Query) (int64, error) {
	defer c.span(&ctx, "delete many")()
	if len(q.Order) > 0 || q.Offset > 0 || q.After != "" {
		return 0, fault.New(fault.Internal, "document: DeleteMany of %s accepts conditions and a limit only", c.shape.Name)
	}
	p, err := c.shape.Plan(q)
	if err != nil || p.Empty {
		return 0, err
	}
	var total int64
	for {
		limit := engine.BatchSize
		if q.Limit > 0 {
			limit = min(limit, q.Limit-int(total))
		}
		if limit == 0 {
			return total, nil
		}
		n, err := c.db.engine.DeleteSome(ctx, p, limit)
		total += n
		if err != nil {
			return total, c.opaque(err, "delete many")
		}
		if n < int64(limit) {
			return total, nil
		}
	}
}
