package delivery_test

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// No form of a forbidden address is connected to, neither as the host of a URL nor as the address of a name. The
// listener listens on every address of this machine.
func TestWebhook_blockedAddress(t *testing.T) {
	w := newWorld(t)
	fine := w.receiver("hooks.test", nil)
	var connections atomic.Int64
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
	hosts := []string{
		"127.0.0.1", "127.0.0.2", "127.255.255.254", "0.0.0.0", "0", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0x7f.1",
		"017700000001", "0177.0.0.1", "0177.1", "127.0.0.1.", "localhost", "LOCALHOST", "localhost.", "localhost.localdomain", "ip6-localhost",
		"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "169.254.169.254", "169.254.0.1", "100.64.0.1", "100.127.255.255",
		"192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.7", "203.0.113.7", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"168.63.129.16", "[::]", "[::1]", "[0:0:0:0:0:0:0:1]", "[::127.0.0.1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:10.0.0.1]", "[::ffff:0:127.0.0.1]",
		"[64:ff9b::7f00:1]", "[64:ff9b:1::a00:1]", "[100::1]", "[2001::1]", "[2001:0:4136:e378:8000:63bf:3fff:fdd2]", "[2001:db8::1]", "[2001:10::1]", "[2002:7f00:1::1]",
		"[2002:a00:1::1]", "[3fff::1]", "[fc00::1]", "[fd00:ec2::254]", "[fe80::1]", "[fe80::1%25lo]", "[::1%25lo]", "[fec0::1]", "[ff02::1]", "[2606:4700::5efe:7f00:1]",
		"user@127.0.0.1", "user:password@localhost", "127.0.0.1:8443", "127.0.0.1:22", "hooks.test:8443", "hooks.test@127.0.0.1",
	}
	urls := make([]string, 0, len(hosts)+4)
	for _, host := range hosts {
		urls = append(urls, "https://"+host+"/")
	}
	urls = append(urls, "http://hooks.test/", "ftp://127.0.0.1/", "//127.0.0.1/", "https:///", "gopher://127.0.0.1:443/")
	ids := make([]string, len(urls))
	for i, url := range urls {
		ids[i] = fmt.Sprintf("r%d", i)
		w.peer.add(ids[i], url)
	}
	w.peer.add("fine", "https://hooks.test/")
	config := w.config(50 * time.Millisecond)
	if err := config.Resolve.UnmarshalText([]byte(strings.Join(append(w.resolve, "elsewhere.test:443=127.0.0.1:443"), ","))); err != nil {
		t.Fatal(err)
	}
	w.start(config)
	sent := change(newEvent(), 1)
	w.publish(sent, nil)
	w.ended(sent.ID, "fine")
	rows := w.ended(sent.ID, ids...)
	blocked := 0
	for i, row := range rows {
		if row.Status != dispatch.StatusFailed {
			t.Errorf("%s: %+v", urls[i], row)
		}
		if row.ErrorCode == dispatch.CodeBlocked {
			blocked++
			if len(row.Attempts) != 1 {
				t.Errorf("%s was tried %d times", urls[i], len(row.Attempts))
			}
		} else {
			t.Logf("%s: %s", urls[i], row.ErrorCode) // a name or form without an address on this machine
		}
	}
	t.Logf("%d of %d forms were blocked where they were dialled", blocked, len(urls))
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
	if n := len(fine.got()); n != 1 {
		t.Errorf("%d requests arrived at the one that may", n)
	}
}

// A receiver with a certificate of an unknown authority gets no request.
func TestWebhook_untrusted(t *testing.T) {
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
	if row.Status != dispatch.StatusFailed || row.ErrorCode != dispatch.CodeTLS || len(row.Attempts) != 2 || len(hooks.got()) != 0 {
		t.Errorf("row %+v", row)
	}
}
