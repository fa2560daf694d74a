package edition

import (
	"slices"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

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
