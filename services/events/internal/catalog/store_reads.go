package catalog

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// ComponentsOf returns the organization's components with the ids, by id. An id may be named several times.
func (s *Store) ComponentsOf(ctx context.Context, organization string, ids []string) (map[string]Component, error) {
	found, err := s.Components.GetMany(ctx, slices.Compact(slices.Sorted(slices.Values(ids))))
	byID := make(map[string]Component, len(found))
	for _, component := range found {
		if !component.Leaving && component.OrganizationID == organization {
			byID[component.ID] = component
		}
	}
	return byID, err
}

// EventOf returns the organization's event with the id, or NotFound.
func (s *Store) EventOf(ctx context.Context, organization, id string) (Event, error) {
	event, err := s.Events.Get(ctx, id)
	if fault.Is(err, fault.NotFound) || err == nil && event.OrganizationID != organization {
		err = noEvent()
	}
	return event, err
}

// EventsBetween calls visit with the events of the scopes that overlap the time from until before to; nil for no end. A
// scope is the id of a component; empty for all events. visit may get an event twice.
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

// errFound ends a search.
var errFound = errors.New("catalog: found")

// OldestEvents calls visit with the events of a scope, the earliest start first, until visit returns false.
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
