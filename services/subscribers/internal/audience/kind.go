package audience

import (
	"regexp"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Limits of SMTP in octets (RFC 5321, 4.5.3.1): of a local part, and of a path without its brackets.
const (
	maxLocal = 64
	maxEmail = 254
)

// The parts of a mail address, in letters of any script (RFC 6531).
const (
	atom  = "[\\pL\\pM\\pN!#$%&'*+/=?^_`{|}~-]+"
	label = `[\pL\pN](?:[\pL\pM\pN-]{0,61}[\pL\pM\pN])?`
	top   = `\pL[\pL\pM\pN-]{0,61}[\pL\pM\pN]`
)

// email matches a local part without quotes and a domain name of at least two labels. It refuses quoted
// local parts, comments, address literals and invisible characters. The RFCs allow some of them, but here
// they are mistakes.
var email = regexp.MustCompile("^" + atom + `(?:\.` + atom + ")*@(?:" + label + `\.)+` + top + "$")

// number matches a plus sign, the country code and the subscriber's number. E.164 allows at most 15
// digits. The shortest numbers in use have 8.
var number = regexp.MustCompile(`^\+[0-9]{8,15}$`)

// kind holds the rules for the addresses of one channel.
type kind struct {
	needed          string // the error message for a text that is no address
	unsubscribeLink bool   // messages contain a link with which the recipient unsubscribes
	// normal returns the form in which two addresses are compared, and false if text is no address.
	normal func(text string) (string, bool)
}

// kindOf returns the rules of a channel of topic.Subscribers.
func kindOf(channel topic.Channel) kind {
	return map[topic.Channel]kind{
		topic.Email: {
			needed: "must be an email address", unsubscribeLink: true,
			normal: func(text string) (string, bool) {
				return strings.ToLower(text), len(text) <= maxEmail && strings.IndexByte(text, '@') <= maxLocal && email.MatchString(text)
			},
		},
		topic.SMS: {
			needed: "must be a plus sign, the country code and the number, with 8 to 15 digits",
			normal: func(text string) (string, bool) { return text, number.MatchString(text) },
		},
	}[channel]
}
