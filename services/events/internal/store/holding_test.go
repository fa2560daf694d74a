package store_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/store"
)

// TestHoldingFollowsOtherProcesses checks that a process which remembers the components of a dashboard sees what
// another process has changed.
func TestHoldingFollowsOtherProcesses(t *testing.T) {
	folder := t.TempDir()
	one, _ := open(t, folder, false)
	two, _ := open(t, folder, false)
	first, second := addDashboard(t, one, "first"), addDashboard(t, one, "second")
	component, err := one.CreateComponent(t.Context(), ours, nil, func(c *catalog.Component) error { c.Name = "Checkout"; return nil })
	if err != nil {
		t.Fatal(err)
	}
	place := func(dashboard string, placements ...catalog.Placement) {
		t.Helper()
		_, err := two.ReplacePlacements(t.Context(), ours, dashboard, func() ([]catalog.Placement, error) { return placements, nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	expect := func(want ...string) {
		t.Helper()
		holding, err := one.DashboardsHolding(t.Context(), org, []string{component.ID})
		if got := holding[component.ID]; err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
	expect(first.ID)
	place(second.ID, catalog.Placement{ComponentID: component.ID})
	expect(first.ID, second.ID)
	place(first.ID)
	expect(second.ID)
	if err := two.DeleteDashboard(t.Context(), ours, second.ID); err != nil {
		t.Fatal(err)
	}
	expect()
	if got, err := one.DashboardsHolding(t.Context(), "another", []string{component.ID}); err != nil || len(got) != 0 {
		t.Errorf("another organization: %v, %v", got, err)
	}
}

// crowdedDashboards reads the dashboard crowded with the placements crowd.
type crowdedDashboards struct {
	find.Collection[catalog.Dashboard]
	crowded *string
	crowd   []catalog.Placement
}

func (c crowdedDashboards) GetMany(ctx context.Context, keys []string) ([]catalog.Dashboard, error) {
	found, err := c.Collection.GetMany(ctx, keys)
	for i := range found {
		if found[i].ID == *c.crowded {
			found[i].Components = append(found[i].Components, c.crowd...)
		}
	}
	return found, err
}

// TestAFullCacheOfPlacementsHidesNoDashboard reads a dashboard with which the cache is full, while others are cached. The
// pages of these must follow the write, too.
func TestAFullCacheOfPlacementsHidesNoDashboard(t *testing.T) {
	crowded, crowd := "", make([]catalog.Placement, 1<<20) // as many as a process caches for all organizations
	for n := range crowd {
		crowd[n].ComponentID = strconv.Itoa(n)
	}
	c, _ := open(t, t.TempDir(), false, func(s *store.Store) { s.Dashboards = crowdedDashboards{s.Dashboards, &crowded, crowd} })
	first := addDashboard(t, c, "first")
	component := add(t, c, "API").ID
	holding := func() []string {
		t.Helper()
		found, err := c.DashboardsHolding(t.Context(), org, []string{component})
		if err != nil {
			t.Fatal(err)
		}
		return found[component]
	}
	if got := holding(); !slices.Equal(got, []string{first.ID}) {
		t.Fatalf("%v before", got)
	}
	crowded = addDashboard(t, c, "second", component).ID
	for range 2 { // with the first dashboard cached, and then not
		if got := holding(); !slices.Equal(got, []string{first.ID, crowded}) {
			t.Errorf("%v, want %s and %s", got, first.ID, crowded)
		}
	}
}

// Of several components that are created with one public id at the same time, one is stored. The others leave nothing on
// the dashboards that they named.
func TestOneOfSeveralNewComponentsGetsThePublicID(t *testing.T) {
	c, _ := open(t, t.TempDir(), false)
	dashboards := []string{addDashboard(t, c, "first").ID, addDashboard(t, c, "second").ID}
	var stored atomic.Int64
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			_, err := c.CreateComponent(t.Context(), ours, dashboards, func(c *catalog.Component) error { c.Name, c.PublicID = "API", "api"; return nil })
			switch {
			case err == nil:
				stored.Add(1)
			case !fault.Is(err, fault.Conflict):
				t.Error(err)
			}
		})
	}
	if work.Wait(); stored.Load() != 1 {
		t.Errorf("%d components are stored", stored.Load())
	}
	for _, id := range dashboards {
		if d, err := c.Dashboard(t.Context(), org, id); err != nil || len(d.Components) != 1 {
			t.Errorf("a dashboard has the components %v (%v)", d.Components, err)
		}
	}
}
