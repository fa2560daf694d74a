package pages

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// Values of the field step of a form, by which its buttons differ. The button that publishes or saves sends no value.
const (
	stepDraft = "draft" // save the event as a draft
	stepShow  = "show"  // show the form again, with the components that the search finds and the number of recipients
)

// newEventPage is the data of event_new.html and event_edit.html.
type newEventPage struct {
	Form      *forms.Form
	Kind      string
	Stays     string // text about the fields that a template did not fill; empty: none
	Chips     chips
	Places    places
	Templates []app.Template
	Messages  []preparedMessage
	Reach     reach
	Same      []app.Event // open incidents of the component that the address names
}

// Crumb returns the link to the page above.
func (d newEventPage) Crumb() formPage {
	if d.Form.Version > 0 {
		return formPage{Back: d.Form.Cancel, BackLabel: "Event"}
	}
	return formPage{Back: eventsPath, BackLabel: "Events"}
}

// Reported returns open incidents that may be the one to report: those of the component that the address names, then others
// until there are 3.
func (d newEventPage) Reported() []app.Event {
	open := slices.Clone(d.Same)
	for _, e := range d.Chips.Open {
		same := slices.ContainsFunc(d.Same, func(one app.Event) bool { return one.ID == e.ID })
		if len(open) < 3 && !same && d.Kind == incident && e.Type == incident {
			open = append(open, e)
		}
	}
	return open
}

// Main returns the fields that are always visible.
func (d newEventPage) Main() []*forms.Field {
	return d.fields(func(name string) bool { return slices.Contains(mainFields(), name) })
}

// Rest returns the other fields, except components, dashboards and notify.
func (d newEventPage) Rest() []*forms.Field {
	own := append(mainFields(), "components", "dashboards", "notify")
	return d.fields(func(name string) bool { return !slices.Contains(own, name) })
}

// RestOpen reports whether a field of Rest has a problem.
func (d newEventPage) RestOpen() bool {
	return slices.ContainsFunc(d.Rest(), func(f *forms.Field) bool { return f.Problem != "" })
}

func mainFields() []string {
	return []string{"title", "status", "severity", "scheduledStartAt", "scheduledEndAt", "autoStart", "autoEnd", "reminderMinutes", "message"}
}

func (d newEventPage) fields(is func(name string) bool) []*forms.Field {
	return slices.DeleteFunc(d.Form.Shown(), func(f *forms.Field) bool { return !is(f.Name) })
}

// preparedMessage is the message that the script shows for a status until the member types a message.
type preparedMessage struct{ Status, Text string }

func preparedMessages(statuses []string) (out []preparedMessage) {
	for _, status := range statuses {
		out = append(out, preparedMessage{status, prepared(status)})
	}
	return out
}

func (v *visit) newEventForm(kind string) eventForm {
	zone := v.zone()
	form := eventForm{forms.New(newEventPath, "Publish", eventFields(kind, zone)...), kind, zone, nil}
	status := &forms.Field{Kind: forms.Segments, Name: "status", Label: "Status", Options: statusOptions(incidentStatuses()), Values: []string{"investigating"}}
	if kind == maintenance {
		form.Action += "/maintenance"
		status.Kind, status.Options, status.Values = forms.Hidden, optionsOf([]string{planning}), []string{planning}
		form.Field("autoStart").Values, form.Field("autoEnd").Values, form.Field("reminderMinutes").Values = []string{"on"}, []string{"on"}, []string{"60"}
	} else {
		form.Fields = append(form.Fields, timeField("startAt", "Began", zone), timeField("endAt", "Ended", zone))
		form.Field("startAt").Hint += " Empty: now."
		form.Field("endAt").Hint += " Only if the status is Resolved."
	}
	form.Fields = append(form.Fields, status,
		&forms.Field{Kind: forms.Area, Name: "message", Label: "Message", Max: 20_000, Members: []string{"initialTimelineMessage"}, Plain: true, Hint: notation, Values: []string{prepared(status.Value())}},
		notifyField(),
		&forms.Field{Kind: forms.Hidden, Name: "step", Options: []forms.Option{{Value: stepDraft}, {Value: stepShow}}},
		&forms.Field{Kind: forms.Hidden, Name: "template"}, &forms.Field{Kind: forms.Hidden, Name: "find"})
	form.Cancel = eventsPath
	return form
}

