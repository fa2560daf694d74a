package audience

import "github.com/bellbuoy/bellbuoy/libs/topic"

// kind holds the rules for the addresses of one channel.
type kind struct {
	unsubscribeLink bool // messages contain a link with which the recipient unsubscribes
}

// kindOf returns the rules of the channel, and false if this service keeps no recipients for the channel.
func kindOf(channel topic.Channel) (kind, bool) {
	switch channel {
	case topic.Email:
		return kind{unsubscribeLink: true}, true
	case topic.SMS:
		return kind{}, true
	}
	return kind{}, false
}
