package endpoint

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// The fields of endpoints that queries may name.
const (
	FieldOrganization = "organization"
	FieldChannel      = "channel"
	FieldDashboard    = "dashboard"
	FieldURLHash      = "urlHash"
	FieldSlot         = "slot" // urlHash of a verified endpoint; else absent
	FieldLegacyID     = "legacyId"
	FieldLimit        = "limit" // Endpoint.Limit
	FieldPaused       = "paused"
	FieldComponents   = "components" // multi-valued
	FieldOnly         = "only"       // the component of a verified endpoint that has no other; else absent
	FieldExpires      = "expires"    // of a visitor's request; else absent
	FieldKinds        = "kinds"      // multi-valued; AllKinds stands for all; absent before the endpoint is verified
)

// FieldSuppressedAt is a field of suppressions, beside FieldOrganization, FieldChannel.
const FieldSuppressedAt = "suppressedAt"

// FieldClaimed is a field of Slots: the time of the oldest claim; absent if there is none.
const FieldClaimed = "claimed"

// AllKinds is the value of FieldKinds for an endpoint to which every kind is sent.
const AllKinds = "*"

// The indexes that queries name in Scan.
const (
	IndexSlots     = "slots"     // organization, channel, slot
	IndexConcerned = "concerned" // organization, channel, paused, components
)

// Collection stores records of one type. document.Collection implements and describes it.
type Collection[T any] interface {
	GetMany(ctx context.Context, keys []string) ([]T, error)
	Find(ctx context.Context, q find.Query) (find.Page[T], error)
	// Keys returns the keys of the records that match q with the values of fields, and does not read the records.
	Keys(ctx context.Context, q find.Query, fields ...string) ([]find.Row, error)
	CountDistinct(ctx context.Context, field string, q find.Query) (int64, error)
	Insert(ctx context.Context, item T, messages ...topic.Message) error
	Update(ctx context.Context, key string, change func(*T) ([]topic.Message, error)) (T, error)
	Change(ctx context.Context, key string, change func(*T) error) (T, error)
	Upsert(ctx context.Context, key string, change func(item *T, exists bool) ([]topic.Message, error)) (T, error)
	UpdateMany(ctx context.Context, keys []string, change func([]*T) (map[string][]topic.Message, error)) error
	Delete(ctx context.Context, key string, decide func(*T) ([]topic.Message, error)) error
}

// Store stores the domain's records.
type Store struct {
	Endpoints    Collection[Endpoint]
	Counters     Collection[Counters]
	Healthy      Collection[Healthy]
	Suppressions Collection[Suppression]
	Slots        Collection[Slots]
	// Next returns the next number of a counter: 1, 2, 3, each once.
	Next func(ctx context.Context, counter string) (int64, error)
	// Revision returns a number that each write of an endpoint or suppression of the organization has changed when it
	// returns. Creating an endpoint does not change it.
	Revision func(ctx context.Context, organization string) (int64, error)
}

// Services is a client of other services.
type Services interface {
	// Dashboard returns a dashboard with its current components, or fault.NotFound.
	Dashboard(ctx context.Context, organization, id string) (Dashboard, error)
	// PublicDashboard returns the dashboard that visitors find at a site. It returns fault.NotFound if there is none.
	PublicDashboard(ctx context.Context, at Site) (Public, error)
	// Dashboards returns the dashboards that exist, by id, without their components. A dashboard may be
	// 20 ms old.
	Dashboards(ctx context.Context, organization string, ids []string) (map[string]Dashboard, error)
	// UniqueEndpoints returns the number of unique URLs of each kind that the organization may have.
	UniqueEndpoints(ctx context.Context, organization string) (int, error)
}

// Quota counts the mail that visitors cause. Each method returns the time until the next mail is allowed, or 0.
type Quota interface {
	MailFrom(ctx context.Context, ip string) time.Duration
	MailTo(ctx context.Context, address string) time.Duration
}

// byKey loads records and returns them by their keys. Records that do not exist are missing in the map.
func byKey[T any](ctx context.Context, from Collection[T], keys []string, key func(T) string) (map[string]T, error) {
	found, err := from.GetMany(ctx, keys)
	records := make(map[string]T, len(found))
	for _, record := range found {
		records[key(record)] = record
	}
	return records, err
}

func (s *Endpoints) countersOf(ctx context.Context, ids []string) (map[string]Counters, error) {
	return byKey(ctx, s.Store.Counters, ids, func(c Counters) string { return c.ID })
}

// distinct returns the texts without repetitions, in their order.
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
