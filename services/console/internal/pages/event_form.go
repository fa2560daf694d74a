package pages

import (
	"slices"
	"strconv"
	"time"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// channels returns the channels of messages as options.
func channels() []forms.Option {
	return []forms.Option{
		{Value: "email", Label: "Mail"}, {Value: "sms", Label: "SMS"}, {Value: "whatsapp", Label: "WhatsApp"},
		{Value: "webhook", Label: "Webhooks"}, {Value: "teams", Label: "Teams"}, {Value: "gchat", Label: "Google Chat"},
		{Value: "slack", Label: "Slack"}, {Value: "discord", Label: "Discord"},
	}
}

// notifyField returns the field that switches channels off. All channels are on at first.
func notifyField() *forms.Field {
	field := &forms.Field{Kind: forms.Ticks, Name: "notify", Label: "Notify", Options: channels()}
	for _, channel := range field.Options {
		field.Values = append(field.Values, channel.Value)
	}
	return field
}

// channelsOf returns the channels that are on.
func channelsOf(field *forms.Field) *app.Channels {
	return &app.Channels{
		Email: field.Has("email"), SMS: field.Has("sms"), WhatsApp: field.Has("whatsapp"),
		Webhook: field.Has("webhook"), Teams: field.Has("teams"), GChat: field.Has("gchat"), Slack: field.Has("slack"), Discord: field.Has("discord"),
	}
}

func optionsOf(names []string) (options []forms.Option) {
	for _, name := range names {
		options = append(options, forms.Option{Value: name, Label: word(name)})
	}
	return options
}

// statusOptions is optionsOf with the icons of statuses.
func statusOptions(statuses []string) []forms.Option {
	options := optionsOf(statuses)
	for i := range options {
		options[i].Icon = statusIcon(options[i].Value)
	}
	return options
}

func severityField() *forms.Field {
	return &forms.Field{Kind: forms.Segments, Name: "severity", Label: "Severity", Values: []string{""}, Options: []forms.Option{
		{Value: "", Label: severityLabel("")}, {Value: "minor_performance", Label: severityLabel("minor_performance")}, {Value: "major_performance", Label: severityLabel("major_performance")},
		{Value: "minor_outage", Label: severityLabel("minor_outage")}, {Value: "major_outage", Label: severityLabel("major_outage")},
	}}
}

func impactField(first string) *forms.Field {
	return &forms.Field{
		Kind: forms.Select, Name: "impact", Label: "Impact on the components", Plain: true, Members: []string{"componentImpacts"},
		Options: append([]forms.Option{{Value: "", Label: first}}, optionsOf(impacts())...),
	}
}

func timeField(name, label string, zone *time.Location) *forms.Field {
	return &forms.Field{Kind: forms.Moment, Name: name, Label: label, Hint: "In " + zone.String() + ", your time zone.", Max: 30}
}

// severityLabel returns the name of a severity for members.
func severityLabel(severity string) string {
	switch severity {
	case "minor_performance":
		return "A little slow"
	case "major_performance":
		return "Very slow"
	case "minor_outage":
		return "Partly down"
	case "major_outage":
		return "Down"
	}
	return "Not set"
}

// eventFields returns the fields that the forms of a new event and of a changed event share.
func eventFields(kind string, zone *time.Location) []*forms.Field {
	fields := []*forms.Field{
		{Kind: forms.Text, Name: "title", Label: "Title", Required: true},
		{Kind: forms.Ticks, Name: "components", Label: "Components", Members: []string{"affectedComponents"}},
		{Kind: forms.Ticks, Name: "dashboards", Label: "Dashboards", Members: []string{"dashboardIds"}, Hint: "They show the event, and all their subscribers are notified. No component changes its state."},
	}
	if kind == maintenance {
		start, end := timeField("scheduledStartAt", "Start", zone), timeField("scheduledEndAt", "End", zone)
		start.Required, end.Required = true, true
		impact := impactField("Under maintenance")
		impact.Options = slices.DeleteFunc(impact.Options, func(o forms.Option) bool { return o.Value == "under_maintenance" })
		fields = append(fields, start, end,
			&forms.Field{Kind: forms.Tick, Name: "autoStart", Label: "Start by itself", Hint: "At the planned time the status becomes Started, and messages are sent."},
			&forms.Field{Kind: forms.Tick, Name: "autoEnd", Label: "Complete by itself", Hint: "At the planned end the status becomes Completed."},
			&forms.Field{Kind: forms.Ticks, Name: "reminderMinutes", Label: "Remind before the start", Options: []forms.Option{
				{Value: "1440", Label: "1 day"}, {Value: "240", Label: "4 hours"}, {Value: "60", Label: "1 hour"}, {Value: "30", Label: "30 min"}, {Value: "15", Label: "15 min"},
			}}, impact)
	} else {
		fields = append(fields, severityField(), impactField("As the severity says"))
	}
	return append(fields,
		&forms.Field{Kind: forms.Area, Name: "description", Label: "Description", Max: 20_000, Hint: "What the event is about. It stays the same, while updates are added below it. " + notation},
		&forms.Field{Kind: forms.Area, Name: "impactAnalysis", Label: "Impact analysis", Max: 8_000},
		&forms.Field{Kind: forms.Text, Name: "coordinator", Label: "Coordinator", Max: 1000, Hint: "Who leads the work."},
		&forms.Field{Kind: forms.Tick, Name: "hiddenFromDashboard", Label: "Hide from dashboards"},
		&forms.Field{Kind: forms.Tick, Name: "hiddenFromUptimeReports", Label: "Leave out of uptime reports"})
}

// eventForm is the form of a new event. If was is not nil, it is the form that changes this event.
type eventForm struct {
	*forms.Form
	Kind string
	zone *time.Location
	was  *app.Event
}

// staysText returns a sentence with the fields that a template did not fill, because the member had filled them.
func staysText(fields []string) string {
	if len(fields) == 0 {
		return ""
	}
	return "The template is applied. What you typed stays: " + andList(fields) + "."
}

// rich returns the rich text of a field, or nil if the event is new and the field is empty. was returns the stored text of the
// field.
func (f eventForm) rich(name string, was func(*app.Event) *string) *app.Nullable {
	former := ""
	if f.was != nil {
		if text := was(f.was); text != nil {
			former = *text
		}
	}
	return f.orNil(richText(f.Value(name), former))
}

// orNil returns the text, or nil if the text is empty and the event is new.
func (f eventForm) orNil(text string) *app.Nullable {
	value := app.Nullable(text)
	if value == "" && f.was == nil {
		return nil
	}
	return &value
}

// changedTime returns the time of a field. It returns nil if the field is empty or wrong, or still shows the time was: the field
// has no seconds, so its time may differ from was. If was is not nil, an empty field is a problem, because the time cannot be
// removed.
func (f eventForm) changedTime(name string, was *time.Time) *time.Time {
	field := f.Field(name)
	if was != nil && was.In(f.zone).Format("2006-01-02T15:04") == field.Value() {
		return nil
	}
	if was != nil && field.Value() == "" && field.Problem == "" {
		field.Problem = "Enter a time."
	}
	return field.Time(f.zone)
}

// checkPlaces sets a problem if the form names neither components nor dashboards, or names both, or sets an impact for an
// event with dashboards only. An event may have neither if it had neither before: a component that is deleted leaves its
// events.
func (f eventForm) checkPlaces() {
	components, dashboards, impact := f.Field("components"), f.Field("dashboards"), f.Field("impact")
	switch named := len(components.Values); {
	case named == 0 && len(dashboards.Values) == 0:
		if f.was == nil || len(f.was.AffectedComponents)+len(f.was.DashboardIDs) > 0 {
			components.Problem = "Choose a component, or else the dashboards that show the event."
		}
	case named > 0 && len(dashboards.Values) > 0:
		dashboards.Problem = "Choose components or dashboards. An event with components is on the dashboards that show them."
	case named == 0 && impact.Value() != "":
		impact.Problem = "The event affects no component. Choose “" + impact.Options[0].Label + "”."
	}
}

// change returns the values of the form for the App interface. It sets the problem of a wrong time.
func (f eventForm) change() app.EventChange {
	title := f.Value("title")
	hidden, unmeasured := f.Ticked("hiddenFromDashboard"), f.Ticked("hiddenFromUptimeReports")
	out := app.EventChange{
		Title: &title, Coordinator: f.orNil(f.Value("coordinator")),
		Description:         f.rich("description", func(e *app.Event) *string { return e.Description }),
		ImpactAnalysis:      f.rich("impactAnalysis", func(e *app.Event) *string { return e.ImpactAnalysis }),
		HiddenFromDashboard: &hidden, HiddenFromUptimeReports: &unmeasured,
	}
	affected, dashboards := f.affected(), f.Field("dashboards").Values
	if len(affected)+len(dashboards) > 0 {
		out.AffectedComponents = &affected
	}
	if len(dashboards) > 0 {
		out.DashboardIDs = &dashboards
	}
	if f.Kind == incident {
		severity := app.Nullable(f.Value("severity"))
		out.Severity = &severity
		return out
	}
	var start, end *time.Time
	if f.was != nil {
		start, end = f.was.ScheduledStartAt, f.was.ScheduledEndAt
	}
	out.ScheduledStartAt, out.ScheduledEndAt = f.changedTime("scheduledStartAt", start), f.changedTime("scheduledEndAt", end)
	starts, ends := f.Ticked("autoStart"), f.Ticked("autoEnd")
	reminders := []int64{}
	for _, value := range f.Field("reminderMinutes").Values {
		if minutes, err := strconv.ParseInt(value, 10, 64); err == nil { // Read has checked the values
			reminders = append(reminders, minutes)
		}
	}
	out.AutoStart, out.AutoEnd, out.ReminderMinutes = &starts, &ends, &reminders
	return out
}

// affected returns the components with their impacts. A component keeps its impact unless the form sets an impact or changes
// the severity.
func (f eventForm) affected() []app.AffectedChange {
	out := []app.AffectedChange{}
	for _, id := range f.Field("components").Values {
		one := app.AffectedChange{ComponentID: id, Impact: f.Value("impact")}
		if f.was != nil && one.Impact == "" && (f.Kind == maintenance || f.Value("severity") == f.was.Severity) {
			for _, before := range f.was.AffectedComponents {
				if before.ComponentID == id {
					one.Impact = before.Impact
				}
			}
		}
		out = append(out, one)
	}
	return out
}

// changeForm returns the form that changes an event, with its present values.
func changeForm(e app.Event, zone *time.Location) eventForm {
	form := eventForm{forms.New(eventsPath+"/"+e.ID+"/edit", "Save changes", eventFields(e.Type, zone)...), e.Type, zone, &e}
	form.Cancel, form.Version = eventsPath+"/"+e.ID, e.Version
	set := func(name string, values ...string) { form.Field(name).Values = values }
	tick := func(name string, is bool) {
		if is {
			set(name, "on")
		}
	}
	set("title", e.Title)
	form.Field("impact").Options[0].Label = "As it is"
	components := form.Field("components")
	for _, affected := range e.AffectedComponents {
		components.Values = append(components.Values, affected.ComponentID)
	}
	if len(e.AffectedComponents) == 0 {
		set("dashboards", e.DashboardIDs...)
	}
	for name, value := range map[string]*string{"description": e.Description, "impactAnalysis": e.ImpactAnalysis} {
		if value != nil {
			set(name, typedText(*value))
		}
	}
	if e.Coordinator != nil {
		set("coordinator", *e.Coordinator)
	}
	tick("hiddenFromDashboard", e.HiddenFromDashboard)
	tick("hiddenFromUptimeReports", e.HiddenFromUptimeReports)
	if e.Type == incident {
		set("severity", e.Severity)
	} else {
		form.Field("scheduledStartAt").SetTime(e.ScheduledStartAt, zone)
		form.Field("scheduledEndAt").SetTime(e.ScheduledEndAt, zone)
		tick("autoStart", e.AutoStart)
		tick("autoEnd", e.AutoEnd)
		reminders := form.Field("reminderMinutes")
		for _, minutes := range e.ReminderMinutes {
			value := strconv.Itoa(minutes)
			if reminders.Values = append(reminders.Values, value); !slices.ContainsFunc(reminders.Options, func(o forms.Option) bool { return o.Value == value }) {
				reminders.Options = append(reminders.Options, forms.Option{Value: value, Label: value + " min"})
			}
		}
	}
	begin := timeField("startAt", "Began", zone)
	begin.SetTime(&e.StartAt, zone)
	if e.Type == incident {
		form.Fields = append(form.Fields, begin)
	}
	if isClosed(e.Status) {
		end := timeField("endAt", "Ended", zone)
		end.SetTime(e.EndAt, zone)
		form.Fields = append(form.Fields, end)
	}
	return form
}
