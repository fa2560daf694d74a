// Package edition publishes what visitors see of a dashboard. For each dashboard, it stores a PublishedPage with the
// public list and the id of the current edition. An edition is a stored snapshot, from which all other files of the
// dashboard are rendered. Page and edition are renewed when a record changes, before the writer of the record gets the
// response, and when the passing of time changes them. A file is rendered at its first request and then stored.
package edition

import (
	"context"
	"log/slog"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/coalesce"
	"github.com/bellbuoy/bellbuoy/libs/failurelog"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
	lru "github.com/hashicorp/golang-lru/v2"
)

// Records stores pages and editions.
type Records struct {
	Pages find.Collection[PublishedPage]
	Parts find.Collection[Part]
	Files find.Collection[StoredFile]
}

// The fields and indexes of these records that the catalog does not name.
const (
	FieldMark      = "mark"                 // PublishedPage.Mark
	FieldEnabled   = "enabled"              // PublishedPage.Enabled
	FieldIndicator = "indicator"            // PublishedPage.Indicator
	FieldChangesAt = "changesAt"            // PublishedPage.ChangesAt
	FieldDashboard = catalog.FieldDashboard // dashboard id of a part and a file
	FieldEdition   = "edition"              // edition id of a file
	FieldNumber    = "number"               // Part.Number
	FieldCreatedAt = "createdAt"

	IndexEnabled   = "enabled"
	IndexDashboard = "dashboard_created"
)

// Renderer renders the files of a snapshot.
type Renderer interface {
	// Render returns the file with the name, or NotFound.
	Render(snapshot *Snapshot, name string, extra Extra) (File, error)
	// Page returns the page of the dashboard without its script, and its Content-Security-Policy.
	Page(snapshot *Snapshot) (html []byte, policy string, err error)
}

// Extra is the data besides the snapshot that a file about one event or one month needs.
type Extra struct {
	Event *ShownEvent
	Month *ShownMonth
}

// Options are what Editions needs besides the records.
type Options struct {
	Renderer  Renderer
	Tries     Tries
	Addresses catalog.Addresses
	Secret    string // key that signs PageAccess.Password and PageAccess.FeedKey
	Now       func() time.Time
	Log       *slog.Logger
}

// Editions publishes the dashboards of a catalog. It is safe for concurrent use, also by several processes over one store.
type Editions struct {
	records catalog.Store
	store   Records
	Options
	renders   coalesce.Group[catalog.Written, PublishedPage] // by dashboard
	files     coalesce.Group[struct{}, File]                 // by edition and name
	decoded   *decodedEditions
	calendars uptime.Calendars
	pages     *lru.Cache[string, markedPage] // by dashboard
	dayEnds   *lru.Cache[string, time.Time]  // by dashboard: until when no request renders the page of a new day
	outages   *failurelog.Log
	drawing   chan struct{} // a semaphore: an item for each preview that is being made
}

// New returns an Editions for the dashboards in records.
func New(records catalog.Store, store Records, options Options) *Editions {
	pages, _ := lru.New[string, markedPage](maxMarked) // fails only for a size below 1
	dayEnds, _ := lru.New[string, time.Time](maxDayEnds)
	return &Editions{
		records: records, store: store, Options: options, decoded: newDecodedEditions(), calendars: uptime.NewCalendars(), pages: pages,
		dayEnds: dayEnds, outages: failurelog.New(options.Log), drawing: make(chan struct{}, previewsAtOnce),
	}
}

// Tries limits how many wrong passwords a visitor may try.
type Tries interface {
	// Try counts a try to enter a password of the dashboard from the IP address, and returns 0. If too many tries are
	// counted already, it returns the time until the next try is allowed.
	Try(ctx context.Context, ip, dashboard string) (wait time.Duration)
	// TryWasRight undoes the count of a try with the right password.
	TryWasRight(ctx context.Context, ip, dashboard string)
}

// markedPage is a cached page with its mark. It is never changed. Pages are cached because the gateway requests the
// page of a busy dashboard many times a second, and decoding the page took most of the time of a request.
type markedPage struct {
	PublishedPage
	mark any
}

// maxMarked is how many pages a process caches.
const maxMarked = 256
