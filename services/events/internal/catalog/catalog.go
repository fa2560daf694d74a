// Package catalog holds what an organization publishes: dashboards, the components on them, and events (incidents
// and maintenances) with their timelines. It contains the rules and the operations. It uses no database engine, HTTP
// or Kafka directly.
//
//   - An event is one record with its links to components and its timeline. Every operation on an event is
//     one atomic write, with the message about the change. Every interface uses CreateEvent and ChangeEvent with
//     the steps of an EventEdit. Inputs name records by uuid; only the legacy interface uses the legacy ids.
//   - Concurrent writes of one event in one process share one load and one replace, so that they do not compete
//     for the version of the record.
//   - Rows derived from the event serve the legacy lists of links and updates, and nothing else.
//   - A component is removed in several steps. Their order allows each step to run again. The store's Derive runs
//     the steps after the first write, and again after a crash.
package catalog

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/coalesce"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/google/uuid"
)

// Collection stores records of one type.
type Collection[T any] = find.Collection[T]

// Rows stores derived rows.
type Rows[T any] = find.Collection[T]

// Store calls DashboardWritten, ComponentWritten, EventWritten or RemovalsWritten after each write, also if the process
// died in between.
type Store struct {
	Dashboards Collection[Dashboard]
	Components Collection[Component]
	Events     Collection[Event]
	Removals   Collection[Removals]
	Links      Rows[LinkRow]
	Updates    Rows[UpdateRow]
	// Next takes n numbers of the counter and returns the first. Counters start at 1.
	Next func(ctx context.Context, counter string, n int64) (int64, error)
}

// The counters of legacy ids. Each counts over the whole installation, so no two organizations have the same id.
const (
	dashboardIDs = "dashboard"
	componentIDs = "service"
	eventIDs     = "event"
	linkIDs      = "event_service"
	entryIDs     = "event_update"
)

// OtherServices is the other services that store records about components. topic.ComponentDeleted reaches them too.
type OtherServices interface {
	ComponentGone(ctx context.Context, organization, componentID string)
	// IsOnlyComponent reports whether an endpoint names this component and no other.
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
	platform  []string // hosts

	writes     coalesce.Group[*eventWrite, struct{}] // writes of events, by id
	joins      coalesce.Group[string, string]        // writes of first dashboards, by organization; items are new components
	placements placementCache
}

// New returns a catalog. now returns the time in UTC, in whole milliseconds. platform is the hosts of the platform, in
// lower case, which no dashboard may have.
func New(store Store, others OtherServices, published Published, now func() time.Time, platform ...string) *Catalog {
	return &Catalog{store: store, others: others, published: published, now: now, platform: platform}
}

// runLimit bounds a shared run, which does not end with the request of its first caller.
const runLimit = 30 * time.Second

// Share returns the result of a run that begins after the call, with the items of all callers. See coalesce.Group.
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

// Command is the origin of a write.
type Command struct {
	Organization string
	Author       Author
	Source       Source
	Action       string // in the audit log; empty: create, update or delete of the record
	// IfMatch returns an error if the write is for another version of the record. nil: for any version.
	IfMatch func(version int64) error
}

func (c Command) checkVersion(version int64) error {
	if c.IfMatch == nil {
		return nil
	}
	return c.IfMatch(version)
}

// Author is the person behind a write; the zero Author stands for the platform itself.
type Author struct {
	UserID       string `json:"userId" audit:"userId,null"`
	LegacyUserID int64  `json:"legacyUserId"` // 0: the legacy interface has no such user
	Name         string `json:"name" audit:"name"`
}

type Source string

const (
	SourceApp       Source = "app"
	SourceLegacy    Source = "legacy"
	SourceInbound   Source = "inbound"
	SourceScheduler Source = "scheduler"
)

// newID returns a uuid of version 7, so that ids sort by time.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// together runs functions concurrently and joins their errors.
func together(functions ...func() error) error {
	errs := make([]error, len(functions))
	var group sync.WaitGroup
	for i, function := range functions {
		group.Go(func() { errs[i] = function() })
	}
	group.Wait()
	return errors.Join(errs...)
}

