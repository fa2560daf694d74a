// Package store keeps the domain's records as documents, and declares the indexes
// that serve its queries.
package store

import (
	"context"
	"errors"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
)

// Store implements endpoint.Store.
type Store struct {
	db           *document.Database
	endpoints    *document.Collection[endpoint.Endpoint]
	tallies      *document.Collection[endpoint.Tally]
	suppressions *document.Collection[endpoint.Suppression]
}

// New declares the collections in db.
func New(db *document.Database) *Store {
	return &Store{
		db:        db,
		endpoints: document.Declare(db, endpoints()),
		tallies: document.Declare(db, document.Schema[endpoint.Tally]{
			Name: "tallies",
			Key:  func(t *endpoint.Tally) string { return t.ID },
		}),
		suppressions: document.Declare(db, document.Schema[endpoint.Suppression]{
			Name: "suppressions",
			Key:  func(s *endpoint.Suppression) string { return s.Key() },
		}),
	}
}

func endpoints() document.Schema[endpoint.Endpoint] {
	type e = endpoint.Endpoint
	kind := func(more ...string) []string {
		return append([]string{endpoint.FieldOrganization, endpoint.FieldChannel}, more...)
	}
	return document.Schema[e]{
		Name: "endpoints",
		Key:  func(e *e) string { return e.ID },
		Fields: []document.Field[e]{
			{Name: endpoint.FieldOrganization, Value: func(e *e) any { return e.OrganizationID }},
			{Name: endpoint.FieldChannel, Value: func(e *e) any { return string(e.Channel) }},
			{Name: endpoint.FieldDashboard, Value: func(e *e) any { return e.DashboardID }},
			{Name: endpoint.FieldURLHash, Value: func(e *e) any { return e.URLHash }},
			{Name: endpoint.FieldLegacyID, Value: func(e *e) any { return e.LegacyID }},
			{Name: endpoint.FieldPaused, Value: func(e *e) any { return e.Paused }},
			{Name: endpoint.FieldComponents, Value: func(e *e) any { return e.ComponentIDs }},
			{Name: endpoint.FieldKinds, Value: func(e *e) any { return kinds(e) }},
		},
		Indexes: []document.Index{
			{Name: "kind", Fields: kind()},
			{Name: "dashboards", Fields: kind(endpoint.FieldDashboard)},
			{Name: endpoint.IndexURLs, Fields: kind(endpoint.FieldURLHash)},
			{Name: "subscriptions", Fields: kind(endpoint.FieldDashboard, endpoint.FieldURLHash), Unique: true},
			{Name: endpoint.IndexConcerned, Fields: kind(endpoint.FieldPaused, endpoint.FieldComponents)},
			{Name: "components", Fields: []string{endpoint.FieldOrganization, endpoint.FieldComponents}},
		},
	}
}

// kinds is the multi-valued field of what an endpoint is told of.
func kinds(e *endpoint.Endpoint) []topic.Kind {
	if e.EventKinds == nil {
		return []topic.Kind{endpoint.AllKinds}
	}
	return e.EventKinds
}

// NextLegacyID implements endpoint.Store.
func (s *Store) NextLegacyID(ctx context.Context) (int64, error) { return s.db.Next(ctx, "endpoint") }

// Add implements endpoint.Store.
func (s *Store) Add(ctx context.Context, e endpoint.Endpoint) error {
	return s.endpoints.Insert(ctx, e)
}

// Change implements endpoint.Store.
func (s *Store) Change(ctx context.Context, id string, change func(*endpoint.Endpoint) error) (endpoint.Endpoint, error) {
	return s.endpoints.Update(ctx, id, func(e *endpoint.Endpoint) ([]topic.Message, error) {
		return nil, change(e)
	})
}

// Remove implements endpoint.Store.
func (s *Store) Remove(ctx context.Context, id string, agree func(endpoint.Endpoint) error) error {
	return s.endpoints.Delete(ctx, id, func(e *endpoint.Endpoint) ([]topic.Message, error) { return nil, agree(*e) })
}

// Some implements endpoint.Store.
func (s *Store) Some(ctx context.Context, ids []string) ([]endpoint.Endpoint, error) {
	return s.endpoints.GetMany(ctx, ids)
}

// Find implements endpoint.Store.
func (s *Store) Find(ctx context.Context, q find.Query) (find.Page[endpoint.Endpoint], error) {
	return s.endpoints.Find(ctx, q)
}

// CountURLs implements endpoint.Store; the index of URLs holds all it reads.
func (s *Store) CountURLs(ctx context.Context, organization string, channel topic.Channel) (int, error) {
	n, err := s.endpoints.CountDistinct(ctx, endpoint.FieldURLHash, find.Query{
		Where: []find.Condition{find.Eq(endpoint.FieldOrganization, organization), find.Eq(endpoint.FieldChannel, string(channel))},
		Scan:  endpoint.IndexURLs,
	})
	return int(n), err
}

// AddTally implements endpoint.Store.
func (s *Store) AddTally(ctx context.Context, t endpoint.Tally) error {
	return s.tallies.Insert(ctx, t)
}

// RemoveTally implements endpoint.Store.
func (s *Store) RemoveTally(ctx context.Context, id string) error {
	return unlessGone(s.tallies.Delete(ctx, id, nil))
}

// Tallies implements endpoint.Store.
func (s *Store) Tallies(ctx context.Context, ids []string) (map[string]endpoint.Tally, error) {
	found, err := s.tallies.GetMany(ctx, ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]endpoint.Tally, len(found))
	for _, t := range found {
		byID[t.ID] = t
	}
	return byID, nil
}

// SaveTallies implements endpoint.Store.
func (s *Store) SaveTallies(ctx context.Context, tallies []endpoint.Tally) error {
	return s.tallies.UpsertMany(ctx, tallies)
}

// AddSuppression implements endpoint.Store.
func (s *Store) AddSuppression(ctx context.Context, suppression endpoint.Suppression) (bool, error) {
	err := s.suppressions.Insert(ctx, suppression)
	if fault.Is(err, fault.Conflict) {
		return false, nil
	}
	return err == nil, err
}

// PutSuppression implements endpoint.Store.
func (s *Store) PutSuppression(ctx context.Context, suppression endpoint.Suppression) error {
	_, err := s.suppressions.Upsert(ctx, suppression.Key(), func(current *endpoint.Suppression, _ bool) ([]topic.Message, error) {
		*current = suppression
		return nil, nil
	})
	return err
}

// RemoveSuppression implements endpoint.Store.
func (s *Store) RemoveSuppression(ctx context.Context, suppression endpoint.Suppression) error {
	err := s.suppressions.Delete(ctx, suppression.Key(), func(current *endpoint.Suppression) ([]topic.Message, error) {
		if current.ID != suppression.ID {
			return nil, fault.ErrUnchanged
		}
		return nil, nil
	})
	if errors.Is(err, fault.ErrUnchanged) {
		return nil
	}
	return unlessGone(err)
}

// Suppressions implements endpoint.Store.
func (s *Store) Suppressions(ctx context.Context, keys []string) (map[string]endpoint.Suppression, error) {
	found, err := s.suppressions.GetMany(ctx, keys)
	if err != nil {
		return nil, err
	}
	byKey := make(map[string]endpoint.Suppression, len(found))
	for _, suppression := range found {
		byKey[suppression.Key()] = suppression
	}
	return byKey, nil
}

func unlessGone(err error) error {
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}
