package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

// unsubscribePath is the path of the page where the owner of an address unsubscribes.
const unsubscribePath = "/public/unsubscribe"

// Links writes and reads the links with which the owner of an address unsubscribes. A link contains a
// token that names the organization, the address's id and its edition. The token is signed with a key of
// its own, so only a recipient of a message has it. It needs no record. It does not expire, because mail
// is read late. It must not appear in a log.
type Links struct {
	key  []byte
	base string
}

// NewLinks returns the links under base, a URL, signed with a key that is derived from the platform's secret.
func NewLinks(secret, base string) Links {
	return Links{key: seal.Key(secret, "unsubscribe"), base: strings.TrimSuffix(base, "/")}
}

// claim is the content of a token.
type claim struct {
	organization, address string
	edition               int64 // audience.Address.Edition; 0 is left out of the token
}

// To returns the link for the owner of the address.
func (l Links) To(address audience.Address) string {
	text := address.OrganizationID + "/" + address.ID
	if edition := address.Edition(); edition != 0 {
		text += "/" + strconv.FormatInt(edition, 10)
	}
	return l.base + unsubscribePath + "?token=" + base64.RawURLEncoding.EncodeToString(append(l.sign(text), text...))
}

// read returns the content of a token, and false if the token is not valid.
func (l Links) read(token string) (of claim, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) < sha256.Size {
		return claim{}, false
	}
	text := string(raw[sha256.Size:])
	if !hmac.Equal(raw[:sha256.Size], l.sign(text)) {
		return claim{}, false
	}
	organization, rest, _ := strings.Cut(text, "/")
	address, edition, rewritten := strings.Cut(rest, "/")
	of = claim{organization: organization, address: address}
	if rewritten {
		of.edition, err = strconv.ParseInt(edition, 10, 64)
	}
	return of, err == nil
}

func (l Links) sign(text string) []byte {
	mac := hmac.New(sha256.New, l.key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
