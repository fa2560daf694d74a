package endpoint

import "github.com/bellbuoy/bellbuoy/libs/topic"

// Kind is a sort of endpoint. A further kind is a further row of Kinds.
type Kind struct {
	Channel topic.Channel
	// Path is its part of the App interface: /app/integrations/{Path}/endpoints.
	Path string
	// Signed kinds have signing secrets, and their owner chooses event kinds; the
	// others are chat providers' URLs, which carry their own token.
	Signed bool
}

// Kinds is the table of kinds.
func Kinds() []Kind {
	return []Kind{
		{Channel: topic.Webhook, Path: "webhooks/outbound", Signed: true},
	}
}

// known reports whether endpoints of the channel are this service's.
func known(channel topic.Channel) bool {
	for _, kind := range Kinds() {
		if kind.Channel == channel {
			return true
		}
	}
	return false
}
