package endpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/outward"
)

func TestHostileURLsAreRefused(t *testing.T) {
	for _, text := range []string{
		// not an absolute https URL
		"", "/hook", "hooks.example.com/hook", "//hooks.example.com/hook", "http://hooks.example.com/hook", "HTTP://hooks.example.com/",
		"ftp://hooks.example.com/", "file:///etc/passwd", "javascript:alert(1)", "gopher://127.0.0.1:6379/_", "https:", "https:/", "https://", "https:///hook",
		"https:hooks.example.com", "https:/hooks.example.com/", "httpss://hooks.example.com/", "https://?x=1", "https://#x", "https://:443/",
		// ports
		"https://hooks.example.com:80/", "https://hooks.example.com:8443/", "https://hooks.example.com:/", "https://hooks.example.com:0443/",
		"https://hooks.example.com:+443/", "https://hooks.example.com:443:443/", "https://hooks.example.com:https/", "https://8.8.8.8:22/", "https://[2606:4700::1111]:8443/",
		// credentials
		"https://user@hooks.example.com/", "https://user:pass@hooks.example.com/", "https://@hooks.example.com/", "https://hooks.example.com@127.0.0.1/",
		"https://127.0.0.1:443@hooks.example.com/", "https://hooks.example.com:443@localhost/",
		// characters
		" https://hooks.example.com/", "https://hooks.example.com/ ", "https://hooks.example.com/a b", "https://hooks.example.com/\t", "https://hooks.example.com/\n",
		"https://hooks.example.com/\r\nX: y", "https://hooks.example.com\x00.evil.com/", "https://hooks.example.com/\x7f", `https://hooks.example.com\@127.0.0.1/`,
		`https:\\hooks.example.com\hook`, "https://hooks.example.com/%zz", "https://hooks.example.com/%", "https://hooks.example.com/ü", "https://hooks.example.com/?q=ü",
		"https://%6c%6f%63%61%6c%68%6f%73%74/", "https://hooks%2eexample%2ecom/", "https://hooks.example.com%00/", "https://hooks.example.com%2f@x/", "https://hooks_1.example.com/", "https://hooks,example.com/",
		// names that are not public
		"https://localhost/", "https://LOCALHOST/", "https://localhost./", "https://app.localhost/", "https://localhost.localdomain/", "https://router.local/",
		"https://metadata.google.internal/computeMetadata/v1/", "https://intranet/", "https://hooks.example.com./", "https://hooks..example.com/", "https://.example.com/",
		// addresses that are not public
		"https://127.0.0.1/", "https://127.0.0.1:443/", "https://127.255.255.254/", "https://0.0.0.0/", "https://10.1.2.3/", "https://172.16.0.1/", "https://172.31.255.255/",
		"https://192.168.1.1/", "https://169.254.169.254/latest/meta-data/", "https://100.64.0.1/", "https://100.100.100.200/", "https://168.63.129.16/", "https://192.0.0.192/",
		"https://192.0.2.1/", "https://198.18.0.1/", "https://198.51.100.1/", "https://203.0.113.1/", "https://224.0.0.1/", "https://240.0.0.1/", "https://255.255.255.255/",
		// other spellings of addresses
		"https://2130706433/", "https://134744072/", "https://0x7f000001/", "https://0X7F.0.0.1/", "https://017700000001/", "https://0177.0.0.1/", "https://0177.0.0.01/",
		"https://127.1/", "https://127.0.1/", "https://10.1/", "https://0/", "https://0x7f.1/", "https://127.0.0.1./", "https://127.0.0.0x1/", "https://1.2.3.4.5/", "https://256.256.256.256/",
		"https://１２７.0.0.1/", "https://127。0。0。1/", "https://①②⑦.0.0.1/", "https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/",
		// IPv6 and what hides in it
		"https://[::1]/", "https://[::]/", "https://[0:0:0:0:0:0:0:1]:443/", "https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/", "https://[::ffff:a9fe:a9fe]/", "https://[::127.0.0.1]/",
		"https://[::ffff:0:127.0.0.1]/", "https://[64:ff9b::7f00:1]/", "https://[64:ff9b::169.254.169.254]/", "https://[64:ff9b:1::1]/", "https://[2002:7f00:1::1]/", "https://[2002:a9fe:a9fe::1]/",
		"https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", "https://[fe80::1]/", "https://[fe80::1%25eth0]/", "https://[fe80::1%eth0]/", "https://[fc00::1]/", "https://[fd00:ec2::254]/",
		"https://[fec0::1]/", "https://[ff02::1]/", "https://[2001:db8::1]/", "https://[2606:4700::5efe:7f00:1]/", "https://[127.0.0.1]/", "https://[::1/", "https://::1/", "https://[]/", "https://[v1.x]/", "https://[::1]x/",
		"https://hooks.example.com/" + strings.Repeat("x", 2048),
	} {
		a, err := parseAddress(text, outward.Resolve{})
		if err == nil {
			t.Errorf("%q passed as %q", text, a.URL())
			continue
		}
		f := fault.As(err)
		if f.Kind != fault.Invalid || f.Field != "url" {
			t.Errorf("%q: %v", text, err)
		}
		if len(text) > 30 && strings.Contains(err.Error(), text) {
			t.Errorf("the refusal repeats the URL: %v", err)
		}
	}
}

