package catalog

import (
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

func at(hour, minute int) time.Time { return time.Date(2026, 1, 2, hour, minute, 0, 0, time.UTC) }

func ptr[V any](value V) *V { return &value }

func stored(eventType EventType, status Status, end *time.Time) *Event {
	e := &Event{Version: 1, Type: eventType, Status: status, StartAt: at(3, 0), Published: true}
	if eventType == Maintenance {
		e.ScheduledStartAt, e.ScheduledEndAt = ptr(at(3, 0)), ptr(at(4, 0))
		e.EndAt = end
	} else {
		e.EndAt = end
	}
	return e
}

// TestEnd: what becomes of the end, by the legacy interface's rules.
func TestEnd(t *testing.T) {
	now := at(12, 0)
	for name, c := range map[string]struct {
		event *Event
		patch EventPatch
		end   *time.Time
		field string // of the fault
	}{
		"incident resolved":                     {stored(Incident, Monitoring, nil), EventPatch{Status: ptr(Resolved)}, &now, ""},
		"incident resolved with an end":         {stored(Incident, Monitoring, nil), EventPatch{Status: ptr(Resolved), End: ptr(at(5, 0))}, ptr(at(5, 0)), ""},
		"incident resolved, null sent":          {stored(Incident, Monitoring, nil), EventPatch{Status: ptr(Resolved), NoEnd: true}, &now, ""},
		"incident still resolved":               {stored(Incident, Resolved, ptr(at(5, 0))), EventPatch{Status: ptr(Resolved)}, ptr(at(5, 0)), ""},
		"incident reopened":                     {stored(Incident, Resolved, ptr(at(5, 0))), EventPatch{Status: ptr(Identified)}, nil, ""},
		"incident reopened with an end":         {stored(Incident, Resolved, ptr(at(5, 0))), EventPatch{Status: ptr(Identified), End: ptr(at(6, 0))}, ptr(at(6, 0)), ""},
		"resolved, end cleared":                 {stored(Incident, Resolved, ptr(at(5, 0))), EventPatch{NoEnd: true}, nil, ""},
		"end before start":                      {stored(Incident, Resolved, ptr(at(5, 0))), EventPatch{End: ptr(at(2, 0))}, ptr(at(2, 0)), "end"},
		"start behind end":                      {stored(Maintenance, Planning, nil), EventPatch{Start: ptr(at(5, 0))}, ptr(at(4, 0)), "end"},
		"maintenance completed":                 {stored(Maintenance, Verifying, nil), EventPatch{Status: ptr(Completed)}, &now, ""},
		"maintenance completed before it began": {&Event{Version: 1, Type: Maintenance, Status: Planning, StartAt: at(20, 0), ScheduledStartAt: ptr(at(20, 0)), ScheduledEndAt: ptr(at(21, 0))}, EventPatch{Status: ptr(Completed)}, ptr(at(20, 0)), ""},
		"its body sent back":                    {&Event{Version: 1, Type: Maintenance, Status: Completed, StartAt: at(20, 0), EndAt: ptr(at(12, 0)), ScheduledStartAt: ptr(at(20, 0)), ScheduledEndAt: ptr(at(21, 0))}, EventPatch{Status: ptr(Completed), Start: ptr(at(20, 0)), End: ptr(at(12, 0))}, &now, ""},
		"maintenance reopened":                  {stored(Maintenance, Completed, ptr(at(3, 30))), EventPatch{Status: ptr(InProgress)}, ptr(at(4, 0)), ""},
		"maintenance rescheduled":               {stored(Maintenance, Planning, nil), EventPatch{End: ptr(at(6, 0))}, ptr(at(6, 0)), ""},
		"maintenance end cleared":               {stored(Maintenance, Planning, nil), EventPatch{NoEnd: true}, nil, "end"},
		"becomes a maintenance":                 {stored(Incident, Resolved, ptr(at(5, 0))), EventPatch{Type: ptr(Maintenance), Status: ptr(Planning)}, ptr(at(5, 0)), ""},
		"becomes a maintenance without an end":  {stored(Incident, Monitoring, nil), EventPatch{Type: ptr(Maintenance), Status: ptr(Planning)}, nil, "end"},
		"becomes an incident":                   {stored(Maintenance, Started, nil), EventPatch{Type: ptr(Incident), Status: ptr(Identified)}, ptr(at(4, 0)), ""},
		"new and resolved":                      {&Event{Type: Incident}, EventPatch{Status: ptr(Resolved), Start: ptr(at(3, 0))}, &now, ""},
	} {
		t.Run(name, func(t *testing.T) {
			write := revision{Event: c.event, now: now}
			err := write.apply(&c.patch)
			if (err == nil) != (c.field == "") || err != nil && fault.As(err).Field != c.field {
				t.Errorf("fault %v, want one in %q", err, c.field)
			}
			if !sameTime(c.event.End(), c.end) {
				t.Errorf("the end is %v, want %v", c.event.End(), c.end)
			}
			if open := c.event.Type == Maintenance && !c.event.Status.closed(); open && c.event.EndAt != nil {
				t.Errorf("a maintenance that goes on has the actual end %v", c.event.EndAt)
			}
		})
	}
}

// TestTexts: what the legacy flag means, and that a text of the App survives being sent back.
func TestTexts(t *testing.T) {
	for name, c := range map[string]struct {
		stored, want Rich
		patch        TextPatch
		changed      bool
	}{
		"plain":                {Rich{"a", richtext.Plain}, Rich{"b", richtext.Plain}, TextPatch{Text: ptr("b")}, true},
		"flag alone":           {Rich{"a", richtext.Plain}, Rich{"a", richtext.Markdown}, TextPatch{Markdown: ptr(true)}, true},
		"flag stays":           {Rich{"a", richtext.Markdown}, Rich{"b", richtext.Markdown}, TextPatch{Text: ptr("b")}, true},
		"flag goes":            {Rich{"a", richtext.Markdown}, Rich{"a", richtext.Plain}, TextPatch{Markdown: ptr(false)}, true},
		"rich sent back":       {Rich{"<p>a</p>", richtext.Rich}, Rich{"<p>a</p>", richtext.Rich}, TextPatch{Text: ptr("<p>a</p>"), Markdown: ptr(false)}, false},
		"rich written anew":    {Rich{"<p>a</p>", richtext.Rich}, Rich{"<p>b</p>", richtext.Plain}, TextPatch{Text: ptr("<p>b</p>")}, true},
		"nothing":              {Rich{"a", richtext.Markdown}, Rich{"a", richtext.Markdown}, TextPatch{}, false},
		"cleared, flag stays ": {Rich{"a", richtext.Markdown}, Rich{"", richtext.Markdown}, TextPatch{Text: ptr("")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			write := revision{Event: &Event{}}
			got := c.stored
			write.text(&got, c.patch)
			if got != c.want || write.changed != c.changed {
				t.Errorf("got %+v changed %t", got, write.changed)
			}
		})
	}
}

func TestTitle(t *testing.T) {
	long := strings.Repeat("é", 100)
	e := &Event{Version: 1, Type: Incident, Status: Identified, Title: titleOf(Rich{long, richtext.Plain}), Description: Rich{long, richtext.Plain}}
	if len([]rune(e.Title)) != maxDerivedTitle {
		t.Errorf("the title has %d characters", len([]rune(e.Title)))
	}
	write := revision{Event: e}
	if err := write.apply(&EventPatch{Description: TextPatch{Text: ptr("short")}}); err != nil || e.Title != "short" {
		t.Errorf("%v, the title is %q", err, e.Title)
	}
	if err := write.apply(&EventPatch{Description: TextPatch{Text: ptr("**Down** [here](https://x.example/)"), Markdown: ptr(true)}}); err != nil || !strings.HasPrefix(e.Title, "Down here") {
		t.Errorf("%v, the title is %q", err, e.Title)
	}
	e.Title = "chosen in the App"
	if err := write.apply(&EventPatch{Description: TextPatch{Text: ptr("other")}}); err != nil || e.Title != "chosen in the App" {
		t.Errorf("%v, the title is %q", err, e.Title)
	}
}

func TestSlug(t *testing.T) {
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

func TestVisible(t *testing.T) {
	event := func(status Status, start time.Time, component string) Event {
		e := Event{Type: Incident, Status: status, StartAt: start, Published: true, Links: []Link{{ComponentID: component}}}
		if !Incident.allows(status) {
			e.Type = Maintenance
		}
		return e
	}
	draft, hidden := event(Identified, at(1, 0), "draft"), event(Identified, at(1, 0), "hidden")
	draft.Published, hidden.HiddenFromDashboard = false, true
	statuses, changesAt := visible([]Event{
		draft, hidden, event(Planning, at(1, 0), "planned"), event(Started, at(1, 0), "both"), event(Monitoring, at(1, 0), "both"),
		event(Verifying, at(2, 0), "maintenance"), event(InProgress, at(9, 0), "later"), event(Identified, at(8, 0), "maintenance"),
	}, at(2, 0))
	if len(statuses) != 2 || statuses["both"] != RowIncident || statuses["maintenance"] != RowMaintenance {
		t.Errorf("visible are %v", statuses)
	}
	if changesAt == nil || !changesAt.Equal(at(8, 0)) {
		t.Errorf("it changes at %v", changesAt)
	}
}

func TestColor(t *testing.T) {
	for text, want := range map[string]bool{"#fff": true, "#A0b9C8": true, "fff": false, "#ffff": false, "#ggg": false, "": false, "#": false, "#12345é": false} {
		if isColor(text) != want {
			t.Errorf("%q", text)
		}
	}
}

// TestTypeChange: a type does not change under updates that do not fit it.
func TestTypeChange(t *testing.T) {
	for status, fits := range map[Status]bool{Identified: false, StatusUpdate: true} {
		e := stored(Incident, Monitoring, nil)
		e.Timeline = []Entry{{Status: status}}
		write := revision{Event: e, now: at(12, 0)}
		err := write.apply(&EventPatch{Type: ptr(Maintenance), Status: ptr(Started), End: ptr(at(13, 0))})
		if fits != (err == nil) || err != nil && fault.As(err).Field != "type" {
			t.Errorf("with an update of the status %s: %v", status, err)
		}
	}
}

// TestMaxLinks: an event takes no more links than a message can tell of.
func TestMaxLinks(t *testing.T) {
	write := revision{Event: stored(Incident, Monitoring, nil), now: at(12, 0), nextIDs: children{link: 1}}
	var patch EventPatch
	for i := range maxLinks {
		patch.Links = append(patch.Links, LinkPatch{ComponentID: ptr(strings.Repeat("x", i+1))})
	}
	if err := write.apply(&patch); err != nil || len(write.Links) != maxLinks {
		t.Fatalf("%d links, %v", len(write.Links), err)
	}
	if err := write.apply(&patch); err != nil {
		t.Errorf("the same again: %v", err)
	}
	err := write.apply(&EventPatch{Links: []LinkPatch{{ComponentID: ptr("one more")}}})
	if fault.As(err).Field != "event_service" || write.addLink("one more") {
		t.Errorf("one more: %v", err)
	}
}
