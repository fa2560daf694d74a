package api

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

func at(hour, minute int) time.Time { return time.Date(2026, 1, 2, hour, minute, 0, 0, time.UTC) }

func ptr[V any](value V) *V { return &value }

func stored(eventType catalog.EventType, status catalog.Status, end *time.Time) *catalog.Event {
	e := &catalog.Event{Version: 1, Type: eventType, Status: status, StartAt: at(3, 0), EndAt: end, Published: true}
	if eventType == catalog.Maintenance {
		e.ScheduledStartAt, e.ScheduledEndAt = ptr(at(3, 0)), ptr(at(4, 0))
	}
	return e
}

// renamed returns the legacy name of the field of a fault.
func renamed(err error) string { return api{}.events().FaultFields[fault.As(err).Field] }

// TestTheLegacyEndIsThePlannedOrTheActualEnd checks the end of an event after a write, by the rules of the legacy interface.
func TestTheLegacyEndIsThePlannedOrTheActualEnd(t *testing.T) {
	now := at(12, 0)
	for name, c := range map[string]struct {
		event *catalog.Event
		body  lifecycle
		end   *time.Time
		field string // Field of the fault
	}{
		"incident resolved":                     {stored(catalog.Incident, catalog.Monitoring, nil), lifecycle{Status: ptr(catalog.Resolved)}, &now, ""},
		"incident resolved with an end":         {stored(catalog.Incident, catalog.Monitoring, nil), lifecycle{Status: ptr(catalog.Resolved), End: ptr(at(5, 0))}, ptr(at(5, 0)), ""},
		"incident resolved, null sent":          {stored(catalog.Incident, catalog.Monitoring, nil), lifecycle{Status: ptr(catalog.Resolved), NoEnd: true}, &now, ""},
		"incident still resolved":               {stored(catalog.Incident, catalog.Resolved, ptr(at(5, 0))), lifecycle{Status: ptr(catalog.Resolved)}, ptr(at(5, 0)), ""},
		"incident reopened":                     {stored(catalog.Incident, catalog.Resolved, ptr(at(5, 0))), lifecycle{Status: ptr(catalog.Identified)}, nil, ""},
		"incident reopened with an end":         {stored(catalog.Incident, catalog.Resolved, ptr(at(5, 0))), lifecycle{Status: ptr(catalog.Identified), End: ptr(at(6, 0))}, ptr(at(6, 0)), ""},
		"resolved, end cleared":                 {stored(catalog.Incident, catalog.Resolved, ptr(at(5, 0))), lifecycle{NoEnd: true}, nil, ""},
		"end before start":                      {stored(catalog.Incident, catalog.Resolved, ptr(at(5, 0))), lifecycle{End: ptr(at(2, 0))}, ptr(at(2, 0)), "end"},
		"start behind end":                      {stored(catalog.Maintenance, catalog.Planning, nil), lifecycle{Start: ptr(at(5, 0))}, ptr(at(4, 0)), "end"},
		"maintenance completed":                 {stored(catalog.Maintenance, catalog.Verifying, nil), lifecycle{Status: ptr(catalog.Completed)}, &now, ""},
		"maintenance completed before it began": {&catalog.Event{Version: 1, Type: catalog.Maintenance, Status: catalog.Planning, StartAt: at(20, 0), ScheduledStartAt: ptr(at(20, 0)), ScheduledEndAt: ptr(at(21, 0))}, lifecycle{Status: ptr(catalog.Completed)}, ptr(at(20, 0)), ""},
		"its body sent back":                    {&catalog.Event{Version: 1, Type: catalog.Maintenance, Status: catalog.Completed, StartAt: at(20, 0), EndAt: ptr(at(12, 0)), ScheduledStartAt: ptr(at(20, 0)), ScheduledEndAt: ptr(at(21, 0))}, lifecycle{Status: ptr(catalog.Completed), Start: ptr(at(20, 0)), End: ptr(at(12, 0))}, &now, ""},
		"maintenance reopened":                  {stored(catalog.Maintenance, catalog.Completed, ptr(at(3, 30))), lifecycle{Status: ptr(catalog.InProgress)}, ptr(at(4, 0)), ""},
		"maintenance rescheduled":               {stored(catalog.Maintenance, catalog.Planning, nil), lifecycle{End: ptr(at(6, 0))}, ptr(at(6, 0)), ""},
		"maintenance end cleared":               {stored(catalog.Maintenance, catalog.Planning, nil), lifecycle{NoEnd: true}, nil, "end"},
		"becomes a maintenance":                 {stored(catalog.Incident, catalog.Resolved, ptr(at(5, 0))), lifecycle{Type: ptr(catalog.Maintenance), Status: ptr(catalog.Planning)}, ptr(at(5, 0)), ""},
		"becomes a maintenance without an end":  {stored(catalog.Incident, catalog.Monitoring, nil), lifecycle{Type: ptr(catalog.Maintenance), Status: ptr(catalog.Planning)}, nil, "end"},
		"becomes an incident":                   {stored(catalog.Maintenance, catalog.Started, nil), lifecycle{Type: ptr(catalog.Incident), Status: ptr(catalog.Identified)}, ptr(at(4, 0)), ""},
		"new and resolved":                      {&catalog.Event{Type: catalog.Incident, Title: "Slow"}, lifecycle{Status: ptr(catalog.Resolved), Start: ptr(at(3, 0))}, &now, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := catalog.NewEventEdit(c.event, catalog.Command{}, now)
			applyLifecycle(d, c.body)
			err := d.Check()
			if (err == nil) != (c.field == "") || err != nil && renamed(err) != c.field {
				t.Errorf("fault %v, want one in %q", err, c.field)
			}
			if !reflect.DeepEqual(c.event.End(), c.end) {
				t.Errorf("the end is %v, want %v", c.event.End(), c.end)
			}
			if open := c.event.Type == catalog.Maintenance && c.event.Open(); open && c.event.EndAt != nil {
				t.Errorf("a maintenance that goes on has the actual end %v", c.event.EndAt)
			}
		})
	}
}

