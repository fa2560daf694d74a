package pages

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// eventPage is the data of event.html.
type eventPage struct {
	Event      app.EventDetail
	State      string // CSS class of the state
	Closed     bool
	Composer   *forms.Form
	Stays      string      // text about the fields that a template did not fill; empty: none
	Publish    *forms.Form // nil unless the event is a draft
	Note       *forms.Form
	Recovers   string // names of the components that become operational with the end of the event
	Remains    string // names of the components that another open event affects, too
	ShownOn    string // names of the dashboards of an event without components
	Messages   []preparedMessage
	Templates  []app.Template
	Deliveries *deliveriesPart
	Files      []string // why messages of some of the event's channels are written to files
	Reach      reach
}

func eventAt(id string) string { return eventsPath + "/" + id }

// composerForm returns the form that adds an entry to the timeline of an event. A new status reopens a closed event.
func composerForm(v *visit, e app.Event) *forms.Form {
	status := &forms.Field{Kind: forms.Segments, Name: "status", Label: "Status", Required: true, Values: []string{statusUpdate}}
	status.Options = statusOptions(append([]string{statusUpdate}, nextStatuses(e.Status)...))
	status.Options[0].Label = "No change"
	at := timeField("timestamp", "Time of the update", v.zone())
	at.Hint += " Empty: now."
	form := forms.New(eventAt(e.ID)+"/timeline", "Publish", status,
		&forms.Field{Kind: forms.Area, Name: "message", Label: "Message", Plain: true, Max: 20_000, Hint: notation},
		impactField("As it is"), at, notifyField(), &forms.Field{Kind: forms.Hidden, Name: "template"})
	form.Page, form.Version = eventAt(e.ID), e.Version
	if !e.Publish {
		form.Submit = "Add to the draft"
		form.Field("notify").Values = nil
	}
	return form
}

// event shows an event. The address may name the status and the template of the next update.
func (p *pages) event(v *visit) error {
	found, err := v.app.Event(v.Request.Context(), v.Param("id"))
	if err != nil {
		return err
	}
	form := composerForm(v, found.Event.Event)
	if wanted := v.Query("status"); slices.Contains(nextStatuses(found.Event.Status), wanted) {
		form.Field("status").Values, form.Field("message").Values = []string{wanted}, []string{prepared(wanted)}
	}
	if id := v.Query("template"); id != "" {
		if _, err := v.applyUpdateTemplate(form, id); err != nil {
			return err
		}
	}
	v.fill(form)
	return v.showEvent(http.StatusOK, found.Event, form, "")
}

// applyUpdateTemplate fills the message from the template, also the impact if the form has none, and the status if the event
// can have it next. If the member has typed a message, it fills none of them, and returns "message".
func (v *visit) applyUpdateTemplate(form *forms.Form, id string) (kept []string, err error) {
	found, err := v.app.Template(v.Request.Context(), id)
	if err != nil {
		return nil, err
	}
	form.Field("template").Values = nil
	if !isPrepared(form.Value("message")) {
		return []string{"message"}, nil
	}
	form.Field("message").Values = []string{typedText(found.Template.Message)}
	if found.Template.Impact != "" && form.Value("impact") == "" {
		form.Field("impact").Values = []string{found.Template.Impact}
	}
	status := form.Field("status")
	if slices.ContainsFunc(status.Options, func(o forms.Option) bool { return o.Value == found.Template.Status }) {
		status.Values = []string{found.Template.Status}
	}
	return nil, nil
}

func (v *visit) showEvent(status int, e app.EventDetail, form *forms.Form, stays string) error {
	at := eventAt(e.ID)
	data := eventPage{
		Event: e, Stays: stays, State: stateOf(e.Event), Closed: isClosed(e.Status), Composer: form, Messages: preparedMessages(nextStatuses(e.Status)),
		Note: forms.New(at+"/notes", "Add the note", &forms.Field{Kind: forms.Area, Name: "note", Label: "New note", Required: true, Max: 5000}),
	}
	data.Note.Page = at
	notify, about := form.Field("notify"), app.AudienceQuery{EventID: e.ID}
	if !e.Publish {
		data.State = "n"
		notify = notifyField()
		data.Publish = forms.New(at+"/publish", "Publish", notify)
		data.Publish.Version = e.Version
		if about.Kind = "incident.created"; e.Type == maintenance {
			about.Kind = "maintenance.scheduled"
		}
	}
	var work concurrent
	work.Go(func() error {
		data.Reach = v.reachOf(notify, about)
		return nil
	})
	work.Go(func() error {
		data.Recovers, data.Remains = v.recovers(e.Event)
		return nil
	})
	work.Go(func() error {
		found, err := v.app.Templates(v.Request.Context(), url.Values{"limit": {"10"}, "kind": {"update"}})
		if err == nil { // the form works without templates
			data.Templates = found.Templates
		}
		return nil
	})
	work.Go(func() error {
		data.Deliveries = v.deliveriesOf(e.Event)
		return nil
	})
	if len(e.AffectedComponents) == 0 {
		work.Go(func() error {
			data.ShownOn = v.namesOfDashboards(e.DashboardIDs)
			return nil
		})
	}
	var setup app.ChannelsResult
	work.Go(func() error {
		setup, _ = v.app.Channels(v.Request.Context())
		return nil
	})
	if err := work.Wait(); err != nil { // no read returns an error: the page shows which parts are missing. A panic is an error
		return err
	}
	for _, channel := range data.Deliveries.Channels {
		if files := filesWith(setup.Channels, channel.Kind); files != "" && !slices.Contains(data.Files, files) {
			data.Files = append(data.Files, files)
		}
	}
	return v.show(status, "event.html", e.Title, data)
}

