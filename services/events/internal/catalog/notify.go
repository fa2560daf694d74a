package catalog

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// This file decides who is notified of a write, and with which kind of message. Every interface and the scheduler only
// pass what the request says. A message has no link to the event if topic.Event or all its topic.Components are Hidden.

// backdatedAfter is the age from which on an event or a timeline entry notifies nobody by default.
const backdatedAfter = time.Hour

// facts are all inputs of the decision who is notified of a write.
type facts struct {
	source    Source // source of the write, not of the event
	request   request
	occasion  occasion
	draft     bool // the event is a draft after the write
	backdated bool // see EventEdit.backdated
	concerns  bool // see affected.concernsAnybody
}

// request is what the request says about notifications.
type request string

const (
	neverAsks request = ""        // the request cannot name channels, for example a correction, a note or a deletion, or there is no request
	omits     request = "omitted" // the request could name channels, but does not
	asks      request = "asked"   // the request names channels, or an empty list to notify nobody
)

// occasion is why a write might notify.
type occasion string

const (
	creation          occasion = "create"
	publication       occasion = "publish" // publication of a draft
	change            occasion = "change"  // change of what messages show, which includes an entry, a reopening and a published post-mortem
	trifle            occasion = "trifle"  // change of other fields only
	privatePostMortem occasion = "private post-mortem"
	step              occasion = "step"          // the scheduler starts or ends a maintenance
	reminder          occasion = "reminder"      // the scheduler reminds of a maintenance
	lateReminder      occasion = "late reminder" // reminder after the planned start
)

// audience is the channels that a write notifies.
type audience string

const (
	nobody        audience = "nobody"
	askedChannels audience = "asked" // the channels that the request names
	allChannels   audience = "all"   // all channels of the App interface
	keptChannels  audience = "kept"  // Event.Announced
)

// decide returns now, the audience of this write, and later, the audience that the scheduler will notify. If later is
// keptChannels, the write does not change whom the scheduler notifies.
func (f facts) decide() (now, later audience) {
	now, later = f.wanted()
	if !f.concerns {
		now = nobody
	}
	return now, later
}

// wanted is like decide, but assumes that messages about the event may have recipients.
func (f facts) wanted() (now, later audience) {
	switch {
	case f.draft, f.occasion == privatePostMortem, f.occasion == lateReminder:
		return nobody, keptChannels
	case f.occasion == step, f.occasion == reminder:
		return keptChannels, keptChannels
	case f.request == asks:
		return askedChannels, askedChannels
	case f.request == neverAsks, f.source == SourceLegacy, f.occasion == trifle, f.backdated:
		return nobody, keptChannels
	}
	return allChannels, allChannels
}

// Notify sets the channels that the request asks to notify. channels is empty to notify nobody, and nil if the request
// leaves the channels out. A write that does not call Notify notifies nobody, except for steps and reminders of the
// scheduler.
func (d *EventEdit) Notify(channels topic.Notify) {
	d.request, d.asked = asks, channels
	if channels == nil {
		d.request = omits
	}
}

// NotifyLater sets the channels that the scheduler notifies of its steps and reminders. nil changes nothing: the channels
// then follow from Notify.
func (d *EventEdit) NotifyLater(channels topic.Notify) {
	if channels != nil {
		d.later = &channels
	}
}

// decide sets whom the write notifies, and marks the entries of the write as notified if it notifies anybody. concerns is
// the result of affected.concernsAnybody.
func (d *EventEdit) decide(concerns bool) {
	facts := d.facts(concerns)
	now, later := facts.decide()
	d.notify, d.silence = maps.Clone(d.channels(now)), ""
	if len(d.notify) == 0 {
		d.silence = d.silent(facts)
	}
	if wording, there := d.notify[topic.Email]; there {
		wording.Subject = d.EmailSubject
		d.notify[topic.Email] = wording
	}
	for i := range d.Timeline {
		if len(d.notify) > 0 && slices.Contains(d.written, d.Timeline[i].StatusID) {
			d.Timeline[i].Notified = true
		}
	}
	if d.later != nil {
		d.keep(*d.later)
		return
	}
	d.keep(d.channels(later))
}

// silent returns why the write notifies nobody. The result is empty if a write of this kind never notifies anybody.
func (d *EventEdit) silent(f facts) topic.Silence {
	now, _ := f.wanted()
	scheduled := f.occasion == step || f.occasion == reminder || f.occasion == lateReminder
	switch {
	case f.request == neverAsks && !scheduled, f.occasion == trifle, f.occasion == privatePostMortem:
		return ""
	case f.draft:
		return topic.SilentDraft
	case f.occasion == lateReminder:
		return topic.SilentLate
	case len(d.channels(now)) > 0:
		return topic.SilentComponents
	case now != nobody:
		return topic.SilentRequest
	case f.source == SourceLegacy:
		return topic.SilentLegacy
	}
	return topic.SilentBackdated
}

