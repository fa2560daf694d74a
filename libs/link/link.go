// Package link makes and reads the links in messages to visitors.
//
// A token names one record and the state of the record for which it was made, and is signed. So it needs no record of its
// own, and a change of that state ends the link. A token must not appear in a log. It is short, because a text message has
// the link.
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

// The parts of a token, in bytes: the id of the record, the beginning of a digest of its state, and the signature.
const (
	idSize        = 16
	stateSize     = 8
	signatureSize = 16
)

// Links makes and reads the links of one service to records of the type R.
type Links[R any] struct {
	// State returns the state of a record on which a link depends.
	State func(purpose string, record R) []string
	// ID returns the id of a record, a UUID.
	ID func(record R) string
	// Path is the path above the links. The purpose of a link is its last segment.
	Path string
	// Medium is the name of what contains the links.
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
	id, _ := uuid.Parse(l.ID(record)) // a service has made it
	content := append(id[:], digest(l.State(purpose, record))...)
	return base64.RawURLEncoding.EncodeToString(append(content, l.sign(purpose, content)...))
}

// Code returns six digits that follow from the text, so they are not stored. Each of a million codes is equally likely, up to
// one part in 10^13.
func (l Links[R]) Code(text string) string {
	return fmt.Sprintf("%06d", binary.BigEndian.Uint64(l.sign("code", []byte(text)))%1_000_000)
}

// Open returns the record of a link, with an error if the link is refused. It returns fault.NotFound for a token that this
// platform has not made for the purpose, and fault.Gone if the record is not in the state for which the link was made. check
// returns an error if a record does not permit what the link is for. A write by the link calls allow with the stored record.
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

// Ended is the refusal of a link that worked before.
func Ended() error {
	return fault.New(fault.Gone, "This link was used, has expired, or was replaced by a newer one.")
}

// EndedIfMissing returns Ended if err says that the record does not exist, and err otherwise.
func EndedIfMissing(err error) error { return fault.IfMissing(err, Ended()) }

// ErrNoOffer is the cause of a refusal that does not say whether there is a dashboard.
var ErrNoOffer = errors.New("link: no offer")

// NoOffer returns the refusal of a visitor's request for which a dashboard has no offer.
func NoOffer(cause error) error {
	return fault.Wrap(fault.NotFound, errors.Join(ErrNoOffer, cause), "There is no dashboard that offers this to visitors.")
}

// NoOfferIfMissing returns NoOffer if err says that the record does not exist, and err otherwise.
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
