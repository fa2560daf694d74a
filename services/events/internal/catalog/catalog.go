// Package catalog defines the records that an organization publishes: dashboards, the components on them, and events
// (incidents and maintenances) with their timelines. It contains the rules and the operations for these records. It uses
// no database engine, HTTP or Kafka directly.
//
//   - An event is one record with its links to components and its timeline. Every creation, change and deletion of an
//     event is one atomic write of this record. The write includes the message about the change, except in an import and
//     its undo. Except for imports, every interface creates and changes events with CreateEvent, ChangeEvent or Ingest, by
//     the steps of an EventEdit.
//   - Concurrent calls of ChangeEvent for one event in one process share one load and one replace, so that they do
//     not compete for the version of the record.
//   - Rows derived from the event serve the legacy reads of links and updates. The rows of links also say which
//     pages showed the event before a write.
//   - A component is removed in several steps. Each step can run again. The store's Derive runs the steps after the
//     first write, and again after a crash.
package catalog

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/coalesce"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Collection stores records of one type.
type Collection[T any] = find.Collection[T]

// Store has the records of the catalog. After a write of a dashboard, component, Removals or AliasSet, the store calls
// DashboardWritten, ComponentWritten, RemovalsWritten or AliasesWritten of the Catalog. After a write of one event or of
// several events, it calls EventWritten or EventsWritten. It repeats a call that fails. If the process dies before the
// call ends, the store makes the call later.
type Store struct {
	Dashboards Collection[Dashboard]
	Components Collection[Component]
	Events     Collection[Event]
	Templates  Collection[Template]
	Removals   Collection[Removals]
	AliasSets  Collection[AliasSet]
	Aliases    Collection[Alias]
	// DeletedImports records which imported events members have deleted.
	DeletedImports Collection[DeletedImport]
	Links          Collection[LinkRow]
	Updates        Collection[UpdateRow]
	// Next reserves n successive numbers of the counter and returns the first. Counters start at 1.
	Next func(ctx context.Context, counter string, n int64) (int64, error)
}

// The counters of legacy ids. Each counter counts over the whole installation, so two records of a type never have the same
// legacy id, also in different organizations.
const (
	dashboardIDs = "dashboard"
	componentIDs = "service"
	eventIDs     = "event"
	linkIDs      = "event_service"
	entryIDs     = "event_update"
)

// OtherServices calls the other services.
type OtherServices interface {
	// ComponentGone asks the services that store recipients to remove the component from their recipients. A failed call is
	// only logged, because topic.ComponentDeleted has the same effect later.
	ComponentGone(ctx context.Context, organization, componentID string)
	// IsOnlyComponent reports whether there is an endpoint whose only component is this component.
	IsOnlyComponent(ctx context.Context, organization, componentID string) (bool, error)
	// MaxDashboards returns the number of dashboards that the organization may have.
	MaxDashboards(ctx context.Context, organization string) (int, error)
}

// Catalog runs the operations. It is safe for concurrent use, also by several processes over one store.
type Catalog struct {
	store     Store
	others    OtherServices
	published Published
	now       func() time.Time
	platform  []string // hosts of the platform
	process   string   // an id that no other process has

	writes     coalesce.Group[*eventWrite, struct{}] // writes of events, by id
	joins      coalesce.Group[string, string]        // writes that add new components to a dashboard, by organization and dashboard; items are ids of components
	placements placementCache
	importing  chan struct{} // a semaphore: an item for each import in progress
}

// New returns a catalog. now returns the time in UTC, in whole milliseconds. platform is the hosts of the platform, in
// lower case. No dashboard may have one of these hosts as a custom domain.
func New(store Store, others OtherServices, published Published, now func() time.Time, platform ...string) *Catalog {
	return &Catalog{
		store: store, others: others, published: published, now: now, platform: platform, process: topic.NewID(),
		placements: newPlacementCache(), importing: make(chan struct{}, importsAtOnce),
	}
}

// runLimit is the timeout of a shared run. A shared run does not end when the request of its first caller ends.
const runLimit = 30 * time.Second

// Share adds items to the next run of key and returns the result of this run. A run calls work once with the items of
// all its callers. The run begins after their calls of Share, see coalesce.Group. If ctx ends first, Share returns
// Unavailable.
func Share[I, R any](ctx context.Context, runs *coalesce.Group[I, R], key string, items []I, work func(context.Context, []I) (R, error)) (R, error) {
	result, err := runs.Do(ctx, key, items, func(ctx context.Context, items []I) (R, error) {
		ctx, cancel := context.WithTimeout(ctx, runLimit)
		defer cancel()
		return work(ctx, items)
	})
	if err != nil && ctx.Err() != nil {
		err = fault.Wrap(fault.Unavailable, err, "Too many writes wait for each other. Try again later.")
	}
	return result, err
}
