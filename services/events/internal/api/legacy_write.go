package api

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// applyEvent applies the body of an event. A value that the event already has changes nothing, but an update without a
// resource_uri is appended each time. applyEvent returns the faults of all parts of the body.
func applyEvent(d *catalog.EventEdit, in legacy.Input) error {
	outside := checkTimes(d, in)
	applyLifecycle(d, lifecycle{
		Type: key[catalog.EventType](in, "type"), Status: key[catalog.Status](in, "status"),
		Start: in.Time("start"), End: in.Time("end"), NoEnd: in.Null("end"),
	})
	optional.Assign(&d.Severity, in.Key("severity"))
	if in.Null("severity") {
		d.Severity = ""
	}
	applyDescription(d, in.Text("description"), in.Flag("description_md"))
	applyText(&d.Impact, d.Impact.Brief(catalog.BriefExtra), in.Text("impact"), in.Flag("impact_md"))
	applyText(&d.Coordinator, d.Coordinator.Brief(catalog.BriefExtra), in.Text("coordinator"), in.Flag("coordinator_md"))
	optional.Assign(&d.HiddenFromDashboard, in.Flag("hidden_db"))
	optional.Assign(&d.HiddenFromUptimeReports, in.Flag("hidden_admin_uptime"))
	applyAuto(d, in.Flag("auto"))
	return errors.Join(outside, applyServices(d, in.Items("event_service")), applyUpdates(d, in.Items("event_update")), applyNotifications(d, in))
}

// checkTimes returns a fault for each of start and end that is before 1990, unless the event has this time already.
func checkTimes(d *catalog.EventEdit, in legacy.Input) error {
	var start, end *time.Time
	if !d.IsNew() {
		start, end = new(d.StartAt), d.End()
	}
	return errors.Join(catalog.CheckTime("start", in.Time("start"), start), catalog.CheckTime("end", in.Time("end"), end))
}

// key returns the key of a reference as a string type of the catalog, or nil if the field was not sent.
func key[N ~string](in legacy.Input, field string) *N {
	text := in.Key(field)
	if text == nil {
		return nil
	}
	return new(N(*text))
}

// auto returns the legacy flag auto: AutoStart and AutoEnd are both set.
func auto(e *catalog.Event) bool { return e.AutoStart && e.AutoEnd }

func applyAuto(d *catalog.EventEdit, sent *bool) {
	switch {
	case d.Type == catalog.Incident:
		d.AutoStart, d.AutoEnd = false, false
	case sent != nil && *sent != auto(d.Event):
		d.AutoStart, d.AutoEnd = *sent, *sent
	}
}

// lifecycle has the members of a body about type, status and times. nil means that the member was not sent.
type lifecycle struct {
	Type       *catalog.EventType
	Status     *catalog.Status
	Start, End *time.Time
	NoEnd      bool // end is null
}

// applyLifecycle sets type, status and times. The legacy interface has only one end. For an open maintenance it is the
// planned end, and for any other event the actual end.
func applyLifecycle(d *catalog.EventEdit, in lifecycle) {
	wasOpen := d.IsNew() || d.Open()
	moved := in.Start != nil && !in.Start.Equal(d.StartAt)
	optional.Assign(&d.StartAt, in.Start)
	if in.Type != nil && *in.Type != d.Type {
		applyType(d, *in.Type)
	}
	if in.Status != nil {
		d.SetStatus(*in.Status)
	}
	closes := wasOpen && !d.Open()
	switch {
	case in.End != nil && d.Type == catalog.Maintenance && d.Open():
		d.EndAt, d.ScheduledEndAt = nil, in.End
	case in.End != nil:
		d.EndAt = in.End
		if d.IsNew() {
			d.ScheduledEndAt = in.End
		}
	case in.NoEnd && !closes:
		d.EndAt = nil
		if d.Open() {
			d.ScheduledEndAt = nil
		}
	}
	if d.Type != catalog.Maintenance {
		d.ScheduledStartAt, d.ScheduledEndAt, d.ReminderMinutes = nil, nil, nil
		return
	}
	switch {
	case d.ScheduledStartAt == nil || moved:
		d.ScheduledStartAt = new(d.StartAt)
	case d.Status == catalog.Planning: // the event may be back in planning after a start that changed StartAt
		d.StartAt = *d.ScheduledStartAt
	}
	if !d.Open() {
		d.ScheduledEndAt = cmp.Or(d.ScheduledEndAt, d.EndAt)
	}
}

