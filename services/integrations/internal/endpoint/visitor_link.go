package endpoint

import (
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/link"
)

// purpose is what a link is for, and the last segment of its path.
type purpose string

const (
	toVerify      purpose = "verify"
	toManage      purpose = "manage"
	toUnsubscribe purpose = "unsubscribe"
)

// LinkPath is the path above the links in mail about endpoints.
const LinkPath = "/public/endpoints/"

// Links makes and reads the links in mail about endpoints.
type Links struct{ signer link.Signer }

// NewLinks returns the links under base, a URL, signed with the key.
func NewLinks(key []byte, base string) Links { return Links{link.NewSigner(key, base)} }

// to returns the link of a purpose for the endpoint.
func (l Links) to(p purpose, e Endpoint) string {
	return l.signer.URL(LinkPath+string(p)) + "?token=" + l.token(p, e)
}

func (l Links) token(p purpose, e Endpoint) string {
	return l.signer.Token(string(p), e.ID, stateOf(p, e)...)
}

// read returns the content of a token. It returns fault.NotFound for a token that this platform has not made for the
// purpose.
func (l Links) read(p purpose, token string) (link.Claim, error) {
	claim, ok := l.signer.Read(string(p), token)
	if !ok {
		return claim, fault.New(fault.NotFound, "This link is not valid. Use the link as it is in the mail.")
	}
	return claim, nil
}

// stateOf returns the state on which a link depends: the URL and the management address, and for a link that verifies also
// the visitor's request.
func stateOf(p purpose, e Endpoint) []string {
	state := []string{e.URLHash, e.ManagementEmail}
	if p == toVerify && e.Request != nil {
		state = append(state, e.Request.ID)
	}
	return state
}

// leadsTo reports whether the endpoint is in the state for which a link was made.
func leadsTo(claim link.Claim, p purpose, e Endpoint) bool {
	return (p == toVerify) == (e.VerifiedAt == nil) && claim.In(stateOf(p, e)...)
}
