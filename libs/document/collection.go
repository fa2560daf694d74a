package document

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/engine"
	"github.com/bellbuoy/bellbuoy/libs/document/internal/plan"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Collection holds the records of one type.
type Collection[T any] struct {
	db     *Database
	schema Schema[T]
	shape  *plan.Shape
}

// span starts a span for an operation and puts it into ctx, if the caller is traced. It returns the function that ends
// the span.
func (c *Collection[T]) span(ctx *context.Context, operation string) func() {
	if !trace.SpanFromContext(*ctx).IsRecording() {
		return func() {}
	}
	var span trace.Span
	*ctx, span = c.db.tracer.Start(*ctx, operation+" "+c.shape.Name, trace.WithSpanKind(trace.SpanKindClient))
	return func() { span.End() }
}

// Get returns the record of key, or fault.NotFound.
func (c *Collection[T]) Get(ctx context.Context, key string) (T, error) {
	defer c.span(&ctx, "get")()
	item, _, err := c.load(ctx, key)
	if err == nil && item == nil {
		err = c.notFound()
	}
	if err != nil {
		return *new(T), err
	}
	return *item, nil
}

// GetMany returns the records of keys in the order of keys. It omits keys without a record.
func (c *Collection[T]) GetMany(ctx context.Context, keys []string) ([]T, error) {
	defer c.span(&ctx, "get many")()
	byKey := make(map[string]*engine.Record, len(keys))
	for batch := range slices.Chunk(keys, engine.BatchSize) {
		records, err := c.db.engine.LoadMany(ctx, c.shape, batch)
		if err != nil {
			return nil, c.opaque(err, "load")
		}
		for _, r := range records {
			byKey[r.Key] = r
		}
	}
	items, decoder := make([]T, 0, len(byKey)), newDecoder()
	for _, key := range keys {
		if r, ok := byKey[key]; ok {
			var item T
			if err := decoder.decode(r.Body, &item); err != nil {
				return nil, c.opaque(err, "load")
			}
			items = append(items, item)
		}
	}
	return items, nil
}

// Insert stores a new record with its messages. It returns fault.Conflict if the key or a value of a unique index
// exists already. ViolatedIndex of the error returns the name of the index.
func (c *Collection[T]) Insert(ctx context.Context, item T, messages ...topic.Message) error {
	defer c.span(&ctx, "insert")()
	return c.store(ctx, c.schema.Key(&item), &item, false, 0, messages, func() {})
}

// Update loads the record of key, calls change to alter it, and stores the altered record with the messages that change
// returns. If another writer has replaced the record meanwhile, Update starts over until ctx ends. If change returns an
// error, Update writes nothing and returns the error. If the error is fault.ErrUnchanged, Update writes nothing and
// returns the record without an error. If there is no such record, it returns fault.NotFound. change may run several
// times, so it must have no other effect. Two exceptions are allowed. change may insert other records that only this
// record refers to, if a later job deletes the unreferenced ones (parts of editions, services/events). change may also
// reserve numbers (Database.Next), because a number that no record gets does no harm. change must not write this record
// itself: such a write waits for two seconds and then makes Update start over.
func (c *Collection[T]) Update(ctx context.Context, key string, change func(*T) ([]topic.Message, error)) (T, error) {
	defer c.span(&ctx, "update")()
	return c.write(ctx, key, false, c.existing(change))
}

// Change is Update for a change without messages.
func (c *Collection[T]) Change(ctx context.Context, key string, change func(*T) error) (T, error) {
	return c.Update(ctx, key, func(item *T) ([]topic.Message, error) { return nil, change(item) })
}

// Upsert is Update that creates the record if there is none. change then gets the zero T and must
// fill it in, with key as its key.
func (c *Collection[T]) Upsert(ctx context.Context, key string, change func(item *T, exists bool) ([]topic.Message, error)) (T, error) {
	defer c.span(&ctx, "upsert")()
	return c.write(ctx, key, false, change)
}

// write loads the record of key and calls change. Then it replaces the record, or creates it if it does not exist. If
// remove is true, it deletes the record instead.
func (c *Collection[T]) write(ctx context.Context, key string, remove bool, change func(*T, bool) ([]topic.Message, error)) (T, error) {
	var none T
	leave := c.db.writers.enter(ctx, c.shape.Name+"/"+key)
	defer leave()
	for try := 0; ; try++ {
		item, version, err := c.load(ctx, key)
		if err != nil {
			return none, err
		}
		exists := item != nil
		if !exists {
			item = new(T)
		}
		messages, err := change(item, exists)
		if errors.Is(err, fault.ErrUnchanged) {
			return *item, nil
		}
		if err != nil {
			return none, err
		}
		stored := item
		if remove {
			stored = nil
		}
		err = c.store(ctx, key, stored, exists, version, messages, leave)
		if err == nil {
			return *item, nil
		}
		if !exists && fault.Is(err, fault.Conflict) && c.appeared(ctx, key, err) {
			err = engine.ErrStale
		}
		if !errors.Is(err, engine.ErrStale) {
			return none, err
		}
		if !engine.Backoff(ctx, try) {
			return none, c.opaque(ctx.Err(), "write")
		}
	}
}

