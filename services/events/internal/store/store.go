// Package store keeps the catalog's records: which fields of each can be asked for, by
// which indexes, and what follows from a write. An index whose first field is the
// organization serves one organization's questions only; those without are named for
// what asks them.
package store

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
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
		Dashboards: slugs{document.Declare(db, dashboards(follower))},
		Components: document.Declare(db, components(follower)),
		Events:     document.Declare(db, events(follower)),
		Pages:      document.Declare(db, pages()),
		Links:      document.Declare(db, links()),
		Updates:    document.Declare(db, updates()),
		Next:       db.NextN,
	}
}

// slugs tells the one conflict apart that the catalog answers by another slug.
type slugs struct {
	*document.Collection[catalog.Dashboard]
}

func (s slugs) Insert(ctx context.Context, item catalog.Dashboard, messages ...topic.Message) error {
	err := s.Collection.Insert(ctx, item, messages...)
	if fault.Is(err, fault.Conflict) && document.ViolatedIndex(err) == "slug" {
		return catalog.ErrSlugTaken
	}
	return err
}
