// Package link creates and checks the links in messages to visitors.
//
// A token contains the id of one record and a digest of the record's state, and is signed. So no token is stored, and
// a link ends when the state changes. A token must not appear in a log. A token is short, because links are sent in text
// messages.
package link

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// The sizes of the parts of a token, in bytes: the id of the record, the beginning of a digest of its state, and the
// signature.
const (
	idSize        = 16
	stateSize     = 8
	signatureSize = 16
)

// Links creates and checks the links of one service to records of the type R.
type Links[R any] struct {
	// State returns the values of a record on which a link depends. If one of them changes, the link ends.
	State func(purpose string, record R) []string
	// ID returns the id of a record, a UUID.
	ID func(record R) string
	// Path is the path of the links without their last segment, which is the purpose.
	Path string
	// Medium is the name of the message that contains the links, for error texts.
	Medium string
	// Base is the URL of the platform.
	Base string
	// Key signs the links.
	Key []byte
}

// URL returns the link with a purpose to the record.
func (l Links[R]) URL(purpose string, record R) string {
	return strings.TrimSuffix(l.Base, "/") + l.Path + purpose + "?token=" + l.Token(purpose, record)
}

// Token returns the token of a link.
func (l Links[R]) Token(purpose string, record R) string {
	id, _ := uuid.Parse(l.ID(record)) // an id is always a valid UUID
	content := append(id[:], digest(l.State(purpose, record))...)
	return base64.RawURLEncoding.EncodeToString(append(content, l.sign(purpose, content)...))
}

// Code returns six digits that are computed from the text, so that they need not be stored. Each of a million codes
// is equally likely, up to one part in 10^13.
func (l Links[R]) Code(text string) string {
	return fmt.Sprintf("%06d", binary.BigEndian.Uint64(l.sign("code", []byte(text)))%1_000_000)
}

// Open returns the record of a link. It returns fault.NotFound if this platform did not create the token for the purpose,
// and fault.Gone if the record is deleted or its state has changed. Otherwise it calls check, which returns an error if the
// record does not permit the purpose, and returns this error. A write on behalf of the link must call allow with the
// stored record. allow checks the state again and calls check.
func (l Links[R]) Open(ctx context.Context, purpose, token string, get func(ctx context.Context, id string) (R, error), check func(R) error) (record R, allow func(R) error, err error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	const size = idSize + stateSize
	if err != nil || len(raw) != size+signatureSize || !hmac.Equal(raw[size:], l.sign(purpose, raw[:size])) {
		return record, nil, fault.New(fault.NotFound, "This link is not valid. Use the link as it is in the %s.", l.Medium)
	}
	allow = func(record R) error {
		if !bytes.Equal(raw[idSize:size], digest(l.State(purpose, record))) {
			return Ended()
		}
		return check(record)
	}
	record, err = get(ctx, uuid.UUID(raw[:idSize]).String())
	if err != nil {
		return record, nil, EndedIfMissing(err)
	}
	return record, allow, allow(record)
}

func (l Links[R]) sign(purpose string, content []byte) []byte {
	mac := hmac.New(sha256.New, l.Key)
	mac.Write([]byte(purpose + "/"))
	mac.Write(content)
	return mac.Sum(nil)[:signatureSize]
}

func digest(state []string) []byte {
	sum := sha256.Sum256([]byte(strings.Join(state, "\x00")))
	return sum[:stateSize]
}

// Ended returns the error for a link that is no longer valid.
func Ended() error {
	return fault.New(fault.Gone, "This link was used, has expired, or was replaced by a newer one.")
}

// EndedIfMissing returns Ended if err is a NotFound fault, and err otherwise.
func EndedIfMissing(err error) error { return fault.IfMissing(err, Ended()) }

// ErrNoOffer is in the chain of the errors that NoOffer returns.
var ErrNoOffer = errors.New("link: no offer")

// NoOffer returns the error for a visitor's request that the dashboard does not offer. Its text does not reveal
// whether the dashboard exists.
func NoOffer(cause error) error {
	return fault.Wrap(fault.NotFound, errors.Join(ErrNoOffer, cause), "There is no dashboard that offers this to visitors.")
}

// NoOfferIfMissing returns NoOffer if err is a NotFound fault, and err otherwise.
func NoOfferIfMissing(err error) error { return fault.IfMissing(err, NoOffer(err)) }

// Choice is a component that a visitor can choose.
type Choice struct {
	ID, Name string
	Chosen   bool
}

// Choices returns the components that the page of the dashboard shows, and which of them are chosen.
func Choices(dashboard topic.DashboardRecord, chosen func(id string) bool) []Choice {
	var choices []Choice
	for _, component := range dashboard.Visible().Components {
		choices = append(choices, Choice{component.ID, component.Name, chosen(component.ID)})
	}
	return choices
}
