package document

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Collection holds the records of one type.
type Collection[T any] struct {
	db     *Database
	schema Schema[T]
	shape  *shape
}

// Get returns the record of key, or fault.NotFound.
func (c *Collection[T]) Get(ctx context.Context, key string) (T, error) {
	ctx, end := c.db.span(ctx, "get", c.shape.name)
	defer end()
	item, _, err := c.load(ctx, key)
	if err == nil && item == nil {
		err = c.notFound()
	}
	if err != nil {
		return *new(T), err
	}
	return *item, nil
}

// GetMany returns the records of keys in the order of keys, without those that do not exist.
func (c *Collection[T]) GetMany(ctx context.Context, keys []string) ([]T, error) {
	ctx, end := c.db.span(ctx, "get many", c.shape.name)
	defer end()
	byKey := make(map[string]*record, len(keys))
	for start := 0; start < len(keys); start += batchSize {
		records, err := c.db.engine.loadMany(ctx, c.shape, keys[start:min(start+batchSize, len(keys))])
		if err != nil {
			return nil, c.opaque(err, "load")
		}
		for _, r := range records {
			byKey[r.key] = r
		}
	}
	items := make([]T, 0, len(byKey))
	for _, key := range keys {
		if r, ok := byKey[key]; ok {
			var item T
			if err := decode(r.body, &item); err != nil {
				return nil, c.opaque(err, "load")
			}
			items = append(items, item)
		}
	}
	return items, nil
}

// Insert stores a new record with its messages. It returns fault.Conflict if the key or a value
// of a unique index exists already; ViolatedIndex returns which.
func (c *Collection[T]) Insert(ctx context.Context, item T, messages ...topic.Message) error {
	ctx, end := c.db.span(ctx, "insert", c.shape.name)
	defer end()
	return c.insert(ctx, &item, messages, func() {})
}

// Update loads the record of key, calls change to alter it, and replaces it together with its
// messages. If another writer has replaced it meanwhile, Update starts over until ctx ends. It
// returns an error of change and writes nothing then. It writes nothing and returns the record if
// change returns fault.ErrUnchanged. change may run several times, so it must have no other
// effect. It must not write the same record: writers of one record wait for each other.
func (c *Collection[T]) Update(ctx context.Context, key string, change func(*T) ([]topic.Message, error)) (T, error) {
	ctx, end := c.db.span(ctx, "update", c.shape.name)
	defer end()
	return c.write(ctx, key, func(item *T, exists bool) ([]topic.Message, error) {
		if !exists {
			return nil, c.notFound()
		}
		return change(item)
	})
}

// Upsert is Update that creates the record if there is none. change then gets the zero T and must
// fill it in, with key as its key.
func (c *Collection[T]) Upsert(ctx context.Context, key string, change func(item *T, exists bool) ([]topic.Message, error)) (T, error) {
	ctx, end := c.db.span(ctx, "upsert", c.shape.name)
	defer end()
	return c.write(ctx, key, change)
}

func (c *Collection[T]) write(ctx context.Context, key string, change func(*T, bool) ([]topic.Message, error)) (T, error) {
	var none T
	leave, err := c.db.writers.enter(ctx, c.shape.name+"/"+key)
	if err != nil {
		return none, c.opaque(err, "wait to update")
	}
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
		if exists {
			err = c.replace(ctx, key, item, version, messages, leave)
		} else if err = c.sameKey(item, key); err == nil {
			err = c.insert(ctx, item, messages, leave)
		}
		if err == nil {
			return *item, nil
		}
		if !exists && fault.Is(err, fault.Conflict) && c.appeared(ctx, key, err) {
			err = errStale
		}
		if !errors.Is(err, errStale) {
			return none, err
		}
		if !backoff(ctx, try) {
			return none, opaque(ctx.Err(), "update "+c.shape.name)
		}
	}
}

// appeared reports whether another writer has created the record of key meanwhile. If its key
// and its unique values both exist then, the engine names only one of them in conflict.
func (c *Collection[T]) appeared(ctx context.Context, key string, conflict error) bool {
	if ViolatedIndex(conflict) == "" {
		return true
	}
	there, err := c.db.engine.load(ctx, c.shape, key)
	return err == nil && there != nil
}

