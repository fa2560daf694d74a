package web

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Notify is the member notify of a request: a boolean for all channels, or an object with a boolean for some of the
// channels. A channel that is not named is not notified. A channel that the platform does not have is an Invalid fault,
// because nobody would be notified.
type Notify map[topic.Channel]bool

// UnmarshalJSON implements json.Unmarshaler.
func (n *Notify) UnmarshalJSON(text []byte) error {
	*n = Notify{}
	known := topic.AppChannels()
	var all bool
	if json.Unmarshal(text, &all) == nil {
		for _, channel := range known {
			(*n)[channel] = all
		}
		return nil
	}
	var named map[topic.Channel]any
	if json.Unmarshal(text, &named) != nil {
		return fault.New(fault.Invalid, "must be true, false or an object with a boolean for each channel")
	}
	for _, channel := range slices.Sorted(maps.Keys(named)) {
		on, is := named[channel].(bool)
		switch {
		case !slices.Contains(known, channel):
			return fault.Field(string(channel), "must be one of the channels %s", names(known))
		case !is:
			return fault.Field(string(channel), "must be true or false")
		}
		(*n)[channel] = on
	}
	return nil
}

func names(channels []topic.Channel) string {
	var out []string
	for _, channel := range channels {
		out = append(out, string(channel))
	}
	return strings.Join(out, ", ")
}

// JSONSchemaBytes returns the schema of the member for the OpenAPI document.
func (Notify) JSONSchemaBytes() ([]byte, error) {
	return notifySchema("True: all channels. False: nobody. By default true if the event is published, and false for an event or an entry about a time more than 1 h ago. Nobody is notified of a draft.")
}

func notifySchema(description string) ([]byte, error) {
	channels := map[topic.Channel]any{}
	for _, channel := range topic.AppChannels() {
		channels[channel] = map[string]any{"type": "boolean"}
	}
	return json.Marshal(map[string]any{
		"description": description,
		"oneOf": []any{
			map[string]any{"type": "boolean"},
			map[string]any{"type": "object", "properties": channels, "additionalProperties": false},
		},
	})
}

// Wording returns the channels that are notified, or nil if the member was not sent.
func (n Notify) Wording() topic.Notify {
	if n == nil {
		return nil
	}
	channels := topic.Notify{}
	for channel, on := range n {
		if on {
			channels[channel] = topic.Wording{}
		}
	}
	return channels
}

// NotifyLater is the member notifyLater of a request: the channels that the steps and reminders of the scheduler notify.
type NotifyLater Notify

// UnmarshalJSON implements json.Unmarshaler.
func (n *NotifyLater) UnmarshalJSON(text []byte) error { return (*Notify)(n).UnmarshalJSON(text) }

// Wording returns the channels to notify, or nil if the member was not sent.
func (n NotifyLater) Wording() topic.Notify { return Notify(n).Wording() }

// JSONSchemaBytes returns the schema of the member for the OpenAPI document.
func (NotifyLater) JSONSchemaBytes() ([]byte, error) {
	return notifySchema("Channels of the steps and reminders of the scheduler. True: all channels. False: nobody.")
}
