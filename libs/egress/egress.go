// Package egress contains the rules for connections to addresses that users choose: the forbidden addresses and host
// names, and the settings DELIVERY_RESOLVE and SSO_RESOLVE. Integrations and identity call Host when a user sets a URL,
// so that the user sees a mistake at once. Delivery and identity call Forbidden with the address to which they connect,
// because the DNS records of a name can change later.
package egress

import (
	"net/netip"
	"slices"
	"sync"
)

// Forbidden reports whether the platform must never connect to the address. Only public unicast addresses are
// allowed. An IPv6 address that contains an IPv4 address (mapped, translated, 6to4, Teredo, ISATAP) is always
// forbidden, because it may lead to a forbidden IPv4 address. An address with a zone is forbidden, too.
func Forbidden(address netip.Addr) bool {
	if !address.IsValid() || address.Zone() != "" {
		return true
	}
	// Outside 2000::/3 no IPv6 address is global unicast (RFC 4291, 2.4; IANA's registry). This excludes loopback,
	// unspecified, mapped, both NAT64 prefixes, unique-local, link-local and multicast.
	if address.Is6() && (address.As16()[0]>>5 != 1 || isatap(address)) {
		return true
	}
	return slices.ContainsFunc(forbiddenNetworks(), func(network netip.Prefix) bool { return network.Contains(address) })
}

// forbiddenNetworks returns the IPv4 networks of IANA's special-purpose registry, IPv4 multicast, the address of
// Azure's host agent, and the special-purpose IPv6 networks within 2000::/3.
var forbiddenNetworks = sync.OnceValue(func() (networks []netip.Prefix) {
	for _, text := range []string{
		"0.0.0.0/8",        // "this network", unspecified
		"10.0.0.0/8",       // private
		"100.64.0.0/10",    // carrier NAT
		"127.0.0.0/8",      // loopback
		"168.63.129.16/32", // Azure's host agent
		"169.254.0.0/16",   // link-local, metadata
		"172.16.0.0/12",    // private
		"192.0.0.0/24",     // protocol assignments, metadata
		"192.0.2.0/24",     // documentation
		"192.31.196.0/24",  // AS112
		"192.52.193.0/24",  // AMT
		"192.88.99.0/24",   // 6to4 relays
		"192.168.0.0/16",   // private
		"192.175.48.0/24",  // AS112
		"198.18.0.0/15",    // benchmarking
		"198.51.100.0/24",  // documentation
		"203.0.113.0/24",   // documentation
		"224.0.0.0/4",      // multicast
		"240.0.0.0/4",      // reserved, broadcast

		"2001::/23",         // protocol assignments, Teredo, benchmarking, ORCHID
		"2001:db8::/32",     // documentation
		"2002::/16",         // 6to4
		"2620:4f:8000::/48", // AS112
		"3fff::/20",         // documentation
	} {
		networks = append(networks, netip.MustParsePrefix(text))
	}
	return networks
})

// isatap reports whether the address has an ISATAP interface identifier (RFC 5214), which ends in an IPv4 address.
func isatap(address netip.Addr) bool {
	b := address.As16()
	return (b[8] == 0 || b[8] == 2) && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}
