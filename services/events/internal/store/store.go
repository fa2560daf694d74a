// Package store declares the catalog's records on libs/document: the fields that queries may name, the indexes,
// and the function that runs after each write.
package store

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// Follower updates the records that follow from a write.
type Follower interface {
	DashboardWritten(ctx context.Context, id string, current *catalog.Dashboard) error
	ComponentWritten(ctx context.Context, id string, current *catalog.Component) error
	EventWritten(ctx context.Context, id string, current *catalog.Event) error
}

// Declare returns the catalog's store on db. It calls follower after each write, because the catalog, which is the
// Follower, is made after its store.
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

// slugs returns catalog.ErrSlugTaken for the conflict after which the catalog tries another slug.
type slugs struct {
	*document.Collection[catalog.Dashboard]
}

func (s slugs) Insert(ctx context.Context, item catalog.Dashboard, messages ...topic.Message) error {
	err := s.Collection.Insert(ctx, item, messages...)
	if fault.Is(err, fault.Conflict) && document.ViolatedIndex(err) == catalog.IndexSlug {
		return catalog.ErrSlugTaken
	}
	return err
}
