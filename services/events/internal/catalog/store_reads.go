package catalog

import (
	"context"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

// EventsBetween calls visit with the events of the scopes that overlap the time between from (inclusive) and to (exclusive).
// If to is nil, the time has no end. A scope is the id of a component, the id of a dashboard for its events without
// components, or empty for all events. EventsBetween may call visit twice with the same event.
func (s *Store) EventsBetween(ctx context.Context, organization string, scopes []string, from time.Time, to *time.Time, now time.Time, visit func(*Event)) error {
	filter := EventFilter{From: &from, To: to}
	for _, query := range filter.queries(organization, scopes, now) {
		err := s.Events.Each(ctx, query, func(event Event) error {
			visit(&event)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// oldestBatch is how many events OldestEvents reads at once. Usually the first event ends the search.
const oldestBatch = 16

// OldestEvents calls visit with the events of the scopes, as in EventsBetween, the earliest start first, until visit returns
// false. It does so for each find.MaxMerged of the scopes.
func (s *Store) OldestEvents(ctx context.Context, organization string, scopes []string, visit func(*Event) (more bool)) error {
	for keys := range slices.Chunk(listKeys(scopes, []string{""}, classShort), find.MaxMerged) {
		query := owned(organization, find.Query{
			Where: []find.Condition{find.Has(FieldListed, keys...)}, Order: []find.Order{{Field: FieldStart}}, Limit: oldestBatch,
		})
		for more := true; more; {
			rows, err := s.Events.Keys(ctx, query)
			if err != nil {
				return err
			}
			events, err := s.Events.GetMany(ctx, find.Values(rows, func(row find.Row) string { return row.Key }))
			if err != nil {
				return err
			}
			ends := slices.ContainsFunc(events, func(event Event) bool { return !visit(&event) })
			if more = len(rows) == oldestBatch && !ends; more {
				query.After = rows[len(rows)-1].Position
			}
		}
	}
	return nil
}
