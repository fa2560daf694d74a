package gateway

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/version"
)

// setupPath is the page of the console that shows what the platform saw of a request.
const setupPath = "/console/setup"

// proxies are the networks of the proxies in front of the gateway (BELLBUOY_TRUSTED_PROXIES). The gateway reads
// X-Forwarded headers only on connections from these networks, because any other client can invent them.
type proxies []netip.Prefix

// client returns the address of the client and the scheme of its request. Behind trusted proxies, the address is the
// last address in X-Forwarded-For that is not the address of a trusted proxy. Each proxy appends the address of its own
// client, so the client itself may have invented all earlier addresses.
func (p proxies) client(r *http.Request) (ip, scheme string) {
	scheme = "http"
	if r.TLS != nil {
		scheme = "https"
	}
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		address = r.RemoteAddr
	}
	if len(p) == 0 || !p.trusts(address) {
		return address, scheme
	}
	if forwarded := r.Header.Get("X-Forwarded-Proto"); forwarded == "http" || forwarded == "https" {
		scheme = forwarded
	}
	chain := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for _, text := range slices.Backward(chain) {
		next, ok := parseForwarded(text)
		if !ok {
			break
		}
		if address = next.String(); !p.trusts(address) {
			break
		}
	}
	return address, scheme
}

// arrival returns what the platform saw of a request to the page Setup of the console, and nil for every other request.
func (e *edge) arrival(r *request) *passport.Arrival {
	if r.found.surface != passport.Console || r.in.URL.Path != setupPath && !strings.HasPrefix(r.in.URL.Path, setupPath+"/") {
		return nil
	}
	seen := passport.Arrival{
		Scheme: r.scheme, Host: r.in.Host, Client: r.ip, Peer: r.in.RemoteAddr, Version: version.Number(), RedisDown: e.guard.redis.IsDown(),
		ForwardedFor: r.in.Header.Get("X-Forwarded-For") != "" || r.in.Header.Get("Forwarded") != "",
	}
	if address, _, err := net.SplitHostPort(seen.Peer); err == nil {
		seen.Peer = address
	}
	seen.Trusted = e.proxies.trusts(seen.Peer)
	if proto := r.in.Header.Get("X-Forwarded-Proto"); proto == "http" || proto == "https" {
		seen.ForwardedProto = proto
	}
	return &seen
}

func (p proxies) trusts(address string) bool {
	ip, err := netip.ParseAddr(address)
	return err == nil && slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(ip.Unmap().WithZone("")) })
}

// parseForwarded parses an address in X-Forwarded-For. Some proxies append a port to the address.
func parseForwarded(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if with, err := netip.ParseAddrPort(text); err == nil {
		return with.Addr().Unmap(), true
	}
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	return ip.Unmap(), err == nil
}
