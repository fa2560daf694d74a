package find

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Collection stores records of one type. document.Collection implements and describes it. Domains use this interface,
// because they import no database.
type Collection[T any] interface {
	Get(ctx context.Context, key string) (T, error)
	GetMany(ctx context.Context, keys []string) ([]T, error)
	Find(ctx context.Context, query Query) (Page[T], error)
	// Keys returns the keys of the records that match query with the values of fields, and does not read the records.
	Keys(ctx context.Context, query Query, fields ...string) ([]Row, error)
	Each(ctx context.Context, query Query, visit func(T) error) error
	Count(ctx context.Context, query Query) (int64, error)
	CountDistinct(ctx context.Context, field string, query Query) (int64, error)

	Insert(ctx context.Context, item T, messages ...topic.Message) error
	// Update and the other writes may call their functions several times.
	Update(ctx context.Context, key string, change func(*T) ([]topic.Message, error)) (T, error)
	Change(ctx context.Context, key string, change func(*T) error) (T, error)
	Upsert(ctx context.Context, key string, change func(item *T, exists bool) ([]topic.Message, error)) (T, error)
	Delete(ctx context.Context, key string, decide func(*T) ([]topic.Message, error)) error

	InsertMany(ctx context.Context, items []T) ([]T, error)
	UpsertMany(ctx context.Context, items []T) error
	UpdateMany(ctx context.Context, keys []string, change func([]*T) (map[string][]topic.Message, error)) error
	DeleteMany(ctx context.Context, query Query) (int64, error)
}

// ByKey loads records and returns them by their keys. Records that do not exist are missing in the map.
func ByKey[T any](ctx context.Context, from Collection[T], keys []string, key func(T) string) (map[string]T, error) {
	found, err := from.GetMany(ctx, keys)
	records := make(map[string]T, len(found))
	for _, record := range found {
		records[key(record)] = record
	}
	return records, err
}
