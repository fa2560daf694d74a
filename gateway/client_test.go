package gateway

import (
	"crypto/tls"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/version"
)

func TestTheClientIsTheLastAddressThatNoTrustedProxyHas(t *testing.T) {
	trusted := proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("192.0.2.7/32")}
	for _, test := range []struct {
		name, remote  string
		forwarded     []string
		proto         string
		proxies       proxies
		wantIP, wants string
	}{
		{"no proxies: the headers are claims", "10.0.0.1:5", []string{"203.0.113.9"}, "https", nil, "10.0.0.1", "http"},
		{"not from a proxy", "198.51.100.4:5", []string{"203.0.113.9"}, "https", trusted, "198.51.100.4", "http"},
		{"from a proxy", "10.0.0.1:5", []string{"203.0.113.9"}, "https", trusted, "203.0.113.9", "https"},
		{"a claim of the client before it", "10.0.0.1:5", []string{"1.1.1.1, 203.0.113.9"}, "", trusted, "203.0.113.9", "http"},
		{"a chain of proxies", "10.0.0.1:5", []string{"1.1.1.1, 203.0.113.9 ,192.0.2.7,10.9.9.9"}, "", trusted, "203.0.113.9", "http"},
		{"the header twice", "10.0.0.1:5", []string{"1.1.1.1", "203.0.113.9"}, "", trusted, "203.0.113.9", "http"},
		{"a trusted address claimed by the client", "10.0.0.1:5", []string{"10.0.0.2, 203.0.113.9"}, "", trusted, "203.0.113.9", "http"},
		{"only proxies", "10.0.0.1:5", []string{"10.0.0.2, 10.0.0.3"}, "", trusted, "10.0.0.2", "http"},
		{"no header", "10.0.0.1:5", nil, "gopher", trusted, "10.0.0.1", "http"},
		{"no address", "10.0.0.1:5", []string{"203.0.113.9, unknown"}, "", trusted, "10.0.0.1", "http"},
		{"no address in the middle", "10.0.0.1:5", []string{"203.0.113.9, _x, 10.0.0.2"}, "", trusted, "10.0.0.2", "http"},
		{"an empty header", "10.0.0.1:5", []string{""}, "", trusted, "10.0.0.1", "http"},
		{"with a port", "10.0.0.1:5", []string{"203.0.113.9:4711"}, "", trusted, "203.0.113.9", "http"},
		{"IPv6", "[2001:db8::1]:5", []string{"2001:470::1"}, "", trusted, "2001:470::1", "http"},
		{"IPv6 with a port", "[2001:db8::1]:5", []string{"[2001:470::1]:4711"}, "", trusted, "2001:470::1", "http"},
		{"IPv6 in brackets", "[2001:db8::1]:5", []string{"[2001:470::1]"}, "", trusted, "2001:470::1", "http"},
		{"IPv4 within IPv6", "[::ffff:10.0.0.1]:5", []string{"::ffff:203.0.113.9"}, "", trusted, "203.0.113.9", "http"},
	} {
		r := &http.Request{RemoteAddr: test.remote, Header: http.Header{}}
		if test.forwarded != nil {
			r.Header["X-Forwarded-For"] = test.forwarded
		}
		if test.proto != "" {
			r.Header.Set("X-Forwarded-Proto", test.proto)
		}
		if ip, scheme := test.proxies.client(r); ip != test.wantIP || scheme != test.wants {
			t.Errorf("%s: %s %s, want %s %s", test.name, ip, scheme, test.wantIP, test.wants)
		}
	}
	if _, scheme := proxies(nil).client(&http.Request{RemoteAddr: "10.0.0.1:5", TLS: &tls.ConnectionState{}}); scheme != "https" {
		t.Errorf("over TLS the scheme is %s", scheme)
	}
}

// The services get the address behind a trusted proxy, for audit entries and limits. For any other client, they get the
// address of the connection.
func TestServicesGetTheAddressBehindATrustedProxy(t *testing.T) {
	w := newWorld(t)
	m := w.keys.member(nil)
	spoofed := map[string]string{
		"Authorization": m.bearer(), "X-Forwarded-For": "192.0.2.200, 203.0.113.9", "X-Forwarded-Proto": "https", "X-Real-Ip": "192.0.2.201",
	}
	for networks, want := range map[string][2]string{
		"":                         {"127.0.0.1", "http"},
		"10.0.0.0/8":               {"127.0.0.1", "http"},
		"10.0.0.0/8,127.0.0.0/8":   {"203.0.113.9", "https"},
		"127.0.0.1/8,203.1.0.0/16": {"203.0.113.9", "https"},
	} {
		d := w.gateway(t, func(c *Config) { c.Proxies = boot.Proxies{TrustedProxies: strings.Split(networks, ",")} })
		e := d.get(t, "/app/users", spoofed).echo(t)
		if e.Passport.IP != want[0] || e.Header.Get("X-Forwarded-For") != want[0] || e.Header.Get("X-Forwarded-Proto") != want[1] || e.Header.Get("X-Real-Ip") != "" {
			t.Errorf("with %q: passport %s, header %v", networks, e.Passport.IP, e.Header)
		}
	}
	c := w.config(t, &apitest.Log{})
	c.TrustedProxies = []string{"10.0.0.0/8", "proxy.example"}
	if _, err := newEdge(c); err == nil {
		t.Error("a wrong network starts the gateway")
	}
}

// The page Setup of the console learns how its request arrived, also after a form. Other pages and services do not, and no
// client can send the header.
func TestThePageSetupLearnsHowItsRequestArrived(t *testing.T) {
	w := newWorld(t)
	m := w.keys.session(nil)
	for networks, want := range map[string]passport.Arrival{
		"":            {Scheme: "http", Client: "127.0.0.1"},
		"127.0.0.0/8": {Scheme: "https", Client: "203.0.113.9", Trusted: true},
	} {
		d := w.gateway(t, func(c *Config) { c.Proxies = boot.Proxies{TrustedProxies: strings.Split(networks, ",")} })
		want.Host, want.Peer, want.ForwardedFor, want.ForwardedProto, want.Version = consoleHost, "127.0.0.1", true, "https", version.Number()
		header := formOf(m.cookie())
		header["X-Forwarded-For"], header["X-Forwarded-Proto"], header["Bellbuoy-Arrival"] = "203.0.113.9", "https", `{"Trusted": true}`
		for what, got := range map[string]got{
			"page": d.get(t, "/console/setup", header), "form": d.do(t, "POST", "/console/setup/email", "a=b", header),
			"form, once": d.do(t, "POST", "/console/setup/email?once=01890a5d-ac96-774b-bcce-b302099a8057", "a="+strings.ReplaceAll(networks, "/", "-"), header),
		} {
			if seen, sent := passport.ArrivalOf(got.echo(t).Header); !sent || seen != want {
				t.Errorf("%s with the proxies %q: %+v, want %+v", what, networks, seen, want)
			}
		}
		for _, path := range []string{"/console/", "/console/setups"} {
			if seen, sent := passport.ArrivalOf(d.get(t, path, header).echo(t).Header); sent {
				t.Errorf("%s: %+v", path, seen)
			}
		}
	}
}
