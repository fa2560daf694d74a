package apitest

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// Names makes this process resolve host names with a DNS server of a test (see Serve).
type Names struct{ server atomic.Value }

// Install replaces the resolver of this process. Without a server of a test, the new resolver asks the system's
// servers. Install must be called before the first test: another test's connection may still resolve a name when a test
// begins.
func (n *Names) Install() {
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		if own, _ := n.server.Load().(string); own != "" {
			network, address = "udp", own
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
}

// Serve resolves each name in records to its address until the test ends, and also the alias of each name ("alias-" and
// the name). All names end with a dot. The names in late exist only from the second lookup on.
func (n *Names) Serve(t testing.TB, records map[string]string, late ...string) {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		buffer, queries := make([]byte, 1500), map[string]int{}
		for {
			size, from, err := server.ReadFrom(buffer)
			if err != nil {
				return
			}
			var query dnsmessage.Message
			if query.Unpack(buffer[:size]) != nil || len(query.Questions) != 1 {
				continue
			}
			name := query.Questions[0].Name.String()
			if queries[name]++; slices.Contains(late, name) && queries[name] <= 2 { // a lookup has one query for each address family
				query.RCode = dnsmessage.RCodeNameError
			}
			if response, err := answered(query, records); err == nil {
				_, _ = server.WriteTo(response, from)
			}
		}
	}()
	n.server.Store(server.LocalAddr().String())
	t.Cleanup(func() {
		n.server.Store("")
		server.Close()
	})
}

// TXTResolver returns a resolver for TXT records. texts returns the texts of a name, which ends with a dot. A name without
// texts does not exist.
func TXTResolver(t testing.TB, texts func(name string) []string) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		buffer := make([]byte, 1500)
		for {
			size, from, err := server.ReadFrom(buffer)
			if err != nil {
				return
			}
			var query dnsmessage.Message
			if query.Unpack(buffer[:size]) != nil || len(query.Questions) != 1 {
				continue
			}
			asked := query.Questions[0]
			query.Response, query.Authoritative, query.Additionals, query.RCode = true, true, nil, dnsmessage.RCodeNameError
			for _, text := range texts(asked.Name.String()) {
				query.RCode = dnsmessage.RCodeSuccess
				query.Answers = append(query.Answers, dnsmessage.Resource{
					Header: dnsmessage.ResourceHeader{Name: asked.Name, Class: dnsmessage.ClassINET}, Body: &dnsmessage.TXTResource{TXT: []string{text}},
				})
			}
			if response, err := query.Pack(); err == nil {
				_, _ = server.WriteTo(response, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// answered returns the response to a query for a name in records or for its alias. It responds that other names do not
// exist.
func answered(query dnsmessage.Message, records map[string]string) ([]byte, error) {
	asked := query.Questions[0]
	query.Response, query.Authoritative, query.Additionals = true, true, nil
	name := asked.Name
	add := func(body dnsmessage.ResourceBody) {
		query.Answers = append(query.Answers, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET}, Body: body})
	}
	if target, alias := strings.CutPrefix(name.String(), "alias-"); alias {
		canonical, err := dnsmessage.NewName(target)
		if err != nil {
			return nil, err
		}
		add(&dnsmessage.CNAMEResource{CNAME: canonical})
		name = canonical
	}
	address, err := netip.ParseAddr(records[name.String()])
	switch {
	case err != nil:
		query.RCode = dnsmessage.RCodeNameError
	case query.RCode != dnsmessage.RCodeSuccess:
	case address.Is4() && asked.Type == dnsmessage.TypeA:
		add(&dnsmessage.AResource{A: address.As4()})
	case address.Is6() && asked.Type == dnsmessage.TypeAAAA:
		add(&dnsmessage.AAAAResource{AAAA: address.As16()})
	}
	return query.Pack()
}

// Connections counts the connections to port 443 of every address of this machine until the test ends.
func Connections(t testing.TB) *atomic.Int64 {
	t.Helper()
	connections := &atomic.Int64{}
	for _, network := range []string{"tcp4", "tcp6"} {
		listener, err := net.Listen(network, ":443")
		if err != nil {
			t.Logf("not listening by %s: %v", network, err)
			continue
		}
		t.Cleanup(func() { listener.Close() })
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				connections.Add(1)
				conn.Close()
			}
		}()
	}
	return connections
}