// appeared reports whether another writer has created the record of key since write found no record. A conflict that
// names a unique index does not exclude this: if the key and a unique value both exist, the engine names only one of
// them.
func (c *Collection[T]) appeared(ctx context.Context, key string, conflict error) bool {
	if ViolatedIndex(conflict) == "" {
		return true
	}
	there, err := c.db.engine.Load(ctx, c.shape, key)
	return err == nil && there != nil
}

// Delete deletes the record of key and stores the messages that decide returns. If decide returns an error, Delete
// deletes nothing and returns the error, or nil for fault.ErrUnchanged. If there is no such record, Delete returns
// fault.NotFound. decide may be nil. It may run several times, like the change of Update.
func (c *Collection[T]) Delete(ctx context.Context, key string, decide func(*T) ([]topic.Message, error)) error {
	defer c.span(&ctx, "delete")()
	_, err := c.write(ctx, key, true, c.existing(func(item *T) ([]topic.Message, error) {
		if decide == nil {
			return nil, nil
		}
		return decide(item)
	}))
	return err
}

// existing returns a function for write that calls change, or returns fault.NotFound if there is no record.
func (c *Collection[T]) existing(change func(*T) ([]topic.Message, error)) func(*T, bool) ([]topic.Message, error) {
	return func(item *T, exists bool) ([]topic.Message, error) {
		if !exists {
			return nil, c.notFound()
		}
		return change(item)
	}
}

// load returns the record of key and its version. It returns nil if there is no such record.
func (c *Collection[T]) load(ctx context.Context, key string) (*T, int64, error) {
	r, err := c.db.engine.Load(ctx, c.shape, key)
	if err != nil {
		return nil, 0, c.opaque(err, "load")
	}
	if r == nil {
		return nil, 0, nil
	}
	item := new(T)
	if err := decode(r.Body, item); err != nil {
		return nil, 0, c.opaque(err, "load")
	}
	return item, r.Version, nil
}

// store commits a write of the record of key with its messages. It deletes the record if item is nil, replaces it if
// exists is true, and inserts item otherwise. It returns engine.ErrStale if the stored record does not have version.
// It calls leave when the write is committed.
func (c *Collection[T]) store(ctx context.Context, key string, item *T, exists bool, version int64, messages []topic.Message, leave func()) error {
	entries, err := c.db.entries(ctx, c.shape, messages)
	var r *engine.Record
	if err == nil && item != nil {
		r, err = c.record(item, key)
	}
	if err != nil {
		return c.opaque(err, "write")
	}
	write := func() error { return c.db.engine.Remove(ctx, c.shape, key, version, entries) }
	switch {
	case item != nil && exists:
		r.Version, r.Entries = version+1, entries
		write = func() error { return c.db.engine.Replace(ctx, c.shape, r, version) }
	case item != nil:
		// The first version is random, so a record that is deleted and created again does not get a former version.
		r.Version, r.Entries = rand.Int64N(1<<62), entries
		write = func() error { return c.db.engine.Insert(ctx, c.shape, r) }
	}
	err = c.commit(ctx, key, r, entries, leave, write)
	if errors.Is(err, engine.ErrStale) {
		return err
	}
	return c.opaque(err, "write")
}

// record encodes item and computes its declared fields. It returns an error if key is empty or is not the key of item.
func (c *Collection[T]) record(item *T, key string) (*engine.Record, error) {
	if got := c.schema.Key(item); got != key || key == "" {
		return nil, fmt.Errorf("the key of the record must be %q and not be empty, not %q", key, got)
	}
	body, err := encode(item)
	if err != nil {
		return nil, err
	}
	fields, err := c.values(item)
	return &engine.Record{Key: key, Body: body, Fields: fields}, err
}

func (c *Collection[T]) values(item *T) ([]any, error) {
	values := make([]any, len(c.schema.Fields))
	for i := range c.schema.Fields {
		value, err := plan.Normal(c.schema.Fields[i].Value(item))
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", c.schema.Fields[i].Name, err)
		}
		if _, list := value.([]any); value != nil && list != c.shape.Fields[i].Many {
			return nil, fmt.Errorf("field %s is declared with multi-valued %t but its value is a %T", c.schema.Fields[i].Name, c.shape.Fields[i].Many, value)
		}
		values[i] = value
	}
	return values, nil
}

func (c *Collection[T]) notFound() error {
	return fault.New(fault.NotFound, "There is no such record.")
}

func (c *Collection[T]) opaque(err error, doing string) error {
	return engine.Opaque(err, doing+" "+c.shape.Name)
}
