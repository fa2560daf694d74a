package endpoint

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
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

// Links makes and reads the tokens of the links in mail about endpoints. A token names one endpoint and the state of
// the endpoint for which it was made, and is signed. So it needs no record. It must not appear in a log.
type Links struct {
	key  []byte
	base string
}

// NewLinks returns the links under base, a URL, signed with the key.
func NewLinks(key []byte, base string) Links {
	return Links{key: key, base: strings.TrimSuffix(base, "/")}
}

// claim is the content of a token.
type claim struct {
	purpose          purpose
	organization, id string // id of the endpoint
	state            string // see stateOf
}

// to returns the link of a purpose for the endpoint.
func (l Links) to(p purpose, e Endpoint) string {
	return l.base + LinkPath + string(p) + "?token=" + l.token(p, e)
}

func (l Links) token(p purpose, e Endpoint) string {
	text := strings.Join([]string{string(p), e.OrganizationID, e.ID, stateOf(p, e)}, "/")
	return base64.RawURLEncoding.EncodeToString(append(l.sign(text), text...))
}

// read returns the content of a token. It returns fault.NotFound for a token that this platform has not made for the
// purpose.
func (l Links) read(p purpose, token string) (claim, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) < sha256.Size || !hmac.Equal(raw[:sha256.Size], l.sign(string(raw[sha256.Size:]))) {
		return claim{}, noLink()
	}
	parts := strings.Split(string(raw[sha256.Size:]), "/")
	if len(parts) != 4 || parts[0] != string(p) {
		return claim{}, noLink()
	}
	return claim{p, parts[1], parts[2], parts[3]}, nil
}

func (l Links) sign(text string) []byte {
	mac := hmac.New(sha256.New, l.key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// stateOf returns a digest of the state on which a link depends: the URL and the management address, and for a link that
// verifies also the visitor's request. A change of one of them ends the link.
func stateOf(p purpose, e Endpoint) string {
	state := []string{e.URLHash, e.ManagementEmail}
	if p == toVerify && e.Request != nil {
		state = append(state, e.Request.ID)
	}
	sum := sha256.Sum256([]byte(strings.Join(state, "\x00")))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// of reports whether the endpoint is the one of the link, in the state for which the link was made.
func (c claim) of(e Endpoint) bool {
	return e.ID == c.id && e.OrganizationID == c.organization && (c.purpose == toVerify) == (e.VerifiedAt == nil) && stateOf(c.purpose, e) == c.state
}

func noLink() error {
	return fault.New(fault.NotFound, "This link is not valid. Use the link as it is in the mail.")
}

func endedLink() error {
	return fault.New(fault.Gone, "This link was used, has expired, or was replaced by a newer one.")
}
