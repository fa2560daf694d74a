// Package edition publishes what visitors see of a dashboard. A page has the public list, and a snapshot behind all other
// files (an edition). Both are made when a record changes, before its writer gets the response, and when time changes
// them. A file is rendered from the snapshot at its first request, and stored.
package edition

import (
	"context"
	"reflect"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/coalesce"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
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
	decoded decodedEditions
	pages   pageCache
	hashing chan struct{} // has an item for each password that is compared
}

// New returns the editions of the dashboards in records.
func New(records catalog.Store, store Records, options Options) *Editions {
	return &Editions{records: records, store: store, Options: options, hashing: make(chan struct{}, hashesAtOnce)}
}

// Follow renders the pages of dashboards after records were written.
func (e *Editions) Follow(ctx context.Context, dashboards []string, written ...catalog.Written) error {
	for _, id := range dashboards {
		if _, err := e.render(ctx, id, written...); fault.UnlessMissing(err) != nil {
			return err
		}
	}
	return nil
}

// Withdraw marks the page of a deleted dashboard as removed. The scheduler deletes the page.
func (e *Editions) Withdraw(ctx context.Context, dashboard string) error {
	_, err := e.store.Pages.Upsert(ctx, dashboard, func(page *PublishedPage, _ bool) ([]topic.Message, error) {
		*page = PublishedPage{DashboardID: dashboard, Removed: true, SweepAt: new(e.Now().Add(sweepAfter))}
		return nil, nil
	})
	return err
}

// Differ reports whether visitors of any dashboard see a difference between two states of an event.
func (e *Editions) Differ(before, after *catalog.Event) bool {
	return !reflect.DeepEqual(shownOnAll(before), shownOnAll(after))
}
