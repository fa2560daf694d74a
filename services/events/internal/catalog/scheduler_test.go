package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Each visits the event if it is due.
func (o *oneEvent) Each(_ context.Context, query find.Query, visit func(Event) error) error {
	if due := o.event.DueAt(); due == nil || due.After(query.Where[0].Value.(time.Time)) {
		return nil
	}
	return visit(o.event)
}

// plan is a maintenance from 3:00 to all:00 that the scheduler looks at every minute, and what persons do to it.
type plan struct {
	made    time.Time // creation of the event
	minutes []int
	start   bool
	end     bool
	draft   bool
	silent  bool                                 // notify false
	down    [2]time.Time                         // the scheduler does not run in between
	steps   map[time.Time]func(*EventEdit) error // by time
}

// run returns the messages, and the event at the end of the day.
func (p plan) run(t *testing.T) ([]string, Event) {
	t.Helper()
	var now time.Time
	events := &oneEvent{event: Event{
		ID: "id", OrganizationID: "acme", Type: Maintenance, Status: Planning, StartAt: at(3, 0), ScheduledStartAt: ptr(at(3, 0)), ScheduledEndAt: ptr(at(4, 0)),
		AutoStart: p.start, AutoEnd: p.end, ReminderMinutes: p.minutes, Published: !p.draft, Links: []Link{{LegacyID: 1, ComponentID: "api"}},
	}}
	c := New(Store{Events: events, Components: oneComponent{}, Dashboards: noDashboards{}, Next: func(context.Context, string, int64) (int64, error) { return 1, nil }},
		nil, unpublished{}, func() time.Time { return now })
	draft := NewEventEdit(&events.event, Command{}, p.made)
	if draft.Notify(nil); p.silent {
		draft.Notify(topic.Notify{})
	}
	draft.finish(true)
	events.event.Version = 1
	var said []string
	sequence := int64(1)
	for now = p.made; now.Before(at(23, 59)); now = now.Add(time.Minute) {
		events.messages = nil
		if step := p.steps[now]; step != nil {
			if _, err := c.ChangeEvent(t.Context(), Command{Organization: "acme"}, "id", step); err != nil {
				t.Fatal(err)
			}
			if len(events.messages) > 0 {
				sequence++
			}
		}
		if now.After(p.down[0]) && now.Before(p.down[1]) {
			continue
		}
		for events.messages = nil; ; events.messages = nil {
			if err := c.takeSteps(t.Context()); err != nil {
				t.Fatal(err)
			}
			if len(events.messages) == 0 {
				break
			}
			if len(said) > 20 {
				t.Fatalf("steps are repeated: %v", said)
			}
			change := events.messages[0].(topic.EventChange)
			sequence++
			_, kind, _ := strings.Cut(string(change.Kind), ".")
			to := fmt.Sprint(len(change.Notify))
			if len(change.Notify) == len(topic.AppChannels()) {
				to = "all"
			}
			said = append(said, now.Format("15:04 ")+kind+" to "+to)
			if change.Sequence != sequence {
				t.Errorf("%s has the sequence %d, want %d", kind, change.Sequence, sequence)
			}
			if reminder := change.Kind == topic.MaintenanceReminder; reminder == (change.Entry != nil) || reminder != (change.Event.PreviousStatus == "") {
				t.Errorf("%s has the previous status %q and the entry %+v", kind, change.Event.PreviousStatus, change.Entry)
			}
		}
	}
	return said, events.event
}

