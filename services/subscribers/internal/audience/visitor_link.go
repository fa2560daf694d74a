package audience

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/fault"
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

// Links makes and reads the tokens of the links in messages, and the codes. A token names one subscriber and the state
// of the subscriber for which it was made, and is signed. So it needs no record. It must not appear in a log. A link that
// manages or unsubscribes does not expire, because mail is read late.
type Links struct {
	key    []byte
	former []byte // of the links of an earlier version, which named an address
	base   string
}

// NewLinks returns the links under base, a URL, signed with the key. It also reads those that unsubscribe and were signed
// with the former key.
func NewLinks(key, former []byte, base string) Links {
	return Links{key: key, former: former, base: strings.TrimSuffix(base, "/")}
}

// claim is the content of a token.
type claim struct {
	purpose purpose
	id      string // of the subscriber
	state   string // the beginning of stateOf
	// A token of an earlier version, which had one dashboard, has the ids of the organization and of the address. state
	// is the edition of the address.
	organization, address string
}

// Confirm returns the link that confirms the Request of the subscriber.
func (t Links) Confirm(s Subscriber) string { return t.to(ConfirmPath, toConfirm, s) }

// Manage returns the link to the page of the subscriber.
func (t Links) Manage(s Subscriber) string { return t.to(ManagePath, toManage, s) }

// Unsubscribe returns the link that deletes the subscriber.
func (t Links) Unsubscribe(s Subscriber) string { return t.to(UnsubscribePath, toUnsubscribe, s) }

// Code returns six digits that confirm the Request instead of the link. The code follows from the Request, so it is not
// stored. Each of a million codes is equally likely, up to one part in 10^13.
func (t Links) Code(s Subscriber) string {
	sum := sign(t.key, "code/"+s.ID+"/"+stateOf(toConfirm, s))
	return fmt.Sprintf("%06d", binary.BigEndian.Uint64(sum)%1_000_000)
}

// CodeURL returns where a code is sent to.
func (t Links) CodeURL() string { return t.base + ConfirmPath }

func (t Links) to(path string, p purpose, s Subscriber) string {
	return t.base + path + "?token=" + t.token(p, s)
}

func (t Links) token(p purpose, s Subscriber) string {
	id, _ := uuid.Parse(s.ID) // SubscriberID has made it
	content := append(id[:], stateOf(p, s)[:stateSize]...)
	return base64.RawURLEncoding.EncodeToString(append(content, t.signature(p, content)...))
}

// The parts of a token, in bytes: the id of the subscriber, the beginning of its state, and the signature. It is short,
// because a text message has the link.
const (
	idSize        = 16
	stateSize     = 11 // characters with 66 bits
	signatureSize = 16
)

func (t Links) signature(p purpose, content []byte) []byte {
	return sign(t.key, string(p)+"/"+string(content))[:signatureSize]
}

// read returns the content of a token. It returns fault.NotFound for a token that this platform has not made for the
// purpose.
func (t Links) read(p purpose, token string) (claim, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) < sha256.Size {
		return claim{}, noLink()
	}
	if len(raw) == idSize+stateSize+signatureSize && hmac.Equal(raw[idSize+stateSize:], t.signature(p, raw[:idSize+stateSize])) {
		id, err := uuid.FromBytes(raw[:idSize])
		return claim{purpose: p, id: id.String(), state: string(raw[idSize : idSize+stateSize])}, err
	}
	signature, text := raw[:sha256.Size], string(raw[sha256.Size:])
	parts := strings.Split(text, "/")
	if p == toUnsubscribe && len(parts) > 1 && hmac.Equal(signature, sign(t.former, text)) {
		return claim{purpose: p, organization: parts[0], address: parts[1], state: append(parts, "0")[2]}, nil
	}
	return claim{}, noLink()
}

func sign(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// stateOf returns a digest of the state on which a link depends: the edition, and for a link that confirms also the
// Request. A change of one of them ends the link.
func stateOf(p purpose, s Subscriber) string {
	state := []string{strconv.FormatInt(s.Edition(), 10)}
	if p == toConfirm && s.Request != nil {
		state = append(state, s.Request.Nonce)
	}
	sum := sha256.Sum256([]byte(strings.Join(state, "\x00")))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// of reports whether the subscriber is the one of the link, in the state for which the link was made.
func (c claim) of(s Subscriber) bool {
	switch {
	case s.Gone() || s.Address.Removed:
		return false
	case c.address != "":
		return s.OrganizationID == c.organization && s.AddressID == c.address && strconv.FormatInt(s.Address.Edition, 10) == c.state
	}
	return s.ID == c.id && (c.purpose != toConfirm || s.Request != nil) && stateOf(c.purpose, s)[:stateSize] == c.state
}

func noLink() error {
	return fault.New(fault.NotFound, "This link is not valid. Use the link as it is in the message.")
}

func lockedLink() error {
	return fault.New(fault.Forbidden, "The operator of the dashboard has locked this subscription.")
}

func endedLink() error {
	return fault.New(fault.Gone, "This link was used, has expired, or was replaced by a newer one.")
}
