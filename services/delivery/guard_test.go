package delivery_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"

	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// addresses are the records of names that any user can register: the address of a name is known only when it is dialled.
var addresses = map[string]string{
	"loopback.example.": "127.0.0.1", "loopback-range.example.": "127.8.8.8", "unspecified.example.": "0.0.0.0", "this-net.example.": "0.1.2.3",
	"private-10.example.": "10.0.0.1", "private-172.example.": "172.20.0.1", "private-192.example.": "192.168.0.1", "metadata.example.": "169.254.169.254",
	"azure.example.": "168.63.129.16", "oracle.example.": "192.0.0.192", "carrier.example.": "100.64.0.1", "alibaba.example.": "100.100.100.200",
	"broadcast.example.": "255.255.255.255", "multicast.example.": "224.0.0.1", "documentation.example.": "203.0.113.1", "benchmark.example.": "198.18.0.1",
	"loopback6.example.": "::1", "unspecified6.example.": "::", "compatible.example.": "::127.0.0.1", "nat64.example.": "64:ff9b::7f00:1",
	"nat64-local.example.": "64:ff9b:1::a00:1", "6to4.example.": "2002:7f00:1::1", "teredo.example.": "2001:0:4136:e378:8000:63bf:3fff:fdd2",
	"isatap.example.": "2606:4700::5efe:7f00:1", "unique-local.example.": "fd00:ec2::254", "link-local.example.": "fe80::1", "site-local.example.": "fec0::1",
	"translated.example.": "::ffff:0:127.0.0.1", "mapped.example.": "::ffff:127.0.0.1", "documentation6.example.": "2001:db8::1", "multicast6.example.": "ff02::1",
	"xn--bcher-kva.example.": "127.0.0.1", "127.0.0.1.nip.example.": "127.0.0.1", "0x7f000001.example.": "127.0.0.1", "later.example.": "127.0.0.1",
}

// names resolves the host names of this process's tests. TestMain installs it.
var names apitest.Names

// blocks sends an event to the URLs, and to one that is allowed. At least so many must be blocked where they are dialled,
// and none connected to.
func blocks(t *testing.T, least int, urls []string) {
	t.Helper()
	w := newWorld(t)
	fine := w.receiver("hooks.test", func(rw http.ResponseWriter, r *http.Request) {
		if target := r.URL.Query().Get("to"); target != "" {
			rw.Header().Set("Location", target)
			rw.Header().Set("Refresh", "0; url="+target)
			rw.WriteHeader(http.StatusTemporaryRedirect)
		}
	})
	connections := apitest.Connections(t)
	ids := make([]string, len(urls))
	for i, address := range urls {
		ids[i] = fmt.Sprintf("r%d", i)
		w.peer.add(ids[i], address)
	}
	w.peer.add("fine", "https://hooks.test/")
	config := w.config(50*time.Millisecond, 100*time.Millisecond)
	if err := config.Resolve.UnmarshalText([]byte(strings.Join(append(w.resolve, "elsewhere.test:443=127.0.0.1:443"), ","))); err != nil {
		t.Fatal(err)
	}
	w.start(config)
	sent := change(newEvent(), 1)
	w.publish(sent, nil)
	w.ended(sent.ID, "fine")
	blocked := 0
	for i, row := range w.ended(sent.ID, ids...) {
		if row.Status != deliverylog.StatusFailed {
			t.Errorf("%s: %+v", urls[i], row)
		}
		switch last := row.Attempts[len(row.Attempts)-1].ErrorCode; last {
		case deliverylog.CodeBlocked:
			blocked++
			if len(row.Attempts) != 1 && !strings.Contains(urls[i], "later.example") {
				t.Errorf("%s was tried %d times", urls[i], len(row.Attempts))
			}
		default:
			t.Logf("%s: %s", urls[i], last) // a redirect, or a name or form without an address on this machine
		}
	}
	t.Logf("%d of %d forms were blocked where they were dialled", blocked, len(urls))
	if n := connections.Load(); n != 0 || blocked < least {
		t.Errorf("%d connections were made, and %d forms blocked", n, blocked)
	}
	got := slices.DeleteFunc(fine.got(), func(a arrival) bool { return a.query != "" })
	if len(got) != 1 {
		t.Errorf("%d requests arrived at the one that may", len(got))
	}
}

