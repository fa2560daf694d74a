// Package legacy serves the resource-oriented interface under /api/v1/ that generic clients of the Tastypie family use:
// lists with meta, paging links, filters and ordering, discovery, input binding and errors. All resources share this
// implementation, because copies of its forty conventions would drift apart. A resource is a declaration of fields and
// operations:
//
//	legacy.Resource[catalog.Service]{
//		Name: "service",
//		Fields: []legacy.Field{
//			{Name: "service_name", Type: legacy.String, Required: true, Max: 50, Find: "name", Help: "Name shown on the dashboard"},
//			{Name: "group", Type: legacy.String, Max: 50, Default: "default", ResetOnPut: true, Find: "group"},
//			{Name: "hidden", Type: legacy.Boolean, Default: false, Find: "hidden"},
//		},
//		Indexes: []legacy.Index{
//			{Name: "org_legacy"},                                 // (organization, legacyId)
//			{Name: "org_group_legacy", Equal: []string{"group"}}, // (organization, group, legacyId)
//		},
//		ID:   func(s catalog.Service) int64 { return s.LegacyID },
//		View: func(s catalog.Service) any { return viewService(s) }, // a struct; its times are legacy.Time
//		List: func(ctx context.Context, caller passport.Passport, q find.Query) ([]catalog.Service, int64, error) { ... },
//		Create: func(ctx context.Context, caller passport.Passport, in legacy.Input) (catalog.Service, error) { ... },
//	}
//
// Mount serves the resources of a service. Resources is the table of all resources and their methods. Mount panics if
// a resource does not match the table, so that any test of the service fails.
//
// A Relation declares a field that refers to a record of another resource, or that contains children, which a body sends
// within their parent. A filter on fields of the related records calls Match, and then requires that Field.Find is one of
// the returned keys. Without Match, Relation.Fields and Relation.FindID name find fields of this resource's own records
// (copies of the related values), and no second query is needed. Lookup.Relation returns a relation to a lookup.
package legacy

import (
	"context"
	"iter"
	"log/slog"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// Base is the path of the interface.
const Base = "/api/v1/"

// Resource declares one resource. T is the record that the operations return and that View shows.
type Resource[T any] struct {
	Name   string  // in the table of Resources: "service", "event/list"
	Fields []Field // without id and resource_uri, which every resource has
	// Indexes lists the indexes of the records. The first index is (organization, id). A query for which the rules of
	// Index choose no other index scans the first one.
	Indexes []Index
	// FaultFields maps a field name in a fault of the domain to the field name of this resource: {"name":
	// "service_name"}.
	FaultFields map[string]string

	Doc Doc

	ID   func(T) int64
	View func(T) any // a struct with JSON tags

	// List returns records of the caller's organization, and their number before Limit and Offset. The query has no
	// condition on the organization. It always has an Order. It has a Scan if no index of Indexes serves it.
	List func(ctx context.Context, caller passport.Passport, query find.Query) (items []T, total int64, err error)
	// Pages replaces List for records that may be large. It returns the records in pages, and reads each page only
	// when the caller asks for it. A resource has either List or Pages.
	Pages func(ctx context.Context, caller passport.Passport, query find.Query) (pages Pages[T], total int64, err error)
	// Get returns one record or fault.NotFound. If Get is nil, List or Pages is called instead.
	Get func(ctx context.Context, caller passport.Passport, id int64) (T, error)
	// Create stores a new record. The input has all required fields, and the defaults of absent fields.
	Create func(ctx context.Context, caller passport.Passport, in Input) (T, error)
	// Update changes the sent fields of a record. It returns fault.NotFound if there is no such record.
	Update func(ctx context.Context, caller passport.Passport, id int64, in Input) (T, error)
	// Delete removes a record or returns fault.NotFound.
	Delete func(ctx context.Context, caller passport.Passport, id int64) error
}

// Pages yields the records of a list in order, some at a time. An error ends the sequence.
type Pages[T any] = iter.Seq2[[]T, error]

// Index is a declared index (organization, Equal..., id). It serves a query that compares exactly these fields for
// equality and is ordered by id. Any other query scans the index with the most Equal fields, among the indexes whose
// Equal fields the query compares for equality.
type Index struct {
	Name  string
	Equal []string // names of find fields
	Few   bool     // each value of Equal has few records, so the index is also scanned for several values
	Order string   // if set, Equal is empty and the index is (organization, Order, id); queries in this order scan it, unless an index with Equal fits
}

// Options are shared by all resources of a service.
type Options struct {
	Log     *slog.Logger // required: receives the causes of 5xx
	BaseURL string       // LEGACY_BASE_URL: the Location of a created record starts with it
}

// Declared is a Resource of any record type.
type Declared interface {
	// Check returns the errors of the declaration: an unknown name, a missing operation, an operation that the table
	// of Resources does not have, or a relation to an unknown resource.
	Check() error
	// Describe returns the data from which the OpenAPI document of the interface is generated.
	Describe() Description
	handler(Options) gin.HandlerFunc
	name() string
}

// Mount serves the resources on router, each with and without the trailing slash. It panics if Check of a resource
// returns an error, because that is a programming error.
func Mount(router gin.IRouter, options Options, resources ...Declared) {
	options.BaseURL = strings.TrimSuffix(options.BaseURL, "/")
	for _, resource := range resources {
		if err := resource.Check(); err != nil {
			panic(err)
		}
		handler := resource.handler(options)
		router.Any(Base+resource.name(), handler)
		router.Any(Base+resource.name()+"/*rest", handler)
	}
}
