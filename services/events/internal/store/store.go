// Package store keeps the catalog's records: which fields of each can be asked for, by
// which indexes, and what follows from a write. An index whose first field is the
// organization serves one organization's questions only; those without are named for
// what asks them.
package store

import (
	"context"
	"errors"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// Follower is told of each write that others follow from.
type Follower interface {
	DashboardWritten(ctx context.Context, id string, current *catalog.Dashboard) error
	ComponentWritten(ctx context.Context, id string, current *catalog.Component) error
	EventWritten(ctx context.Context, id string) error
}

// Declare makes the catalog's store on db. follower gives who is told of writes; it is
// asked at each write, since the catalog is made after its store.
func Declare(db *document.Database, follower func() Follower) catalog.Store {
	return catalog.Store{
		Dashboards: slugs{collection[catalog.Dashboard]{document.Declare(db, dashboards(follower))}},
		Components: collection[catalog.Component]{document.Declare(db, components(follower))},
		Events:     collection[catalog.Event]{document.Declare(db, events(follower))},
		Pages:      collection[catalog.Page]{document.Declare(db, pages())},
		Links:      document.Declare(db, links()),
		Updates:    document.Declare(db, updates()),
		Next:       db.NextN,
	}
}

// collection is a document.Collection in the catalog's words.
type collection[T any] struct{ *document.Collection[T] }

func (c collection[T]) Insert(ctx context.Context, item T, messages ...catalog.Message) error {
	return c.Collection.Insert(ctx, item, outgoing(messages)...)
}

func (c collection[T]) Update(ctx context.Context, key string, change func(*T) ([]catalog.Message, error)) (T, error) {
	return c.Collection.Update(ctx, key, func(item *T) ([]document.Message, error) {
		return translated(change(item))
	})
}

func (c collection[T]) Upsert(ctx context.Context, key string, change func(*T, bool) ([]catalog.Message, error)) (T, error) {
	return c.Collection.Upsert(ctx, key, func(item *T, exists bool) ([]document.Message, error) {
		return translated(change(item, exists))
	})
}

func (c collection[T]) Delete(ctx context.Context, key string, decide func(*T) ([]catalog.Message, error)) error {
	if decide == nil {
		return c.Collection.Delete(ctx, key, nil)
	}
	return c.Collection.Delete(ctx, key, func(item *T) ([]document.Message, error) {
		return translated(decide(item))
	})
}

func translated(messages []catalog.Message, err error) ([]document.Message, error) {
	if errors.Is(err, catalog.ErrUnchanged) {
		err = document.Unchanged
	}
	return outgoing(messages), err
}

func outgoing(messages []catalog.Message) []document.Message {
	out := make([]document.Message, len(messages))
	for i, message := range messages {
		out[i] = message
	}
	return out
}

// slugs tells the one conflict apart that the catalog answers by another slug.
type slugs struct{ collection[catalog.Dashboard] }

func (s slugs) Insert(ctx context.Context, item catalog.Dashboard, messages ...catalog.Message) error {
	err := s.collection.Insert(ctx, item, messages...)
	if fault.Is(err, fault.Conflict) && document.ViolatedIndex(err) == "slug" {
		return catalog.ErrSlugTaken
	}
	return err
}
