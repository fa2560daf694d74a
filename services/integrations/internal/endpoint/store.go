package endpoint

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// The fields of endpoints that queries may name.
const (
	FieldOrganization = "organization"
	FieldChannel      = "channel"
	FieldDashboard    = "dashboard"
	FieldURLHash      = "urlHash"
	FieldLegacyID     = "legacyId"
	FieldPaused       = "paused"
	FieldComponents   = "components" // multi-valued
	FieldKinds        = "kinds"      // multi-valued; AllKinds stands for all
)

// AllKinds is what FieldKinds holds for an endpoint that is told of every kind.
const AllKinds = "*"

// The indexes that queries name as the one to look within.
const (
	IndexURLs      = "urls"      // organization, channel, urlHash
	IndexConcerned = "concerned" // organization, channel, paused, components
)

// Store keeps the domain's records.
type Store interface {
	// NextLegacyID counts 1, 2, 3 over the whole installation.
	NextLegacyID(ctx context.Context) (int64, error)
	// Add stores a new endpoint; Conflict when its URL is on its dashboard already.
	Add(ctx context.Context, e Endpoint) error
	// Change loads, changes and replaces an endpoint, over again when somebody else did
	// meanwhile; Conflict when the new URL is on its dashboard already.
	Change(ctx context.Context, id string, change func(*Endpoint) error) (Endpoint, error)
	// Remove deletes an endpoint to which agree has no objection.
	Remove(ctx context.Context, id string, agree func(Endpoint) error) error
	// Some loads endpoints in the order of ids, leaving out those that are not there.
	Some(ctx context.Context, ids []string) ([]Endpoint, error)
	Find(ctx context.Context, q find.Query) (find.Page[Endpoint], error)
	// CountURLs counts the different URLs of the kind in the organization.
	CountURLs(ctx context.Context, organization string, channel topic.Channel) (int, error)

	AddTally(ctx context.Context, t Tally) error
	RemoveTally(ctx context.Context, id string) error
	// Tallies are those of the ids that exist, by id.
	Tallies(ctx context.Context, ids []string) (map[string]Tally, error)
	SaveTallies(ctx context.Context, tallies []Tally) error

	// AddSuppression stores the suppression unless the URL is suppressed already, and
	// reports whether it did.
	AddSuppression(ctx context.Context, s Suppression) (bool, error)
	// PutSuppression stores the suppression in place of one that the URL may have.
	PutSuppression(ctx context.Context, s Suppression) error
	// RemoveSuppression does nothing when there is none, or another one.
	RemoveSuppression(ctx context.Context, s Suppression) error
	// Suppressions are those of the keys that exist, by key.
	Suppressions(ctx context.Context, keys []string) (map[string]Suppression, error)
}

// Directory is what the domain asks other services.
type Directory interface {
	// Dashboard is one dashboard with its components as of now, or NotFound.
	Dashboard(ctx context.Context, organization, id string) (Dashboard, error)
	// Dashboards are those of the ids that exist, by id, without their components; they
	// may be a moment old.
	Dashboards(ctx context.Context, organization string, ids []string) (map[string]Dashboard, error)
	// UniqueEndpoints is how many unique URLs of each kind the organization may have.
	UniqueEndpoints(ctx context.Context, organization string) (int, error)
}
