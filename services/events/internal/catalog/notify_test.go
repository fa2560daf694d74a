package catalog

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// decisions is the whole table of who is notified. A row holds for every combination of its facts: "a | b" is either,
// "any" is all. now is whom the write notifies, later whom the scheduler will notify of the event: "kept" as before.
func decisions() []decisionRow {
	const (
		people      = "app | inbound | legacy"
		asNow       = "create | publish | change"
		whatPeople  = "create | publish | change | trifle"
		withDefault = "app | inbound"
	)
	return []decisionRow{
		{"a draft, whatever the request says", "any", "any", "any", "draft", "any", "any", nobody, keptChannels},
		{"a post-mortem that visitors do not see", people, "any", "private post-mortem", "published", "any", "any", nobody, keptChannels},

		{"the request cannot ask", people, "cannot", whatPeople, "published", "any", "any", nobody, keptChannels},

		{"the request names channels or nobody", people, "asked", whatPeople, "published", "any", "somebody", askedChannels, askedChannels},
		{"it names channels, and the event concerns nobody", people, "asked", whatPeople, "published", "any", "nobody", nobody, askedChannels},

		{"legacy without notifications", "legacy", "omitted", whatPeople, "published", "any", "any", nobody, keptChannels},
		{"by default", withDefault, "omitted", asNow, "published", "recent", "somebody", allChannels, allChannels},
		{"by default, and the event concerns nobody", withDefault, "omitted", asNow, "published", "recent", "nobody", nobody, allChannels},
		{"by default, about a time more than 1 h ago", withDefault, "omitted", asNow, "published", "backdated", "any", nobody, keptChannels},
		{"by default, messages show no change", withDefault, "omitted", "trifle", "published", "any", "any", nobody, keptChannels},

		{"the scheduler starts, ends or reminds", "scheduler", "cannot", "step | reminder", "published", "any", "somebody", keptChannels, keptChannels},
		{"it does, and the event concerns nobody", "scheduler", "cannot", "step | reminder", "published", "any", "nobody", nobody, keptChannels},
		{"it is too late to remind", "scheduler", "cannot", "late reminder", "published", "any", "any", nobody, keptChannels},
		{"another process has taken the step", "scheduler", "cannot", "trifle", "published", "any", "any", nobody, keptChannels},
	}
}

type decisionRow struct {
	name                                                  string
	source, request, occasion, event, backdated, concerns string
	now, later                                            audience
}

func (r decisionRow) matches(f facts) bool {
	is := func(cell, value string) bool {
		return cell == "any" || slices.Contains(strings.Split(cell, " | "), value)
	}
	request := string(f.request)
	if f.request == neverAsks {
		request = "cannot"
	}
	return is(r.source, string(f.source)) && is(r.request, request) && is(r.occasion, string(f.occasion)) &&
		is(r.event, either(f.draft, "draft", "published")) && is(r.backdated, either(f.backdated, "backdated", "recent")) &&
		is(r.concerns, either(f.concerns, "somebody", "nobody"))
}

