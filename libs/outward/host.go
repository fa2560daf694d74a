package outward

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/idna"
)

// Host returns the canonical form of a URL's host (without a port, an IPv6 address in brackets): lower case, an
// international name in ASCII, an address in its shortest form. It returns an error, which a client may read,
// unless the host is a public name of at least two labels or an address that is not Forbidden. It refuses local
// names, a final dot, and every form of an IPv4 address other than four decimal numbers, because resolvers
// disagree about them. A host for which r sets an address on port 443 must only be canonical.
func (r Resolve) Host(host string) (string, error) {
	if _, exempt := r.Lookup(net.JoinHostPort(strings.Trim(host, "[]"), "443")); exempt && plain(host) {
		return strings.ToLower(host), nil
	}
	if inner, opened := strings.CutPrefix(host, "["); opened {
		inner, closed := strings.CutSuffix(inner, "]")
		address, err := netip.ParseAddr(inner)
		if !closed || err != nil || !address.Is6() {
			return "", errors.New("must have a valid IPv6 address as its host")
		}
		return "[" + address.String() + "]", judge(address)
	}
	name, err := international().ToASCII(host)
	if err != nil || !wellFormed(name) {
		return "", errors.New("must have a valid name as its host")
	}
	if _, exempt := r.Lookup(name + ":443"); exempt {
		return name, nil
	}
	labels := strings.Split(name, ".")
	last := labels[len(labels)-1]
	if numeric(last) {
		address, err := netip.ParseAddr(name)
		if err != nil {
			return "", errors.New("must not have a number as its host")
		}
		return address.String(), judge(address)
	}
	if len(labels) < 2 || local(name, last) {
		return "", errors.New("must not have a local name as its host")
	}
	return name, nil
}

// international returns the profile of UTS 46 for lookups, but allows hyphens as the third and fourth character.
// Names of some content networks have them. It checks characters and lengths by RFC 1123.
func international() *idna.Profile {
	return idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(),
		idna.StrictDomainName(true), idna.VerifyDNSLength(true), idna.CheckHyphens(false))
}

// judge returns an error if the address is forbidden.
func judge(address netip.Addr) error {
	if Forbidden(address) {
		return errors.New("must not have an address that is not public as its host")
	}
	return nil
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
