// Package catalog is what an organization publishes: dashboards, the components on
// them, and events (incidents and maintenance) with the timeline of each. It holds
// the rules and the operations; engines, HTTP and Kafka are elsewhere.
//
// Decisions.
//
//   - An event is one record with its links to components and its timeline, so every
//     operation on it is one atomic write, and the message that tells of the change is in
//     the same write. Both interfaces address this one record: the legacy interface by
//     integer ids, the App by uuids. The legacy lists of links and updates are rows derived
//     from it (rows.go); nothing reads them but those lists.
//   - What a visitor of a dashboard gets is rendered when something changes (page.go),
//     never when it is read.
//   - What spans several records is ordered so that repeating it completes it, and hangs
//     on the first write's Derive, which the store repeats after a crash: a component that
//     leaves (removal.go).
package catalog

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/google/uuid"
)

// ErrSlugTaken is the store's answer to a dashboard whose slug another one has.
var ErrSlugTaken = errors.New("catalog: the slug is taken")

// Collection is what the catalog asks of where records are kept. Errors are faults.
// The functions given to it may run several times, each with what is stored then.
type Collection[T any] interface {
	Get(ctx context.Context, key string) (T, error)
	GetMany(ctx context.Context, keys []string) ([]T, error)
	Find(ctx context.Context, query find.Query) (find.Page[T], error)
	Each(ctx context.Context, query find.Query, visit func(T) error) error
	Count(ctx context.Context, query find.Query) (int64, error)
	Insert(ctx context.Context, item T, messages ...topic.Message) error
	Update(ctx context.Context, key string, change func(*T) ([]topic.Message, error)) (T, error)
	Upsert(ctx context.Context, key string, change func(item *T, exists bool) ([]topic.Message, error)) (T, error)
	Delete(ctx context.Context, key string, decide func(*T) ([]topic.Message, error)) error
}

// Rows is where derived rows are kept.
type Rows[T any] interface {
	Find(ctx context.Context, query find.Query) (find.Page[T], error)
	Each(ctx context.Context, query find.Query, visit func(T) error) error
	Count(ctx context.Context, query find.Query) (int64, error)
	UpsertMany(ctx context.Context, items []T) error
	DeleteMany(ctx context.Context, query find.Query) (int64, error)
}

// Store is all the catalog keeps. After each write of a dashboard, component or event
// the store calls DashboardWritten, ComponentWritten or EventWritten before it returns, and
// again for a write whose process died in between.
type Store struct {
	Dashboards Collection[Dashboard]
	Components Collection[Component]
	Events     Collection[Event]
	Pages      Collection[Page]
	Links      Rows[LinkRow]
	Updates    Rows[UpdateRow]
	// Next takes n numbers of the counter and returns the first: 1, 2, 3, each once.
	Next func(ctx context.Context, counter string, n int64) (int64, error)
}

// The counters of legacy ids. Each is one for the whole installation, so that an id
// of another organization is never anybody's own.
const (
	dashboardIDs = "dashboard"
	componentIDs = "service"
	eventIDs     = "event"
	linkIDs      = "event_service"
	updateIDs    = "event_update"
)

// Elsewhere is what other services keep about components. It is told after the fact
// and cannot object; the message topic.ComponentDeleted is what it can rely on.
type Elsewhere interface {
	ComponentGone(ctx context.Context, organization, componentID string)
}

// Catalog runs the operations. All of it may be used by many goroutines and by
// several processes over one store.
type Catalog struct {
	store     Store
	elsewhere Elsewhere
	now       func() time.Time

	renders rounds[string, Page]     // of pages, by dashboard; brought are components written
	follow  rounds[struct{}, *Event] // of what follows from an event, by its id; nothing is brought
	joins   rounds[string, struct{}] // of first dashboards, by organization; brought are new components
}

// New makes the catalog over a store. now is the time in UTC, in whole milliseconds.
func New(store Store, elsewhere Elsewhere, now func() time.Time) *Catalog {
	return &Catalog{store: store, elsewhere: elsewhere, now: now}
}

// Author is who did something.
type Author struct {
	UserID       string `json:"userId"`
	LegacyUserID int64  `json:"legacyUserId"` // 0: nobody the legacy interface knows
	Name         string `json:"name"`
}

// newID is a uuid of version 7, so ids sort by time. Making one fails only where the
// system has no randomness, and then nothing works.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// together runs functions at once, so that their writes share the store's syncs, and
// joins their errors.
func together(functions ...func() error) error {
	errs := make([]error, len(functions))
	var group sync.WaitGroup
	for i, function := range functions {
		group.Go(func() { errs[i] = function() })
	}
	group.Wait()
	return errors.Join(errs...)
}

// owned adds the organization to a query, as the first condition.
func owned(organization string, query find.Query) find.Query {
	query.Where = append([]find.Condition{find.Eq("organization", organization)}, query.Where...)
	return query
}

// listed finds a page of records and how many there are in all.
func listed[T any](ctx context.Context, from interface {
	Find(ctx context.Context, query find.Query) (find.Page[T], error)
	Count(ctx context.Context, query find.Query) (int64, error)
}, query find.Query) ([]T, int64, error) {
	total, err := from.Count(ctx, find.Query{Where: query.Where, Scan: query.Scan})
	if err != nil || total <= int64(query.Offset) {
		return nil, total, err
	}
	page, err := from.Find(ctx, query)
	return page.Items, total, err
}

// byLegacyID finds the organization's record with the integer id, or NotFound.
func byLegacyID[T any](ctx context.Context, from interface {
	Find(ctx context.Context, query find.Query) (find.Page[T], error)
}, organization string, id int64) (T, error) {
	page, err := from.Find(ctx, owned(organization, find.Query{Where: []find.Condition{find.Eq("legacyId", id)}, Limit: 1}))
	if err == nil && len(page.Items) == 0 {
		err = fault.New(fault.NotFound, "There is no such record.")
	}
	if err != nil {
		return *new(T), err
	}
	return page.Items[0], nil
}