func (p *pages) incidentNew(v *visit) error    { return v.eventNew(incident) }
func (p *pages) maintenanceNew(v *visit) error { return v.eventNew(maintenance) }

// eventNew shows the form of a new event, and creates the event.
func (v *visit) eventNew(kind string) error {
	form := v.newEventForm(kind)
	stays := ""
	show := func(status int) error { return v.showNewEvent(status, form, stays) }
	if !v.isPost() {
		if err := v.prefill(form); err != nil {
			return err
		}
		v.fill(form.Form)
		return show(http.StatusOK)
	}
	v.form = form.Form
	if err := form.Read(v.Request); err != nil {
		return err
	}
	if id := form.Value("template"); id != "" || form.Value("step") == stepShow {
		for _, field := range form.Fields {
			field.Problem = ""
		}
		if id != "" {
			kept, err := v.applyTemplate(form, id)
			if isGone(err) {
				form.Field("template").Values, form.Problem = nil, templateGone
				return show(http.StatusUnprocessableEntity)
			}
			if err != nil {
				return err
			}
			stays = staysText(kept)
		}
		return show(http.StatusOK)
	}
	form.checkPlaces()
	return v.submit(form.Form, func() error { return v.createEvent(form, show) }, show)
}

// prefill fills the form with the values that the address asks for: a template, a component, or the first incident of an
// organization.
func (v *visit) prefill(form eventForm) error {
	if v.Query("first") != "" && form.Kind == incident {
		form.Field("title").Values = []string{"Our first incident"}
		form.Field("message").Values = []string{"We are trying our new status page. Everything works."}
		form.Field("notify").Values = nil
		found, err := v.app.Components(v.Request.Context(), url.Values{"limit": {"1"}})
		if err != nil {
			return err
		}
		for _, c := range found.Components {
			form.Field("components").Values = []string{c.ID}
		}
	}
	if id := v.Query("component"); id != "" {
		form.Field("components").Values = []string{id}
	}
	if id := v.Query("template"); id != "" {
		_, err := v.applyTemplate(form, id)
		return err
	}
	return nil
}

// applyTemplate fills title, components, severity and impact if they are empty, the message if nobody has typed one, and the
// status of an incident. It returns "title" or "message", or both, if the member has typed another text than the template has.
func (v *visit) applyTemplate(form eventForm, id string) (kept []string, err error) {
	found, err := v.app.Template(v.Request.Context(), id)
	if err != nil {
		return nil, err
	}
	use := found.Template
	set := func(name, value string) {
		if value != "" {
			form.Field(name).Values = []string{value}
		}
	}
	if title := form.Value("title"); title == "" {
		set("title", use.Title)
	} else if use.Title != "" && use.Title != title {
		kept = append(kept, "title")
	}
	if components := form.Field("components"); len(components.Values) == 0 {
		components.Values = use.ComponentIDs
	}
	if form.Kind == incident {
		if slices.Contains(incidentStatuses(), use.Status) {
			set("status", use.Status)
		}
		if form.Value("severity") == "" {
			set("severity", use.Severity)
		}
	}
	if form.Value("impact") == "" && slices.ContainsFunc(form.Field("impact").Options, func(o forms.Option) bool { return o.Value == use.Impact }) {
		set("impact", use.Impact)
	}
	if message := form.Value("message"); isPrepared(message) {
		set("message", prepared(form.Value("status")))
		set("message", typedText(use.Message))
	} else if typed := typedText(use.Message); typed != "" && typed != message {
		kept = append(kept, "message")
	}
	form.Field("template").Values = nil
	return kept, nil
}

