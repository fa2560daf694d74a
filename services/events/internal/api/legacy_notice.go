package api

import (
	"cmp"
	"errors"
	"regexp"
	"strconv"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// noticeFields returns the seven channels of notifications (specification, "Notifications triggered by legacy
// event create and update").
func noticeFields() []legacy.Field {
	text := func(name string, most int) legacy.Field {
		return legacy.Field{Name: name, Type: legacy.String, Max: most}
	}
	details := legacy.Field{Name: "details", Type: legacy.Boolean}
	list := func(name string) legacy.Field { return legacy.Field{Name: name, Type: legacy.List} }
	channel := func(name topic.Channel, fields ...legacy.Field) legacy.Field {
		enabled := legacy.Field{Name: "enabled", Type: legacy.Boolean, Required: true}
		return legacy.Field{Name: string(name), Type: legacy.Object, Fields: append([]legacy.Field{enabled}, fields...)}
	}
	return []legacy.Field{
		channel(topic.Email, text("email_subject", 250)),
		channel(topic.SMS, text("sms_text", 85)),
		channel(topic.Chatroom, details, text("message", 0), list("rooms")),
		channel(topic.Workspace, details, text("message", 0), list("channels")),
		channel(topic.Teams, details, text("message", 0), text("color", 0), list("channels")),
		channel(topic.Microblog, text("tweet_text", 100)),
		channel(topic.Webhook),
	}
}

var color = regexp.MustCompile(`^#([0-9a-fA-F]{3}){1,2}$`)

// applyNotifications makes the write notify the enabled channels of a body. A body without channels notifies
// nobody. Channels that are not enabled are checked too.
func applyNotifications(d *catalog.Draft, in legacy.Input) error {
	var problems []error
	notify, sent := topic.Notify{}, false
	for _, field := range noticeFields() {
		object := in.Object("notifications")
		if object != nil {
			object = object.Object(field.Name)
		}
		if object == nil {
			continue
		}
		sent = true
		assign(&d.EmailSubject, object.Text("email_subject")) // only email has it
		wording, err := readWording(object)
		if err != nil {
			problems = append(problems, fault.Field("notifications", "%s: %s", field.Name, err))
		}
		if *object.Flag("enabled") {
			notify[topic.Channel(field.Name)] = wording
		}
	}
	if sent {
		d.Notify(notify)
	}
	return errors.Join(problems...)
}

// readWording reads the members of a channel, of which each channel has some.
func readWording(in *legacy.Input) (topic.Wording, error) {
	wording := topic.Wording{
		Text:    given(cmp.Or(in.Text("sms_text"), in.Text("tweet_text"))),
		Message: given(in.Text("message")), Details: given(in.Flag("details")), Color: given(in.Text("color")),
	}
	if in.Text("color") != nil && !color.MatchString(wording.Color) {
		return wording, fault.Field("color", "must be # and 3 or 6 hexadecimal digits")
	}
	for _, name := range []string{"rooms", "channels"} {
		for _, text := range in.Texts(name) {
			id, err := strconv.ParseInt(text, 10, 64)
			if err != nil || id <= 0 {
				return wording, fault.Field(name, "must be positive integers")
			}
			wording.Endpoints = append(wording.Endpoints, id)
		}
	}
	return wording, nil
}

// given returns a value that may not have been sent, or the zero value.
func given[V any](value *V) V {
	if value == nil {
		value = new(V)
	}
	return *value
}
