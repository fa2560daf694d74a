package endpoint

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	maxURL     = 2048 // characters (specification, "Limits")
	maxDisplay = 6    // characters of the path that URLDisplay may show
)

// Hosts checks the host of a URL and returns its canonical form. The text of its error is shown to clients.
type Hosts interface {
	Host(host string) (string, error)
}

// Address is a receiver's URL in its normal form. It is a secret, because URLs of chat providers and of many other
// receivers contain a token. Only digests such as Hash, and Display, may be logged, stored unsealed, or shown after the
// creation of the endpoint.
type Address struct{ host, rest string }

// URL returns the whole URL.
func (a Address) URL() string { return "https://" + a.host + a.rest }

// Hash returns the SHA-256 of the normal form in lower-case hexadecimal digits.
func (a Address) Hash() string {
	sum := sha256.Sum256([]byte(a.URL()))
	return hex.EncodeToString(sum[:])
}

// Display returns the host and at most maxDisplay characters of the path, but not more than half of the path, rounded up. So
// it shows the whole path only if the path has one character.
func (a Address) Display() string {
	path, _, _ := strings.Cut(a.rest, "?")
	if shown := min(maxDisplay, (len(path)+1)/2); shown < len(path) {
		path = path[:shown] + "…"
	}
	return a.host + path
}

// isHostOf reports whether the URL of an endpoint has the host of the address.
func (a Address) isHostOf(e Endpoint) bool {
	host, _, _ := strings.Cut(e.URLDisplay, "/")
	return host == a.host
}

// parseAddress returns the normal form of a URL: scheme and host in lower case, without the default port and without
// the fragment. It does not change path and query, because providers sign them. The error is about the field url and
// does not contain the URL.
func parseAddress(text string, hosts Hosts) (Address, error) {
	const field = "url"
	if text == "" {
		return Address{}, fault.Field(field, "is required")
	}
	if utf8.RuneCountInString(text) > maxURL {
		return Address{}, fault.Field(field, "must be at most %d characters", maxURL)
	}
	if strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c == 0x7f || c == '\\' || c == utf8.RuneError }) {
		return Address{}, fault.Field(field, "must not contain spaces, control characters or backslashes")
	}
	const scheme = "https://"
	if len(text) < len(scheme) || !strings.EqualFold(text[:len(scheme)], scheme) {
		return Address{}, fault.Field(field, "must be an absolute URL that starts with https://")
	}
	authority, rest := text[len(scheme):], ""
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		authority, rest = authority[:end], authority[end:]
	}
	rest, _, _ = strings.Cut(rest, "#")
	if strings.Contains(authority, "@") {
		return Address{}, fault.Field(field, "must not contain credentials")
	}
	host, err := dropPort(authority)
	if err != nil {
		return Address{}, err
	}
	canonical, err := hosts.Host(host)
	if err != nil {
		return Address{}, fault.Field(field, "%s", err)
	}
	a := Address{host: canonical, rest: rest}
	// The parser's error is not returned, because it contains the URL.
	if _, err := url.Parse(a.URL()); err != nil || strings.ContainsFunc(rest, func(c rune) bool { return c > '~' }) {
		return Address{}, fault.Field(field, "must have a valid path and query, with characters other than ASCII as %%XX")
	}
	return a, nil
}

// dropPort removes an explicit :443. It returns an error for any other port.
func dropPort(authority string) (string, error) {
	colon := strings.LastIndexByte(authority, ':')
	if colon < 0 || strings.HasSuffix(authority, "]") {
		return authority, nil
	}
	if authority[colon+1:] != "443" {
		return "", fault.Field("url", "must use port 443")
	}
	return authority[:colon], nil
}

// pacedBy returns a digest of the part of the URL to which the provider's rate limit applies. It returns "" if each URL
// has a limit of its own. The limit of Google Chat applies to a space, which is the URL without its query. The limit of
// Discord applies to a webhook: the URLs of a webhook on all hosts and for all threads share the limit.
func pacedBy(channel topic.Channel, a Address) string {
	path, _, _ := strings.Cut(a.rest, "?")
	var paced string
	switch webhook := discordPath.FindStringSubmatch(path); {
	case channel == topic.GChat:
		paced = "https://" + a.host + path
	case channel == topic.Discord && webhook != nil:
		paced = "discord webhook " + webhook[1]
	default:
		return ""
	}
	sum := sha256.Sum256([]byte(paced))
	return hex.EncodeToString(sum[:])
}

// Limit returns a digest that is the same for endpoints that share a rate limit. Delivery puts the deliveries to these
// endpoints into one bucket, so that one process applies the limit.
func (e Endpoint) Limit() string { return cmp.Or(e.Paced, e.URLHash) }
