package endpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/egress"
	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// hostileURLs returns the URLs that no endpoint may have. The tests of the service share the file.
func hostileURLs(t testing.TB) []string {
	t.Helper()
	var groups map[string][]string
	content, err := os.ReadFile("../../testdata/hostile.json")
	if err == nil {
		err = json.Unmarshal(content, &groups)
	}
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(slices.Collect(maps.Values(groups))...)
}

func TestHostileURLsAreRefused(t *testing.T) {
	urls := hostileURLs(t)
	if len(urls) < 80 {
		t.Errorf("only %d URLs", len(urls))
	}
	for _, text := range urls {
		a, err := parseAddress(text, egress.Resolve{})
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
		"https://XN--BCHER-KVA.example/h":                        {"https://xn--bcher-kva.example/h", "xn--bcher-kva.example/…"},
		"https://hooks.example.com/" + strings.Repeat("x", 2022): {"https://hooks.example.com/" + strings.Repeat("x", 2022), "hooks.example.com/xxxxx…"},
	} {
		a, err := parseAddress(text, egress.Resolve{})
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
	var resolve egress.Resolve
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

// A URL has one normal form. Scheme and host in another case, the default port and a fragment do not change it, and path
// and query stay as they are.
func FuzzParseAddress(f *testing.F) {
	for _, text := range append(hostileURLs(f), "https://hooks.example.com/a?b#c", "https://hooks.example.com?q", "https://hooks.example.com:443#?/",
		"HTTPS://XN--BCHER-KVA.example/a//../%2F?x=%41&x=%zz", "https://hooks.example.com/%41?/?#", "https://r3---sn-4g5e.example.com/") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parseAddress(text, egress.Resolve{})
		if err != nil {
			return
		}
		if !strings.Contains(text, a.rest) {
			t.Errorf("%q became %q: another path or query", text, a.URL())
		}
		for _, other := range []string{
			a.URL(), "HTTPS://" + strings.ToUpper(a.host) + a.rest, "hTTps://" + a.host + ":443" + a.rest, a.URL() + "#fragment", a.URL() + "#",
		} {
			again, err := parseAddress(other, egress.Resolve{})
			if err == nil && again.Hash() == a.Hash() && again == a {
				continue
			}
			if utf8.RuneCountInString(other) <= maxURL {
				t.Errorf("%q is normalised to %q, and %q to %q, %v", text, a.URL(), other, again.URL(), err)
			}
		}
	})
}
