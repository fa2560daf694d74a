package catalog

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// oneEvent is a collection that holds one event. Its Update runs the function twice, as after a conflict.
type oneEvent struct {
	Collection[Event]
	event    Event
	messages []topic.Message
}

func (o *oneEvent) Update(_ context.Context, _ string, change func(*Event) ([]topic.Message, error)) (Event, error) {
	if _, err := change(o.event.clone()); errors.Is(err, fault.ErrUnchanged) {
		return o.event, nil
	} else if err != nil {
		return o.event, err
	}
	next := o.event.clone()
	messages, err := change(next)
	if err == nil {
		o.event, o.messages = *next, messages
	}
	return o.event, err
}

type oneComponent struct{ Collection[Component] }

func (oneComponent) GetMany(context.Context, []string) ([]Component, error) {
	return []Component{{ID: "api", OrganizationID: "acme"}}, nil
}

func (oneComponent) Keys(context.Context, find.Query, ...string) ([]find.Row, error) { return nil, nil }

type noDashboards struct{ Collection[Dashboard] }

func (noDashboards) Keys(context.Context, find.Query, ...string) ([]find.Row, error) { return nil, nil }

// unpublished has visitors who see every difference.
type unpublished struct{ Published }

func (unpublished) Differ(*Event, *Event) bool { return true }

// TestWritesOfOneRun checks that changes that share a write keep their own outcomes: a refused change leaves no
// trace, every other change has its own version, message and legacy ids.
func TestWritesOfOneRun(t *testing.T) {
	events := &oneEvent{event: *stored(Incident, Monitoring, nil)}
	events.event.OrganizationID, events.event.Links = "acme", []Link{{LegacyID: 1, ComponentID: "api"}}
	counters := map[string]int64{}
	c := New(Store{Events: events, Components: oneComponent{}, Dashboards: noDashboards{}, Next: func(_ context.Context, counter string, n int64) (int64, error) {
		counters[counter] += n
		return counters[counter] - n + 1, nil
	}}, nil, unpublished{}, func() time.Time { return at(12, 0) })
	write := func(organization string, change func(*EventEdit) error) *eventWrite {
		return &eventWrite{command: Command{Organization: organization}, change: change}
	}
	entry := func(d *EventEdit) error {
		return d.AppendEntry(Entry{Status: StatusUpdate, Message: Rich{Text: "m"}, Timestamp: d.Now})
	}
	refused := func(d *EventEdit) error {
		d.SetStatus(Planning)
		return entry(d)
	}
	writes := []*eventWrite{
		write("acme", entry), write("acme", refused), write("other", entry), write("acme", func(*EventEdit) error { return nil }),
		write("acme", func(d *EventEdit) error { return d.AddComponent("unknown") }),
		write("acme", func(d *EventEdit) error { d.SetStatus(Resolved); return entry(d) }),
	}
	if err := c.writeEvent(t.Context(), "id", writes); err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		kind    fault.Kind
		version int64
		entries int
	}{{"", 2, 1}, {fault.Invalid, 0, 0}, {fault.NotFound, 0, 0}, {"", 2, 1}, {fault.Invalid, 0, 0}, {"", 3, 2}} {
		got := writes[i]
		if got.outcome.Version != want.version || len(got.outcome.Timeline) != want.entries || want.kind != "" && !fault.Is(got.err, want.kind) || want.kind == "" && got.err != nil {
			t.Errorf("write %d: version %d, %d entries, %v", i, got.outcome.Version, len(got.outcome.Timeline), got.err)
		}
	}
	if e := events.event; e.Version != 3 || e.ShownVersion != 3 || e.Status != Resolved || !e.EndAt.Equal(at(12, 0)) {
		t.Errorf("stored %+v", e)
	}
	ids := []int64{events.event.Timeline[0].LegacyID, events.event.Timeline[1].LegacyID}
	if slices.Contains(ids, 0) || ids[0] >= ids[1] {
		t.Errorf("legacy ids %v", ids)
	}
	for i, kind := range []topic.Kind{topic.IncidentUpdated, topic.IncidentResolved} {
		if change := events.messages[i].(topic.EventChange); len(events.messages) != 2 || change.Kind != kind || change.Sequence != int64(i+2) {
			t.Errorf("message %d: %+v", i, change)
		}
	}
}
