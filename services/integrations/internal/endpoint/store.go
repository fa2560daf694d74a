package endpoint

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/outcome"
)

// The fields of endpoints that queries may name.
const (
	FieldOrganization = "organization"
	FieldChannel      = "channel"
	FieldDashboard    = "dashboard"
	FieldURLHash      = "urlHash"
	FieldSlot         = "slot" // urlHash of a verified endpoint; absent for others
	FieldLegacyID     = "legacyId"
	FieldLimit        = "limit" // Endpoint.Limit
	FieldPaused       = "paused"
	FieldComponents   = "components" // several values; see Endpoint.Concerned
	FieldOnly         = "only"       // the only component of a verified endpoint; absent for others
	FieldExpires      = "expires"    // time when a visitor's request expires; absent without a request
	FieldKinds        = "kinds"      // several values; AllKinds: all kinds; absent before verification
	FieldInterval     = "interval"   // Endpoint.MinInterval of a verified endpoint; absent for 0
)

// FieldSuppressedAt is a field of suppressions. They also have FieldOrganization and FieldChannel.
const FieldSuppressedAt = "suppressedAt"

// FieldClaimed is a field of Slots. It is the time of the oldest claim, and absent if there is no claim.
const FieldClaimed = "claimed"

// AllKinds is the value of FieldKinds for an endpoint to which every kind is sent.
const AllKinds = "*"

// The names of indexes that queries use in Scan.
const (
	IndexConcerned = "concerned" // organization, channel, paused, components
)

// Store stores the domain's records.
type Store struct {
	Endpoints    find.Collection[Endpoint]
	Results      outcome.Store
	Suppressions find.Collection[Suppression]
	Slots        find.Collection[Slots]
	// Next returns the next number of a counter: 1, 2, 3. It returns each number once.
	Next func(ctx context.Context, counter string) (int64, error)
	// Revision returns a number. Each write of an endpoint or suppression of the organization, except the creation of
	// an endpoint, changes this number before the write returns.
	Revision func(ctx context.Context, organization string) (int64, error)
}

// Services is a client of other services.
type Services interface {
	// Dashboard returns a dashboard with its current components, or fault.NotFound.
	Dashboard(ctx context.Context, organization, id string) (topic.DashboardRecord, error)
	// PublicDashboard returns the dashboard that visitors see at an address. It returns fault.NotFound if there is
	// none.
	PublicDashboard(ctx context.Context, at topic.PublicAddress) (topic.PublicDashboard, error)
	// DashboardsByID returns those dashboards that exist, by id. The data may be up to 20 ms old.
	DashboardsByID(ctx context.Context, organization string, ids []string) (map[string]topic.DashboardRecord, error)
	// HasIntegrations reports whether the plan of the organization includes integrations.
	HasIntegrations(ctx context.Context, organization string) (bool, error)
	// UniqueEndpoints returns the maximum number of different URLs of each kind for the organization.
	UniqueEndpoints(ctx context.Context, organization string) (int, error)
}

// Quota limits the mail that visitors cause, and the test messages of members. Each method counts a message and returns 0,
// or returns the time until the next message is allowed.
type Quota interface {
	MailFrom(ctx context.Context, ip string) time.Duration
	MailTo(ctx context.Context, address string) time.Duration
	EndpointTest(ctx context.Context, organization, urlHash string) time.Duration
}

// distinct returns the texts without duplicates, in the same order.
func distinct[T ~string](texts []T) []T {
	seen := make(map[T]bool, len(texts))
	var out []T
	for _, text := range texts {
		if !seen[text] {
			seen[text] = true
			out = append(out, text)
		}
	}
	return out
}
