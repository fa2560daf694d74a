package main_test

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestALostLinkComesAgain lets a visitor subscribe by mail, SMS and WhatsApp, confirm, and request the same
// subscription again.
func TestALostLinkComesAgain(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	_, base := started(t, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "BELLBUOY_DATA="+data)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	_, checkout := a.service("Checkout")
	send(t, http.MethodPatch, base+"/app/dashboards/"+a.DashboardID, a.app(),
		map[string]any{"subscriptions": map[string]any{"sms": true, "whatsapp": true}}).expect(t, http.StatusOK)
	v := visitor{t: t, base: base}
	links := regexp.MustCompile(`https?://\S+/public/\w+\?token=[\w-]+`)
	// linkIn waits for a message to the address that contains a link with this purpose, and returns the link.
	linkIn := func(address, purpose string) (link string) {
		t.Helper()
		eventually(t, 30*time.Second, purpose+" to "+address, func() error {
			var bodies []string
			for _, l := range letters(t, data) {
				if l.to == address {
					bodies = append(bodies, l.text)
				}
			}
			for _, l := range texts(t, data) {
				if l.To == address {
					bodies = append(bodies, l.Body)
				}
			}
			for _, body := range bodies {
				if found := links.FindString(body); strings.Contains(found, "/public/"+purpose+"?") {
					link = found
					return nil
				}
			}
			return fmt.Errorf("not among %q", bodies)
		})
		return link
	}
	for _, c := range []struct{ channel, field, to, address string }{
		{"email", "email", "vera@example.com", "vera@example.com"},
		{"sms", "phone", "+4915112345671", "+4915112345671"},
		{"whatsapp", "phone", "+4915112345672", "whatsapp:+4915112345672"},
	} {
		path := strings.TrimPrefix(a.DashboardURL, base) + "/subscribe/" + c.channel
		wish := url.Values{c.field: {c.to}, "componentIds": {checkout}}
		first := v.do(http.MethodPost, path, wish).expect(t, http.StatusSeeOther)
		v.do(http.MethodPost, linkIn(c.address, "confirm"), nil).expect(t, http.StatusOK)
		again := v.do(http.MethodPost, path, wish).expect(t, http.StatusSeeOther)
		if first.header.Get("Location") != again.header.Get("Location") || string(first.body) != string(again.body) {
			t.Errorf("%s: the second response %+v is not the first %+v", c.channel, again, first)
		}
		manage := linkIn(c.address, "manage")
		if page := v.do(http.MethodGet, manage, nil).expect(t, http.StatusOK); !strings.Contains(string(page.body), "Checkout") {
			t.Errorf("%s: the page is %s", c.channel, page.body)
		}
		v.do(http.MethodPost, manage, url.Values{"action": {"unsubscribe"}}).expect(t, http.StatusOK)
		v.do(http.MethodGet, manage, nil).expect(t, http.StatusGone)
	}
}
