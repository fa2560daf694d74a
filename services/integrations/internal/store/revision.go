package store

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// reviseTimeout is the time limit for the change of the revision after a committed write.
const reviseTimeout = 5 * time.Second

// revisions are numbers, one for each organization. A write of an endpoint or suppression, except the creation of an
// endpoint, changes the number after the commit and before the write returns. A reader first reads the number and then
// the records. As long as the number does not change, these records are current. If the process is killed between the
// commit and the change of the number, the client gets no response to the write.
type revisions struct{ db *document.Database }

func counter(organization string) string { return "revision/" + organization }

func (r revisions) of(ctx context.Context, organization string) (int64, error) {
	return r.db.Last(ctx, counter(organization))
}

// revise changes the number if err, the error of a write, is nil. Otherwise it returns err. It changes the number even if the
// write did not change the record, because a process that changed the record before may have been killed.
func (r revisions) revise(ctx context.Context, organization string, err error) error {
	if err != nil || organization == "" {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviseTimeout)
	defer cancel()
	_, err = r.db.Next(ctx, counter(organization))
	return err
}

// revised is a collection. Its writes change the revision of the organization.
type revised[T any] struct {
	find.Collection[T]
	revisions    revisions
	organization func(*T) string
	byInserts    bool // inserts also change the revision
}

// Update implements find.Collection.
func (c revised[T]) Update(ctx context.Context, key string, change func(*T) ([]topic.Message, error)) (T, error) {
	item, err := c.Collection.Update(ctx, key, change)
	return item, c.revisions.revise(ctx, c.organization(&item), err)
}

// Change implements find.Collection.
func (c revised[T]) Change(ctx context.Context, key string, change func(*T) error) (T, error) {
	item, err := c.Collection.Change(ctx, key, change)
	return item, c.revisions.revise(ctx, c.organization(&item), err)
}

// Upsert implements find.Collection.
func (c revised[T]) Upsert(ctx context.Context, key string, change func(*T, bool) ([]topic.Message, error)) (T, error) {
	item, err := c.Collection.Upsert(ctx, key, change)
	return item, c.revisions.revise(ctx, c.organization(&item), err)
}

// Delete implements find.Collection.
func (c revised[T]) Delete(ctx context.Context, key string, decide func(*T) ([]topic.Message, error)) error {
	organization := ""
	err := c.Collection.Delete(ctx, key, func(item *T) ([]topic.Message, error) {
		organization = c.organization(item)
		if decide == nil {
			return nil, nil
		}
		return decide(item)
	})
	return c.revisions.revise(ctx, organization, err)
}

// Insert implements find.Collection.
func (c revised[T]) Insert(ctx context.Context, item T, messages ...topic.Message) error {
	err := c.Collection.Insert(ctx, item, messages...)
	if !c.byInserts {
		return err
	}
	return c.revisions.revise(ctx, c.organization(&item), err)
}
