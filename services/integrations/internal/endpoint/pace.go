package endpoint

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// pacedBy returns a digest of the space to which the provider's rate limit applies, and "" if it applies to the URL. The
// limit of Google Chat applies to a space, which is the URL without its key and token.
func pacedBy(channel topic.Channel, a Address) string {
	if channel != topic.GChat {
		return ""
	}
	space, _, _ := strings.Cut(a.URL(), "?")
	sum := sha256.Sum256([]byte(space))
	return hex.EncodeToString(sum[:])
}

// Limit returns a digest that endpoints have in common if they share a rate limit. Delivery puts their deliveries into
// one bucket, so that one process keeps the limit.
func (e Endpoint) Limit() string { return cmp.Or(e.Paced, e.URLHash) }
