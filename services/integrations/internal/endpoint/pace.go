package endpoint

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// pacedBy returns a digest of what the provider's rate limit applies to, and "" if that is the URL. The limit of Google
// Chat applies to a space, whatever the key and token of the URL are.
func pacedBy(channel topic.Channel, a Address) string {
	path, _, _ := strings.Cut(a.rest, "?")
	_, after, found := strings.Cut(path, "/spaces/")
	if channel != topic.GChat || !found {
		return ""
	}
	space, _, _ := strings.Cut(after, "/")
	if plain, err := url.PathUnescape(space); err == nil {
		space = plain
	}
	sum := sha256.Sum256([]byte(a.host + "/spaces/" + space))
	return hex.EncodeToString(sum[:])
}

// limit returns a digest that endpoints have in common if they share a rate limit. Delivery puts their deliveries into
// one bucket, so that one process keeps the limit.
func (e Endpoint) limit() string { return cmp.Or(e.Paced, e.URLHash) }
