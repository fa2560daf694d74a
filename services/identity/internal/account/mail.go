package account

import (
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// occasion is the reason of a mail to a member.
type occasion string

const (
	mailInvitation   occasion = "invitation"   // has a link
	mailForgotten    occasion = "forgotten"    // has a link
	mailPassword     occasion = "password"     // the password was changed
	mailKey          occasion = "key"          // a key was created
	mailAddress      occasion = "address"      // the mail address was changed; to the former one
	mailSecondFactor occasion = "secondFactor" // a second factor was added or removed
)

// mailTo returns the message that makes delivery send a mail to the user. link is the id of one of the user's links, or
// empty.
func mailTo(u *User, why occasion, link string, now time.Time) []topic.Message {
	return nil
}
