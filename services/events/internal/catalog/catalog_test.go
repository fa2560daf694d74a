package catalog

import (
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

func at(hour, minute int) time.Time { return time.Date(2026, 1, 2, hour, minute, 0, 0, time.UTC) }

func ptr[V any](value V) *V { return &value }

func stored(eventType EventType, status Status, end *time.Time) *Event {
	e := &Event{Version: 1, Type: eventType, Status: status, StartAt: at(3, 0), EndAt: end, Published: true}
	if eventType == Maintenance {
		e.ScheduledStartAt, e.ScheduledEndAt = ptr(at(3, 0)), ptr(at(4, 0))
	}
	return e
}

func TestASlugIsMadeOfTheName(t *testing.T) {
	for name, want := range map[string]string{
		"Acme Status": "acme-status", " --Ünï & code-- ": "n-code", "A": "a-status", "状态": "status",
		strings.Repeat("ab-", 40): strings.TrimRight(strings.Repeat("ab-", 21), "-"),
	} {
		if got := slugOf(name); got != want || len(got) < minSlug || len(got) > maxSlug {
			t.Errorf("slug of %q is %q, want %q", name, got, want)
		}
	}
	if got := numbered(strings.Repeat("a", maxSlug), 12); len(got) != maxSlug || !strings.HasSuffix(got, "a-12") {
		t.Errorf("numbered %q", got)
	}
}

func TestKindOfWrites(t *testing.T) {
	planned := func(status Status, end time.Time) *Event {
		return &Event{Type: Maintenance, Status: status, ScheduledStartAt: ptr(at(3, 0)), ScheduledEndAt: &end}
	}
	for _, c := range []struct {
		before, after *Event
		want          topic.Kind
	}{
		{nil, &Event{Type: Incident, Status: Resolved}, topic.IncidentCreated},
		{&Event{Type: Incident, Status: Resolved}, &Event{Type: Incident, Status: Resolved}, topic.IncidentUpdated},
		{nil, planned(Planning, at(4, 0)), topic.MaintenanceScheduled},
		{nil, planned(Verifying, at(4, 0)), topic.MaintenanceStarted},
		{nil, planned(Completed, at(4, 0)), topic.MaintenanceCompleted},
		{planned(Planning, at(4, 0)), planned(Planning, at(5, 0)), topic.MaintenanceReschedule},
		{planned(Started, at(4, 0)), planned(InProgress, at(4, 0)), topic.MaintenanceUpdated},
		{planned(Planning, at(4, 0)), planned(Completed, at(4, 0)), topic.MaintenanceCompleted},
		{planned(Completed, at(4, 0)), planned(Planning, at(4, 0)), topic.MaintenanceReopened},
		{&Event{Type: Incident, Status: Identified}, planned(Started, at(4, 0)), topic.MaintenanceReschedule},
	} {
		if got := kindOf(c.before, c.after); got != c.want {
			t.Errorf("%+v to %+v is %s, want %s", c.before, c.after, got, c.want)
		}
	}
}

// TestTypeChange checks that a type does not change if the timeline has a status of the former type.
func TestTypeChange(t *testing.T) {
	for status, fits := range map[Status]bool{Identified: false, StatusUpdate: true} {
		e := stored(Incident, Monitoring, nil)
		e.Timeline = []Entry{{Status: status}}
		d := NewEventEdit(e, Command{}, at(12, 0))
		d.Type, d.ScheduledEndAt = Maintenance, ptr(at(13, 0))
		d.SetStatus(Started)
		err := d.Check()
		if fits != (err == nil) || err != nil && fault.As(err).Field != "type" {
			t.Errorf("with an entry of the status %s: %v", status, err)
		}
	}
}

// TestMaxLinks checks that an event affects no more components than a message can name.
func TestMaxLinks(t *testing.T) {
	d := NewEventEdit(stored(Incident, Monitoring, nil), Command{}, at(12, 0))
	for range 2 { // the second time nothing is added
		for i := range maxLinks {
			if err := d.AddComponent(strings.Repeat("x", i+1)); err != nil {
				t.Fatal(err)
			}
		}
		if len(d.Links) != maxLinks {
			t.Fatalf("%d links", len(d.Links))
		}
	}
	if err := d.AddComponent("one more"); fault.As(err).Field != "affectedComponents" {
		t.Errorf("one more: %v", err)
	}
}

func clock(text string) time.Time {
	at, err := time.Parse(time.DateTime, "2026-01-01 "+text+":00")
	if err != nil {
		panic(err)
	}
	return at
}