func either(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// TestWhoIsNotified checks that every combination of facts has exactly one row in the table, and is decided as it says.
func TestWhoIsNotified(t *testing.T) {
	sources := map[Source][]occasion{SourceScheduler: {step, reminder, lateReminder, trifle}}
	for _, source := range []Source{SourceApp, SourceInbound, SourceLegacy} {
		sources[source] = []occasion{creation, publication, change, trifle, privatePostMortem}
	}
	used := map[string]bool{}
	for source, occasions := range sources {
		for _, why := range occasions {
			for _, says := range []request{neverAsks, omits, asks} {
				if source == SourceScheduler && says != neverAsks {
					continue
				}
				for flags := range 8 {
					f := facts{source, says, why, flags&1 > 0, flags&2 > 0, flags&4 > 0}
					rows := slices.DeleteFunc(decisions(), func(r decisionRow) bool { return !r.matches(f) })
					if len(rows) != 1 {
						t.Fatalf("%+v has %d rows in the table", f, len(rows))
					}
					used[rows[0].name] = true
					if now, later := f.decide(); now != rows[0].now || later != rows[0].later {
						t.Errorf("%s: %+v notifies %s and then %s, want %s and %s", rows[0].name, f, now, later, rows[0].now, rows[0].later)
					}
				}
			}
		}
	}
	if len(used) != len(decisions()) {
		t.Errorf("only the rows %q hold for any facts", slices.Sorted(maps.Keys(used)))
	}
}

// written is a write with its facts. The event was made at 3:00 with the component api, and it is 12:00.
type written struct {
	name   string
	source Source
	event  *Event // nil: the write creates it
	do     func(*EventEdit) error
	want   facts
}

func writes() []written {
	incident := func(set func(*Event)) *Event {
		e := stored(Incident, Investigating, nil)
		e.CreatedAt, e.Links = at(3, 0), []Link{{LegacyID: 1, ComponentID: "api"}}
		e.Timeline = []Entry{{StatusID: "first", LegacyID: 1, Status: Investigating, Timestamp: at(3, 0)}}
		if set != nil {
			set(e)
		}
		return e
	}
	draft := func(start time.Time) *Event {
		return incident(func(e *Event) { e.Published, e.StartAt = false, start })
	}
	closed := incident(func(e *Event) { e.Status, e.EndAt = Resolved, ptr(at(11, 30)) })
	explained := incident(func(e *Event) {
		e.Status, e.EndAt, e.PostMortem = Resolved, ptr(at(11, 30)), &PostMortem{Summary: Rich{Text: "s"}, Published: true}
	})
	begin := func(status Status, start time.Time, published bool) func(*EventEdit) error {
		return func(d *EventEdit) error {
			d.StartAt, d.Published = start, published
			d.Begin(Incident, "t", status)
			return nil
		}
	}
	plan := func(start time.Time) *Event {
		e := stored(Maintenance, Planning, nil)
		e.CreatedAt, e.StartAt, e.ScheduledStartAt, e.ScheduledEndAt = at(3, 0), start, &start, ptr(start.Add(time.Hour))
		e.AutoStart, e.AutoEnd, e.Links = true, true, []Link{{LegacyID: 1, ComponentID: "api"}}
		return e
	}
	remind := func(start time.Time) *Event {
		e := plan(start)
		e.AutoStart, e.ReminderMinutes, e.RemindedTo = false, []int{60}, ptr(at(3, 0))
		return e
	}
	under := func(e *Event) *Event { e.Status = Started; return e }
	set := func(change func(*Event)) func(*EventEdit) error {
		return func(d *EventEdit) error { change(d.Event); return nil }
	}
	omitting := func(write func(*EventEdit) error) func(*EventEdit) error {
		return func(d *EventEdit) error { d.Notify(nil); return write(d) }
	}
	asking := func(write func(*EventEdit) error) func(*EventEdit) error {
		return func(d *EventEdit) error { d.Notify(topic.Notify{}); return write(d) }
	}
	post := func(entry NewEntry) func(*EventEdit) error {
		return func(d *EventEdit) error { entry.Message = "m"; return d.Post(entry) }
	}
	reopen := func(d *EventEdit) error { return d.Reopen(NewEntry{Message: "m"}) }
	explain := func(published bool) func(*EventEdit) error {
		return func(d *EventEdit) error {
			return d.SetPostMortem(PostMortem{Summary: Rich{Text: "another"}, Published: published})
		}
	}
	ingest := func(in Inbound) func(*EventEdit) error {
		return func(d *EventEdit) error { _, _, err := in.apply(d, nil); return err }
	}
	title := set(func(e *Event) { e.Title = "another" })
	text := "m"
	hour, longer := at(11, 0), at(11, 0).Add(-time.Millisecond)
	fact := func(source Source, says request, why occasion, more ...string) facts {
		return facts{source, says, why, slices.Contains(more, "draft"), slices.Contains(more, "backdated"), true}
	}
	const app, legacy, inbound, scheduler = SourceApp, SourceLegacy, SourceInbound, SourceScheduler
	return []written{
		{"create", app, nil, omitting(begin(Investigating, at(12, 0), true)), fact(app, omits, creation)},
		{"create, notify", app, nil, asking(begin(Investigating, at(12, 0), true)), fact(app, asks, creation)},
		{"create, exactly 1 h ago", app, nil, omitting(begin(Investigating, hour, true)), fact(app, omits, creation)},
		{"create, longer ago", app, nil, omitting(begin(Investigating, longer, true)), fact(app, omits, creation, "backdated")},
		{"create closed, longer ago", app, nil, omitting(begin(Resolved, longer, true)), fact(app, omits, creation, "backdated")},
		{"create a draft", app, nil, asking(begin(Investigating, at(12, 0), false)), fact(app, asks, creation, "draft")},
		{"change of the title", app, incident(nil), omitting(title), fact(app, omits, change)},
		{"change of components", app, incident(nil), omitting(func(d *EventEdit) error {
			return d.SetComponents([]ComponentImpact{{ComponentID: "api"}, {ComponentID: "web"}})
		}), fact(app, omits, change)},
		{"change of an impact", app, incident(nil), omitting(func(d *EventEdit) error {
			return d.SetComponents([]ComponentImpact{{ComponentID: "api", Impact: MajorOutage}})
		}), fact(app, omits, change)},
		{"change of the plan", app, plan(at(13, 0)), omitting(set(func(e *Event) { e.ScheduledEndAt = ptr(at(20, 0)) })), fact(app, omits, change)},
		{"change of nothing", app, incident(nil), omitting(set(func(*Event) {})), fact(app, omits, trifle)},
		{"change of nothing, notify", app, incident(nil), asking(set(func(*Event) {})), fact(app, asks, trifle)},
		{"change of what messages do not show", app, plan(at(13, 0)), omitting(set(func(e *Event) {
			e.ExternalID, e.HiddenFromDashboard, e.HiddenFromUptimeReports, e.AutoEnd, e.ReminderMinutes = "x", true, true, false, []int{5}
		})), fact(app, omits, trifle)},
		{"change of a draft", app, draft(at(3, 0)), omitting(title), fact(app, omits, change, "draft")},
		{"publish", app, draft(at(3, 0)), omitting(set(func(e *Event) { e.Published = true })), fact(app, omits, publication)},
		{"publish, had started exactly 1 h before its creation", app, draft(at(2, 0)), omitting(set(func(e *Event) { e.Published = true })), fact(app, omits, publication)},
		{"publish, had started earlier", app, draft(at(1, 59)), omitting(set(func(e *Event) { e.Published = true })), fact(app, omits, publication, "backdated")},
		{"unpublish", app, incident(nil), asking(set(func(e *Event) { e.Published = false })), fact(app, asks, trifle, "draft")},
		{"entry", app, incident(nil), omitting(post(NewEntry{})), fact(app, omits, change)},
		{"entry, exactly 1 h ago", app, incident(nil), omitting(post(NewEntry{Timestamp: &hour})), fact(app, omits, change)},
		{"entry, longer ago", app, incident(nil), omitting(post(NewEntry{Timestamp: &longer})), fact(app, omits, change, "backdated")},
		{"entry that closes, longer ago", app, incident(nil), omitting(post(NewEntry{Status: Resolved, Timestamp: &longer})), fact(app, omits, change, "backdated")},
		{"entry, impact only", app, incident(nil), omitting(post(NewEntry{Impacts: []ComponentImpact{{"api", MajorOutage}}})), fact(app, omits, change)},
		{"timeline PUT", app, incident(nil), func(d *EventEdit) error { return d.Correct("first", "m", nil) }, fact(app, neverAsks, change, "backdated")},
		{"timeline DELETE", app, incident(nil), func(d *EventEdit) error { return d.Retract("first") }, fact(app, neverAsks, change)},
		{"note", app, incident(nil), set(func(e *Event) { e.Notes = []Note{{ID: "n"}} }), fact(app, neverAsks, trifle)},
		{"reopen", app, closed.clone(), omitting(reopen), fact(app, omits, change)},
		{"post-mortem", app, closed.clone(), omitting(explain(true)), fact(app, omits, change)},
		{"post-mortem, replaced", app, explained.clone(), omitting(explain(true)), fact(app, omits, change)},
		{"post-mortem, not published", app, closed.clone(), asking(explain(false)), fact(app, asks, privatePostMortem)},
		{"post-mortem, withdrawn", app, explained.clone(), asking(explain(false)), fact(app, asks, privatePostMortem)},
		{"post-mortem DELETE", app, explained.clone(), set(func(e *Event) { e.PostMortem = nil }), fact(app, neverAsks, privatePostMortem)},

		{"legacy create", legacy, nil, omitting(begin(Investigating, at(12, 0), true)), fact(legacy, omits, creation)},
		{"legacy create, notifications", legacy, nil, asking(begin(Investigating, longer, true)), fact(legacy, asks, creation, "backdated")},
		{"legacy change", legacy, incident(nil), omitting(title), fact(legacy, omits, change)},
		{"legacy change, notifications", legacy, incident(nil), asking(set(func(*Event) {})), fact(legacy, asks, trifle)},
		{"legacy event/update", legacy, incident(nil), func(d *EventEdit) error {
			return d.AppendEntry(Entry{Status: StatusUpdate, Message: Rich{Text: "m"}, Timestamp: d.Now})
		}, fact(legacy, neverAsks, change)},
		{"legacy event/service", legacy, incident(nil), func(d *EventEdit) error { return d.AddComponent("web") }, fact(legacy, neverAsks, change)},
		{"component deleted", "", incident(nil), func(d *EventEdit) error { d.RemoveComponent("api"); return nil }, fact("", neverAsks, change)},

		{"trigger creates", inbound, nil, func(d *EventEdit) error {
			return Inbound{Title: "t", Publish: true, Impact: Degraded}.create(d, []string{"api"})
		}, fact(inbound, omits, creation)},
		{"trigger creates, longer ago", inbound, nil, func(d *EventEdit) error {
			return Inbound{Title: "t", Publish: true, Timestamp: &longer}.create(d, []string{"api"})
		}, fact(inbound, omits, creation, "backdated")},
		{"trigger creates a draft", inbound, nil, func(d *EventEdit) error {
			return Inbound{Title: "t", Notify: topic.Notify{}}.create(d, []string{"api"})
		}, fact(inbound, asks, creation, "draft")},
		{"trigger on an open event", inbound, incident(nil), ingest(Inbound{Action: Trigger, Message: &text, Timestamp: &longer}), fact(inbound, omits, change)},
		{"trigger that repeats", inbound, incident(nil), ingest(Inbound{Action: Trigger}), fact(inbound, neverAsks, trifle)},
		{"trigger reopens", inbound, closed.clone(), ingest(Inbound{Action: Trigger, Timestamp: &longer}), fact(inbound, omits, change)},
		{"update", inbound, incident(nil), ingest(Inbound{Action: Update, Message: &text}), fact(inbound, omits, change)},
		{"update, longer ago", inbound, incident(nil), ingest(Inbound{Action: Update, Message: &text, Timestamp: &longer}), fact(inbound, omits, change, "backdated")},
		{"resolve", inbound, incident(nil), ingest(Inbound{Action: Resolve, Notify: topic.Notify{}}), fact(inbound, asks, change)},
		{"resolve of a closed one", inbound, closed.clone(), ingest(Inbound{Action: Resolve}), fact(inbound, neverAsks, trifle)},

		{"start", scheduler, plan(at(12, 0)), (*EventEdit).runStep, fact(scheduler, neverAsks, step)},
		{"start, late", scheduler, plan(at(4, 0)), (*EventEdit).runStep, fact(scheduler, neverAsks, step, "backdated")},
		{"start that another process has made", scheduler, under(plan(at(11, 30))), (*EventEdit).runStep, fact(scheduler, neverAsks, trifle)},
		{"end", scheduler, under(plan(at(11, 0))), (*EventEdit).runStep, fact(scheduler, neverAsks, step)},
		{"reminder", scheduler, remind(at(13, 0)), (*EventEdit).runStep, fact(scheduler, neverAsks, reminder)},
		{"reminder at the start", scheduler, remind(at(12, 0)), (*EventEdit).runStep, fact(scheduler, neverAsks, lateReminder)},
	}
}

// TestFactsOfWrites checks which facts each write of each interface has.
func TestFactsOfWrites(t *testing.T) {
	for _, w := range writes() {
		event := w.event
		if event == nil {
			event = &Event{Published: true, CreatedAt: at(12, 0)}
		}
		d := NewEventEdit(event, Command{Source: w.source}, at(12, 0))
		if err := w.do(d); err != nil {
			t.Errorf("%s: %v", w.name, err)
			continue
		}
		if got := d.facts(true); got != w.want {
			t.Errorf("%s: %+v, want %+v", w.name, got, w.want)
		}
	}
}

// TestKindOfMessages checks the kind of the message about a write.
func TestKindOfMessages(t *testing.T) {
	for name, want := range map[string]topic.Kind{
		"create": topic.IncidentCreated, "create closed, longer ago": topic.IncidentCreated, "change of the title": topic.IncidentUpdated,
		"change of the plan": topic.MaintenanceReschedule, "publish": topic.IncidentCreated, "unpublish": topic.IncidentUpdated,
		"entry": topic.IncidentUpdated, "entry that closes, longer ago": topic.IncidentResolved, "timeline PUT": topic.IncidentUpdated,
		"reopen": topic.IncidentReopened, "post-mortem": topic.IncidentPostMortem, "post-mortem, replaced": topic.IncidentPostMortem,
		"post-mortem, withdrawn": topic.IncidentUpdated, "trigger reopens": topic.IncidentReopened, "resolve": topic.IncidentResolved,
		"start": topic.MaintenanceStarted, "end": topic.MaintenanceCompleted, "reminder": topic.MaintenanceReminder,
	} {
		i := slices.IndexFunc(writes(), func(w written) bool { return w.name == name })
		w := writes()[i]
		var before *Event
		event := &Event{Published: true}
		if w.event != nil {
			before, event = w.event.clone(), w.event
		}
		d := NewEventEdit(event, Command{Source: w.source}, at(12, 0))
		if err := w.do(d); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		change, err := new(affected).change(before, d)
		if got := change.Kind; got != want || err != nil {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestNotifiedEntries checks that a write marks its own entries as notified if it notifies a channel, and no others.
func TestNotifiedEntries(t *testing.T) {
	for name, c := range map[string]struct {
		asked topic.Notify
		named bool
		want  bool
	}{
		"by default": {nil, true, true}, "nobody": {topic.Notify{}, true, false}, "one": {topic.Notify{topic.SMS: {}}, true, true},
		"one, and the event concerns nobody": {topic.Notify{topic.SMS: {}}, false, false},
	} {
		e := stored(Incident, Monitoring, nil)
		e.Timeline = []Entry{{StatusID: "old", LegacyID: 1}}
		d := NewEventEdit(e, Command{}, at(12, 0))
		d.Notify(c.asked)
		err := d.Post(NewEntry{Message: "m"})
		d.finish(c.named)
		if err != nil || d.Timeline[0].Notified || d.Timeline[1].Notified != c.want {
			t.Errorf("%s: %+v, %v", name, d.Timeline, err)
		}
	}
}

// TestWordingOfNotify checks that a write keeps the channels for the scheduler without texts, and remembers the subject.
func TestWordingOfNotify(t *testing.T) {
	e := stored(Incident, Monitoring, nil)
	e.EmailSubject = "Trouble"
	d := NewEventEdit(e, Command{}, at(12, 0))
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

// The steps of a maintenance that was stored when workspace was a channel without recipients notify Slack endpoints.
func TestAStoredWorkspaceNotifiesSlack(t *testing.T) {
	for name, c := range map[string]struct{ announced, want topic.Notify }{
		"workspace": {topic.Notify{topic.Workspace: {Details: true, Endpoints: []int64{7}}, topic.SMS: {}}, topic.Notify{topic.Slack: {Details: true, Endpoints: []int64{7}, SkippedAs: topic.Workspace}, topic.SMS: {}}},
		"both":      {topic.Notify{topic.Workspace: {}, topic.Slack: {Details: true}}, topic.Notify{topic.Workspace: {}, topic.Slack: {Details: true}}},
		"none":      {topic.Notify{topic.SMS: {}}, topic.Notify{topic.SMS: {}}},
	} {
		e := stored(Maintenance, Planning, nil)
		e.Announced = c.announced
		d := NewEventEdit(e, Command{Source: SourceScheduler}, at(12, 0))
		err := d.Post(NewEntry{Message: "m", Status: Started})
		d.finish(true)
		if err != nil || !maps.EqualFunc(d.notify, c.want, sameWording) || !maps.EqualFunc(d.Announced, c.want, sameWording) {
			t.Errorf("%s: notifies %+v, then %+v, want %+v: %v", name, d.notify, d.Announced, c.want, err)
		}
	}
}

// TestAppNotifiesAllChannels checks that the default is every channel with recipients, and none that only the legacy interface knows.
func TestAppNotifiesAllChannels(t *testing.T) {
	d := NewEventEdit(stored(Incident, Monitoring, nil), Command{Source: SourceApp}, at(12, 0))
	d.Notify(nil)
	err := d.Post(NewEntry{Message: "m"})
	d.finish(true)
	if got := slices.Sorted(maps.Keys(d.notify)); err != nil || !slices.Equal(got, []topic.Channel{"discord", "email", "gchat", "slack", "sms", "teams", "webhook", "whatsapp"}) {
		t.Errorf("notifies %v, %v", got, err)
	}
}