// No form of a forbidden address is connected to as the host of a URL. (That such URLs cannot be created is tested in
// the integrations service.)
func TestNoFormOfAForbiddenAddressIsConnectedTo(t *testing.T) {
	hosts := []string{
		"127.0.0.1", "127.0.0.2", "127.255.255.254", "0.0.0.0", "0", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0x7f.1",
		"017700000001", "0177.0.0.1", "0177.1", "127.0.0.1.", "localhost", "LOCALHOST", "localhost.", "localhost.localdomain", "ip6-localhost",
		"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "169.254.169.254", "169.254.0.1", "100.64.0.1", "100.127.255.255",
		"192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.7", "203.0.113.7", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"168.63.129.16", "[::]", "[::1]", "[0:0:0:0:0:0:0:1]", "[::127.0.0.1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:10.0.0.1]", "[::ffff:0:127.0.0.1]",
		"[64:ff9b::7f00:1]", "[64:ff9b:1::a00:1]", "[100::1]", "[2001::1]", "[2001:0:4136:e378:8000:63bf:3fff:fdd2]", "[2001:db8::1]", "[2001:10::1]", "[2002:7f00:1::1]",
		"[2002:a00:1::1]", "[3fff::1]", "[fc00::1]", "[fd00:ec2::254]", "[fe80::1]", "[fe80::1%25lo]", "[::1%25lo]", "[fec0::1]", "[ff02::1]", "[2606:4700::5efe:7f00:1]",
		"[::ffff:a9fe:a9fe]", "[::ffff:169.254.169.254]", "[64:ff9b::169.254.169.254]", "[2002:a9fe:a9fe::1]", "１２７.0.0.1", "①②⑦.0.0.1", "127。0。0。1",
		"ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "0177.0.0.01", "127.0.0.0x1", "0000:443", "127.0.0.1:443", "127.0.0.1:0443", "[::1]:443", "[::1%251]", "127.000.000.001", "010.0.0.1", "%31%32%37.0.0.1",
		"user@127.0.0.1", "user:password@localhost", "127.0.0.1:8443", "127.0.0.1:22", "hooks.test:8443", "hooks.test@127.0.0.1",
	}
	urls := make([]string, 0, len(hosts)+5)
	for _, host := range hosts {
		urls = append(urls, "https://"+host+"/")
	}
	blocks(t, 60, append(urls, "http://hooks.test/", "ftp://127.0.0.1/", "//127.0.0.1/", "https:///", "gopher://127.0.0.1:443/"))
}

// No name is connected to whose address is forbidden: not directly, not with a final dot, not as an alias (CNAME), not if
// it has the address from the second attempt on, and not as the target of a redirect.
func TestNoNameOfAForbiddenAddressIsConnectedTo(t *testing.T) {
	names.Serve(t, addresses, "later.example.")
	var urls []string
	for name := range addresses {
		name = strings.TrimSuffix(name, ".")
		urls = append(urls, "https://"+name+"/", "https://"+name+"./", "https://alias-"+name+":443/")
	}
	for _, target := range []string{"https://127.0.0.1/", "http://127.0.0.1:443/", "https://localhost/", "https://[::1]/", "//127.0.0.1/", "https://loopback.example/", "http://169.254.169.254/latest/"} {
		urls = append(urls, "https://hooks.test/?to="+url.QueryEscape(target))
	}
	blocks(t, 3*len(addresses), urls)
}

// A receiver with a certificate of an unknown authority gets no request.
func TestAReceiverOfAnUnknownAuthorityGetsNoRequest(t *testing.T) {
	w := newWorld(t)
	trusted := w.authorities
	w.authorities = newAuthority(t)
	hooks := w.receiver("hooks.test", nil)
	w.authorities = trusted
	w.peer.add("r1", "https://hooks.test/")
	w.start(w.config(50 * time.Millisecond))
	sent := change(newEvent(), 1)
	w.publish(sent, nil)
	row := w.ended(sent.ID, "r1")[0]
	if row.Status != deliverylog.StatusFailed || row.ErrorCode != deliverylog.CodeTLS || len(row.Attempts) != 2 || len(hooks.got()) != 0 {
		t.Errorf("row %+v", row)
	}
}