// recovers returns the names of the components that become operational when the event ends, and of those that another open
// event affects, too. Both are empty if the event is closed or a draft, or if the open events cannot be read.
func (v *visit) recovers(e app.Event) (recover, remain string) {
	if isClosed(e.Status) || !e.Publish {
		return "", ""
	}
	open, err := v.app.Events(v.Request.Context(), url.Values{"limit": {"100"}, "active": {"true"}})
	if err != nil {
		return "", ""
	}
	var free, held []app.Affected
	for _, one := range e.AffectedComponents {
		elsewhere := slices.ContainsFunc(open.Events, func(other app.Event) bool {
			return other.ID != e.ID && slices.ContainsFunc(other.AffectedComponents, func(a app.Affected) bool { return a.ComponentID == one.ComponentID })
		})
		if elsewhere {
			held = append(held, one)
		} else {
			free = append(free, one)
		}
	}
	return namesOf(free), namesOf(held)
}

// entryAdd adds an entry to the timeline of an event, or reopens the event. If the form names a template, it only fills the
// form from the template and shows it again.
func (p *pages) entryAdd(v *visit) error {
	found, err := v.app.Event(v.Request.Context(), v.Param("id"))
	if app.As(err).Unavailable() {
		v.form = composerForm(v, app.Event{ID: v.Param("id"), Publish: true})
		v.form.Field("status").Options = nil
		return cmp.Or(v.form.Read(v.Request), err)
	}
	if err != nil {
		return err
	}
	e := found.Event
	form := composerForm(v, e.Event)
	form.Field("status").Options = nil // the App interface refuses a status that is not possible
	stays := ""
	show := func(status int) error {
		form.Field("status").Options = composerForm(v, e.Event).Field("status").Options
		form.Version = e.Version
		return v.showEvent(status, e, form, stays)
	}
	v.form = form
	if err := form.Read(v.Request); err != nil {
		return err
	}
	status, message := form.Value("status"), form.Field("message")
	if id := form.Value("template"); id != "" {
		message.Problem = ""
		kept, err := v.applyUpdateTemplate(form, id)
		if isGone(err) {
			form.Field("template").Values, form.Problem = nil, templateGone
			return show(http.StatusUnprocessableEntity)
		}
		if err != nil {
			return err
		}
		stays = staysText(kept)
		return show(http.StatusOK)
	}
	typed := form.Version
	return v.submit(form, func() error {
		if isPrepared(message.Value()) {
			message.Values = []string{prepared(status)}
		}
		if message.Value() == "" {
			message.Problem = "Enter the message."
			return show(http.StatusUnprocessableEntity)
		}
		text := richText(message.Value(), "")
		at := form.Field("timestamp").Time(v.zone())
		if !form.OK() {
			return show(http.StatusUnprocessableEntity)
		}
		var err error
		if channels := channelsOf(form.Field("notify")); isClosed(e.Status) && status != statusUpdate && status != e.Status {
			if at != nil {
				form.Field("timestamp").Problem = "The event reopens now. Leave this empty."
			}
			if form.Value("impact") != "" {
				form.Field("impact").Problem = "The event reopens with its former impact. Choose “As it is”, and change it with the next update."
			}
			if !form.OK() {
				return show(http.StatusUnprocessableEntity)
			}
			_, err = v.app.Reopen(v.Request.Context(), e.ID, form.Version, app.Reopening{Message: text, Status: status, Notify: channels})
		} else {
			in := app.NewEntry{Message: text, Status: status, Timestamp: at}
			if e.Publish {
				in.Notify = channels
			}
			if impact := form.Value("impact"); impact != "" {
				for _, affected := range e.AffectedComponents {
					in.ComponentImpacts = append(in.ComponentImpacts, app.ImpactChange{ComponentID: affected.ComponentID, Impact: impact})
				}
			}
			_, err = v.app.AddEntry(v.Request.Context(), e.ID, form.Version, in)
		}
		if outdated(err, typed, e.Version) {
			return v.entryConflict(form, e)
		}
		if err != nil {
			return err
		}
		if !e.Publish {
			return v.done(eventAt(e.ID), "draft-updated")
		}
		return v.done(eventAt(e.ID), "updated")
	}, show)
}

