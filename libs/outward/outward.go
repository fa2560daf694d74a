// Package outward holds the rules for connections that users cause: the forbidden addresses and host names, and
// the setting DELIVERY_RESOLVE. The integrations service applies them when an endpoint is created, so that the
// user sees a mistake at once. The delivery service applies Forbidden again to the address that it connects to,
// because the DNS records of a name can change.
package outward

import "net/netip"

// Forbidden reports whether the platform must never connect to the address. Only public unicast addresses are
// allowed. An IPv6 address that contains an IPv4 address (mapped, translated, 6to4, Teredo, ISATAP) is always
// forbidden, because this list cannot check the network behind it. So is an address with a zone.
func Forbidden(address netip.Addr) bool {
	if !address.IsValid() || address.Zone() != "" {
		return true
	}
	if address.Is4() {
		return within(address, forbiddenV4())
	}
	// Outside of 2000::/3 nothing is global unicast (RFC 4291, 2.4; IANA's registry):
	// loopback, unspecified, mapped, both NAT64 prefixes, unique-local, link-local, multicast.
	if !netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20}), 3).Contains(address) {
		return true
	}
	return isatap(address) || within(address, forbiddenV6())
}

// forbiddenV4 returns the networks that IANA's IPv4 special-purpose registry lists as not global, and the public
// metadata address of one cloud.
func forbiddenV4() []netip.Prefix {
	return []netip.Prefix{
		v4(0, 0, 0, 0, 8),        // "this network", unspecified
		v4(10, 0, 0, 0, 8),       // private
		v4(100, 64, 0, 0, 10),    // carrier NAT
		v4(127, 0, 0, 0, 8),      // loopback
		v4(168, 63, 129, 16, 32), // Azure's host agent
		v4(169, 254, 0, 0, 16),   // link-local, metadata
		v4(172, 16, 0, 0, 12),    // private
		v4(192, 0, 0, 0, 24),     // protocol assignments, metadata
		v4(192, 0, 2, 0, 24),     // documentation
		v4(192, 31, 196, 0, 24),  // AS112
		v4(192, 52, 193, 0, 24),  // AMT
		v4(192, 88, 99, 0, 24),   // 6to4 relays
		v4(192, 168, 0, 0, 16),   // private
		v4(192, 175, 48, 0, 24),  // AS112
		v4(198, 18, 0, 0, 15),    // benchmarking
		v4(198, 51, 100, 0, 24),  // documentation
		v4(203, 0, 113, 0, 24),   // documentation
		v4(224, 0, 0, 0, 4),      // multicast
		v4(240, 0, 0, 0, 4),      // reserved, broadcast
	}
}

// forbiddenV6 returns the forbidden networks within 2000::/3.
func forbiddenV6() []netip.Prefix {
	return []netip.Prefix{
		v6(23, 0x20, 0x01),                         // 2001::/23: protocol assignments, Teredo, benchmarking, ORCHID
		v6(32, 0x20, 0x01, 0x0d, 0xb8),             // documentation
		v6(16, 0x20, 0x02),                         // 6to4
		v6(48, 0x26, 0x20, 0x00, 0x4f, 0x80, 0x00), // AS112
		v6(20, 0x3f, 0xff),                         // documentation
	}
}

// isatap reports whether the interface identifier is one of RFC 5214, whose last four bytes are an IPv4 address.
func isatap(address netip.Addr) bool {
	b := address.As16()
	return (b[8] == 0 || b[8] == 2) && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

func within(address netip.Addr, prefixes []netip.Prefix) bool {
	for _, prefix := range prefixes {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}

func v4(a, b, c, d byte, bits int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{a, b, c, d}), bits)
}

func v6(bits int, lead ...byte) netip.Prefix {
	var address [16]byte
	copy(address[:], lead)
	return netip.PrefixFrom(netip.AddrFrom16(address), bits)
}
