package egress

import (
	"errors"
	"slices"
	"strings"

	"golang.org/x/net/idna"
)

// Host returns the canonical form of the host of a URL, without a port: lower case. It returns an error, which the
// client may see, unless the host is a public name in ASCII with at least two labels. International names must have
// the form xn--. IP addresses in any notation are errors, because resolvers read some notations differently. Local
// names and a dot at the end are errors too. If r contains an address for the host and port 443, the host need not be
// public and may be an IP address.
func (r Resolve) Host(host string) (string, error) {
	if _, exempt := r.Lookup(host + ":443"); exempt && plain(host) {
		return strings.ToLower(host), nil
	}
	if strings.HasPrefix(host, "[") {
		return "", errAddress
	}
	if strings.ContainsFunc(host, func(c rune) bool { return c > '~' }) {
		return "", errors.New("must have a host in ASCII: write an international name in the form xn--")
	}
	name, err := international().ToASCII(host)
	if err != nil || !wellFormed(name) {
		return "", errors.New("must have a valid name as its host")
	}
	labels := strings.Split(name, ".")
	last := labels[len(labels)-1]
	if numeric(last) {
		return "", errAddress
	}
	if len(labels) < 2 || local(name, last) {
		return "", errors.New("must not have a local name as its host")
	}
	return name, nil
}

var errAddress = errors.New("must have a name as its host, not an address")

// international returns the lookup profile of UTS 46. It allows hyphens as third and fourth character, because names of
// some content networks have them. It checks characters and lengths by RFC 1123.
func international() *idna.Profile {
	return idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(),
		idna.StrictDomainName(true), idna.VerifyDNSLength(true), idna.CheckHyphens(false))
}

// plain reports whether the host needs no mapping and has no character with a special meaning in a URL.
func plain(host string) bool {
	return strings.IndexFunc(host, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune(`/\?#@%`, c)
	}) < 0
}

// wellFormed checks what the profile does not check: no label is empty, and no label begins or ends with a hyphen.
func wellFormed(name string) bool {
	return !slices.ContainsFunc(strings.Split(name, "."), func(label string) bool {
		return label == "" || label[0] == '-' || label[len(label)-1] == '-'
	})
}

// numeric reports whether URL parsers read a host with this last label as an IPv4 address (WHATWG URL, "ends in a
// number"): the label is decimal, octal or hexadecimal.
func numeric(label string) bool {
	digits, alphabet := label, "0123456789"
	if hex, found := strings.CutPrefix(label, "0x"); found {
		digits, alphabet = hex, "0123456789abcdef"
	}
	return strings.Trim(digits, alphabet) == ""
}

// local reports whether the name is known only to resolvers within a network.
func local(name, last string) bool {
	switch last {
	case "localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "corp":
		return true
	}
	return name == "home.arpa" || strings.HasSuffix(name, ".home.arpa")
}
