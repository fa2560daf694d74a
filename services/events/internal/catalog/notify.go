package catalog

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// backdatedAfter is the age from which on an event or a timeline entry notifies nobody by default.
const backdatedAfter = time.Hour

// Notify makes the write notify these channels, or nobody if there are none. Nobody is notified of a draft, or of a
// post-mortem that visitors do not see. The event keeps the channels for the scheduler, without the texts, which are
// for this write only. A write without Notify and NotifyByDefault notifies nobody, and leaves what the event keeps.
func (d *Draft) Notify(channels topic.Notify) { d.asked, d.notifies = channels, asAsked }

// NotifyByDefault makes the write notify every channel, unless the write is backdated or changes nothing that
// messages show.
func (d *Draft) NotifyByDefault() { d.asked, d.notifies = nil, byDefault }

// notifying is how a write chooses whom it notifies.
type notifying int

const (
	nobody notifying = iota
	asAsked
	byDefault
)

// decide fixes whom the write notifies, and marks the entries of the write as notified. recipients: messages may name
// a component of the event, so there can be recipients.
func (d *Draft) decide(recipients bool) {
	channels := d.asked
	switch {
	case d.notifies == nobody, !d.Published, d.postMortemChanged() && !d.PostMortem.visible():
		return
	case d.notifies == byDefault && (!d.notable() || d.backdated()):
		return
	case d.notifies == byDefault:
		channels = topic.Notify{}
		for _, channel := range topic.AppChannels() {
			channels[channel] = topic.Wording{}
		}
	}
	d.keep(channels)
	if !recipients || len(channels) == 0 {
		return
	}
	d.notify = maps.Clone(channels)
	if wording, there := d.notify[topic.Email]; there {
		wording.Subject = d.EmailSubject
		d.notify[topic.Email] = wording
	}
	for i := range d.Timeline {
		if slices.Contains(d.written, d.Timeline[i].StatusID) {
			d.Timeline[i].Notified = true
		}
	}
}

// keep stores the channels for the scheduler.
func (d *Draft) keep(channels topic.Notify) {
	kept := topic.Notify{}
	for channel, wording := range channels {
		kept[channel] = topic.Wording{Details: wording.Details, Color: wording.Color, Endpoints: wording.Endpoints}
	}
	if !maps.EqualFunc(d.Announced, kept, sameWording) {
		d.Announced = kept
	}
}

func sameWording(a, b topic.Wording) bool {
	return a.Details == b.Details && a.Color == b.Color && slices.Equal(a.Endpoints, b.Endpoints)
}

// notable reports whether the write changes what messages show.
func (d *Draft) notable() bool {
	return d.IsNew() || d.changed || d.published() || d.postMortemChanged() || !reflect.DeepEqual(messageEvent(&d.before), messageEvent(d.Event))
}

// backdated reports whether the write creates an event that started long ago, or writes an entry about a time long ago.
func (d *Draft) backdated() bool {
	switch {
	case d.IsNew():
		return d.Now.Sub(d.StartAt) > backdatedAfter
	case d.entry != nil:
		return d.Now.Sub(d.entry.Timestamp) > backdatedAfter
	}
	return false
}

// published reports whether the write publishes a draft.
func (d *Draft) published() bool { return !d.IsNew() && !d.before.Published && d.Published }

func (d *Draft) postMortemChanged() bool {
	return !reflect.DeepEqual(d.before.PostMortem, d.PostMortem)
}

// visible reports whether visitors see the post-mortem.
func (p *PostMortem) visible() bool { return p != nil && p.Published }

// messageEvent returns what messages show of an event besides its components.
func messageEvent(e *Event) topic.Event {
	return topic.Event{
		ID: e.ID, LegacyID: e.LegacyID, Type: string(e.Type), Title: e.Title,
		DescriptionText: e.Description.Plain(), DescriptionHTML: e.Description.HTML(),
		ImpactText: e.Impact.Plain(), ImpactHTML: e.Impact.HTML(),
		CoordinatorText: e.Coordinator.Plain(), CoordinatorHTML: e.Coordinator.HTML(),
		Status: string(e.Status), Severity: e.Severity, StartAt: e.StartAt, EndAt: e.EndAt,
		ScheduledStartAt: e.ScheduledStartAt, ScheduledEndAt: e.ScheduledEndAt,
	}
}