func (d *EventEdit) facts(concerns bool) facts {
	return facts{d.source, d.request, d.occasion(), !d.Published, d.backdated(), concerns}
}

func (d *EventEdit) channels(of audience) topic.Notify {
	switch of {
	case askedChannels:
		return d.asked
	case keptChannels:
		return withSlack(d.Announced)
	case allChannels:
		all := topic.Notify{}
		for _, channel := range topic.AppChannels() {
			all[channel] = topic.Wording{}
		}
		return all
	}
	return nil
}

// withSlack returns announced with the channel slack instead of workspace, unless announced has slack already. An event that
// was stored before there were Slack endpoints has the channel workspace, the legacy name of Slack.
func withSlack(announced topic.Notify) topic.Notify {
	wording, is := announced[topic.Workspace]
	if _, both := announced[topic.Slack]; !is || both {
		return announced
	}
	channels := maps.Clone(announced)
	delete(channels, topic.Workspace)
	wording.SkippedAs = topic.Workspace
	channels[topic.Slack] = wording
	return channels
}

// keep stores the channels for the scheduler in Announced. It leaves out the texts, which are for this write only.
func (d *EventEdit) keep(channels topic.Notify) {
	kept := topic.Notify{}
	for channel, wording := range channels {
		kept[channel] = topic.Wording{Details: wording.Details, Color: wording.Color, Endpoints: wording.Endpoints, SkippedAs: wording.SkippedAs}
	}
	if !maps.EqualFunc(d.Announced, kept, sameWording) {
		d.Announced = kept
	}
}

func sameWording(a, b topic.Wording) bool {
	return a.Details == b.Details && a.Color == b.Color && a.SkippedAs == b.SkippedAs && slices.Equal(a.Endpoints, b.Endpoints)
}

func (d *EventEdit) occasion() occasion {
	switch {
	case d.reminds && !d.ScheduledStartAt.After(d.Now):
		return lateReminder
	case d.reminds:
		return reminder
	case d.source == SourceScheduler && d.Status != d.before.Status:
		return step
	case d.IsNew():
		return creation
	case d.published():
		return publication
	case d.postMortemChanged() && !d.PostMortem.visible():
		return privatePostMortem
	case d.changed, d.postMortemChanged(), !reflect.DeepEqual(messageEvent(&d.before), messageEvent(d.Event)):
		return change
	}
	return trifle
}

// backdated reports whether the write creates or publishes an event that had started more than backdatedAfter before its
// creation, or writes an entry about such an early time. If a message of a monitoring tool has waited, the time at which it
// was received counts as the time of the write or of the creation.
func (d *EventEdit) backdated() bool {
	switch {
	case d.IsNew():
		return cmp.Or(d.ReportedAt, &d.Now).Sub(d.StartAt) > backdatedAfter
	case d.published():
		return cmp.Or(d.ReportedAt, &d.CreatedAt).Sub(d.StartAt) > backdatedAfter
	case d.entry != nil:
		return cmp.Or(d.received, &d.Now).Sub(d.entry.Timestamp) > backdatedAfter
	}
	return false
}

// published reports whether the write publishes an event that was a draft.
func (d *EventEdit) published() bool { return !d.IsNew() && !d.before.Published && d.Published }

func (d *EventEdit) postMortemChanged() bool {
	return !reflect.DeepEqual(d.before.PostMortem, d.PostMortem)
}

// visible reports whether visitors see the post-mortem.
func (p *PostMortem) visible() bool { return p != nil && p.Published }

// EventState returns the present state of the organization's event, as far as messages may show it, or NotFound.
func (c *Catalog) EventState(ctx context.Context, organization, id string) (topic.EventState, error) {
	event, err := c.store.EventOf(ctx, organization, id)
	if err != nil {
		return topic.EventState{}, err
	}
	components, err := c.ComponentsByID(ctx, organization, event.ComponentIDs())
	if err != nil {
		return topic.EventState{}, err
	}
	nameable := slices.DeleteFunc(components, func(component Component) bool { return component.HiddenFromNotifications })
	state := topic.EventState{
		Type: string(event.Type), CreatedAt: event.CreatedAt, Published: event.Published, Components: ComponentKeys(nameable),
		Dashboards: map[string][]string{}, ShownOn: []string{},
	}
	if len(event.Links) == 0 {
		var near affected
		err = near.readDashboards(ctx, c, organization, event)
		state.ShownOn = existingOf(event.DashboardIDs, near.existing)
		return state, err
	}
	if len(nameable) > 0 {
		state.Dashboards, err = c.DashboardsHolding(ctx, organization, state.Components)
	}
	for _, dashboards := range state.Dashboards {
		state.ShownOn = append(state.ShownOn, dashboards...)
	}
	slices.Sort(state.ShownOn)
	state.ShownOn = slices.Compact(state.ShownOn)
	return state, err
}

// kind returns the kind of the message about the write. before is nil for a new event.
func (d *EventEdit) kind(before *Event) topic.Kind {
	if d.reminds {
		return topic.MaintenanceReminder
	}
	return kindOf(before, d.Event)
}