// TestATextThatIsSentBackKeepsItsFormat checks the legacy flag, and that a text of the App keeps its format when it is sent back.
func TestATextThatIsSentBackKeepsItsFormat(t *testing.T) {
	for name, c := range map[string]struct {
		stored, want catalog.Rich
		text         *string
		markdown     *bool
		changed      bool
	}{
		"plain":                {catalog.Rich{Text: "a", Format: richtext.Plain}, catalog.Rich{Text: "b", Format: richtext.Plain}, ptr("b"), nil, true},
		"flag alone":           {catalog.Rich{Text: "a", Format: richtext.Plain}, catalog.Rich{Text: "a", Format: richtext.Markdown}, nil, ptr(true), true},
		"flag stays":           {catalog.Rich{Text: "a", Format: richtext.Markdown}, catalog.Rich{Text: "b", Format: richtext.Markdown}, ptr("b"), nil, true},
		"flag goes":            {catalog.Rich{Text: "a", Format: richtext.Markdown}, catalog.Rich{Text: "a", Format: richtext.Plain}, nil, ptr(false), true},
		"rich sent back":       {catalog.Rich{Text: "<p>a</p>", Format: richtext.Rich}, catalog.Rich{Text: "<p>a</p>", Format: richtext.Rich}, ptr("<p>a</p>"), ptr(false), false},
		"rich written anew":    {catalog.Rich{Text: "<p>a</p>", Format: richtext.Rich}, catalog.Rich{Text: "<p>b</p>", Format: richtext.Plain}, ptr("<p>b</p>"), nil, true},
		"nothing":              {catalog.Rich{Text: "a", Format: richtext.Markdown}, catalog.Rich{Text: "a", Format: richtext.Markdown}, nil, nil, false},
		"cleared, flag stays ": {catalog.Rich{Text: "a", Format: richtext.Markdown}, catalog.Rich{Text: "", Format: richtext.Markdown}, ptr(""), nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.stored
			applyText(&got, got.Brief(catalog.BriefText), c.text, c.markdown)
			if got != c.want || got != c.stored != c.changed {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestATitleIsMadeOfTheDescription(t *testing.T) {
	long := strings.Repeat("é", 100)
	e := &catalog.Event{Version: 1, Type: catalog.Incident, Status: catalog.Identified, Title: titleOf(catalog.Rich{Text: long, Format: richtext.Plain}), Description: catalog.Rich{Text: long, Format: richtext.Plain}}
	if len([]rune(e.Title)) != maxDerivedTitle {
		t.Errorf("the title has %d characters", len([]rune(e.Title)))
	}
	d := catalog.NewEventEdit(e, catalog.Command{}, at(12, 0))
	if applyDescription(d, ptr("short"), nil); e.Title != "short" {
		t.Errorf("the title is %q", e.Title)
	}
	if applyDescription(d, ptr("**Down** [here](https://x.example/)"), ptr(true)); !strings.HasPrefix(e.Title, "Down here") {
		t.Errorf("the title is %q", e.Title)
	}
	e.Title = "chosen in the App"
	if applyDescription(d, ptr("other"), nil); e.Title != "chosen in the App" {
		t.Errorf("the title is %q", e.Title)
	}
}

func TestAColorHasThreeOrSixDigits(t *testing.T) {
	for text, want := range map[string]bool{"#fff": true, "#A0b9C8": true, "fff": false, "#ffff": false, "#ggg": false, "": false, "#": false, "#12345é": false} {
		if color.MatchString(text) != want {
			t.Errorf("%q", text)
		}
	}
}
