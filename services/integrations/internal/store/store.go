// Package store declares the collections for the records of packages endpoint, outcome and inbound, with the indexes for
// the queries.
package store

import (
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/outcome"
)

// New declares the collections of packages endpoint and outcome in db, and returns them as a Store.
func New(db *document.Database) endpoint.Store {
	revisions := revisions{db}
	return endpoint.Store{
		Endpoints: revised[endpoint.Endpoint]{
			Collection: document.Declare(db, endpoints()), revisions: revisions,
			organization: func(e *endpoint.Endpoint) string { return e.OrganizationID },
		},
		Results: outcome.Store{
			Counters: document.Declare(db, document.Schema[outcome.Counters]{
				Name:  "counters",
				Key:   func(c *outcome.Counters) string { return c.ID },
				Shard: document.ByKey(),
				Fields: []document.Field[outcome.Counters]{
					{Name: outcome.FieldFailing, Value: func(c *outcome.Counters) any { return c.Failing() }},
				},
				Indexes: []document.Index{{
					Name: "failing", Fields: []string{outcome.FieldFailing}, Scatter: "A batch of outcomes asks once for the failing endpoints of its groups.",
				}},
			}),
			Successes: document.Declare(db, document.Schema[outcome.LastSuccesses]{
				Name:  "successes",
				Key:   func(g *outcome.LastSuccesses) string { return g.ID },
				Shard: document.ByKey(),
			}),
		},
		Suppressions: revised[endpoint.Suppression]{
			Collection: document.Declare(db, suppressions()), revisions: revisions, byInserts: true,
			organization: func(s *endpoint.Suppression) string { return s.OrganizationID },
		},
		Slots: document.Declare(db, document.Schema[endpoint.Slots]{
			Name:  "slots",
			Key:   func(s *endpoint.Slots) string { return s.Key() },
			Shard: document.ByKey(),
			Fields: []document.Field[endpoint.Slots]{
				{Name: endpoint.FieldClaimed, Value: func(s *endpoint.Slots) any { return s.ClaimedAt() }},
			},
			Indexes: []document.Index{{Name: "claims", Fields: []string{endpoint.FieldClaimed}, Scatter: "A sweep finds the claims of all organizations that were not completed."}},
		}),
		Next:     db.Next,
		Revision: revisions.of,
	}
}

func suppressions() document.Schema[endpoint.Suppression] {
	return document.Schema[endpoint.Suppression]{
		Name:  "suppressions",
		Key:   func(s *endpoint.Suppression) string { return s.Key() },
		Shard: document.ByKey(),
		Fields: []document.Field[endpoint.Suppression]{
			{Name: endpoint.FieldOrganization, Value: func(s *endpoint.Suppression) any { return s.OrganizationID }},
			{Name: endpoint.FieldChannel, Value: func(s *endpoint.Suppression) any { return string(s.Channel) }},
			{Name: endpoint.FieldSuppressedAt, Value: func(s *endpoint.Suppression) any { return s.SuppressedAt }},
		},
		Indexes: []document.Index{
			{
				Name: "suppressed", Fields: []string{endpoint.FieldOrganization, endpoint.FieldChannel, endpoint.FieldSuppressedAt},
				Scatter: "A list merges the pages of all shards. An attempt reads one suppression by its key.",
			},
		},
	}
}

func endpoints() document.Schema[endpoint.Endpoint] {
	type e = endpoint.Endpoint
	kind := func(more ...string) []string {
		return append([]string{endpoint.FieldOrganization, endpoint.FieldChannel}, more...)
	}
	return document.Schema[e]{
		Name:  "endpoints",
		Key:   func(e *e) string { return e.ID },
		Shard: document.By(endpoint.FieldOrganization),
		Fields: []document.Field[e]{
			{Name: endpoint.FieldOrganization, Value: func(e *e) any { return optional.OrNull(e.OrganizationID) }}, // absent only for the records of Endpoints.prevent
			{Name: endpoint.FieldChannel, Value: func(e *e) any { return string(e.Channel) }},
			{Name: endpoint.FieldDashboard, Value: func(e *e) any { return e.DashboardID }},
			{Name: endpoint.FieldURLHash, Value: func(e *e) any { return e.URLHash }},
			{Name: endpoint.FieldSlot, Value: func(e *e) any {
				if e.VerifiedAt == nil {
					return nil
				}
				return e.URLHash
			}},
			{Name: endpoint.FieldLegacyID, Value: func(e *e) any { return e.LegacyID }},
			{Name: endpoint.FieldLimit, Value: func(e *e) any { return e.Limit() }},
			{Name: endpoint.FieldPaused, Value: func(e *e) any { return e.Paused }},
			{Name: endpoint.FieldComponents, Value: func(e *e) any { return e.Concerned() }, Revision: 1},
			{Name: endpoint.FieldOnly, Value: func(e *e) any {
				if len(e.ComponentIDs) == 1 && e.VerifiedAt != nil {
					return e.ComponentIDs[0]
				}
				return nil
			}},
			{Name: endpoint.FieldExpires, Value: func(e *e) any {
				if e.Request == nil {
					return nil
				}
				return e.Request.ExpiresAt
			}},
			{Name: endpoint.FieldKinds, Value: func(e *e) any { return e.SentKinds() }},
			{Name: endpoint.FieldInterval, Value: func(e *e) any {
				if e.VerifiedAt == nil || e.MinInterval() == 0 {
					return nil
				}
				return int64(e.MinInterval())
			}},
		},
		Indexes: []document.Index{
			{Name: "kind", Fields: kind()},
			{Name: "paused", Fields: kind(endpoint.FieldPaused)},
			{Name: "dashboards", Fields: kind(endpoint.FieldDashboard)},
			{Name: "urls", Fields: kind(endpoint.FieldURLHash)},
			{Name: "slots", Fields: kind(endpoint.FieldSlot)},
			{Name: "subscriptions", Fields: kind(endpoint.FieldDashboard, endpoint.FieldURLHash), Unique: true},
			{Name: endpoint.IndexConcerned, Fields: kind(endpoint.FieldPaused, endpoint.FieldComponents)},
			{Name: "components", Fields: []string{endpoint.FieldOrganization, endpoint.FieldComponents}},
			{Name: "only", Fields: []string{endpoint.FieldOrganization, endpoint.FieldOnly}},
			{Name: "expired", Fields: []string{endpoint.FieldExpires}, Scatter: "A sweep finds the requests of all organizations that have expired."},
			{Name: "dashboard", Fields: []string{endpoint.FieldOrganization, endpoint.FieldDashboard}},
			{Name: "intervals", Fields: []string{endpoint.FieldOrganization, endpoint.FieldInterval}},
		},
	}
}