// Delete removes the record of key together with the messages that decide returns. It returns an
// error of decide and removes nothing then. decide may be nil.
func (c *Collection[T]) Delete(ctx context.Context, key string, decide func(*T) ([]topic.Message, error)) error {
	ctx, end := c.db.span(ctx, "delete", c.shape.name)
	defer end()
	leave, err := c.db.writers.enter(ctx, c.shape.name+"/"+key)
	if err != nil {
		return c.opaque(err, "wait to delete")
	}
	defer leave()
	for try := 0; ; try++ {
		item, version, err := c.load(ctx, key)
		if err != nil {
			return err
		}
		if item == nil {
			return c.notFound()
		}
		var messages []topic.Message
		if decide != nil {
			if messages, err = decide(item); err != nil {
				return err
			}
		}
		entries, err := c.db.entries(ctx, c.shape, messages)
		if err != nil {
			return c.opaque(err, "delete")
		}
		err = c.commit(ctx, key, nil, entries, leave, func() error { return c.db.engine.remove(ctx, c.shape, key, version, entries) })
		if err == nil {
			return nil
		}
		if !errors.Is(err, errStale) {
			return c.opaque(err, "delete")
		}
		if !backoff(ctx, try) {
			return opaque(ctx.Err(), "delete "+c.shape.name)
		}
	}
}

// backoff waits for a random time, which separates writers of one document. It returns false if ctx ended first.
func backoff(ctx context.Context, try int) bool {
	limit := min(time.Millisecond<<min(try, 6), 50*time.Millisecond)
	return sleep(ctx, time.Duration(rand.Int64N(int64(limit))))
}

// load returns nil if there is no such record.
func (c *Collection[T]) load(ctx context.Context, key string) (*T, int64, error) {
	r, err := c.db.engine.load(ctx, c.shape, key)
	if err != nil {
		return nil, 0, c.opaque(err, "load")
	}
	if r == nil {
		return nil, 0, nil
	}
	item := new(T)
	if err := decode(r.body, item); err != nil {
		return nil, 0, c.opaque(err, "load")
	}
	return item, r.version, nil
}

// insert stores a new record. It calls leave when the record is committed.
func (c *Collection[T]) insert(ctx context.Context, item *T, messages []topic.Message, leave func()) error {
	r, err := c.record(item)
	if err != nil {
		return c.opaque(err, "insert")
	}
	// The first version is random: a key that is used again does not repeat a version.
	r.version = rand.Int64N(1 << 62)
	if r.entries, err = c.db.entries(ctx, c.shape, messages); err != nil {
		return c.opaque(err, "insert")
	}
	return c.opaque(c.commit(ctx, r.key, r, r.entries, leave, func() error { return c.db.engine.insert(ctx, c.shape, r) }), "insert")
}

// replace stores item if the stored record has version, else it returns errStale. It calls leave when the record is committed.
func (c *Collection[T]) replace(ctx context.Context, key string, item *T, version int64, messages []topic.Message, leave func()) error {
	if err := c.sameKey(item, key); err != nil {
		return err
	}
	r, err := c.record(item)
	if err != nil {
		return c.opaque(err, "update")
	}
	r.version = version + 1
	if r.entries, err = c.db.entries(ctx, c.shape, messages); err != nil {
		return c.opaque(err, "update")
	}
	err = c.commit(ctx, key, r, r.entries, leave, func() error { return c.db.engine.replace(ctx, c.shape, r, version) })
	if errors.Is(err, errStale) {
		return err
	}
	return c.opaque(err, "update")
}

func (c *Collection[T]) sameKey(item *T, key string) error {
	if got := c.schema.Key(item); got != key {
		return fault.New(fault.Internal, "document: the key of the record of %s must be %q, not %q", c.shape.name, key, got)
	}
	return nil
}

// record encodes item and computes its declared fields.
func (c *Collection[T]) record(item *T) (*record, error) {
	body, err := encode(item)
	if err != nil {
		return nil, err
	}
	fields, err := c.values(item)
	if err != nil {
		return nil, err
	}
	key := c.schema.Key(item)
	if key == "" {
		return nil, fmt.Errorf("the key is empty")
	}
	return &record{key: key, body: body, fields: fields}, nil
}

func (c *Collection[T]) values(item *T) ([]any, error) {
	values := make([]any, len(c.schema.Fields))
	for i := range c.schema.Fields {
		value, err := normal(c.schema.Fields[i].Value(item))
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", c.schema.Fields[i].Name, err)
		}
		if _, list := value.([]any); value != nil && list != c.shape.fields[i].many {
			return nil, fmt.Errorf("field %s is declared with multi-valued %t but its value is a %T", c.schema.Fields[i].Name, c.shape.fields[i].many, value)
		}
		values[i] = value
	}
	return values, nil
}

func (c *Collection[T]) notFound() error {
	return fault.New(fault.NotFound, "There is no such record.")
}

func (c *Collection[T]) opaque(err error, doing string) error {
	return opaque(err, doing+" "+c.shape.name)
}
