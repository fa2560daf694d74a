package endpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

const (
	maxURL     = 2048 // characters (specification, "Limits")
	maxDisplay = 6    // characters of the path that URLDisplay may show
)

// Hosts judges the host of a URL and gives it its canonical form; the error's text
// is for the client.
type Hosts interface {
	Host(host string) (string, error)
}

// Address is a receiver's URL in its normal form. It is a secret, for chat
// providers and many others put their token into it: only Hash and Display may
// be shown, stored or logged.
type Address struct{ host, rest string }

// URL is the whole URL.
func (a Address) URL() string { return "https://" + a.host + a.rest }

// Hash identifies the URL: the lower-case hex SHA-256 of its normal form.
func (a Address) Hash() string {
	sum := sha256.Sum256([]byte(a.URL()))
	return hex.EncodeToString(sum[:])
}

// Display is the host and at most six characters of the path, never more than half
// of it, so that a short path does not show whole.
func (a Address) Display() string {
	path, _, _ := strings.Cut(a.rest, "?")
	if shown := min(maxDisplay, (len(path)+1)/2); shown < len(path) {
		path = path[:shown] + "…"
	}
	return a.host + path
}

// parseAddress normalises a URL: scheme and host lower-case, the default port and
// the fragment dropped, path and query kept as they are, for providers sign them.
// What it refuses, it refuses with a sentence that does not repeat the URL.
func parseAddress(field, text string, hosts Hosts) (Address, error) {
	if text == "" {
		return Address{}, fault.Field(field, "is required")
	}
	if utf8.RuneCountInString(text) > maxURL {
		return Address{}, fault.Field(field, "must have at most %d characters", maxURL)
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
	host, err := dropPort(field, authority)
	if err != nil {
		return Address{}, err
	}
	canonical, err := hosts.Host(host)
	if err != nil {
		return Address{}, fault.Field(field, "%s", err)
	}
	a := Address{host: canonical, rest: rest}
	// The parser's own error is left out: it quotes the URL.
	if _, err := url.Parse(a.URL()); err != nil || strings.ContainsFunc(rest, func(c rune) bool { return c > '~' }) {
		return Address{}, fault.Field(field, "must have a valid path and query, other characters than ASCII as %%XX")
	}
	return a, nil
}

// dropPort takes an explicit :443 away. Any other port is refused.
func dropPort(field, authority string) (string, error) {
	colon := strings.LastIndexByte(authority, ':')
	if colon < 0 || strings.HasSuffix(authority, "]") {
		return authority, nil
	}
	if authority[colon+1:] != "443" {
		return "", fault.Field(field, "must use port 443")
	}
	return authority[:colon], nil
}
