package document

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Collection is the records of one type.
type Collection[T any] struct {
	db     *Database
	schema Schema[T]
	shape  *shape
}

// Get loads the record key; fault.NotFound when there is none.
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

// GetMany loads the records of keys in the order asked; those that are missing are left out.
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

// Insert stores a new record with its messages. It fails with fault.Conflict when its key or
// a unique index is taken; ViolatedIndex tells which.
func (c *Collection[T]) Insert(ctx context.Context, item T, messages ...topic.Message) error {
	ctx, end := c.db.span(ctx, "insert", c.shape.name)
	defer end()
	return c.insert(ctx, &item, messages)
}

// Update loads the record key, lets change alter it, and replaces it with its messages, provided nobody
// has changed it meanwhile; otherwise it starts over, until ctx ends. An error of change is
// returned and nothing is written. change may run several times, so it must have no other effect.
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

// Change is Update for a change without messages.
func (c *Collection[T]) Change(ctx context.Context, key string, change func(*T) error) (T, error) {
	return c.Update(ctx, key, func(item *T) ([]topic.Message, error) { return nil, change(item) })
}

// Upsert is Update that creates the record when it is missing: change is then given the zero T and must
// fill it in, so that its key is key.
func (c *Collection[T]) Upsert(ctx context.Context, key string, change func(item *T, exists bool) ([]topic.Message, error)) (T, error) {
	ctx, end := c.db.span(ctx, "upsert", c.shape.name)
	defer end()
	return c.write(ctx, key, change)
}

func (c *Collection[T]) write(ctx context.Context, key string, change func(*T, bool) ([]topic.Message, error)) (T, error) {
	var none T
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
			err = c.replace(ctx, key, item, version, messages)
		} else if err = c.sameKey(item, key); err == nil {
			err = c.insert(ctx, item, messages)
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

// appeared reports whether conflict is about the key, which another has created meanwhile. Then unique values may be
// taken as well, and an engine names only one of the two.
func (c *Collection[T]) appeared(ctx context.Context, key string, conflict error) bool {
	if ViolatedIndex(conflict) == "" {
		return true
	}
	there, err := c.db.engine.load(ctx, c.shape, key)
	return err == nil && there != nil
}

// Delete removes the record key; decide may veto by an error, or hand messages. It may be nil.
func (c *Collection[T]) Delete(ctx context.Context, key string, decide func(*T) ([]topic.Message, error)) error {
	ctx, end := c.db.span(ctx, "delete", c.shape.name)
	defer end()
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
		err = c.db.engine.remove(ctx, c.shape, key, version, entries)
		if err == nil {
			c.written(ctx, key, entries)
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

// backoff spreads those who compete for one document.
func backoff(ctx context.Context, try int) bool {
	limit := min(time.Millisecond<<min(try, 6), 50*time.Millisecond)
	return sleep(ctx, time.Duration(rand.Int64N(int64(limit))))
}

// load returns nil when there is no such record.
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

func (c *Collection[T]) insert(ctx context.Context, item *T, messages []topic.Message) error {
	r, err := c.record(item)
	if err != nil {
		return c.opaque(err, "insert")
	}
	// A random start keeps a version from meaning two things when a key is used again.
	r.version = rand.Int64N(1 << 62)
	if r.entries, err = c.db.entries(ctx, c.shape, messages); err != nil {
		return c.opaque(err, "insert")
	}
	if err := c.db.engine.insert(ctx, c.shape, r); err != nil {
		return c.opaque(err, "insert")
	}
	c.written(ctx, r.key, r.entries)
	return nil
}

func (c *Collection[T]) replace(ctx context.Context, key string, item *T, version int64, messages []topic.Message) error {
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
	err = c.db.engine.replace(ctx, c.shape, r, version)
	if errors.Is(err, errStale) {
		return err
	}
	if err != nil {
		return c.opaque(err, "update")
	}
	c.written(ctx, key, r.entries)
	return nil
}

func (c *Collection[T]) sameKey(item *T, key string) error {
	if got := c.schema.Key(item); got != key {
		return fault.New(fault.Internal, "document: the key of a record of %s must be %q, not %q", c.shape.name, key, got)
	}
	return nil
}

// written does what follows a committed write.
func (c *Collection[T]) written(ctx context.Context, key string, entries []entry) {
	if len(entries) == 0 {
		return
	}
	if c.shape.derives {
		// The write stands, whatever the caller thinks of it by now.
		if err := c.derive(context.WithoutCancel(ctx), key); err != nil {
			c.db.log.LogAttrs(ctx, slog.LevelWarn, "deriving failed; the relay repeats it",
				slog.String("collection", c.shape.name), slog.String("key", key), slog.String("error", err.Error()))
		} else {
			c.db.derived.add(entries)
		}
	}
	c.db.notify()
}

// derive runs Derive for what is stored, and again when that has changed in between: of several
// that run at once the last to finish has then seen the newest.
func (c *Collection[T]) derive(ctx context.Context, key string) error {
	if c.schema.Derive == nil {
		return nil
	}
	item, version, err := c.load(ctx, key)
	for {
		if err != nil {
			return err
		}
		if err := c.schema.Derive(ctx, key, item); err != nil {
			return err
		}
		seen, seenItem := version, item
		item, version, err = c.load(ctx, key)
		if err == nil && version == seen && (item == nil) == (seenItem == nil) {
			return nil
		}
	}
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
			return nil, fmt.Errorf("field %s is declared multi-valued %t but has a %T", c.schema.Fields[i].Name, c.shape.fields[i].many, value)
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