// entryConflict responds with the page that says that somebody else has changed the event while the member wrote an update.
func (v *visit) entryConflict(mine *forms.Form, e app.EventDetail) error {
	theirs := composerForm(v, e.Event)
	for _, field := range theirs.Fields {
		field.Values = mine.Field(field.Name).Values
	}
	mine.Field("status").Options = composerForm(v, e.Event).Field("status").Options
	theirs.Field("status").Options = append(optionsOf([]string{e.Status}), theirs.Field("status").Options...)
	theirs.Field("status").Values = []string{e.Status}
	if len(e.Timeline) > 0 {
		theirs.Field("message").Values = []string{typedText(e.Timeline[0].Message)}
	}
	return v.conflict(mine, theirs, e.ID, e.Title)
}

// eventEdit shows and changes the fields of an event outside its timeline.
func (p *pages) eventEdit(v *visit) error {
	found, err := v.app.Event(v.Request.Context(), v.Param("id"))
	if err != nil {
		return err
	}
	e := found.Event.Event
	form := changeForm(e, v.zone())
	form.Fields = append(form.Fields, notifyField(), &forms.Field{Kind: forms.Hidden, Name: "step", Options: []forms.Option{{Value: stepShow}}}, &forms.Field{Kind: forms.Hidden, Name: "find"})
	form.Field("notify").Values = nil // a correction usually notifies nobody
	show := func(status int) error {
		offered, err := v.chipsOf(form.Field("components"), form.Value("find"))
		if err != nil {
			return err
		}
		data := newEventPage{Form: form.Form, Kind: e.Type, Chips: offered, Places: v.placesOf(form.Field("dashboards"))}
		if e.Publish {
			data.Reach = v.reachOf(form.Field("notify"), app.AudienceQuery{EventID: e.ID, ComponentIDs: form.Field("components").Values, DashboardIDs: form.Field("dashboards").Values})
		}
		return v.show(status, "event_edit.html", "Change the event", data)
	}
	if !v.isPost() {
		v.fill(form.Form)
		return show(http.StatusOK)
	}
	v.form = form.Form
	if err := form.Read(v.Request); err != nil {
		return err
	}
	if form.Value("step") == stepShow {
		for _, field := range form.Fields {
			field.Problem = ""
		}
		return show(http.StatusOK)
	}
	form.checkPlaces()
	return v.submit(form.Form, func() error { return v.changeEvent(form, e, show) }, show)
}

func (v *visit) changeEvent(form eventForm, e app.Event, show func(int) error) error {
	in := form.change()
	if e.Type == incident {
		in.StartAt = form.changedTime("startAt", &e.StartAt)
	}
	if isClosed(e.Status) {
		in.EndAt = form.changedTime("endAt", e.EndAt)
	}
	if !form.OK() { // a time is wrong
		return show(http.StatusUnprocessableEntity)
	}
	if e.Publish {
		in.Notify = channelsOf(form.Field("notify"))
		if len(form.Field("notify").Values) == 0 { // the steps and reminders of the scheduler notify as before
			later := &forms.Field{}
			for channel, on := range e.NotifyLater {
				if on {
					later.Values = append(later.Values, channel)
				}
			}
			in.NotifyLater = channelsOf(later)
		}
	}
	_, err := v.app.ChangeEvent(v.Request.Context(), e.ID, form.Version, in)
	if outdated(err, form.Version, e.Version) {
		theirs := changeForm(e, form.zone)
		for _, name := range []string{"notify", "step", "find"} {
			theirs.Fields = append(theirs.Fields, form.Field(name))
		}
		form.Field("components").Options = nil
		if _, err := v.chipsOf(form.Field("components"), ""); err != nil {
			return err
		}
		theirs.Field("components").Options = form.Field("components").Options
		places := *form.Field("dashboards") // with the dashboards of both forms
		places.Values = slices.Concat(places.Values, theirs.Field("dashboards").Values)
		v.placesOf(&places)
		form.Field("dashboards").Options, theirs.Field("dashboards").Options = places.Options, places.Options
		return v.conflict(form.Form, theirs.Form, e.ID, e.Title)
	}
	if err != nil {
		return err
	}
	return v.done(eventAt(e.ID), "saved")
}

// eventPublish publishes a draft. The button Undo of a withdrawal sends no channels, so nobody is notified.
func (p *pages) eventPublish(v *visit) error {
	notify := notifyField()
	form := forms.New(strings.TrimPrefix(v.Request.URL.Path, root), "Publish", notify)
	form.Page, form.Version = eventAt(v.Param("id")), v.undoneVersion()
	v.form = form
	if err := form.Read(v.Request); err != nil {
		return err
	}
	publish := true
	changed, err := v.app.ChangeEvent(v.Request.Context(), v.Param("id"), form.Version, app.EventChange{Publish: &publish, Notify: channelsOf(notify)})
	if failed := app.As(err); failed != nil && failed.Status == http.StatusConflict {
		found, err := v.app.Event(v.Request.Context(), v.Param("id"))
		if err != nil || found.Event.Version == form.Version {
			return cmp.Or(err, error(failed))
		}
		composer := composerForm(v, found.Event.Event)
		composer.Refuse("", changedMeanwhile)
		return v.showEvent(http.StatusConflict, found.Event, composer, "")
	}
	if err != nil {
		return err
	}
	v.notify("published", "", undoOf(changed.Event.Event, "/withdraw"))
	return v.redirect(form.Page)
}
