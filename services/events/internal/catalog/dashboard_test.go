package catalog

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

func TestParseNetwork(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.1": "192.0.2.1/32", "192.0.2.77/24": "192.0.2.0/24", "0.0.0.0/0": "0.0.0.0/0",
		"2001:DB8:0::1": "2001:db8::1/128", "2001:db8:ffff::/33": "2001:db8:8000::/33", "::/0": "::/0",
		"::ffff:192.0.2.1": "192.0.2.1/32", "::ffff:192.0.2.77/120": "192.0.2.0/24", "::ffff:0:0/96": "0.0.0.0/0",
		"": "", "192.0.2": "", "192.0.2.1/": "", "192.0.2.1/-1": "", "192.0.2.1/33": "", "192.0.2.1 ": "", "010.0.0.1": "",
		"fe80::1%eth0": "", "fe80::%eth0/64": "", "::ffff:192.0.2.1/95": "", "example.com": "", "192.0.2.1-192.0.2.9": "",
	} {
		if got, ok := parseNetwork(text); got != want || ok != (want != "") {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// FuzzParseNetwork checks that a network in its shortest form is the same network, and holds the address it was made of.
func FuzzParseNetwork(f *testing.F) {
	for _, text := range []string{"192.0.2.1", "10.1.2.3/9", "2001:db8::1/33", "::ffff:10.0.0.1/97", "fe80::1%x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		network, ok := parseNetwork(text)
		if !ok {
			return
		}
		if again, ok := parseNetwork(network); again != network || !ok {
			t.Errorf("%q: %q, then %q", text, network, again)
		}
		written, _, _ := strings.Cut(text, "/")
		if !netip.MustParsePrefix(network).Contains(netip.MustParseAddr(written).Unmap()) {
			t.Errorf("%q is not in %q", text, network)
		}
	})
}

func TestIsHost(t *testing.T) {
	label := strings.Repeat("a", 63)
	for text, want := range map[string]bool{
		"a.b": true, "status.example.com": true, "xn--bcher-kva.example": true, "1.example": true, "a-b.c-d": true, label + ".example": true,
		strings.Repeat(label+".", 3) + strings.Repeat("a", 61): true,
		strings.Repeat(label+".", 3) + strings.Repeat("a", 62): false,
		label + "a.example": false, "": false, "localhost": false, "a..b": false, ".a.b": false, "a.b.": false, "-a.b": false, "a-.b": false,
		"a_b.c": false, "A.b": false, "192.0.2.1": false, "a.1": false, "a.b:80": false, "a b.c": false, "bücher.example": false, "*.a.b": false,
	} {
		if got := isHost(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestSlugOfName(t *testing.T) {
	for name, want := range map[string]string{
		"Acme Status": "acme-status", "  --Acme!!  ": "acme", "状态": "status", "EU": "eu-status", "a": "a-status", "Ünï cödé": "n-c-d",
		strings.Repeat("ab ", 40): strings.Repeat("ab-", 20) + "ab",
	} {
		got := slugOf(name)
		if got != want {
			t.Errorf("%q: %q", name, got)
		}
		for _, number := range []int64{2, 1 << 40} {
			if err := new(Dashboard).SetSlug(numbered(got, number)); err != nil {
				t.Errorf("%q with the number %d: %v", name, number, err)
			}
		}
	}
}

// A record from before the rules for names can be changed without a new name.
func TestAFormerNameHindersNoChange(t *testing.T) {
	const turned = "E\u202eple"
	now := time.Now()
	component := Component{Name: turned, Group: turned}
	dashboard := Dashboard{Name: turned, Timezone: "UTC", Locale: "en", Links: Links{Navigation: []NavigationLink{{turned, "https://example.com"}}}}
	template := Template{Kind: IncidentTemplate, Name: turned, Title: turned}
	formerComponent, formerDashboard, formerTemplate := component, dashboard, template
	component.Description, dashboard.Description, template.Severity = "New", "New", "minor_outage"
	for what, check := range map[string]func(former bool) error{
		"component": func(former bool) error {
			if former {
				return component.check(now, &formerComponent)
			}
			return component.check(now, new(Component))
		},
		"dashboard": func(former bool) error {
			if former {
				return dashboard.check(nil, &formerDashboard)
			}
			return dashboard.check(nil, new(Dashboard))
		},
		"template": func(former bool) error {
			if former {
				return template.check(&formerTemplate)
			}
			return template.check(new(Template))
		},
	} {
		if err := check(true); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if err := check(false); !fault.Is(err, fault.Invalid) {
			t.Errorf("a new %s: %v", what, err)
		}
	}
}