// TestTheSchedulerTakesEachStepOnce checks which steps the scheduler takes, when, and that it takes each once.
func TestTheSchedulerTakesEachStepOnce(t *testing.T) {
	post := func(status Status) func(*EventEdit) error {
		return func(d *EventEdit) error { return d.Post(NewEntry{Message: "m", Status: status}) }
	}
	move := func(hour int) func(*EventEdit) error {
		return func(d *EventEdit) error {
			d.StartAt, d.ScheduledStartAt, d.ScheduledEndAt = at(hour, 0), ptr(at(hour, 0)), ptr(at(hour+1, 0))
			return nil
		}
	}
	moveEnd := func(d *EventEdit) error { d.ScheduledEndAt = ptr(at(6, 0)); return nil }
	remind := func(minutes ...int) func(*EventEdit) error {
		return func(d *EventEdit) error { d.ReminderMinutes = minutes; return nil }
	}
	type day = map[time.Time]func(*EventEdit) error
	for name, c := range map[string]struct {
		plan
		want string
	}{
		"all":                  {plan{minutes: []int{15, 60}, start: true, end: true}, "02:00 reminder to all, 02:45 reminder to all, 03:00 started to all, 04:00 completed to all"},
		"nobody asked":         {plan{minutes: []int{15}, start: true, end: true, silent: true}, "02:45 reminder to 0, 03:00 started to 0, 04:00 completed to 0"},
		"start only":           {plan{start: true}, "03:00 started to all"},
		"end only":             {plan{end: true}, ""},
		"end of a hand start":  {plan{end: true, steps: day{at(2, 0): post(Started)}}, "04:00 completed to all"},
		"reminders only":       {plan{minutes: []int{5, 1440, 10}}, "02:50 reminder to all, 02:55 reminder to all"},
		"draft":                {plan{minutes: []int{15}, start: true, end: true, draft: true}, ""},
		"published late":       {plan{minutes: []int{60, 15}, draft: true, steps: day{at(2, 30): func(d *EventEdit) error { d.Published = true; return nil }}}, "02:45 reminder to 0"},
		"made late":            {plan{made: at(2, 30), minutes: []int{60, 15}}, "02:45 reminder to all"},
		"made after its time":  {plan{made: at(5, 0), minutes: []int{60}, start: true, end: true}, "05:00 started to 0, 05:00 completed to 0"},
		"down at a reminder":   {plan{minutes: []int{60, 30, 20}, down: [2]time.Time{at(1, 0), at(2, 45)}}, "02:45 reminder to all"},
		"down at the start":    {plan{minutes: []int{60, 30}, start: true, down: [2]time.Time{at(1, 0), at(3, 30)}}, "03:30 started to all"},
		"down, too late":       {plan{minutes: []int{60, 30}, down: [2]time.Time{at(1, 0), at(3, 30)}}, "03:30 reminder to 0"},
		"down, then by hand":   {plan{minutes: []int{60}, end: true, down: [2]time.Time{at(1, 0), at(3, 10)}, steps: day{at(3, 20): post(Started)}}, "03:10 reminder to 0, 04:00 completed to all"},
		"down at both":         {plan{start: true, end: true, down: [2]time.Time{at(1, 0), at(9, 0)}}, "09:00 started to all, 09:00 completed to all"},
		"another change":       {plan{minutes: []int{60, 15}, steps: day{at(2, 30): func(d *EventEdit) error { d.Title = "x"; return nil }}}, "02:00 reminder to all, 02:45 reminder to all"},
		"moved":                {plan{minutes: []int{60}, start: true, end: true, steps: day{at(2, 30): move(8)}}, "02:00 reminder to all, 07:00 reminder to all, 08:00 started to all, 09:00 completed to all"},
		"moved into reminders": {plan{minutes: []int{120, 60, 15}, start: true, steps: day{at(0, 40): move(2)}}, "01:00 reminder to all, 01:45 reminder to all, 02:00 started to all"},
		"other minutes":        {plan{minutes: []int{60}, steps: day{at(1, 0): remind(150, 30), at(2, 50): remind(20, 5)}}, "02:30 reminder to all, 02:55 reminder to all"},
		"started by hand":      {plan{minutes: []int{60, 15}, start: true, steps: day{at(2, 30): post(InProgress)}}, "02:00 reminder to all"},
		"ended by hand":        {plan{start: true, end: true, steps: day{at(3, 30): post(Completed)}}, "03:00 started to all"},
		"taken back": {plan{start: true, end: true, steps: day{at(4, 30): func(d *EventEdit) error { return d.Reopen(NewEntry{Message: "m"}) }}},
			"03:00 started to all, 04:00 completed to all"},
		"taken back and moved": {plan{end: true, start: true, steps: day{at(4, 30): func(d *EventEdit) error { return d.Reopen(NewEntry{Message: "m"}) }, at(4, 40): moveEnd}},
			"03:00 started to all, 04:00 completed to all, 06:00 completed to all"},
		"started after its end": {plan{end: true, steps: day{at(5, 0): post(Started)}}, ""},
		"started late, moved":   {plan{end: true, steps: day{at(5, 0): post(Started), at(5, 1): moveEnd}}, "06:00 completed to all"},
		"unpublished":           {plan{start: true, minutes: []int{15}, steps: day{at(1, 0): func(d *EventEdit) error { d.Published = false; return nil }}}, ""},
		"asked for one": {plan{start: true, end: true, steps: day{
			at(1, 0):  func(d *EventEdit) error { d.Notify(topic.Notify{topic.Email: {}}); return post(StatusUpdate)(d) },
			at(3, 10): post(StatusUpdate), // does not say whom to notify
		}}, "03:00 started to 1, 04:00 completed to 1"},
		"silenced": {plan{start: true, end: true, steps: day{at(3, 10): func(d *EventEdit) error { d.Notify(topic.Notify{}); return nil }}}, "03:00 started to all, 04:00 completed to 0"},
	} {
		if c.made.IsZero() {
			c.made = at(0, 30)
		}
		said, event := c.run(t)
		if got := strings.Join(said, ", "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if name == "down at both" && (!event.StartAt.Equal(at(3, 0)) || !event.EndAt.Equal(at(4, 0)) || !event.Timeline[1].Timestamp.Equal(at(4, 0)) || event.Timeline[1].PreviousStatus != Started || !event.Timeline[1].Notified) {
			t.Errorf("%s: it took place from %v to %v, by %+v", name, event.StartAt, event.EndAt, event.Timeline)
		}
		if name == "reminders only" && (event.Version != 1 || event.RemindersSent != 2) {
			t.Errorf("%s: version %d after %d reminders", name, event.Version, event.RemindersSent)
		}
	}
}

// TestLegacyStepsHaveNoEntry checks that the scheduler adds no update to an event of the legacy interface, or to a full timeline.
func TestLegacyStepsHaveNoEntry(t *testing.T) {
	for name, change := range map[string]func(*Event){
		"legacy": func(e *Event) { e.Source = SourceLegacy },
		"full": func(e *Event) {
			e.Timeline = slices.Repeat([]Entry{{StatusID: "x", LegacyID: 1, Status: StatusUpdate}}, maxEntries)
		},
	} {
		e := stored(Maintenance, Planning, nil)
		e.AutoStart = true
		change(e)
		had := len(e.Timeline)
		d := NewEventEdit(e, Command{Source: SourceScheduler}, at(3, 0))
		if err := d.runStep(); err != nil || d.Status != Started || len(d.Timeline) != had {
			t.Errorf("%s: %s with %d entries (%v)", name, d.Status, len(d.Timeline), err)
		}
	}
}

// TestAStepIsTakenAtItsTime checks in virtual time that a maintenance starts at its planned time and not before.
func TestAStepIsTakenAtItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now().UTC().Add(time.Hour)
		events := &oneEvent{event: *stored(Maintenance, Planning, nil)}
		events.event.OrganizationID, events.event.ScheduledStartAt, events.event.AutoStart = "acme", &start, true
		c := New(Store{Events: events, Components: oneComponent{}, Dashboards: noDashboards{}, Next: func(context.Context, string, int64) (int64, error) { return 1, nil }},
			nil, unpublished{}, func() time.Time { return time.Now().UTC() })
		status := func() Status {
			failed := c.RunDue(t.Context())
			event, err := c.ChangeEvent(t.Context(), Command{Organization: "acme"}, "id", func(*EventEdit) error { return nil })
			if err := errors.Join(failed, err); err != nil {
				t.Error(err)
			}
			return event.Status
		}
		time.Sleep(time.Hour - time.Millisecond)
		if got := status(); got != Planning {
			t.Errorf("before its time it is %s", got)
		}
		time.Sleep(time.Millisecond)
		if got := status(); got != Started {
			t.Errorf("at its time it is %s", got)
		}
	})
}

// A maintenance whose texts are as large as they may be is started and completed without entries.
func TestALargeMaintenanceTakesItsSteps(t *testing.T) {
	event := &Event{
		Version: 1, Type: Maintenance, Status: Planning, Title: "x", Published: true, AutoStart: true, AutoEnd: true,
		StartAt: at(3, 0), ScheduledStartAt: ptr(at(3, 0)), ScheduledEndAt: ptr(at(4, 0)),
	}
	for event.textSize()+maxText <= maxEventText {
		event.Timeline = append(event.Timeline, Entry{StatusID: topic.NewID(), Message: Rich{Text: strings.Repeat("x", maxText)}})
	}
	event.Description.Text = strings.Repeat("x", maxEventText-event.textSize())
	entries := len(event.Timeline)
	for _, want := range []Status{Started, Completed} {
		d := NewEventEdit(event.clone(), Command{Source: SourceScheduler}, at(5, 0))
		if err := errors.Join(d.runStep(), d.Check()); err != nil || d.Status != want || len(d.Timeline) != entries {
			t.Fatalf("%s with %d entries more: %v", d.Status, len(d.Timeline)-entries, err)
		}
		event = d.Event
	}
}