// kindOf returns the kind of a change. before is nil for a new event. If the change also changes the type of the event,
// the kind is one of the new type.
func kindOf(before, after *Event) topic.Kind {
	published := before != nil && !before.Published && after.Published
	if after.Type == Incident {
		switch {
		case before == nil, published:
			return topic.IncidentCreated
		case after.Status.Closed() && !before.Status.Closed():
			return topic.IncidentResolved
		case before.Status.Closed() && !after.Status.Closed():
			return topic.IncidentReopened
		case after.PostMortem.visible() && !reflect.DeepEqual(before.PostMortem, after.PostMortem):
			return topic.IncidentPostMortem
		}
		return topic.IncidentUpdated
	}
	switch {
	case published:
		return topic.MaintenanceScheduled
	case after.Status == Completed && (before == nil || !before.Status.Closed()):
		return topic.MaintenanceCompleted
	case after.Status.Underway() && (before == nil || before.Status == Planning):
		return topic.MaintenanceStarted
	case before == nil:
		return topic.MaintenanceScheduled
	case before.Status.Closed() && !after.Status.Closed():
		return topic.MaintenanceReopened
	case !sameTime(before.ScheduledStartAt, after.ScheduledStartAt), !sameTime(before.ScheduledEndAt, after.ScheduledEndAt):
		return topic.MaintenanceReschedule
	}
	return topic.MaintenanceUpdated
}

// change returns the message about a write: the event as of this change, with its texts rendered. before is nil for
// a new event. It returns a Conflict if the message is too large for Kafka, the write notifies somebody, and its source is
// neither the scheduler nor a monitoring tool.
func (a *affected) change(before *Event, edit *EventEdit) (topic.EventChange, error) {
	event := edit.Event
	change := topic.EventChange{
		ID: topic.NewID(), Kind: edit.kind(before), Organization: event.OrganizationID, OccurredAt: edit.Now,
		Sequence: event.sequence(), Notify: topic.Notify{}, Silence: edit.silence, Event: messageEvent(event),
	}
	change.Event.Hidden, change.Event.Components = event.HiddenFromDashboard, a.nameable(event)
	if len(event.Links) == 0 {
		change.Event.Dashboards = existingOf(event.DashboardIDs, a.existing)
	}
	if before != nil && before.Status != event.Status && !edit.published() {
		change.Event.PreviousStatus = string(before.Status)
	}
	entry := edit.entry
	if chronicle := event.Chronicle(); edit.published() && len(chronicle) > 0 {
		entry = &chronicle[len(chronicle)-1]
	}
	if entry != nil {
		change.Entry = &topic.Entry{
			StatusID: entry.StatusID, PublicID: entry.PublicID, Status: string(entry.Status), Timestamp: entry.Timestamp,
			Text: entry.Message.Plain(), HTML: entry.Message.HTML(), CreatedAt: entry.CreatedAt,
		}
	}
	maps.Copy(change.Notify, edit.notify)
	if _, told := change.Notify[topic.Webhook]; told && entry != nil {
		change.Entry.Impacts = impactsOf(event, entry.StatusID, change.Event.Components)
	}
	byPerson := edit.source != SourceScheduler && edit.source != SourceInbound // a tool cannot shorten an event
	return change, fit(&change, byPerson && len(change.Notify) > 0)
}

// impactsOf returns how the entry with the id changes the impacts on the components.
func impactsOf(event *Event, statusID string, components []topic.Component) (changes []topic.ImpactChange) {
	chronicle := event.Chronicle()
	at := slices.IndexFunc(chronicle, func(entry Entry) bool { return entry.StatusID == statusID })
	if at < 0 {
		return nil
	}
	for _, change := range event.ImpactChanges(chronicle)[at] {
		if slices.ContainsFunc(components, func(c topic.Component) bool { return c.ID == change.ComponentID }) {
			changes = append(changes, topic.ImpactChange{ComponentID: change.ComponentID, Before: string(change.Before), Impact: string(change.Impact)})
		}
	}
	return changes
}

// messageEvent returns the event for a message, without the fields that depend on its components or on the change.
func messageEvent(e *Event) topic.Event {
	return topic.Event{
		ID: e.ID, LegacyID: e.LegacyID, PublicID: e.PublicID, Type: string(e.Type), Title: e.Title,
		DescriptionText: e.Description.Plain(), DescriptionHTML: e.Description.HTML(),
		ImpactText: e.Impact.Plain(), ImpactHTML: e.Impact.HTML(),
		CoordinatorText: e.Coordinator.Plain(), CoordinatorHTML: e.Coordinator.HTML(),
		Status: string(e.Status), Severity: e.Severity, CreatedAt: e.CreatedAt, StartAt: e.StartAt, EndAt: e.EndAt,
		ScheduledStartAt: e.ScheduledStartAt, ScheduledEndAt: e.ScheduledEndAt,
	}
}