// applyType changes the type, which only the legacy interface can do. An open incident that becomes a maintenance uses
// its end as the planned end. A maintenance that becomes an incident uses its planned end as the end if it has no
// actual end.
func applyType(d *catalog.EventEdit, to catalog.EventType) {
	d.Type = to
	if to == catalog.Incident {
		d.EndAt = cmp.Or(d.EndAt, d.ScheduledEndAt)
		return
	}
	d.ScheduledEndAt = cmp.Or(d.ScheduledEndAt, d.EndAt)
	if d.Open() {
		d.EndAt = nil
	}
}

// applyText changes a text and its Markdown flag. shown is the text as the legacy interface returns it. A text without
// the flag is plain text. A rich text of the App interface is replaced only if sent differs from shown, or if the flag
// changes.
func applyText(text *catalog.Rich, shown string, sent *string, markdown *bool) {
	edited := catalog.Rich{Text: shown, Format: richtext.Plain}
	optional.Assign(&edited.Text, sent)
	isMarkdown := text.IsMarkdown()
	optional.Assign(&isMarkdown, markdown)
	if edited.Text == shown && isMarkdown == text.IsMarkdown() {
		return
	}
	if isMarkdown {
		edited.Format = richtext.Markdown
	}
	*text = edited
}

const maxDerivedTitle = 80 // characters of a title that is derived from a description

// applyDescription changes the description. It also changes the title if the title was derived from the former
// description.
func applyDescription(d *catalog.EventEdit, sent *string, markdown *bool) {
	derived := d.Title == titleOf(d.Description)
	applyText(&d.Description, d.BriefDescription(), sent, markdown)
	if derived {
		d.Title = titleOf(d.Description)
	}
}

func titleOf(description catalog.Rich) string {
	title := richtext.Line(cmp.Or(description.Plain(), description.Text))
	if runes := []rune(title); len(runes) > maxDerivedTitle {
		title = richtext.Line(string(runes[:maxDerivedTitle]))
	}
	return title
}

// applyServices links the event to the components that the items of event_service name. An item with a resource_uri
// must name an existing link, which stays unchanged.
func applyServices(d *catalog.EventEdit, items []legacy.Input) error {
	var problems []error
	for i, item := range items {
		id := item.ID()
		if id != 0 && !slices.Contains(d.LinkIDs(), id) {
			problems = append(problems, fault.Field("event_service", "item %d: must be an event service of this event", i+1))
		}
		if service := item.Key("service"); id == 0 && service != nil {
			if err := d.AddComponent(*service); err != nil {
				return err // the event is full, so all further items would fail too
			}
		}
	}
	return errors.Join(problems...)
}

// applyUpdates appends the updates of a body. An update with a resource_uri is edited in place instead.
func applyUpdates(d *catalog.EventEdit, items []legacy.Input) error {
	var problems []error
	for i, item := range items {
		err := applyUpdate(d, item)
		switch {
		case err == nil:
		case fault.Is(err, fault.NotFound):
			problems = append(problems, fault.Field("event_update", "item %d: must be an event update of this event", i+1))
		case fault.As(err).Field == "timeline":
			return err // the timeline is full, so no further update can be appended
		default:
			problems = append(problems, fault.Field("event_update", "item %d: %s", i+1, err))
		}
	}
	return errors.Join(problems...)
}

func applyUpdate(d *catalog.EventEdit, in legacy.Input) error {
	edit := func(entry *catalog.Entry) {
		optional.Assign(&entry.Status, key[catalog.Status](in, "status"))
		optional.Assign(&entry.Timestamp, in.Time("date"))
		applyText(&entry.Message, entry.Message.Brief(catalog.BriefText), in.Text("update"), in.Flag("markdown"))
	}
	if in.ID() == 0 {
		if err := catalog.CheckTime("date", in.Time("date"), nil); err != nil {
			return err
		}
		entry := catalog.Entry{Status: catalog.StatusUpdate, Message: catalog.Rich{Format: richtext.Plain}, Timestamp: d.Now}
		edit(&entry)
		return ofUpdate(d.AppendEntry(entry))
	}
	for _, entry := range d.Timeline {
		if entry.LegacyID == in.ID() {
			if err := catalog.CheckTime("date", in.Time("date"), &entry.Timestamp); err != nil {
				return err
			}
			return ofUpdate(d.EditEntry(entry.StatusID, edit))
		}
	}
	return fault.New(fault.NotFound, "The event has no such update.")
}

