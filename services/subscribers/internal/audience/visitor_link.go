package audience

import (
	"strconv"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/link"
)

// LinkPath is the path with which the links in messages begin.
const LinkPath = "/public/"

// The purposes of links.
const (
	ToConfirm     = "confirm"
	ToManage      = "manage"
	ToUnsubscribe = "unsubscribe"
)

// Links creates and checks the links and codes in messages. A link to manage or unsubscribe does not expire, because
// mail may be read late.
type Links = link.Links[Subscriber]

// NewLinks returns Links that begin with the URL base and are signed with the key.
func NewLinks(key []byte, base string) Links {
	return Links{
		Key: key, Base: base, Path: LinkPath, Medium: "message", ID: func(s Subscriber) string { return s.ID },
		State: func(purpose string, s Subscriber) []string {
			state := []string{strconv.FormatInt(s.Edition(), 10)}
			if purpose == ToConfirm && s.Request != nil {
				state = append(state, s.Request.Nonce)
			}
			return state
		},
	}
}

// code returns six digits that confirm the Request of the subscriber instead of the link.
func (s Subscriber) code(links Links) string { return links.Code(links.Token(ToConfirm, s)) }

func lockedLink() error {
	return fault.New(fault.Forbidden, "The operator of the dashboard has locked this subscription.")
}
