package egress

import (
	"errors"
	"slices"
	"strings"

	"golang.org/x/net/idna"
)

// Host returns the canonical form of a URL's host (without a port): lower case. It returns an error, which a client may
// read, unless the host is a public name of at least two labels in ASCII. An international name must be in the form
// xn--. Host refuses every form of an address, because resolvers disagree about them, local names, and a final dot. A
// host for which r sets an address on port 443 must only be canonical; it may be an address too.
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

// international returns the profile of UTS 46 for lookups, but allows hyphens as the third and fourth character.
// Names of some content networks have them. It checks characters and lengths by RFC 1123.
func international() *idna.Profile {
	return idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(),
		idna.StrictDomainName(true), idna.VerifyDNSLength(true), idna.CheckHyphens(false))
}

// plain reports whether the host needs no mapping and has no character with a meaning in a URL.
func plain(host string) bool {
	return strings.IndexFunc(host, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune(`/\?#@%`, c)
	}) < 0
}

// wellFormed checks what the profile does not: no label is empty, or has a hyphen at its start or end.
func wellFormed(name string) bool {
	return !slices.ContainsFunc(strings.Split(name, "."), func(label string) bool {
		return label == "" || label[0] == '-' || label[len(label)-1] == '-'
	})
}

// numeric reports whether URL parsers read a host with this last label as an IPv4 address (WHATWG URL, "ends in a
// number"): decimal, octal or hexadecimal.
func numeric(label string) bool {
	digits, alphabet := label, "0123456789"
	if hex, found := strings.CutPrefix(label, "0x"); found {
		digits, alphabet = hex, "0123456789abcdef"
	}
	return strings.Trim(digits, alphabet) == ""
}

// local reports whether only resolvers inside a network know the name.
func local(name, last string) bool {
	switch last {
	case "localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "corp":
		return true
	}
	return name == "home.arpa" || strings.HasSuffix(name, ".home.arpa")
}
