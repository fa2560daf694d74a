package events_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// enter sends the form of a private page from an IP address.
func (p *platform) enter(ip, password string) *http.Response {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), "POST", p.url+acme+"/enter", strings.NewReader(url.Values{"password": {password}}.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	visitor := caller("public")
	visitor.IP = ip
	request.Header.Set(passport.Header, p.signer.Sign(visitor))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("X-Forwarded-Proto", "https")
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		p.t.Fatal(err)
	}
	response.Body.Close()
	return response
}

// TestThePasswordOfAPageGivesACookie checks the cookie of a private page: who gets it, for which dashboard and password it is valid, and until
// when.
func TestThePasswordOfAPageGivesACookie(t *testing.T) {
	p := start(t, startBroker(t))
	entries := peer.PasswordTickets(secret, p.now)
	valid := func(value string) bool {
		edition := p.edition()
		return entries.Valid(value, peer.PasswordTicketOwner(edition.DashboardID, edition.Access.Password))
	}
	set := func(access string) {
		t.Helper()
		p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, `{"access": `+access+`}`)
	}
	if got := p.enter("192.0.2.1", "a good password").StatusCode; got != 404 {
		t.Errorf("a public page: %d", got)
	}
	set(`{"mode": "password", "password": "a good password"}`)
	if got := p.enter("192.0.2.1", "a bad password"); got.StatusCode != 403 || len(got.Cookies()) > 0 || got.Header.Get("Cache-Control") != "private, no-store" {
		t.Errorf("a wrong password: %d %v", got.StatusCode, got.Header)
	}
	response := p.enter("192.0.2.1", "a good password")
	if response.StatusCode != 303 || response.Header.Get("Location") != "/d/acme-status/" || len(response.Cookies()) != 1 {
		t.Fatalf("the right password: %d %v", response.StatusCode, response.Header)
	}
	cookie := response.Cookies()[0]
	if cookie.Name != peer.PasswordCookie || cookie.Path != "/d/acme-status/" || cookie.MaxAge != 30*86400 || !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteLaxMode {
		t.Errorf("the cookie is %+v", cookie)
	}
	if !valid(cookie.Value) || valid(cookie.Value+"A") || valid("") || entries.Valid(cookie.Value, peer.PasswordTicketOwner(dashB, p.edition().Access.Password)) {
		t.Error("the cookie is not valid for its dashboard alone")
	}
	p.ahead.Add(int64(30*24*time.Hour - time.Minute))
	if !valid(cookie.Value) {
		t.Error("the cookie is not valid for 30 days")
	}
	p.ahead.Add(int64(2 * time.Minute))
	if valid(cookie.Value) {
		t.Error("the cookie is valid after 30 days")
	}
	cookie = p.enter("192.0.2.1", "a good password").Cookies()[0]
	set(`{"mode": "password", "password": "a good password"}`)
	if valid(cookie.Value) {
		t.Error("the cookie is valid after a new password")
	}
}

// TestWrongPasswordsAreLimited checks that only wrong passwords count, by address and dashboard.
func TestWrongPasswordsAreLimited(t *testing.T) {
	p := start(t, startBroker(t))
	p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, `{"access": {"mode": "password", "password": "a good password"}}`)
	for i := range 10 {
		if got := p.enter("192.0.2.1", "a good password").StatusCode; got != 303 {
			t.Errorf("right try %d: %d", i, got)
		}
		if got := p.enter("192.0.2.1", "a bad password").StatusCode; got != 403 {
			t.Errorf("wrong try %d: %d", i, got)
		}
	}
	got := p.enter("192.0.2.1", "a good password")
	if got.StatusCode != 429 || got.Header.Get("Retry-After") == "" {
		t.Errorf("after ten wrong tries: %d %v", got.StatusCode, got.Header)
	}
	if other := p.enter("192.0.2.2", "a good password").StatusCode; other != 303 {
		t.Errorf("another address: %d", other)
	}
	p.ahead.Add(int64(time.Hour))
	if later := p.enter("192.0.2.1", "a good password").StatusCode; later != 303 {
		t.Errorf("an hour later: %d", later)
	}
}

// TestEditionOfPrivatePages checks what the gateway learns about who may see a page.
func TestEditionOfPrivatePages(t *testing.T) {
	p := start(t, startBroker(t))
	if a := p.edition().Access; a.Mode != "public" || a.Password != "" || a.FeedKey != "" || len(a.AllowedIPs) != 0 {
		t.Errorf("public: %+v", a)
	}
	set := func(access string) peer.Access {
		t.Helper()
		p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, `{"access": `+access+`}`)
		return p.edition().Access
	}
	first := set(`{"mode": "password", "password": "a good password"}`)
	second := set(`{"mode": "password", "password": "a good password"}`)
	if first.Mode != "password" || first.Password == "" || first.Password == second.Password || first.FeedKey == "" || first.FeedKey == second.FeedKey || first.FeedKey == first.Password {
		t.Errorf("password: %+v and %+v", first, second)
	}
	if text, _ := json.Marshal(second); strings.Contains(string(text), "argon2") {
		t.Errorf("the hash is in %s", text)
	}
	if a := set(`{"mode": "ipAllowlist", "allowedIps": ["192.0.2.0/24"]}`); a.Mode != "ipAllowlist" || a.Password != "" || !slices.Equal(a.AllowedIPs, []string{"192.0.2.0/24"}) || a.FeedKey == "" {
		t.Errorf("ipAllowlist: %+v", a)
	}
	p.must(200, "public", "GET", acme+"/list", "") // the gateway decides who gets it
	p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, `{"enabled": false}`)
	for _, path := range []string{acme + "/edition", "/public/v1/dashboards/unknown/edition", "/public/v1/hosts/unknown.example/edition"} {
		p.must(404, "public", "GET", path, "")
	}
	p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, `{"enabled": true, "customDomains": ["status.acme.example"]}`)
	if by := p.must(200, "public", "GET", "/public/v1/hosts/Status.Acme.example/edition", ""); by["id"] != p.edition().ID {
		t.Errorf("by host: %v", by)
	}
	p.must(403, "app admin a", "GET", acme+"/edition", "")
}

// TestNoPasswordOfARefusedDashboardIsHashed checks that a create above the limit of dashboards, and a change that is
// refused, hash no password: each hash needs 19 MiB.
func TestNoPasswordOfARefusedDashboardIsHashed(t *testing.T) {
	p := start(t, startBroker(t))
	p.limit.Store(1)
	const access = `"access": {"mode": "password", "password": "a good password"}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const tries = 10
	for range tries {
		p.must(409, "app admin a", "POST", "/app/dashboards", `{"name": "Second", `+access+`}`)
		p.must(400, "app admin a", "PATCH", "/app/dashboards/"+dashA, `{`+access+`, "timezone": "Nowhere"}`)
	}
	runtime.ReadMemStats(&after)
	if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > tries*19 {
		t.Errorf("%d MiB were allocated", allocated)
	}
	p.limit.Store(2)
	made := p.must(201, "app admin a", "POST", "/app/dashboards", `{"name": "Second", "slug": "second", `+access+`}`)["dashboard"].(map[string]any)
	if made["access"].(map[string]any)["passwordSet"] != true {
		t.Errorf("%v", made["access"])
	}
}
