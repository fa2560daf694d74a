// Package legacy serves the resource-oriented interface under /api/v1/: lists with
// their meta, paging links, filters, ordering, discovery, input binding and errors,
// as generic clients of the Tastypie family expect them. It is one implementation
// for all resources, because forty conventions copied into twelve places drift
// apart; a resource is a short declaration of its fields and its operations.
//
// A service's api package declares a resource like this (the whole of it):
//
//	func services(board *catalog.Board) legacy.Resource[catalog.Service] {
//		return legacy.Resource[catalog.Service]{
//			Name:   "service",
//			Fields: serviceFields(),
//			Indexes: []legacy.Index{
//				{Name: "org_legacy"},                               // (organization, legacyId)
//				{Name: "org_group_legacy", Equal: []string{"group"}}, // (organization, group, legacyId)
//			},
//			ID:   func(s catalog.Service) int64 { return s.LegacyID },
//			View: func(s catalog.Service) any { return viewService(s) },
//			List: func(ctx context.Context, caller passport.Passport, q find.Query) ([]catalog.Service, int64, error) {
//				return board.Services(ctx, caller.Organization, q) // adds find.Eq("organization", ...)
//			},
//			Create: func(ctx context.Context, caller passport.Passport, in legacy.Input) (catalog.Service, error) {
//				return board.AddService(ctx, caller.Organization, servicePatch(in))
//			},
//			Update: func(ctx context.Context, caller passport.Passport, id int64, in legacy.Input) (catalog.Service, error) {
//				return board.ChangeService(ctx, caller.Organization, id, servicePatch(in))
//			},
//			Delete: func(ctx context.Context, caller passport.Passport, id int64) error {
//				return board.RemoveService(ctx, caller.Organization, id)
//			},
//		}
//	}
//
//	func serviceFields() []legacy.Field {
//		return []legacy.Field{
//			{Name: "service_name", Type: legacy.String, Required: true, Max: 50, Find: "name", Help: "Name shown on the dashboard"},
//			{Name: "description", Type: legacy.String, Max: 250, Default: "", Find: "description"},
//			{Name: "group", Type: legacy.String, Max: 50, Default: "default", ResetOnPut: true, Find: "group"},
//			{Name: "hidden", Type: legacy.Boolean, Default: false, Find: "hidden"},
//		}
//	}
//
//	// The view is a struct: encoding/json keeps its order. Times are legacy.Time,
//	// references legacy.URI.
//	type serviceView struct {
//		Description string `json:"description"`
//		...
//		ResourceURI string `json:"resource_uri"`
//	}
//
//	// Pointers say what was sent: nil keeps the stored value.
//	func servicePatch(in legacy.Input) catalog.ServicePatch {
//		return catalog.ServicePatch{Name: in.Text("service_name"), Hidden: in.Flag("hidden")}
//	}
//
// and serves all of its resources with one call:
//
//	legacy.Mount(router, legacy.Options{Log: log}, services(board), events(board), legacy.Statuses(), ...)
//
// The methods of a resource come from the table in this package (Resources); Mount
// panics when the operations do not agree with it, so any test of the service shows it.
//
// Related fields. A to-one field of an event update that names its event:
//
//	{Name: "event", Type: legacy.Related, Required: true, Find: "event", Relation: &legacy.Relation{
//		To: "event/list",
//		// input: "/api/v1/event/list/71/", {"resource_uri": ...}: the key stored for event 71,
//		// fault.NotFound when it is not this organization's.
//		Resolve: func(ctx context.Context, caller passport.Passport, id int64) (string, error) { ... },
//		// filters event=71, event__type__type=incident: keys of the events that hold to conditions
//		// on the related fields; they become find.In("event", keys...).
//		Fields: eventFields(),
//		Match: func(ctx context.Context, caller passport.Passport, where []find.Condition) ([]string, error) { ... },
//	}}
//
// Without Match the names in Relation.Fields and Relation.ID are declared find fields
// of this resource's own records (denormalised), and the conditions stay in one query.
// StatusRelation, SeverityRelation and TypeRelation are ready-made; their keys are the
// names ("investigating"), which is what records store and what Match and Resolve give.
//
// Children sent within a parent are to-many fields with Items, the fields of one child:
//
//	{Name: "event_service", Type: legacy.Related, Required: true, Relation: &legacy.Relation{
//		To: "event/service", Many: true, Bare: "service", Items: []legacy.Field{service},
//		Fields: []legacy.Field{service}, // event_service__service=4
//	}}
//
// and an operation reads them with in.Items("event_service"): item.ID() is the id in
// the child's resource_uri (0 for a new one), item.Ref("service") its reference.
package legacy

