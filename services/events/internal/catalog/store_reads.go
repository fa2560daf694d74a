package catalog

import (
	"context"
	"errors"
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

// errFound ends Each when visit returns false.
var errFound = errors.New("catalog: found")

// OldestEvents calls visit with the events of a scope, as in EventsBetween, the earliest start first, until visit returns
// false.
func (s *Store) OldestEvents(ctx context.Context, organization, scope string, visit func(*Event) (more bool)) error {
	query := owned(organization, find.Query{
		Where: []find.Condition{find.Has(FieldListed, listKeys([]string{scope}, []string{""}, classShort)...)},
		Order: []find.Order{{Field: FieldStart}},
	})
	err := s.Events.Each(ctx, query, func(event Event) error {
		if visit(&event) {
			return nil
		}
		return errFound
	})
	if errors.Is(err, errFound) {
		return nil
	}
	return err
}
