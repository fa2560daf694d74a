package store_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
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
