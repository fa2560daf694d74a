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
// Mount serves the resources of a service. Resources is the table of their methods. Mount panics if a resource and the
// table disagree, so that any test of the service fails.
//
// A Relation declares a field that refers to a record of another resource, or that holds children, which a body sends
// within their parent. The keys of Match become a condition on Find. Without Match, Relation.Fields and Relation.FindID
// name find fields of this resource's own records (denormalised), and one query serves all conditions. Lookup.Relation
// is such a relation.
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
	// Indexes lists the equality filters that an index serves: see Index. The first index is (organization, id); other
	// queries scan within it.
	Indexes []Index
	// FaultFields maps field names in the domain's faults to field names of this resource: {"name": "service_name"}.
	FaultFields map[string]string

	Doc Doc

	ID   func(T) int64
	View func(T) any // a struct with JSON tags

	// List returns records of the caller's organization, and their number before Limit and Offset. The query has no
	// condition on the organization. It always has an Order, and a Scan if Indexes do not serve it.
	List func(ctx context.Context, caller passport.Passport, query find.Query) (items []T, total int64, err error)
	// Pages is List for records that may be large: it returns them in pages, and reads a page when it is asked for. A
	// resource has either List or Pages.
	Pages func(ctx context.Context, caller passport.Passport, query find.Query) (pages Pages[T], total int64, err error)
	// Get returns one record or fault.NotFound. Without it List or Pages is used.
	Get func(ctx context.Context, caller passport.Passport, id int64) (T, error)
	// Create stores a new record. The input has all required fields, and defaults for the others.
	Create func(ctx context.Context, caller passport.Passport, in Input) (T, error)
	// Update changes the sent fields of a record. It returns fault.NotFound if the record was deleted meanwhile.
	Update func(ctx context.Context, caller passport.Passport, id int64, in Input) (T, error)
	// Delete removes a record or returns fault.NotFound.
	Delete func(ctx context.Context, caller passport.Passport, id int64) error
}

// Pages are the records of a list, in order and in parts. The error of a part is the last part.
type Pages[T any] = iter.Seq2[[]T, error]

// Index is a declared index (organization, Equal..., id). It serves a query that compares exactly these fields for
// equality and is ordered by id. Other queries scan the index that has the most of their equalities.
type Index struct {
	Name  string
	Equal []string // names of find fields
	Few   bool     // few records have one value of Equal: the index serves several values too
	Order string   // a find field, without Equal: the index is (organization, Order, id), which queries in this order scan
}

// Options are shared by all resources of a service.
type Options struct {
	Log     *slog.Logger // required: receives the causes of 5xx
	BaseURL string       // LEGACY_BASE_URL: the Location of a created record starts with it
}

// Declared is a Resource of any record type.
type Declared interface {
	// Check returns the faults of the declaration: an unknown name, a missing operation or one that the table of
	// Resources does not have, a relation to an unknown resource.
	Check() error
	// Describe returns what the document of the interface is made of.
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
