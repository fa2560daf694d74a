package catalog

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// operation is a write of the App interface. Its last argument is the time that the write is about.
type operation struct {
	name   string
	before func(*Event) // completes the stored event; nil: the write creates the event
	write  func(*Draft, time.Time) error
	dated  bool // the write can be backdated
	quiet  bool // it changes nothing that messages show, so it notifies nobody by default
	never  bool // it notifies nobody at all
}

func operations() []operation {
	set := func(change func(*Event)) func(*Draft, time.Time) error {
		return func(d *Draft, _ time.Time) error { change(d.Event); return nil }
	}
	post := func(status Status) func(*Draft, time.Time) error {
		return func(d *Draft, at time.Time) error {
			return d.Post(NewEntry{Message: "m", Status: status, Timestamp: &at})
		}
	}
	explain := func(published bool) func(*Draft, time.Time) error {
		return func(d *Draft, _ time.Time) error {
			return d.SetPostMortem(PostMortem{Summary: Rich{Text: "s"}, Published: published})
		}
	}
	open := func(*Event) {}
	closed := func(e *Event) { e.Status, e.EndAt = Resolved, ptr(at(11, 30)) }
	return []operation{
		{name: "create", dated: true, write: func(d *Draft, at time.Time) error {
			d.Status, d.StartAt = Investigating, at
			return d.SetInitialEntry("m")
		}},
		{name: "create closed", dated: true, write: func(d *Draft, at time.Time) error {
			d.Status, d.StartAt, d.EndAt = Resolved, at, &at
			return nil
		}},
		{name: "title", before: open, write: set(func(e *Event) { e.Title = "another" })},
		{name: "severity", before: open, write: set(func(e *Event) { e.Severity = "major_outage" })},
		{name: "components", before: open, write: func(d *Draft, _ time.Time) error {
			return d.SetComponents([]ComponentImpact{{ComponentID: "api", Impact: MajorOutage}})
		}},
		{name: "publish", before: func(e *Event) { e.Published = false }, write: set(func(e *Event) { e.Published = true })},
		{name: "unpublish", before: open, write: set(func(e *Event) { e.Published = false }), never: true},
		{name: "externalId", before: open, write: set(func(e *Event) { e.ExternalID = "x" }), quiet: true},
		{name: "hidden", before: open, write: set(func(e *Event) { e.HiddenFromDashboard, e.HiddenFromUptimeReports = true, true }), quiet: true},
		{name: "nothing", before: open, write: set(open), quiet: true},
		{name: "entry", before: open, write: post(StatusUpdate), dated: true},
		{name: "resolve", before: open, write: post(Resolved), dated: true},
		{name: "reopen", before: closed, write: func(d *Draft, _ time.Time) error { return d.Reopen(NewEntry{Message: "m"}) }},
		{name: "post-mortem", before: closed, write: explain(true)},
		{name: "post-mortem, replaced", before: func(e *Event) { closed(e); e.PostMortem = &PostMortem{Published: true} }, write: explain(true)},
		{name: "post-mortem, not published", before: closed, write: explain(false), never: true},
	}
}

// TestWhoIsNotified checks the whole decision: every operation with every form of notify, on published events and
// drafts, about a time 1 h ago and longer ago, with components that messages may name and without.
func TestWhoIsNotified(t *testing.T) {
	now := at(12, 0)
	all := topic.Notify{topic.Email: {}, topic.GChat: {}, topic.SMS: {}, topic.Teams: {}, topic.Webhook: {}}
	for _, o := range operations() {
		for wish, asked := range map[string]topic.Notify{"default": nil, "true": all, "false": {}, "email": {topic.Email: {}}} {
			for variant := range 8 {
				draft, backdated, recipients := variant&1 > 0, variant&2 > 0, variant&4 == 0
				about := now.Add(-time.Hour)
				if backdated {
					about = about.Add(-time.Millisecond)
				}
				e := &Event{Type: Incident, Status: Investigating, Title: "t", Published: !draft, Links: []Link{{LegacyID: 1, ComponentID: "api"}}}
				if o.before != nil {
					e.Version, e.StartAt, e.Announced = 1, at(3, 0), topic.Notify{topic.Webhook: {}}
					e.Timeline = []Entry{{StatusID: "old", LegacyID: 1, Status: Investigating, Timestamp: at(3, 0)}}
					o.before(e)
				}
				want, kept := asked, asked
				switch {
				case o.never, draft && o.name != "publish", wish == "default" && (o.quiet || o.dated && backdated):
					want, kept = nil, e.Announced
				case wish == "default":
					want, kept = all, all
				}
				if !recipients {
					want = nil
				}

				name := fmt.Sprintf("%s, notify %s, draft %t, backdated %t, recipients %t", o.name, wish, draft, backdated, recipients)
				d := NewDraft(e, Author{}, now)
				if wish == "default" {
					d.NotifyByDefault()
				} else {
					d.Notify(asked)
				}
				if err := o.write(d, about); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				d.finish(recipients)
				if !maps.EqualFunc(d.notify, want, sameWording) {
					t.Errorf("%s: notifies %v, want %v", name, d.notify, want)
				}
				if !maps.EqualFunc(d.Announced, kept, sameWording) {
					t.Errorf("%s: the scheduler will notify %v, want %v", name, d.Announced, kept)
				}
				for _, entry := range d.Timeline {
					if fresh := slices.Contains(d.written, entry.StatusID); entry.Notified != (fresh && len(want) > 0) {
						t.Errorf("%s: entry %s is notified: %t", name, entry.StatusID, entry.Notified)
					}
				}
			}
		}
	}
}

// TestBackdatedMaintenance checks that the planned start counts as long as the maintenance has not started.
func TestBackdatedMaintenance(t *testing.T) {
	for minutes, want := range map[int]int{-61: 0, -60: 5, 60: 5} {
		start := at(12, minutes)
		d := NewDraft(&Event{Type: Maintenance, Status: Planning, StartAt: start, ScheduledStartAt: &start, Published: true}, Author{}, at(12, 0))
		d.NotifyByDefault()
		if d.finish(true); len(d.notify) != want {
			t.Errorf("planned for %v: notifies %v", start, d.notify)
		}
	}
}

// TestWordingOfNotify checks that a write keeps the channels for the scheduler without texts, and remembers the subject.
func TestWordingOfNotify(t *testing.T) {
	e := stored(Incident, Monitoring, nil)
	e.EmailSubject = "Trouble"
	d := NewDraft(e, Author{}, at(12, 0))
	d.Notify(topic.Notify{topic.Email: {Subject: "ignored"}, topic.SMS: {Text: "once"}, topic.Teams: {Message: "once", Color: "#fff", Details: true, Endpoints: []int64{4}}})
	changed, announcedOnly := d.finish(true)
	if d.notify[topic.Email].Subject != "Trouble" || d.notify[topic.SMS].Text != "once" || changed || !announcedOnly {
		t.Errorf("notifies %+v, changed %t, only the channels changed %t", d.notify, changed, announcedOnly)
	}
	want := topic.Notify{topic.Email: {}, topic.SMS: {}, topic.Teams: {Color: "#fff", Details: true, Endpoints: []int64{4}}}
	if !maps.EqualFunc(d.Announced, want, sameWording) || d.Announced[topic.SMS].Text != "" || d.Announced[topic.Teams].Message != "" {
		t.Errorf("the scheduler will notify %+v", d.Announced)
	}
}