// each returns what of returns for each of the items.
func each[T, R any](items []T, of func(T) R) []R {
	out := make([]R, len(items))
	for i, item := range items {
		out[i] = of(item)
	}
	return out
}

func owned(organization string, query find.Query) find.Query {
	query.Where = append([]find.Condition{find.Eq(FieldOrganization, organization)}, query.Where...)
	return query
}

// Pages are the records of a list in parts. The error of a part is the last part.
type Pages[T any] = iter.Seq2[[]T, error]

// maxPage bounds the stored records in a page of a list, in bytes: a page ends with the record that reaches it. An event may
// have megabytes, and a list a thousand events.
const maxPage = 2 << 20

// listed returns the organization's records that the query finds as shown returns them, and their number before its Limit
// and Offset. It reads a page when it is asked for. Records that are added or deleted meanwhile move no others.
func listed[T, R any](
	ctx context.Context, from Collection[T], organization string, query find.Query, id func(*T) int64, shown func([]T) ([]R, error),
) (Pages[R], int64, error) {
	query = owned(organization, query)
	total, err := from.Count(ctx, find.Query{Where: query.Where, Scan: query.Scan})
	if err != nil {
		return nil, 0, err
	}
	left := max(0, int(total)-query.Offset)
	if query.Limit > 0 {
		left = min(left, query.Limit)
	}
	pages := inOrder(ctx, from, query, left)
	if query.Scan != "" {
		pages = sorted(ctx, from, organization, query, left, id)
	}
	return func(yield func([]R, error) bool) {
		for items, err := range pages {
			var records []R
			if err == nil {
				records, err = shown(items)
			}
			if !yield(records, err) || err != nil {
				return
			}
		}
	}, total, nil
}

// inOrder returns at most left records of a query whose order an index has.
func inOrder[T any](ctx context.Context, from Collection[T], query find.Query, left int) Pages[T] {
	query.MaxBytes = maxPage
	return func(yield func([]T, error) bool) {
		for left > 0 {
			query.Limit = left
			page, err := from.Find(ctx, query)
			if !yield(page.Items, err) || err != nil || page.Next == "" {
				return
			}
			left -= len(page.Items)
			query.After, query.Offset = page.Next, 0
		}
	}
}

// sorted returns at most left records of a query that examines the records one by one. It examines and sorts them once, by
// their keys and not by pages: a list of large records has hundreds of pages.
func sorted[T any](ctx context.Context, from Collection[T], organization string, query find.Query, left int, id func(*T) int64) Pages[T] {
	return func(yield func([]T, error) bool) {
		if left == 0 {
			return
		}
		query.Limit = left
		rows, err := from.Keys(ctx, query, FieldLegacyID)
		if err != nil {
			yield(nil, err)
			return
		}
		for part := find.MaxMerged; len(rows) > 0; {
			part = min(part, len(rows))
			ids := each(rows[:part], func(row find.Row) int64 { n, _ := row.Values[0].(int64); return n })
			page, err := from.Find(ctx, owned(organization, find.Query{
				Where: []find.Condition{find.In(FieldLegacyID, ids...)}, Order: []find.Order{{Field: FieldLegacyID}}, MaxBytes: maxPage,
			}))
			if err == nil && page.Next != "" && part > 1 { // together they are too large
				part /= 2
				continue
			}
			place := map[int64]int{}
			for i, id := range ids {
				place[id] = i
			}
			slices.SortFunc(page.Items, func(a, b T) int { return place[id(&a)] - place[id(&b)] })
			if !yield(page.Items, err) || err != nil {
				return
			}
			rows = rows[part:]
		}
	}
}

// whole shows records as they are stored.
func whole[T any](records []T) ([]T, error) { return records, nil }

// byLegacyID returns the organization's record with the legacy id, or NotFound.
func byLegacyID[T any](ctx context.Context, from Collection[T], organization string, id int64) (T, error) {
	page, err := from.Find(ctx, owned(organization, find.Query{Where: []find.Condition{find.Eq(FieldLegacyID, id)}, Limit: 1}))
	if err == nil && len(page.Items) == 0 {
		err = fault.New(fault.NotFound, "There is no such record.")
	}
	return append(page.Items, *new(T))[0], err
}