func TestURLsAreNormalisedAndShownInPart(t *testing.T) {
	for text, want := range map[string]struct{ url, display string }{
		"https://hooks.example.com/services/T0/B0/token":         {"https://hooks.example.com/services/T0/B0/token", "hooks.example.com/servi…"},
		"HTTPS://Hooks.EXAMPLE.com:443/Services/T0#part":         {"https://hooks.example.com/Services/T0", "hooks.example.com/Servi…"},
		"https://hooks.example.com":                              {"https://hooks.example.com", "hooks.example.com"},
		"https://hooks.example.com/":                             {"https://hooks.example.com/", "hooks.example.com/"},
		"https://hooks.example.com/hook?key=A&key=%41":           {"https://hooks.example.com/hook?key=A&key=%41", "hooks.example.com/ho…"},
		"https://hooks.example.com?token=secret":                 {"https://hooks.example.com?token=secret", "hooks.example.com"},
		"https://hooks.example.com/a//b/../c/%2F?":               {"https://hooks.example.com/a//b/../c/%2F?", "hooks.example.com/a//b/…"},
		"https://bücher.example/h":                               {"https://xn--bcher-kva.example/h", "xn--bcher-kva.example/…"},
		"https://8.8.8.8/h":                                      {"https://8.8.8.8/h", "8.8.8.8/…"},
		"https://[2606:4700:0::1111]:443/h":                      {"https://[2606:4700::1111]/h", "[2606:4700::1111]/…"},
		"https://hooks.example.com/" + strings.Repeat("x", 2022): {"https://hooks.example.com/" + strings.Repeat("x", 2022), "hooks.example.com/xxxxx…"},
	} {
		a, err := parseAddress(text, outward.Resolve{})
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		sum := sha256.Sum256([]byte(want.url))
		if a.URL() != want.url || a.Display() != want.display || a.Hash() != hex.EncodeToString(sum[:]) {
			t.Errorf("%q: %q shown as %q, hash %s", text, a.URL(), a.Display(), a.Hash())
		}
	}
}

func TestHostsThatTheOperatorPlacesElsewhereAreExempt(t *testing.T) {
	var resolve outward.Resolve
	if err := resolve.UnmarshalText([]byte("receiver.local:443=127.0.0.1:9443,127.0.0.1:443=127.0.0.1:9443")); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"https://Receiver.local:443/hook": "https://receiver.local/hook",
		"https://127.0.0.1/hook":          "https://127.0.0.1/hook",
	} {
		if a, err := parseAddress(text, resolve); err != nil || a.URL() != want {
			t.Errorf("%q: %q, %v", text, a.URL(), err)
		}
	}
	for _, text := range []string{"https://receiver.local:9443/hook", "http://receiver.local/hook", "https://127.0.0.2/", "https://user@receiver.local/"} {
		if a, err := parseAddress(text, resolve); err == nil {
			t.Errorf("%q passed as %q", text, a.URL())
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	for _, text := range []string{"https://hooks.example.com/a?b#c", "https://[::1]:443/", "https://0x7f.1/", "https://bücher.example/%41", "https://a@b:443"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parseAddress(text, outward.Resolve{})
		if err != nil {
			return
		}
		again, err := parseAddress(a.URL(), outward.Resolve{})
		if err != nil || again != a {
			t.Fatalf("%q is normalised to %q and that to %q, %v", text, a.URL(), again.URL(), err)
		}
	})
}