// ofUpdate changes the field of a fault from message to update, which is the name of the text on the legacy interface.
// It returns any other error unchanged.
func ofUpdate(err error) error {
	if fault.As(err).Field == "message" {
		return fault.Field("update", "%s", fault.As(err).Message)
	}
	return err
}

// maxChatMessage is the limit of a message to a chat, in characters. maxChosenEndpoints is the limit of a list of
// endpoints that alone receive the message.
const maxChatMessage, maxChosenEndpoints = 5000, 100

// noticeFields returns the fields of the member notifications, one for each channel (specification, "Notifications
// triggered by legacy event create and update").
func noticeFields() []legacy.Field {
	text := func(name string, most int) legacy.Field {
		return legacy.Field{Name: name, Type: legacy.String, Max: most}
	}
	details := legacy.Field{Name: "details", Type: legacy.Boolean, Keywords: described("Include all details of the event.")}
	subject := text("email_subject", 250)
	subject.Keywords = described("Stored for later notifications of the event.")
	hue := text("color", 0)
	hue.Keywords = map[string]any{"pattern": color.String()}
	list := func(name string) legacy.Field {
		return legacy.Field{Name: name, Type: legacy.List, Keywords: map[string]any{"maxItems": maxChosenEndpoints}}
	}
	channel := func(name topic.Channel, fields ...legacy.Field) legacy.Field {
		enabled := legacy.Field{Name: "enabled", Type: legacy.Boolean, Required: true}
		return legacy.Field{Name: string(name), Type: legacy.Object, Fields: append([]legacy.Field{enabled}, fields...)}
	}
	return []legacy.Field{
		channel(topic.Email, subject),
		channel(topic.SMS, text("sms_text", 85)),
		channel(topic.Chatroom, details, text("message", maxChatMessage), list("rooms")),
		channel(topic.Workspace, details, text("message", maxChatMessage), list("channels")),
		channel(topic.Teams, details, text("message", maxChatMessage), hue, list("channels")),
		channel(topic.Microblog, text("tweet_text", 100)),
		channel(topic.Webhook),
	}
}

var color = regexp.MustCompile(`^#([0-9a-fA-F]{3}){1,2}$`)

// applyNotifications asks to notify the enabled channels of a body. Channels that are not enabled are checked too.
func applyNotifications(d *catalog.EventEdit, in legacy.Input) error {
	var problems []error
	var notify topic.Notify
	for _, field := range noticeFields() {
		object := in.Object("notifications")
		if object != nil {
			object = object.Object(field.Name)
		}
		if object == nil {
			continue
		}
		if notify == nil {
			notify = topic.Notify{}
		}
		optional.Assign(&d.EmailSubject, object.Text("email_subject")) // only email has this member
		wording, err := readWording(object)
		if err != nil {
			problems = append(problems, fault.Field("notifications", "%s: %s", field.Name, err))
		}
		if !*object.Flag("enabled") {
			continue
		}
		channel := topic.Channel(field.Name)
		if channel == topic.Workspace { // the legacy name of Slack
			channel, wording.SkippedAs = topic.Slack, topic.Workspace
		}
		notify[channel] = wording
	}
	d.Notify(notify)
	return errors.Join(problems...)
}

// readWording reads the members of one channel. No channel has all of these members.
func readWording(in *legacy.Input) (topic.Wording, error) {
	wording := topic.Wording{
		Text:    optional.OrZero(cmp.Or(in.Text("sms_text"), in.Text("tweet_text"))),
		Message: optional.OrZero(in.Text("message")), Details: optional.OrZero(in.Flag("details")), Color: optional.OrZero(in.Text("color")),
	}
	if in.Text("color") != nil && !color.MatchString(wording.Color) {
		return wording, fault.Field("color", "must be # and 3 or 6 hexadecimal digits")
	}
	for _, name := range []string{"rooms", "channels"} {
		chosen := in.Texts(name)
		if len(chosen) > maxChosenEndpoints {
			return wording, fault.Field(name, "must have at most %d items", maxChosenEndpoints)
		}
		for _, text := range chosen {
			id, err := strconv.ParseInt(text, 10, 64)
			if err != nil || id <= 0 {
				return wording, fault.Field(name, "must be positive integers")
			}
			wording.Endpoints = append(wording.Endpoints, id)
		}
	}
	return wording, nil
}
