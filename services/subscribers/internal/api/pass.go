package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/seal"
)

// Passes makes and reads the links with which people unsubscribe. A link holds a token
// that names an organization, an address's id and which address that was, and is authenticated with a
// key of its own: whoever has it had the mail. It needs no record and does not end, because mail is
// read late. It is the same each time, and no log may show it.
type Passes struct {
	key  []byte
	base string
}

// NewPasses makes the passes of the platform's secret for links under base, a URL.
func NewPasses(secret, base string) Passes {
	return Passes{key: seal.Key(secret, "unsubscribe"), base: strings.TrimSuffix(base, "/")}
}

// pass is what a token names.
type pass struct {
	organization, address string
	edition               int64 // audience.Address.Edition; only one that is not 0 is written
}

// link is where the address's owner unsubscribes.
func (p Passes) link(of pass) string {
	claim := of.organization + "/" + of.address
	if of.edition != 0 {
		claim += "/" + strconv.FormatInt(of.edition, 10)
	}
	return p.base + unsubscribePath + "?token=" + base64.RawURLEncoding.EncodeToString(append(p.sign(claim), claim...))
}

// read checks a token and gives what it names.
func (p Passes) read(token string) (of pass, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) < sha256.Size {
		return pass{}, false
	}
	claim := string(raw[sha256.Size:])
	if !hmac.Equal(raw[:sha256.Size], p.sign(claim)) {
		return pass{}, false
	}
	organization, rest, _ := strings.Cut(claim, "/")
	address, edition, rewritten := strings.Cut(rest, "/")
	of = pass{organization: organization, address: address}
	if rewritten {
		of.edition, err = strconv.ParseInt(edition, 10, 64)
	}
	return of, err == nil
}

func (p Passes) sign(claim string) []byte {
	mac := hmac.New(sha256.New, p.key)
	mac.Write([]byte(claim))
	return mac.Sum(nil)
}
