// Package edition publishes what visitors see of a dashboard. A page has the public list, and a snapshot behind all other
// files (an edition). Both are made when a record changes, before its writer gets the response, and when time changes
// them. A file is rendered from the snapshot at its first request, and stored.
package edition

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/coalesce"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	lru "github.com/hashicorp/golang-lru/v2"
)

// Records stores pages and editions.
type Records struct {
	Pages find.Collection[PublishedPage]
	Parts find.Collection[Part]
	Files find.Collection[StoredFile]
}

// The fields and indexes of these records, beside those that the catalog names.
const (
	FieldMark      = "mark"      // PublishedPage.Mark
	FieldEnabled   = "enabled"   // visitors may ask for the page
	FieldDashboard = "dashboard" // dashboard id of a part and a file
	FieldEdition   = "edition"   // edition id of a file
	FieldNumber    = "number"    // number of a part
	FieldCreatedAt = "createdAt"

	IndexEnabled   = "enabled"
	IndexDashboard = "dashboard_created"
)

// Renderer renders the files of a snapshot.
type Renderer interface {
	// Render returns the file with the name, or NotFound.
	Render(snapshot *Snapshot, name string, extra Extra) (File, error)
}

// Extra is what a file about one event or one month needs beside the snapshot.
type Extra struct {
	Event *ShownEvent
	Month *ShownMonth
}

// Options are what editions need beside the records.
type Options struct {
	Renderer      Renderer
	Tries         Tries
	DashboardBase string // URL below which /d/{slug} is
	Secret        string // key of the signed values in editions
	Now           func() time.Time
}

// Editions publishes the dashboards of a catalog. It is safe for concurrent use, also by several processes over one store.
type Editions struct {
	records catalog.Store
	store   Records
	Options
	renders coalesce.Group[catalog.Written, PublishedPage] // by dashboard
	files   coalesce.Group[struct{}, File]                 // by edition and name
	decoded *decodedEditions
	pages   *lru.Cache[string, markedPage] // by dashboard
	hashing chan struct{}                  // has an item for each password that is compared
}

// New returns the editions of the dashboards in records.
func New(records catalog.Store, store Records, options Options) *Editions {
	pages, _ := lru.New[string, markedPage](maxMarked) // fails only for a size below 1
	return &Editions{
		records: records, store: store, Options: options, decoded: newDecodedEditions(), pages: pages, hashing: make(chan struct{}, hashesAtOnce),
	}
}

// Tries limits the passwords that a visitor may try.
type Tries interface {
	// Try counts a try by the IP address and returns 0, or the time until the next one is allowed.
	Try(ctx context.Context, ip, dashboard string) (wait time.Duration)
	// TryWasRight takes back the count of a try, because only wrong ones are limited.
	TryWasRight(ctx context.Context, ip, dashboard string)
}

// hashesAtOnce bounds the passwords that a process compares at the same time, because each needs 19 MiB.
const hashesAtOnce = 4

// markedPage is a page with its mark. Nobody changes it. The gateway asks for the page of a busy dashboard many times a
// second, and most of that time went into decoding the page.
type markedPage struct {
	PublishedPage
	mark any
}

// maxMarked bounds the pages that a process keeps in memory.
const maxMarked = 256
