package edition

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// shape returns a line for each value in the JSON of a type.
func shape(path string, of reflect.Type, above ...reflect.Type) (lines []string) {
	switch {
	case of.Kind() == reflect.Pointer:
		return shape(path, of.Elem(), above...)
	case of.Kind() == reflect.Slice:
		return shape(path+"[]", of.Elem(), above...)
	case of.Kind() == reflect.Map:
		return shape(path+"{}", of.Elem(), above...)
	case of.Kind() != reflect.Struct || of == reflect.TypeFor[time.Time]() || slices.Contains(above, of):
		return []string{path + " " + of.String()}
	}
	for field := range of.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); field.IsExported() && name != "-" {
			lines = append(lines, shape(strings.Trim(path+"."+name, "."), field.Type, append(above, of)...)...)
		}
	}
	return lines
}

// TestANewFieldOfAStateNeedsAnotherFormat compares the fields of a state, and of a row of the public list, with those that the
// format had. Without another format, the pages that are stored already lack the new field until a record is written.
func TestANewFieldOfAStateNeedsAnotherFormat(t *testing.T) {
	const file = "testdata/state.golden"
	format := fmt.Sprintf("format %d\n", stateFormat)
	now := format + strings.Join(slices.Concat(
		shape("state", reflect.TypeFor[State]()), shape("event", reflect.TypeFor[ShownEvent]()), shape("row", reflect.TypeFor[ListedComponent]()),
	), "\n") + "\n"
	golden, err := os.ReadFile(file)
	if err != nil && os.Getenv(apitest.Update) != "1" {
		t.Fatal(err)
	}
	former := string(golden)
	switch {
	case now == former:
	case strings.HasPrefix(former, format):
		t.Errorf("a state has other fields than %s: increase stateFormat in state.go, then run the test with %s=1", file, apitest.Update)
	case os.Getenv(apitest.Update) != "1":
		t.Errorf("stateFormat is not that of %s: run the test with %s=1", file, apitest.Update)
	default:
		if err := os.WriteFile(file, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// zero returns the names of the fields that have no value.
func zero(of any) (names []string) {
	for field, value := range reflect.ValueOf(of).Fields() {
		if value.IsZero() {
			names = append(names, field.Name)
		}
	}
	return names
}

func TestVisitorsSeeEachFieldThatIsShownOfARecord(t *testing.T) {
	component := catalog.Component{ID: "c", LegacyID: 1, PublicID: "p", Name: "API", Description: "The interface", CreatedAt: at(1, 0), UpdatedAt: at(2, 0), Override: &catalog.Override{Status: catalog.MajorOutage, CountInUptime: true}}
	if got := zero(ShownComponent{}.of(&component)); !slices.Equal(got, []string{"Group", "State", "FeedChangedAt", "Days", "Uptime"}) { // these are computed later
		t.Errorf("a shown component has no %v; fill it in (ShownComponent).of, and in this test", got)
	}
	later, rich := at(3, 0), catalog.Rich{Text: "text"}
	event := catalog.Event{
		ID: "e", PublicID: "p", Type: catalog.Maintenance, Status: catalog.Completed, Severity: "minor_outage", Import: &catalog.ImportMark{}, Title: "Works", Published: true, Description: rich, Impact: rich,
		Links: []catalog.Link{{ComponentID: "c", Impact: catalog.UnderMaintenance}}, StartAt: at(1, 0), EndAt: &later, ScheduledStartAt: &later, ScheduledEndAt: &later,
		Timeline: []catalog.Entry{{Status: catalog.Completed, Message: rich, Timestamp: at(2, 0)}}, PostMortem: &catalog.PostMortem{Published: true, PublishedAt: &later},
		CreatedAt: at(1, 0), ShownAt: at(2, 0), ShownVersion: 1,
	}
	if got := zero(*shownOn(&event, "d", map[string]string{"c": "API"}).Event); len(got) > 0 {
		t.Errorf("a shown event has no %v; fill it in shownOn, and in this test", got)
	}
}

func at(hour, minute int) time.Time { return time.Date(2026, 1, 2, hour, minute, 0, 0, time.UTC) }

func TestActiveEventsDecideTheListedStatus(t *testing.T) {
	var state State
	for _, e := range []struct {
		status    catalog.Status
		start     time.Time
		component string
		impact    catalog.Impact
	}{
		{catalog.Planning, at(1, 0), "planned", catalog.UnderMaintenance}, {catalog.Started, at(1, 0), "both", catalog.UnderMaintenance}, {catalog.Monitoring, at(1, 0), "both", catalog.Degraded},
		{catalog.Verifying, at(2, 0), "maintenance", catalog.UnderMaintenance}, {catalog.InProgress, at(9, 0), "later", catalog.UnderMaintenance},
		{catalog.Identified, at(8, 0), "maintenance", catalog.MajorOutage}, {catalog.Identified, at(1, 0), "well", catalog.Operational}, {catalog.Resolved, at(1, 0), "over", catalog.MajorOutage},
	} {
		event := ShownEvent{Type: catalog.Incident, Status: e.status, StartAt: e.start, Impacts: []ShownImpact{{ComponentID: e.component, Impact: e.impact}}}
		if !slices.Contains([]catalog.Status{catalog.Identified, catalog.Monitoring, catalog.Resolved}, e.status) {
			event.Type = catalog.Maintenance
		}
		state.chunks = state.chunks.with(shownEvent{Event: &event})
	}
	state.Snapshot.At = at(2, 0)
	statuses := state.statuses()
	if len(statuses) != 2 || statuses["both"] != ListedIncident || statuses["maintenance"] != ListedMaintenance {
		t.Errorf("visible are %v", statuses)
	}
	if changesAt := state.nextStart(); changesAt == nil || !changesAt.Equal(at(8, 0)) {
		t.Errorf("it changes at %v", changesAt)
	}
}
