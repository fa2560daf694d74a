package outward

import (
	"errors"
	"net"
	"net/netip"
	"strings"

	"golang.org/x/net/idna"
)

// Host brings the host of a URL (as it stands there, an IPv6 address in brackets,
// without a port) into its one canonical form: lower case, an international name in
// its ASCII form, an address in its shortest. It refuses, with a reason that a
// client may read, whatever is neither a public name of at least two labels nor an
// address that is not Forbidden: local names, a final dot, and every spelling of an
// IPv4 address other than four decimal numbers, since resolvers read those
// differently. A host that r places elsewhere on port 443 needs to be canonical only.
func (r Resolve) Host(host string) (string, error) {
	if _, exempt := r.Lookup(net.JoinHostPort(strings.Trim(host, "[]"), "443")); exempt && plain(host) {
		return strings.ToLower(host), nil
	}
	if inner, opened := strings.CutPrefix(host, "["); opened {
		inner, closed := strings.CutSuffix(inner, "]")
		address, err := netip.ParseAddr(inner)
		if !closed || err != nil || !address.Is6() {
			return "", errors.New("the host is not a valid IPv6 address")
		}
		return "[" + address.String() + "]", judge(address)
	}
	name, err := international().ToASCII(host)
	if err != nil || !wellFormed(name) {
		return "", errors.New("the host is not a valid name")
	}
	if _, exempt := r.Lookup(name + ":443"); exempt {
		return name, nil
	}
	labels := strings.Split(name, ".")
	last := labels[len(labels)-1]
	if numeric(last) {
		address, err := netip.ParseAddr(name)
		if err != nil {
			return "", errors.New("the host is a number that is not a plain IPv4 address")
		}
		return address.String(), judge(address)
	}
	if len(labels) < 2 || local(name, last) {
		return "", errors.New("the host is a local name")
	}
	return name, nil
}

// international is UTS 46 for looking names up, except that hyphens may stand in the
// third and fourth place, as they do in the names of some content networks.
func international() *idna.Profile {
	return idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(),
		idna.StrictDomainName(true), idna.CheckHyphens(false))
}

func judge(address netip.Addr) error {
	if Forbidden(address) {
		return errors.New("the host is an address that is not public")
	}
	return nil
}

// plain reports a host that needs no mapping and holds nothing with a meaning in a URL.
func plain(host string) bool {
	return strings.IndexFunc(host, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune(`/\?#@%`, c)
	}) < 0
}

// wellFormed holds a name to RFC 1123: labels of 1 to 63 letters, digits and
// hyphens (not at an end), 253 characters altogether.
func wellFormed(name string) bool {
	if len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
				return false
			}
		}
	}
	return true
}

// numeric reports a last label that makes URL parsers read the host as an IPv4
// address (WHATWG URL, "ends in a number"): decimal, octal or hexadecimal.
func numeric(label string) bool {
	digits, alphabet := label, "0123456789"
	if hex, found := strings.CutPrefix(label, "0x"); found {
		digits, alphabet = hex, "0123456789abcdef"
	}
	return strings.Trim(digits, alphabet) == ""
}

// local reports names that no public DNS answers, but a resolver inside a network may.
func local(name, last string) bool {
	switch last {
	case "localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "corp":
		return true
	}
	return name == "home.arpa" || strings.HasSuffix(name, ".home.arpa")
}
