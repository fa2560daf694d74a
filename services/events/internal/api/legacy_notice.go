package api

import (
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// noticeFields are the seven channels of notifications (specification, "Notifications
// triggered by legacy event create and update").
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

func notice(in legacy.Input) catalog.Notice {
	out := catalog.Notice{}
	for _, field := range noticeFields() {
		sent := in.Object(field.Name)
		if sent == nil {
			continue
		}
		out[topic.Channel(field.Name)] = catalog.Telling{
			Enabled:   *sent.Flag("enabled"),
			Subject:   sent.Text("email_subject"),
			Color:     sent.Text("color"),
			Endpoints: append(sent.Texts("rooms"), sent.Texts("channels")...), // a channel has one of them
			Wording: topic.Wording{
				Text:    given(sent.Text("sms_text")) + given(sent.Text("tweet_text")), // a channel has one of them
				Message: given(sent.Text("message")),
				Details: given(sent.Flag("details")),
			},
		}
	}
	return out
}

func given[V any](value *V) V {
	if value == nil {
		var none V
		return none
	}
	return *value
}
