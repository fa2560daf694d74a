package egress_test

import (
	"net/netip"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/egress"
)

func TestForbiddenHoldsForEveryAddressThatIsNotPublic(t *testing.T) {
	for _, text := range []string{
		"0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.254", "10.0.0.1", "10.255.255.255",
		"172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.255.255", "169.254.0.1",
		"169.254.169.254", "100.64.0.1", "100.100.100.200", "100.127.255.255", "168.63.129.16",
		"192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.19.255.255",
		"198.51.100.7", "203.0.113.7", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8",
		"::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::a00:1", "100::1",
		"2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:2::1", "2001:10::1", "2001:20::1",
		"2001:db8::1", "2002:7f00:1::1", "2002:808:808::1", "3fff::1", "4000::1", "5f00::1",
		"fc00::1", "fd00:ec2::254", "fd20:ce::254", "fe80::1", "fe80::1%eth0", "febf::1", "fec0::1",
		"ff02::1", "ff0e::1", "2606:4700::5efe:7f00:1", "2606:4700::200:5efe:10.0.0.1", "2606:4700::1%1",
	} {
		if !egress.Forbidden(netip.MustParseAddr(text)) {
			t.Errorf("%s is allowed", text)
		}
	}
	if !egress.Forbidden(netip.Addr{}) {
		t.Error("no address is allowed")
	}
	for _, text := range []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.1", "126.255.255.255",
		"128.0.0.1", "168.63.129.15", "169.253.255.255", "172.15.255.255", "172.32.0.1", "192.0.1.1", "192.167.255.255",
		"198.17.255.255", "198.20.0.1", "223.255.255.255", "2606:4700::1111", "2001:200::1", "2001:4860:4860::8888", "2003::1",
	} {
		if egress.Forbidden(netip.MustParseAddr(text)) {
			t.Errorf("%s is forbidden", text)
		}
	}
}

func TestHostRefusesLocalNamesAndEveryOddSpellingOfAnAddress(t *testing.T) {
	var none egress.Resolve
	for _, host := range []string{
		"", ".", "..", "localhost", "LOCALHOST", "localhost.", "a.localhost", "ｌｏｃａｌｈｏｓｔ", "loc\u00adalhost", "localhost.localdomain",
		"intranet", "printer.local", "metadata.google.internal", "router.home.arpa", "home.arpa", "example.com.", "example..com",
		".example.com", "example", "-a.example.com", "a-.example.com", "ex ample.com", "ex_ample.com", "example.com%00",
		"127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0X7F000001", "0x7f.0.0.1", "0x7f.1", "017700000001", "0177.0.0.1",
		"0177.1", "127.0.0.1.", "127.0.0.01", "127.0.0.256", "1.2.3.4.5", "8.8.8", "134744072", "0x", "1.0x", "foo.0x7f", "foo.127", "１２７.0.0.1", "①②⑦.0.0.1",
		"127。0。0。1", "127．0．0．1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "0", "255.255.255.255", "100.64.0.1",
		"[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
		"[fe80::1]", "[fe80::1%25eth0]", "[fe80::1%eth0]", "[fd00::1]", "[ff02::1]", "[2001:db8::1]", "[8.8.8.8]", "[::1", "::1", "[]", "[g::1]", "[2606:4700::1111]x",
		"8.8.8.8", "1.1.1.1", "[2606:4700::1111]", "[2606:4700:0:0::1111]", "bücher.example", "BÜCHER.example", "ｅｘａｍｐｌｅ.com", "exam\u00adple.com", "еxample.com",
		"xn--0.example.com", "xn--", "xn--.example.com", "xn--a.example.com", "xn--80ak6aa92e-.example.com", "xn--bcher-KVa\u00df.example", "a/b.example.com", `a\b.example.com`, "a@b.example.com", "a#b.example.com", "a\u200bb\u0000.example.com",
	} {
		if canonical, err := none.Host(host); err == nil {
			t.Errorf("%q passed as %q", host, canonical)
		}
	}
}

func TestHostGivesOneFormToOneHost(t *testing.T) {
	var none egress.Resolve
	for host, want := range map[string]string{
		"example.com":              "example.com",
		"Hooks.EXAMPLE.com":        "hooks.example.com",
		"xn--bcher-kva.example":    "xn--bcher-kva.example",
		"XN--BCHER-KVA.example":    "xn--bcher-kva.example",
		"r3---sn-4g5e.example.com": "r3---sn-4g5e.example.com",
		"127.0.0.1.nip.io":         "127.0.0.1.nip.io", // a valid name; its address is checked when it is dialled
	} {
		if got, err := none.Host(host); err != nil || got != want {
			t.Errorf("%q: got %q, %v; want %q", host, got, err, want)
		}
	}
}

func TestHostLetsPassWhatTheOperatorPlacesElsewhere(t *testing.T) {
	var resolve egress.Resolve
	if err := resolve.UnmarshalText([]byte("Receiver:443=127.0.0.1:9443, 10.1.2.3:443=10.1.2.3:443,[fd00::1]:443=[fd00::1]:8443,localhost:8443=127.0.0.1:1,xn--bcher-kva.local:443=10.0.0.9:443,")); err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{
		"receiver": "receiver", "RECEIVER": "receiver", "10.1.2.3": "10.1.2.3", "[fd00::1]": "[fd00::1]", "XN--BCHER-KVA.local": "xn--bcher-kva.local",
	} {
		if got, err := resolve.Host(host); err != nil || got != want {
			t.Errorf("%q: got %q, %v; want %q", host, got, err, want)
		}
	}
	for _, host := range []string{"localhost", "10.1.2.4", "[fd00::2]", "receiver.", "receiver:443", "bücher.local", "[10.1.2.3]"} {
		if got, err := resolve.Host(host); err == nil {
			t.Errorf("%q passed as %q", host, got)
		}
	}
	if target, found := resolve.Lookup("RECEIVER:443"); !found || target != "127.0.0.1:9443" {
		t.Errorf("got %q, %v", target, found)
	}
	if _, found := resolve.Lookup("receiver:80"); found {
		t.Error("another port of the host is placed elsewhere too")
	}
}

func TestResolveRefusesWhatItCannotRead(t *testing.T) {
	for _, text := range []string{
		"receiver", "receiver=127.0.0.1:1", "receiver:443", "receiver:443=", "receiver:443=127.0.0.1", ":443=127.0.0.1:1",
		"receiver:0=127.0.0.1:1", "receiver:443=127.0.0.1:65536", "receiver:https=127.0.0.1:1", "a:443=b:1,a:443=c:1", "fd00::1:443=x",
	} {
		var resolve egress.Resolve
		if err := resolve.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
	var none egress.Resolve
	if err := none.UnmarshalText(nil); err != nil {
		t.Error(err)
	}
	if _, found := none.Lookup("receiver:443"); found {
		t.Error("an empty setting places a host")
	}
}
