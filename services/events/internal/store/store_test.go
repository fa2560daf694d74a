package store_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/client"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
	"github.com/bellbuoy/bellbuoy/services/events/internal/store"
)

const (
	org   = "0190aaaa-0000-7000-8000-00000000000a"
	board = "0190dddd-0000-7000-8000-00000000000a"
)

// ahead is added to the present time that all catalogs read, in nanoseconds.
var ahead atomic.Int64

// otherServices allows dashboardLimit dashboards.
type otherServices struct{ client.Services }

const dashboardLimit = 50

func (otherServices) MaxDashboards(context.Context, string) (int, error) { return dashboardLimit, nil }

// library is a catalog with its editions.
type library struct {
	*catalog.Catalog
	*edition.Editions
}

// open returns a catalog over records in folder. A deaf catalog runs nothing after its writes, like a
// process that dies right after each write. changes alter the catalog's store.
func open(t *testing.T, folder string, deaf bool, changes ...func(*store.Store)) (library, *store.Store) {
	t.Helper()
	made, records, _ := openAt(t, "sqlite:"+folder, deaf, changes...)
	return made, records
}

// openAt is open for a database at an address, which it returns too.
func openAt(t *testing.T, address string, deaf bool, changes ...func(*store.Store)) (library, *store.Store, *document.Database) {
	t.Helper()
	db, err := document.Open(address, "events", document.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	records := store.Declare(db)
	for _, change := range changes {
		change(records)
	}
	made := newLibrary(records, func() time.Time {
		return time.Now().UTC().Add(time.Duration(ahead.Load())).Truncate(time.Millisecond)
	})
	records.Follow(made.Catalog)
	if deaf {
		records.Follow(nobody{})
	}
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return made, records, db
}

func newLibrary(records *store.Store, now func() time.Time) library {
	editions := edition.New(records.Store, records.Records, edition.Options{Renderer: name{}, Now: now, Log: slog.New(slog.DiscardHandler)})
	return library{catalog.New(records.Store, otherServices{client.NewServices(slog.New(slog.DiscardHandler))}, editions, now), editions}
}

type nobody struct{}

func (nobody) DashboardWritten(context.Context, string, *catalog.Dashboard) error { return nil }
func (nobody) ComponentWritten(context.Context, string, *catalog.Component) error { return nil }
func (nobody) EventWritten(context.Context, string, *catalog.Event) error         { return nil }
func (nobody) EventsWritten(context.Context, map[string]*catalog.Event) error     { return nil }
func (nobody) RemovalsWritten(context.Context, *catalog.Removals) error           { return nil }
func (nobody) AliasesWritten(context.Context, string, *catalog.AliasSet) error    { return nil }

// ours is a write of the organization org.
var ours = catalog.Command{Organization: org, Source: catalog.SourceLegacy}

func link(id string) func(*catalog.EventEdit) error {
	return func(d *catalog.EventEdit) error { return d.AddComponent(id) }
}

func hide(hidden bool) func(*catalog.Component) error {
	return func(c *catalog.Component) error { c.Hidden = hidden; return nil }
}

func add(t *testing.T, c library, name string) catalog.Component {
	t.Helper()
	component, err := c.CreateComponent(t.Context(), ours, nil, func(c *catalog.Component) error { c.Name = name; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return component
}

func incident(t *testing.T, c library, components ...string) catalog.EventDetail {
	t.Helper()
	event, err := c.CreateEvent(t.Context(), ours, func(d *catalog.EventEdit) error {
		d.Type, d.Title, d.StartAt = catalog.Incident, "Slow", time.Now().UTC().Add(-time.Hour).Truncate(time.Millisecond)
		d.SetStatus(catalog.Identified)
		var problems []error
		for _, id := range components {
			problems = append(problems, d.AddComponent(id))
		}
		return errors.Join(problems...)
	})
	if err != nil {
		t.Fatal(err)
	}
	return event
}

// TestPublicPage checks that a page is found by slug and host while its dashboard is enabled.
func TestPublicPage(t *testing.T) {
	c, records := open(t, t.TempDir(), false)
	if _, err := c.CreateDashboard(t.Context(), org, board, "Acme"); err != nil {
		t.Fatal(err)
	}
	incident(t, c, add(t, c, "API").ID)
	set := func(enabled bool, hosts ...string) {
		t.Helper()
		if _, err := records.Dashboards.Update(t.Context(), board, func(d *catalog.Dashboard) ([]topic.Message, error) {
			d.Enabled, d.CustomDomains = enabled, hosts
			return nil, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	set(true, "status.acme.example", "www.acme.example")
	for _, host := range []string{"status.acme.example", "www.acme.example"} {
		page, err := c.Public(t.Context(), edition.Address{Host: host})
		if err != nil || len(page.Rows) != 1 || page.Rows[0].Status != edition.ListedIncident {
			t.Errorf("%s shows %+v, %v", host, page, err)
		}
	}
	set(true, "status.acme.example")
	if _, err := c.Public(t.Context(), edition.Address{Host: "www.acme.example"}); !fault.Is(err, fault.NotFound) {
		t.Errorf("a former host: %v", err)
	}
	set(false, "status.acme.example")
	if _, err := c.Public(t.Context(), edition.Address{Host: "status.acme.example"}); !fault.Is(err, fault.NotFound) {
		t.Errorf("a disabled dashboard by host: %v", err)
	}
	if _, err := c.Public(t.Context(), edition.Address{Slug: "acme"}); !fault.Is(err, fault.NotFound) {
		t.Errorf("a disabled dashboard by slug: %v", err)
	}
	if err := records.Dashboards.Delete(t.Context(), board, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Public(t.Context(), edition.Address{Slug: "acme"}); !fault.Is(err, fault.NotFound) {
		t.Errorf("a deleted dashboard by slug: %v", err)
	}
}

// TestLinkToGone checks that a link is removed if it was written after the removal of its component
// had searched for links.
func TestLinkToGone(t *testing.T) {
	folder := t.TempDir()
	c, records := open(t, folder, false)
	deaf, _ := open(t, folder, true)
	stays, goes := add(t, c, "stays"), add(t, c, "goes")
	event := incident(t, deaf, stays.ID, goes.ID) // its rows and pages are not written yet
	if err := deaf.RemoveComponent(t.Context(), ours, goes.ID); err != nil {
		t.Fatal(err)
	}
	if err := records.Components.Delete(t.Context(), goes.ID, nil); err != nil {
		t.Fatal(err)
	}
	stored, err := records.Events.Get(t.Context(), event.ID)
	if err != nil || len(stored.Links) != 2 {
		t.Fatalf("stored %+v, %v", stored.Links, err)
	}
	if err := c.EventWritten(t.Context(), event.ID, &stored); err != nil {
		t.Fatal(err)
	}
	if stored, err = records.Events.Get(t.Context(), event.ID); err != nil || len(stored.Links) != 1 || stored.Links[0].ComponentID != stays.ID {
		t.Errorf("the links are %+v, %v", stored.Links, err)
	}
	pages, total, err := c.ListLinks(t.Context(), org, find.Query{Order: []find.Order{{Field: "legacyId"}}})
	if err != nil || total != 1 {
		t.Fatalf("the list of links has %d: %v", total, err)
	}
	for links, err := range pages {
		if err != nil || len(links) != 1 || links[0].Component.ID != stays.ID {
			t.Errorf("the list of links is %+v, %v", links, err)
		}
	}
	// A later link to the component is refused.
	if linked, err := c.ChangeEvent(t.Context(), ours, event.ID, link(goes.ID)); !fault.Is(err, fault.Invalid) {
		t.Errorf("a link to a deleted component: %+v, %v", linked, err)
	}
	if stored, err = records.Events.Get(t.Context(), event.ID); err != nil || len(stored.Links) != 1 {
		t.Errorf("the links are %+v, %v", stored.Links, err)
	}
}

// TestInterruptedRemoval checks that no query finds a component that is leaving, and that repeating
// ComponentWritten completes the removal.
func TestInterruptedRemoval(t *testing.T) {
	folder := t.TempDir()
	c, records := open(t, folder, false)
	deaf, _ := open(t, folder, true)
	if _, err := c.CreateDashboard(t.Context(), org, board, "Acme"); err != nil {
		t.Fatal(err)
	}
	component := add(t, c, "API")
	event := incident(t, c, component.ID)
	if err := deaf.RemoveComponent(t.Context(), ours, component.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ComponentID(t.Context(), org, component.LegacyID); !fault.Is(err, fault.NotFound) {
		t.Errorf("it is still found: %v", err)
	}
	if _, err := c.ChangeComponent(t.Context(), ours, component.ID, hide(true)); !fault.Is(err, fault.NotFound) {
		t.Errorf("it is still changed: %v", err)
	}
	if read, err := c.EventByLegacyID(t.Context(), org, event.LegacyID); err != nil || len(read.Components) != 0 {
		t.Errorf("the event shows %+v, %v", read.Components, err)
	}
	leaving, err := records.Components.Get(t.Context(), component.ID)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time nothing is left to do
		if err := c.ComponentWritten(t.Context(), component.ID, &leaving); err != nil {
			t.Fatal(err)
		}
	}
	read, err := c.EventByLegacyID(t.Context(), org, event.LegacyID)
	if err != nil || len(read.Links) != 0 {
		t.Errorf("links are left: %+v, %v", read.Links, err)
	}
	dashboard, err := c.Dashboard(t.Context(), org, board)
	if err != nil || len(dashboard.Components) != 0 {
		t.Errorf("places are left: %+v, %v", dashboard.Components, err)
	}
	page, err := c.Public(t.Context(), edition.Address{Slug: "acme"})
	if err != nil || len(page.Rows) != 0 {
		t.Errorf("the page shows %+v, %v", page.Rows, err)
	}
}

// held stops a rendering after it has read its records and before it is written.
type held struct {
	catalog.Collection[edition.PublishedPage]
	once              sync.Once
	composed, release chan struct{}
}

func (h *held) Upsert(ctx context.Context, key string, change func(*edition.PublishedPage, bool) ([]topic.Message, error)) (edition.PublishedPage, error) {
	return h.Collection.Upsert(ctx, key, func(page *edition.PublishedPage, exists bool) ([]topic.Message, error) {
		messages, err := change(page, exists)
		h.once.Do(func() {
			close(h.composed)
			<-h.release
		})
		return messages, err
	})
}

// TestPageOvertaken checks that an older rendering of another process does not replace the page,
// although the newer rendering has not changed the page.
func TestPageOvertaken(t *testing.T) {
	folder := t.TempDir()
	c, records := open(t, folder, false)
	deaf, _ := open(t, folder, true)
	if _, err := c.CreateDashboard(t.Context(), org, board, "Acme"); err != nil {
		t.Fatal(err)
	}
	component := add(t, c, "API")
	hidden, err := deaf.ChangeComponent(t.Context(), ours, component.ID, hide(true))
	if err != nil {
		t.Fatal(err)
	}
	slow := &held{Collection: records.Pages, composed: make(chan struct{}), release: make(chan struct{})}
	records.Pages = slow
	other := newLibrary(records, func() time.Time { return time.Now().UTC().Truncate(time.Millisecond) })
	ended := make(chan error, 1)
	go func() { ended <- other.ComponentWritten(t.Context(), component.ID, &hidden) }()
	<-slow.composed
	_, err = c.ChangeComponent(t.Context(), ours, component.ID, hide(false))
	close(slow.release)
	if err := errors.Join(err, <-ended); err != nil {
		t.Fatal(err)
	}
	if page, err := c.Public(t.Context(), edition.Address{Slug: "acme"}); err != nil || len(page.Rows) != 1 {
		t.Errorf("the page shows %+v, %v", page.Rows, err)
	}
}

// stepped stops before and after one write of rows, once it is armed.
type stepped struct {
	catalog.Collection[catalog.UpdateRow]
	armed   atomic.Bool
	reached chan string
	goOn    chan struct{}
}

func (s *stepped) UpsertMany(ctx context.Context, rows []catalog.UpdateRow) error {
	if !s.armed.CompareAndSwap(true, false) {
		return s.Collection.UpsertMany(ctx, rows)
	}
	s.reached <- "before"
	<-s.goOn
	err := s.Collection.UpsertMany(ctx, rows)
	s.reached <- "after"
	<-s.goOn
	return err
}

// TestRowsOvertaken checks that after the response about a deletion nobody finds updates of the event
// that a concurrent write stores as rows.
func TestRowsOvertaken(t *testing.T) {
	slow := &stepped{reached: make(chan string), goOn: make(chan struct{})}
	c, records := open(t, t.TempDir(), false, func(s *store.Store) {
		slow.Collection = s.Updates
		s.Updates = slow
	})
	event := incident(t, c, add(t, c, "API").ID)
	slow.armed.Store(true)
	updated, deleted := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := c.ChangeEvent(t.Context(), ours, event.ID, func(d *catalog.EventEdit) error {
			return d.AppendEntry(catalog.Entry{Status: catalog.StatusUpdate, Message: catalog.Rich{Text: "late"}, Timestamp: d.Now})
		})
		updated <- err
	}()
	<-slow.reached
	go func() { deleted <- c.DeleteEvent(t.Context(), ours, event.ID) }()
	apitest.Eventually(t, "the event is deleted", func() bool {
		_, err := records.Events.Get(t.Context(), event.ID)
		return fault.Is(err, fault.NotFound)
	})
	responded := false
	select {
	case err := <-deleted:
		responded = true
		deleted <- err
	case <-time.After(300 * time.Millisecond): // the deletion waits, as it must
	}
	slow.goOn <- struct{}{}
	<-slow.reached
	if n, err := records.Updates.Count(t.Context(), find.Query{}); responded && (err != nil || n > 0) {
		t.Errorf("%d rows were written after the deletion, %v", n, err)
	}
	slow.goOn <- struct{}{}
	if err := errors.Join(<-deleted, <-updated); err != nil {
		t.Fatal(err)
	}
	if n, err := records.Updates.Count(t.Context(), find.Query{}); err != nil || n > 0 {
		t.Errorf("%d updates are left, %v", n, err)
	}
}

// TestSchedulerGoesOn checks that an event that cannot be started does not delay those due after it.
func TestSchedulerGoesOn(t *testing.T) {
	c, records := open(t, t.TempDir(), false)
	component := add(t, c, "API")
	from := time.Now().UTC().Add(-time.Hour).Truncate(time.Millisecond)
	planned := from.Add(-time.Hour)
	stuck := catalog.Event{ // without an end, which no maintenance can be
		ID: "0190eeee-0000-7000-8000-00000000000a", LegacyID: 1000, OrganizationID: org, Type: catalog.Maintenance, Status: catalog.Planning,
		StartAt: planned, ScheduledStartAt: &planned, AutoStart: true, AutoEnd: true, Published: true, Version: 1,
	}
	if err := records.Events.Insert(t.Context(), stuck); err != nil {
		t.Fatal(err)
	}
	event, err := c.CreateEvent(t.Context(), ours, func(d *catalog.EventEdit) error {
		end := from.Add(24 * time.Hour)
		d.Type, d.Title, d.StartAt, d.ScheduledStartAt, d.ScheduledEndAt, d.AutoStart = catalog.Maintenance, "Move", from, &from, &end, true
		d.SetStatus(catalog.Planning)
		return d.AddComponent(component.ID)
	})
	if err != nil {
		t.Fatal(err)
	}
	failed := c.RunDue(t.Context())
	if stored, err := records.Events.Get(t.Context(), event.ID); err != nil || stored.Status != catalog.Started {
		t.Errorf("the other one is %s: %v; %v", stored.Status, err, failed)
	}
}
