package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
	"github.com/bellbuoy/bellbuoy/services/events/internal/store"
)

func addDashboard(t *testing.T, c library, name string, components ...string) catalog.Dashboard {
	t.Helper()
	made, err := c.AddDashboard(t.Context(), ours, func(d *catalog.Dashboard) error {
		d.Name = name
		for _, id := range components {
			d.Components = append(d.Components, catalog.Placement{ComponentID: id})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestLastDashboardStays deletes all dashboards at the same time, several times each, through two processes. One stays.
func TestLastDashboardStays(t *testing.T) {
	folder := t.TempDir()
	one, records := open(t, folder, false)
	two, _ := open(t, folder, false)
	var ids []string
	for round := range 5 {
		for len(ids) < 4 {
			ids = append(ids, addDashboard(t, one, fmt.Sprintf("%d %d", round, len(ids))).ID)
		}
		var deleted, last, gone atomic.Int64
		var group sync.WaitGroup
		for _, id := range ids {
			for _, c := range []library{one, two, one} {
				group.Go(func() {
					switch err := c.DeleteDashboard(t.Context(), ours, id); {
					case err == nil:
						deleted.Add(1)
					case fault.Is(err, fault.Conflict):
						last.Add(1)
					case fault.Is(err, fault.NotFound):
						gone.Add(1)
					default:
						t.Error(err)
					}
				})
			}
		}
		group.Wait()
		left, err := records.Dashboards.Find(t.Context(), find.Query{Where: []find.Condition{find.Eq(catalog.FieldOrganization, org)}})
		if err != nil || len(left.Items) != 1 {
			t.Fatalf("round %d: %d dashboards are left, %v", round, len(left.Items), err)
		}
		if deleted.Load() != 3 || last.Load() == 0 || last.Load()+gone.Load() != 9 {
			t.Errorf("round %d: %d deleted, %d last, %d gone", round, deleted.Load(), last.Load(), gone.Load())
		}
		ids = []string{left.Items[0].ID}
	}
}

// TestInterruptedDashboardRemoval checks that a removal which was decided is completed, and that no other removal may
// take the last dashboard meanwhile.
func TestInterruptedDashboardRemoval(t *testing.T) {
	folder := t.TempDir()
	catalogs, records := open(t, folder, false)
	deaf, _ := open(t, folder, true)
	goes, stays := addDashboard(t, catalogs, "goes"), addDashboard(t, catalogs, "stays")
	if err := deaf.DeleteDashboard(t.Context(), ours, goes.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := records.Dashboards.Get(t.Context(), goes.ID); err != nil {
		t.Fatalf("the removal is not interrupted: %v", err)
	}
	if err := catalogs.DeleteDashboard(t.Context(), ours, goes.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("it is deleted twice: %v", err)
	}
	if err := catalogs.DeleteDashboard(t.Context(), ours, stays.ID); !fault.Is(err, fault.Conflict) {
		t.Errorf("the last one is deleted: %v", err)
	}
	removals, err := records.Removals.Get(t.Context(), org)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time nothing is left to do
		if err := catalogs.RemovalsWritten(t.Context(), &removals); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := records.Dashboards.Get(t.Context(), goes.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("the dashboard is left: %v", err)
	}
	if _, err := catalogs.Public(t.Context(), edition.Address{Slug: goes.Slug}); !fault.Is(err, fault.NotFound) {
		t.Errorf("its page is left: %v", err)
	}
	addDashboard(t, catalogs, "another")
	if err := catalogs.DeleteDashboard(t.Context(), ours, stays.ID); err != nil {
		t.Errorf("a dashboard beside another one is not deleted: %v", err)
	}
}

// heldIssued lets a test do something before records are stored.
type heldIssued[T any] struct {
	find.Collection[T]
	before func()
}

func (h heldIssued[T]) Insert(ctx context.Context, item T, messages ...topic.Message) error {
	h.before()
	return h.Collection.Insert(ctx, item, messages...)
}

func (h heldIssued[T]) UpsertMany(ctx context.Context, items []T) error {
	h.before()
	return h.Collection.UpsertMany(ctx, items)
}

// name renders files that have their name.
type name struct{}

func (name) Render(_ *edition.Snapshot, name string, _ edition.Extra) (edition.File, error) {
	return edition.File{Name: name, Codings: []edition.Coding{{Name: "identity", Body: []byte(name)}}}, nil
}

func (name) Page(*edition.Snapshot) (html []byte, policy string, err error) { return nil, "", nil }

// TestDashboardIsDeletedWhileItsPageIsRendered checks that nothing is left of a dashboard that is deleted after a rendering
// of its page or of a file has read it, and before the rendering stores its result.
func TestDashboardIsDeletedWhileItsPageIsRendered(t *testing.T) {
	for _, c := range []struct{ rendered, stored string }{{"first page", "parts"}, {"page", "parts"}, {"file", "files"}} {
		t.Run(c.rendered, func(t *testing.T) {
			t.Cleanup(func() { ahead.Store(0) })
			folder := t.TempDir()
			var before atomic.Pointer[func()]
			hold := func(records string) func() {
				return func() {
					if then := before.Load(); records == c.stored && then != nil && before.CompareAndSwap(then, nil) {
						(*then)()
					}
				}
			}
			catalogs, records := open(t, folder, false, func(s *store.Store) {
				s.Parts, s.Files = heldIssued[edition.Part]{s.Parts, hold("parts")}, heldIssued[edition.StoredFile]{s.Files, hold("files")}
			})
			deaf, _ := open(t, folder, true)
			component := add(t, catalogs, "API")
			addDashboard(t, catalogs, "stays")
			creator := catalogs
			if c.rendered == "first page" {
				creator = deaf
			}
			goes := addDashboard(t, creator, "goes", component.ID)
			page, err := catalogs.Public(t.Context(), edition.Address{Slug: goes.Slug})
			if fault.Is(err, fault.NotFound) != (c.rendered == "first page") {
				t.Fatal(err)
			}
			deleted := make(chan error, 1)
			before.Store(new(func() { deleted <- catalogs.DeleteDashboard(t.Context(), ours, goes.ID) }))
			if c.rendered == "file" {
				_, _ = catalogs.EditionFile(t.Context(), page.EditionID, "x") // either response is right
			} else {
				incident(t, catalogs, component.ID)
			}
			select {
			case err = <-deleted:
			default:
				t.Fatal("nothing was rendered")
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := catalogs.Public(t.Context(), edition.Address{Slug: goes.Slug}); !fault.Is(err, fault.NotFound) {
				t.Errorf("the page: %v", err)
			}
			ahead.Store(int64(6 * time.Minute))
			query := find.Query{Where: []find.Condition{find.Eq(edition.FieldDashboard, goes.ID)}}
			apitest.Eventually(t, "nothing is left", func() bool {
				if err := catalogs.RunPages(t.Context()); err != nil {
					t.Fatal(err)
				}
				parts, err := records.Parts.Keys(t.Context(), query)
				files, failed := records.Files.Keys(t.Context(), query)
				_, gone := records.Pages.Get(t.Context(), goes.ID)
				return errors.Join(err, failed) == nil && len(parts) == 0 && len(files) == 0 && fault.Is(gone, fault.NotFound)
			})
		})
	}
}

// TestPlacementsAndRemovals places components while they are deleted. No dashboard keeps a deleted one.
func TestPlacementsAndRemovals(t *testing.T) {
	folder := t.TempDir()
	one, records := open(t, folder, false)
	two, _ := open(t, folder, false)
	dashboards := []string{addDashboard(t, one, "first").ID, addDashboard(t, one, "second").ID}
	for round := range 8 {
		var placements []catalog.Placement
		for i := range 4 {
			placements = append(placements, catalog.Placement{ComponentID: add(t, one, fmt.Sprintf("%d %d", round, i)).ID})
		}
		var group sync.WaitGroup
		for i, placement := range placements {
			group.Go(func() {
				if err := two.RemoveComponent(t.Context(), ours, placement.ComponentID); err != nil {
					t.Error(err)
				}
			})
			for _, id := range dashboards {
				group.Go(func() {
					_, err := one.ReplacePlacements(t.Context(), ours, id, func() ([]catalog.Placement, error) { return placements[i:], nil })
					if err != nil && !fault.Is(err, fault.Invalid) {
						t.Error(err)
					}
				})
			}
		}
		group.Wait()
		for _, id := range dashboards {
			stored, err := records.Dashboards.Get(t.Context(), id)
			if err != nil || len(stored.Components) != 0 {
				t.Errorf("round %d: %d placements are left, %v", round, len(stored.Components), err)
			}
		}
	}
}

// TestPlacementAfterRemoval places a component whose removal ends between the check and the write of the placement.
func TestPlacementAfterRemoval(t *testing.T) {
	var meanwhile func()
	c, records := open(t, t.TempDir(), false, func(s *store.Store) {
		s.Dashboards = overtaken{s.Dashboards, func() {
			if meanwhile != nil {
				meanwhile()
			}
		}}
	})
	addDashboard(t, c, "first") // which the components join
	dashboard := addDashboard(t, c, "second")
	goes, stays := add(t, c, "goes"), add(t, c, "stays")
	meanwhile = func() {
		meanwhile = nil // the removal writes the first dashboard too
		if err := c.RemoveComponent(t.Context(), ours, goes.ID); err != nil {
			t.Error(err)
		}
	}
	placed, err := c.ReplacePlacements(t.Context(), ours, dashboard.ID, func() ([]catalog.Placement, error) {
		return []catalog.Placement{{ComponentID: stays.ID}, {ComponentID: goes.ID}}, nil
	})
	if err != nil || len(placed.Components) != 1 || placed.Components[0].ComponentID != stays.ID {
		t.Errorf("placed are %+v, %v", placed.Components, err)
	}
	if stored, err := records.Dashboards.Get(t.Context(), dashboard.ID); err != nil || len(stored.Components) != 1 || stored.Version != placed.Version {
		t.Errorf("stored are %+v, %v", stored.Components, err)
	}
}

// overtaken calls meanwhile in an update of a dashboard, between the change and its write.
type overtaken struct {
	catalog.Collection[catalog.Dashboard]
	meanwhile func()
}

func (o overtaken) Update(ctx context.Context, key string, change func(*catalog.Dashboard) ([]topic.Message, error)) (catalog.Dashboard, error) {
	return o.Collection.Update(ctx, key, func(d *catalog.Dashboard) ([]topic.Message, error) {
		messages, err := change(d)
		o.meanwhile()
		return messages, err
	})
}

// repeated runs each change of a page twice, as after a conflict with another writer.
type repeated struct {
	find.Collection[edition.PublishedPage]
}

func (r repeated) Upsert(ctx context.Context, key string, change func(*edition.PublishedPage, bool) ([]topic.Message, error)) (edition.PublishedPage, error) {
	return r.Collection.Upsert(ctx, key, func(page *edition.PublishedPage, exists bool) ([]topic.Message, error) {
		lost := *page
		if messages, err := change(&lost, exists); err != nil {
			return messages, err
		}
		return change(page, exists)
	})
}

func TestPartsOfARenderingThatIsRepeatedAreDeleted(t *testing.T) {
	t.Cleanup(func() { ahead.Store(0) })
	c, records := open(t, t.TempDir(), false, func(s *store.Store) { s.Pages = repeated{s.Pages} })
	dashboard := addDashboard(t, c, "Acme")
	// unused returns the number of parts that the current edition does not use.
	unused := func() int {
		t.Helper()
		page, err := c.Public(t.Context(), edition.Address{Slug: dashboard.Slug})
		if err != nil {
			t.Fatal(err)
		}
		head, err := records.Parts.Get(t.Context(), page.EditionID)
		if err != nil {
			t.Fatal(err)
		}
		parts, err := records.Parts.Keys(t.Context(), find.Query{Where: []find.Condition{find.Eq(edition.FieldDashboard, dashboard.ID)}})
		if err != nil {
			t.Fatal(err)
		}
		return len(parts) - 1 - len(head.Chunks) - len(head.Days)
	}
	if unused() == 0 {
		t.Fatal("no rendering was repeated")
	}
	ahead.Store(int64(6 * time.Minute))
	apitest.Eventually(t, "the parts of the repeated renderings are deleted", func() bool {
		if err := c.RunPages(t.Context()); err != nil {
			t.Fatal(err)
		}
		return unused() == 0
	})
}