// createEvent creates the event of the form.
func (v *visit) createEvent(form eventForm, show func(int) error) error {
	draft := form.Value("step") == stepDraft
	publish := !draft
	message := form.Value("message")
	if isPrepared(message) {
		message = prepared(form.Value("status"))
	}
	in := app.NewEvent{EventChange: form.change(), Type: form.Kind, Status: form.Value("status"), InitialTimelineMessage: richText(message, "")}
	if in.Publish = &publish; publish {
		in.Notify = channelsOf(form.Field("notify"))
	}
	if form.Kind == incident {
		in.StartAt, in.EndAt = form.Field("startAt").Time(form.zone), form.Field("endAt").Time(form.zone)
	}
	// With autoStart and autoEnd, the scheduler would send the messages of all statuses at once for an end in the past. A draft,
	// or an event that notifies nobody, sends none.
	if end := in.ScheduledEndAt; publish && end != nil && len(form.Field("notify").Values) > 0 && !end.After(v.pages.Process.Now()) {
		form.Field("scheduledEndAt").Problem = "End must be in the future. To enter past maintenance for the record, notify nobody."
	}
	if !form.OK() { // a time is wrong
		return show(http.StatusUnprocessableEntity)
	}
	made, err := v.app.AddEvent(v.Request.Context(), in)
	if err != nil {
		return err
	}
	at := eventsPath + "/" + made.Event.ID
	if draft {
		return v.done(at, "draft")
	}
	v.notify("published", "", undoOf(made.Event.Event, "/withdraw"))
	return v.redirect(at)
}

func (v *visit) showNewEvent(status int, form eventForm, stays string) error {
	data := newEventPage{Form: form.Form, Kind: form.Kind, Stays: stays, Messages: preparedMessages(incidentStatuses())}
	var work concurrent
	work.Go(func() (err error) {
		data.Chips, err = v.chipsOf(form.Field("components"), form.Value("find"))
		return err
	})
	if id := v.Query("component"); id != "" && form.Kind == incident {
		work.Go(func() error {
			found, err := v.app.Events(v.Request.Context(), url.Values{"limit": {"25"}, "active": {"true"}, "type": {incident}, "componentId": {id}})
			if err == nil { // the form works without these incidents
				data.Same = found.Events
			}
			return nil
		})
	}
	work.Go(func() error {
		data.Places = v.placesOf(form.Field("dashboards"))
		return nil
	})
	work.Go(func() error {
		about := app.AudienceQuery{ComponentIDs: form.Field("components").Values, DashboardIDs: form.Field("dashboards").Values}
		if form.Kind == maintenance {
			about.Kind = "maintenance.scheduled"
		}
		data.Reach = v.reachOf(form.Field("notify"), about)
		return nil
	})
	work.Go(func() error {
		found, err := v.app.Templates(v.Request.Context(), url.Values{"limit": {"25"}, "kind": {form.Kind}})
		if err == nil { // the form works without templates
			data.Templates = found.Templates
		}
		return nil
	})
	if err := work.Wait(); err != nil {
		return err
	}
	data.Places.Open = data.Places.Open || data.Chips.All && len(data.Chips.Chips) == 0 && !data.Chips.Lost
	title := "Report an incident"
	if form.Kind == maintenance {
		title = "Plan maintenance"
		v.proposeTimes(form)
	}
	return v.show(status, "event_new.html", title, data)
}

// proposeTimes fills in 22:00 to 24:00 of the next day. It changes nothing after a POST, or if a time is filled in already.
func (v *visit) proposeTimes(form eventForm) {
	start, end := form.Field("scheduledStartAt"), form.Field("scheduledEndAt")
	if v.isPost() || len(start.Values)+len(end.Values) > 0 {
		return
	}
	now := v.pages.Process.Now().In(form.zone)
	at := time.Date(now.Year(), now.Month(), now.Day()+1, 22, 0, 0, 0, form.zone)
	until := at.Add(2 * time.Hour)
	start.SetTime(&at, form.zone)
	end.SetTime(&until, form.zone)
}
