package find

import (
	"context"
	"errors"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Collection stores records of one type. document.Collection implements and describes it. Domains use this interface,
// because they import no database.
type Collection[T any] interface {
	Get(ctx context.Context, key string) (T, error)
	GetMany(ctx context.Context, keys []string) ([]T, error)
	Find(ctx context.Context, query Query) (Page[T], error)
	// Keys returns, for each record that matches query, its key and the values of fields. It does not read the
	// records.
	Keys(ctx context.Context, query Query, fields ...string) ([]Row, error)
	Each(ctx context.Context, query Query, visit func(T) error) error
	Count(ctx context.Context, query Query) (int64, error)
	CountDistinct(ctx context.Context, field string, query Query) (int64, error)

	Insert(ctx context.Context, item T, messages ...topic.Message) error
	// The writes below may call change and decide several times.
	Update(ctx context.Context, key string, change func(*T) ([]topic.Message, error)) (T, error)
	Change(ctx context.Context, key string, change func(*T) error) (T, error)
	Upsert(ctx context.Context, key string, change func(item *T, exists bool) ([]topic.Message, error)) (T, error)
	Delete(ctx context.Context, key string, decide func(*T) ([]topic.Message, error)) error

	InsertMany(ctx context.Context, items []T) ([]T, error)
	UpsertMany(ctx context.Context, items []T) error
	UpdateMany(ctx context.Context, keys []string, change func([]*T) (map[string][]topic.Message, error)) error
	WriteMany(ctx context.Context, keys []string, decide func(stored map[string]*T) ([]Write[T], error)) error
	DeleteMany(ctx context.Context, query Query) (int64, error)
}

// Write is the write of one record in a WriteMany.
type Write[T any] struct {
	Key      string
	Item     *T // nil: the record is deleted
	Messages []topic.Message
}

// ErrPartlyWritten is in the error of a WriteMany that made the first of its writes, and perhaps others.
var ErrPartlyWritten = errors.New("some of the writes are made")

// ByKey loads records and returns them in a map by key. The map lacks the keys of records that do not exist.
func ByKey[T any](ctx context.Context, from Collection[T], keys []string, key func(T) string) (map[string]T, error) {
	found, err := from.GetMany(ctx, keys)
	return Index(found, key), err
}

// Index returns the items by key.
func Index[T any](items []T, key func(T) string) map[string]T {
	index := make(map[string]T, len(items))
	for _, item := range items {
		index[key(item)] = item
	}
	return index
}

// Values returns the result of value for each item.
func Values[T, V any](items []T, value func(T) V) []V {
	values := make([]V, len(items))
	for i, item := range items {
		values[i] = value(item)
	}
	return values
}

// KeyPage returns one page of the keys of the records that q matches, with the values of fields. next is the position of
// the next page, or empty on the last page. The cost of KeyPage does not depend on the number of matching records, even for
// a condition with up to MaxMerged values of a multi-valued field. Find reads all matching records for such a condition.
func KeyPage[T any](ctx context.Context, from Collection[T], q Query, fields ...string) (rows []Row, next string, err error) {
	limit := q.Limit
	q.Limit++
	rows, err = from.Keys(ctx, q, fields...)
	if len(rows) > limit {
		rows = rows[:limit]
		next = rows[limit-1].Position
	}
	return rows, next, err
}

// EachUntil calls visit for the records whose field is at most until, ordered by the field. It ends at the first error
// and returns this error. visit must change the field or delete the record, so that the next search does not find the record again.
func EachUntil[T any](ctx context.Context, from Collection[T], field string, until time.Time, visit func(T) error) error {
	const batch = 500
	due := Query{Where: []Condition{Lte(field, until)}, Order: []Order{{Field: field}}, Limit: batch}
	for {
		page, err := from.Find(ctx, due)
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			if err := visit(item); err != nil {
				return err
			}
		}
		if len(page.Items) < batch {
			return nil
		}
	}
}
