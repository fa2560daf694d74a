package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// askedEvents notes the queries of a list and returns an error, which ends the list.
type askedEvents struct {
	Collection[Event]
	mu    sync.Mutex
	asked []string
	end   error
}

func (a *askedEvents) Keys(_ context.Context, query find.Query, fields ...string) ([]find.Row, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, fmt.Sprint(query, fields))
	return nil, a.end
}

type oneDashboard struct{ Collection[Dashboard] }

func (oneDashboard) Get(_ context.Context, id string) (Dashboard, error) {
	return Dashboard{ID: id, OrganizationID: "o", Components: []Placement{{ComponentID: "on the dashboard"}}}, nil
}

func TestEachFieldOfTheEventFilterChangesTheQueryOfTheList(t *testing.T) {
	asks := func(filter EventFilter) string {
		events := &askedEvents{end: errors.New("the end")}
		c := Catalog{store: Store{Events: events, Dashboards: oneDashboard{}}, now: func() time.Time { return at(12, 0) }}
		if _, err := c.PageOfEvents(t.Context(), "o", filter, 10, ""); !errors.Is(err, events.end) {
			t.Fatalf("%+v: %v", filter, err)
		}
		slices.Sort(events.asked)
		return strings.Join(events.asked, "\n")
	}
	for _, place := range []EventFilter{
		{}, {ComponentID: "another"}, {DashboardID: "d"}, {DashboardID: "d", ComponentID: "another"}, {DashboardID: "d", ComponentID: "on the dashboard"},
	} {
		all := asks(place)
		for field, filter := range apitest.WithEachField[EventFilter](t) {
			if place != (EventFilter{}) && (field == "DashboardID" || field == "ComponentID") {
				continue
			}
			if place != (EventFilter{}) {
				filter.DashboardID, filter.ComponentID = place.DashboardID, place.ComponentID
			}
			if asks(filter) == all {
				t.Errorf("a list of %+v with %s reads what it reads without: %s", place, field, all)
			}
		}
	}
}