import (
	"context"
	"log/slog"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// Base is the path under which all resources lie.
const Base = "/api/v1/"

// Resource declares one resource. T is whatever its operations hand out and View
// shows: the aggregate, or a row the api package composed from several.
type Resource[T any] struct {
	// Name is the row of the method table: "service", "event/list".
	Name string
	// Fields but resource_uri and id (for filters and ordering), which all resources have.
	Fields []Field
	// FindID is the declared find field that holds the integer id; "legacyId" when empty.
	FindID string
	// Indexes says which equality filters an index serves: see Index. The first one
	// is (organization, id), within which everything else is scanned.
	Indexes []Index
	// FaultFields translates the field names of the domain's faults to those of this
	// resource, where they differ: {"name": "service_name"}.
	FaultFields map[string]string

	// ID is the integer id of a record.
	ID func(T) int64
	// View is what a client sees of a record: a struct with JSON tags.
	View func(T) any

	// List finds records of the caller's organization, and how many there are before
	// Limit and Offset. The query has no condition on the organization yet, has Order
	// always set, and Scan where Indexes do not serve it.
	List func(ctx context.Context, caller passport.Passport, query find.Query) (items []T, total int64, err error)
	// Get returns one record or fault.NotFound. Without it List is asked.
	Get func(ctx context.Context, caller passport.Passport, id int64) (T, error)
	// GetMany returns the records there are, in any order. Without it List is asked.
	GetMany func(ctx context.Context, caller passport.Passport, ids []int64) ([]T, error)
	// Create stores a new record. Required fields are there, defaults filled in.
	Create func(ctx context.Context, caller passport.Passport, in Input) (T, error)
	// Update changes what was sent of a record (it exists a moment ago; fault.NotFound when not any more).
	Update func(ctx context.Context, caller passport.Passport, id int64, in Input) (T, error)
	// Delete removes a record or returns fault.NotFound.
	Delete func(ctx context.Context, caller passport.Passport, id int64) error
}

// Index is a declared index of the collection of the form (organization, Equal...,
// id). A query that compares exactly these fields for equality, ordered by id, is
// served by it; any other is scanned within the index with the most of its equalities.
type Index struct {
	Name  string
	Equal []string // names of find fields
}

// Options are the same for all resources of a service.
type Options struct {
	Log          *slog.Logger // required: causes of 5xx
	DefaultLimit int          // rows of a list that asks for no limit; 20 when 0
	MaxLimit     int          // rows of a list at the most; 1000 when 0
	BaseURL      string       // what Location starts with: LEGACY_BASE_URL
}

// Declared is a Resource of any record type.
type Declared interface {
	// Check says what is wrong with the declaration: an unknown name, an operation
	// the method table does not have or misses, a relation to nothing.
	Check() error
	handler(Options) gin.HandlerFunc
	name() string
}

// Mount serves the resources on router, each with and without the trailing slash.
// It panics when Check finds fault with one: that is a programming error.
func Mount(router gin.IRouter, options Options, resources ...Declared) {
	options = options.withDefaults()
	for _, resource := range resources {
		if err := resource.Check(); err != nil {
			panic(err)
		}
		handler := resource.handler(options)
		router.Any(Base+resource.name(), handler)
		router.Any(Base+resource.name()+"/*rest", handler)
	}
}

func (o Options) withDefaults() Options {
	if o.DefaultLimit == 0 {
		o.DefaultLimit = 20
	}
	if o.MaxLimit == 0 {
		o.MaxLimit = 1000
	}
	o.DefaultLimit = min(o.DefaultLimit, o.MaxLimit)
	o.BaseURL = strings.TrimSuffix(o.BaseURL, "/")
	return o
}
