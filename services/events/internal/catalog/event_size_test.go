package catalog

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// An event whose texts are as large as they may be takes no more text. It can lose text, and change otherwise.
func TestTextsOfAnEventAreBounded(t *testing.T) {
	const each = 20000
	event := Event{Type: Incident, Status: Resolved, Title: "x"}
	for event.textSize()+each <= maxEventText {
		event.Timeline = append(event.Timeline, Entry{StatusID: topic.NewID(), Message: Rich{Text: strings.Repeat("x", each)}})
	}
	for name, test := range map[string]struct {
		change func(d *EventEdit) error
		fits   bool
	}{
		"a note": {func(d *EventEdit) error {
			for range 5 {
				if _, err := d.AddNote(strings.Repeat("x", maxNote)); err != nil {
					return err
				}
			}
			return nil
		}, false},
		"a post-mortem": {func(d *EventEdit) error {
			return d.SetPostMortem(PostMortem{Summary: Rich{Text: strings.Repeat("x", each)}, ActionItems: []ActionItem{{Text: "y"}}})
		}, false},
		"a description": {func(d *EventEdit) error { d.Description.Text = strings.Repeat("x", each); return nil }, false},
		"an entry": {func(d *EventEdit) error {
			return d.AppendEntry(Entry{Status: StatusUpdate, Message: Rich{Text: strings.Repeat("x", each)}})
		}, false},
		"a short note":  {func(d *EventEdit) error { _, err := d.AddNote("x"); return err }, true},
		"a flag":        {func(d *EventEdit) error { d.HiddenFromDashboard = true; return nil }, true},
		"an entry less": {func(d *EventEdit) error { return d.RemoveEntry(d.Timeline[0].StatusID) }, true},
		"a note and an exit": {func(d *EventEdit) error {
			_, err := d.AddNote("x")
			return cmp.Or(err, d.RemoveEntry(d.Timeline[0].StatusID))
		}, true},
	} {
		d := NewEventEdit(event.clone(), Command{}, time.Now())
		if err := test.change(d); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := d.checkSize(); fault.Is(err, fault.Conflict) == test.fits {
			t.Errorf("%s: %v", name, err)
		}
	}
	event.Title = strings.Repeat("x", 2*each) // too large already, from a time without the bound
	d := NewEventEdit(event.clone(), Command{}, time.Now())
	if d.Status = Monitoring; d.checkSize() != nil {
		t.Error("an event that is too large cannot be changed")
	}
}
