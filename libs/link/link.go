// Package link makes and reads the links in messages to visitors.
//
// A token names one record and the state of the record for which it was made, and is signed. So it needs no record of its
// own, and a change of that state ends the link. A token must not appear in a log. It is short, because a text message has
// the link.
package link

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// The parts of a token, in bytes: the id of the record, the beginning of a digest of its state, and the signature.
const (
	idSize        = 16
	stateSize     = 8
	signatureSize = 16
)

// Signer signs the links of one service.
type Signer struct {
	key  []byte
	base string
}

// NewSigner returns a signer of links under base, a URL.
func NewSigner(key []byte, base string) Signer {
	return Signer{key: key, base: strings.TrimSuffix(base, "/")}
}

// URL returns the address of a path.
func (s Signer) URL(path string) string { return s.base + path }

// Token returns the token of a link with a purpose to the record with the id, a UUID, in a state.
func (s Signer) Token(purpose, id string, state ...string) string {
	record, _ := uuid.Parse(id) // a service has made it
	content := append(record[:], digest(state)...)
	return base64.RawURLEncoding.EncodeToString(append(content, s.sign(purpose, content)...))
}

// Code returns six digits that follow from the text, so they are not stored. Each of a million codes is equally likely, up to
// one part in 10^13.
func (s Signer) Code(text string) string {
	return fmt.Sprintf("%06d", binary.BigEndian.Uint64(s.sign("code", []byte(text)))%1_000_000)
}

// Claim is the content of a token.
type Claim struct {
	ID    string // id of the record
	state string
}

// Read returns the content of a token. It returns false for a token that the signer has not made for the purpose.
func (s Signer) Read(purpose, token string) (Claim, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	const size = idSize + stateSize
	if err != nil || len(raw) != size+signatureSize || !hmac.Equal(raw[size:], s.sign(purpose, raw[:size])) {
		return Claim{}, false
	}
	return Claim{uuid.UUID(raw[:idSize]).String(), string(raw[idSize:size])}, true
}

// In reports whether the token was made for the state.
func (c Claim) In(state ...string) bool { return c.state == string(digest(state)) }

func (s Signer) sign(purpose string, content []byte) []byte {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(purpose + "/"))
	mac.Write(content)
	return mac.Sum(nil)[:signatureSize]
}

func digest(state []string) []byte {
	sum := sha256.Sum256([]byte(strings.Join(state, "\x00")))
	return sum[:stateSize]
}

// Ended is the refusal of a link that worked before.
func Ended() error {
	return fault.New(fault.Gone, "This link was used, has expired, or was replaced by a newer one.")
}

// EndedIfMissing returns Ended if err says that the record does not exist, and err otherwise.
func EndedIfMissing(err error) error {
	if fault.Is(err, fault.NotFound) {
		return Ended()
	}
	return err
}
