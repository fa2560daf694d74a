package boot

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
)

// hostProxy is a value of BELLBUOY_TRUSTED_PROXIES. It means a proxy on the machine that runs the container. A fixed
// address cannot be set for this machine, because a new container network may get another address range.
const hostProxy = "host"

// routes is the file with the routing table of Linux.
const routes = "/proc/net/route"

// Networks returns the networks of the proxies.
func (p Proxies) Networks() ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for _, text := range p.TrustedProxies {
		if text == "" {
			continue
		}
		network, err := netip.ParsePrefix(text)
		if text == hostProxy {
			network, err = hostNetwork()
		}
		if err != nil {
			return nil, fmt.Errorf("BELLBUOY_TRUSTED_PROXIES: %w", err)
		}
		networks = append(networks, network.Masked())
	}
	return networks, nil
}

// hostNetwork returns the address of the default gateway. A connection that the machine makes to a published port of
// the container comes from this address.
func hostNetwork() (netip.Prefix, error) {
	table, err := os.ReadFile(routes)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("host: %w", err)
	}
	return defaultRoute(string(table))
}

// defaultRoute returns the address of the default gateway in the table. The first columns of the table are Iface,
// Destination and Gateway. Addresses are hexadecimal, in the byte order of the processor.
func defaultRoute(table string) (netip.Prefix, error) {
	for line := range strings.Lines(table) {
		columns := strings.Fields(line)
		if len(columns) < 3 || columns[1] != "00000000" {
			continue
		}
		raw, err := hex.DecodeString(columns[2])
		if err != nil || len(raw) != 4 {
			continue
		}
		var address [4]byte
		binary.NativeEndian.PutUint32(address[:], binary.BigEndian.Uint32(raw))
		return netip.PrefixFrom(netip.AddrFrom4(address), 32), nil
	}
	return netip.Prefix{}, errors.New("host: this machine has no default route; name the network of the proxy")
}
