package audience

import (
	"strconv"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/link"
)

// The paths of the pages behind the links in messages.
const (
	ConfirmPath     = "/public/confirm"
	ManagePath      = "/public/manage"
	UnsubscribePath = "/public/unsubscribe"
)

// purpose is what a link is for.
type purpose string

const (
	toConfirm     purpose = "confirm"
	toManage      purpose = "manage"
	toUnsubscribe purpose = "unsubscribe"
)

// Links makes and reads the links in messages, and the codes. A link that manages or unsubscribes does not expire, because
// mail is read late.
type Links struct{ signer link.Signer }

// NewLinks returns the links under base, a URL, signed with the key.
func NewLinks(key []byte, base string) Links { return Links{link.NewSigner(key, base)} }

// Confirm returns the link that confirms the Request of the subscriber.
func (l Links) Confirm(s Subscriber) string { return l.to(ConfirmPath, toConfirm, s) }

// Manage returns the link to the page of the subscriber.
func (l Links) Manage(s Subscriber) string { return l.to(ManagePath, toManage, s) }

// Unsubscribe returns the link that deletes the subscriber.
func (l Links) Unsubscribe(s Subscriber) string { return l.to(UnsubscribePath, toUnsubscribe, s) }

// Code returns six digits that confirm the Request instead of the link.
func (l Links) Code(s Subscriber) string { return l.signer.Code(l.token(toConfirm, s)) }

func (l Links) to(path string, p purpose, s Subscriber) string {
	return l.signer.URL(path) + "?token=" + l.token(p, s)
}

func (l Links) token(p purpose, s Subscriber) string {
	return l.signer.Token(string(p), s.ID, stateOf(p, s)...)
}

// read returns the content of a token. It returns fault.NotFound for a token that this platform has not made for the
// purpose.
func (l Links) read(p purpose, token string) (link.Claim, error) {
	claim, ok := l.signer.Read(string(p), token)
	if !ok {
		return claim, fault.New(fault.NotFound, "This link is not valid. Use the link as it is in the message.")
	}
	return claim, nil
}

// stateOf returns the state on which a link depends: the edition, and for a link that confirms also the Request.
func stateOf(p purpose, s Subscriber) []string {
	state := []string{strconv.FormatInt(s.Edition(), 10)}
	if p == toConfirm && s.Request != nil {
		state = append(state, s.Request.Nonce)
	}
	return state
}

// leadsTo reports whether the subscriber is in the state for which a link was made.
func leadsTo(claim link.Claim, p purpose, s Subscriber) bool {
	return !s.Gone() && !s.Address.Removed && (p != toConfirm || s.Request != nil) && claim.In(stateOf(p, s)...)
}

func lockedLink() error {
	return fault.New(fault.Forbidden, "The operator of the dashboard has locked this subscription.")
}
