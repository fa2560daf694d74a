package catalog

import (
	"cmp"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// askedRecords notes the queries of a list. Each list of keys has all records, with their names.
type askedRecords[T any] struct {
	Collection[T]
	rows    []find.Row
	records map[string]T
	asked   []string
}

func (a *askedRecords[T]) Find(_ context.Context, query find.Query) (page find.Page[T], err error) {
	a.asked = append(a.asked, fmt.Sprint(query))
	return page, nil
}

func (a *askedRecords[T]) Keys(_ context.Context, query find.Query, fields ...string) ([]find.Row, error) {
	a.asked = append(a.asked, fmt.Sprint(query, fields))
	return a.rows, nil
}

func (a *askedRecords[T]) GetMany(_ context.Context, keys []string) (found []T, err error) {
	for _, key := range keys {
		found = append(found, a.records[key])
	}
	return found, nil
}

// openEvent is the only open event of its organization.
type openEvent struct {
	Collection[Event]
	event *Event
}

func (o openEvent) Each(_ context.Context, _ find.Query, visit func(Event) error) error {
	return visit(*o.event)
}

func TestEachFieldOfTheComponentFilterChangesTheList(t *testing.T) {
	outage := stored(Incident, Investigating, nil)
	outage.Links = []Link{{ComponentID: "1", Impact: PartialOutage}, {ComponentID: "2", Impact: PartialOutage}}
	list := func(filter ComponentFilter) string {
		components := &askedRecords[Component]{records: map[string]Component{}}
		for id, name := range map[string]string{"1": "wanted", "2": "another", "3": "wanted", "4": "another"} {
			components.records[id] = Component{ID: id, OrganizationID: "o", Name: name}
		}
		for _, id := range []string{"1", "2", "3", "4"} {
			components.rows = append(components.rows, find.Row{Key: id, Values: []any{components.records[id].Name}})
		}
		c := Catalog{store: Store{Components: components, Events: openEvent{event: outage}}, now: func() time.Time { return at(12, 0) }}
		page, err := c.PageOfComponents(t.Context(), "o", filter, 10, "")
		if err != nil {
			t.Fatalf("%+v: %v", filter, err)
		}
		return fmt.Sprint(components.asked, ComponentKeys(page.Items))
	}
	for _, beside := range []ComponentFilter{{}, {Text: "a"}, {Status: Operational}, {Status: PartialOutage}} {
		all := list(beside)
		for field, filter := range apitest.WithEachField[ComponentFilter](t) {
			if field == "Text" && beside.Text != "" || field == "Status" && beside.Status != "" {
				continue
			}
			filter.Text, filter.Status = cmp.Or(beside.Text, filter.Text), cmp.Or(beside.Status, filter.Status)
			if list(filter) == all {
				t.Errorf("a list of %+v with %s is the list without: %s", beside, field, all)
			}
		}
	}
}

func TestEachFieldOfTheDashboardFilterChangesTheList(t *testing.T) {
	list := func(filter DashboardFilter) string {
		dashboards := &askedRecords[Dashboard]{}
		c := Catalog{store: Store{Dashboards: dashboards}}
		if _, err := c.PageOfDashboards(t.Context(), "o", filter, 10, ""); err != nil {
			t.Fatalf("%+v: %v", filter, err)
		}
		return fmt.Sprint(dashboards.asked)
	}
	all := list(DashboardFilter{})
	for field, filter := range apitest.WithEachField[DashboardFilter](t) {
		if list(filter) == all {
			t.Errorf("a list with %s reads what a list without a filter reads: %s", field, all)
		}
	}
}
