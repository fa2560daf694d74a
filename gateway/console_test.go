package gateway

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/engines"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/web"
)

// cookie returns the Cookie header of a browser with the session.
func (m member) cookie() string { return "__Host-bellbuoy=" + m.credential.Session + ":" + m.secret }

// browser returns the headers of a request to the console. An empty cookie is not sent.
func browser(cookie string) map[string]string {
	header := map[string]string{"Host": consoleHost, "Accept": "text/html"}
	if cookie != "" {
		header["Cookie"] = cookie
	}
	return header
}

// formOf returns the headers of a form of the console.
func formOf(cookie string) map[string]string {
	header := browser(cookie)
	header["Content-Type"], header["Sec-Fetch-Site"] = "application/x-www-form-urlencoded", "same-origin"
	return header
}

// wantSignedOut checks that the console was called without a member.
func wantSignedOut(t testing.TB, g got) {
	t.Helper()
	want := passport.Passport{Audience: console, Surface: passport.Console, IP: "127.0.0.1"}
	p := g.echo(t).Passport
	p.Expires = 0
	if p.Session+p.User+p.Organization+p.KeyID != "" || p.Surface != want.Surface || p.IP != want.IP || len(p.Roles) > 0 || p.Features != want.Features {
		t.Errorf("the passport of a caller who is signed out: %+v", p)
	}
}

// wantPage checks an error of the gateway on the console: a page with the text that no cache keeps and no site frames.
func wantPage(t testing.TB, g got, status int, texts ...string) {
	t.Helper()
	wantStatus(t, g, status)
	for _, text := range append(texts, g.header.Get("X-Request-Id")) {
		if !strings.Contains(g.body, text) {
			t.Errorf("the page does not have %q: %s", text, g.body)
		}
	}
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
		"Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin", "Etag": "",
	} {
		if got := g.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if policy := g.header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("the policy of the page: %s", policy)
	}
}

// wantNoPage checks an error of the gateway for a file of the console: plain text that no cache keeps. A browser refuses a
// page as a script.
func wantNoPage(t testing.TB, g got, status int) {
	t.Helper()
	wantStatus(t, g, status)
	if g.header.Get("Content-Type") != "text/plain; charset=utf-8" || g.header.Get("Cache-Control") != "no-store" || g.header.Get("X-Content-Type-Options") != "nosniff" || strings.Contains(g.body, "<") {
		t.Errorf("the response for a file: %v %s", g.header, g.body)
	}
}

func TestTheConsoleGetsTheMemberOfTheSession(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	// The plan's feature API is for keys only.
	m := w.keys.session(func(c *peer.Credential) { c.Features.API = false })
	for _, path := range []string{"/console", "/console/", "/console/events/7/x?tab=a%20b", "/console/a%2Fb"} {
		e := d.get(t, path, browser("a=1; "+m.cookie()+"; bellbuoy-notice=saved")).echo(t)
		p := e.Passport
		if e.Service != console || e.URI != path || p.Surface != passport.Console || p.Audience != console || p.User != m.credential.User ||
			p.Organization != m.credential.Organization || p.Session != m.credential.Session || p.KeyID != "" || !p.Has(passport.RoleAdmin) || p.IP != "127.0.0.1" {
			t.Errorf("%s reached %s %s with %+v", path, e.Service, e.URI, p)
		}
		if got := e.Header.Values("Cookie"); len(got) != 1 || got[0] != "a=1; bellbuoy-notice=saved" {
			t.Errorf("the console got the cookies %q", got)
		}
	}
	id, secret := m.credential.Session, m.secret
	for what, cookie := range map[string]string{
		"no cookie": "", "an empty one": "__Host-bellbuoy=", "no secret": "__Host-bellbuoy=" + id, "an empty secret": "__Host-bellbuoy=" + id + ":",
		"a wrong secret": m.cookie() + "x", "another id": "__Host-bellbuoy=x" + id + ":" + secret, "the name of http": "bellbuoy=" + id + ":" + secret,
		"a long id": "__Host-bellbuoy=" + strings.Repeat("x", 600) + ":" + secret,
	} {
		t.Run(what, func(t *testing.T) {
			g := d.get(t, "/console/", browser(cookie))
			wantSignedOut(t, g)
			if got := g.echo(t).Header.Get("Cookie"); got != "" {
				t.Errorf("the console got the cookies %q", got)
			}
		})
	}
	wantStatus(t, d.get(t, "/consoles", nil), http.StatusNotFound)
}

// Over http a browser refuses the prefix __Host-, so the cookie has none.
func TestOverHTTPTheCookieHasNoPrefix(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, func(c *Config) { c.ConsoleBaseURL = "http://status.internal" })
	m := w.keys.session(nil)
	header := map[string]string{"Host": "status.internal", "Cookie": strings.TrimPrefix(m.cookie(), "__Host-")}
	if p := d.get(t, "/console/", header).echo(t).Passport; p.Session != m.credential.Session {
		t.Errorf("%+v", p)
	}
	header["Cookie"] = m.cookie()
	wantSignedOut(t, d.get(t, "/console/", header))
	if !strings.Contains(d.log.String(), "CONSOLE_BASE_URL begins with http://") {
		t.Error("the log has no warning")
	}
	if quiet := w.gateway(t, nil); strings.Contains(quiet.log.String(), "CONSOLE_BASE_URL") {
		t.Error("there is a warning for https")
	}
}

// A session is no key, on every interface, and no service gets the cookie.
func TestOnlyTheConsoleTakesASession(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	m, session := w.keys.member(nil), w.keys.session(nil)
	for _, path := range []string{"/app/users", "/app/profile", "/api/v1/service/", "/operator/v1/organizations"} {
		wantEmpty403(t, d.get(t, path, map[string]string{"Cookie": session.cookie()}))
		wantEmpty403(t, d.get(t, path, map[string]string{"Authorization": "Session " + session.credential.Session + ":" + session.secret}))
		wantEmpty403(t, d.get(t, path, map[string]string{"Authorization": "Bearer " + session.credential.Session + ":" + session.secret}))
	}
	for path, authorization := range map[string]string{"/app/users": m.bearer(), "/api/v1/service/": m.apiKey(), "/public/confirm": ""} {
		header := map[string]string{"Cookie": "a=1; " + session.cookie() + "; bellbuoy=x:y"}
		if authorization != "" {
			header["Authorization"] = authorization
		}
		if got := d.get(t, path, header).echo(t).Header.Get("Cookie"); got != "a=1" {
			t.Errorf("the service of %s got the cookies %q", path, got)
		}
	}
	// A key is no session either.
	wantSignedOut(t, d.get(t, "/console/", browser("__Host-bellbuoy="+m.credential.KeyID+":"+m.secret)))
}

func TestTheEndOfASessionHoldsForTheNextRequestAtThreeGateways(t *testing.T) {
	w := newWorld(t)
	doors := []*door{w.gateway(t, nil), w.gateway(t, nil), w.gateway(t, nil)}
	m := w.keys.session(nil)
	visit := func(check func(got)) {
		t.Helper()
		for _, d := range doors {
			for range 2 {
				check(d.get(t, "/console/", browser(m.cookie())))
			}
		}
	}
	visit(func(g got) {
		if !g.echo(t).Passport.Has(passport.RoleAdmin) {
			t.Error("the member is not signed in")
		}
	})
	w.keys.change(t, m, func() {
		m.credential.Roles = []string{passport.RoleSubscriber}
		w.keys.set(m.credential)
	})
	visit(func(g got) {
		if p := g.echo(t).Passport; p.Has(passport.RoleAdmin) || p.Session == "" {
			t.Errorf("after a change of roles: %+v", p)
		}
	})
	w.keys.revoke(t, m) // a sign-out, or a disabled member
	visit(func(g got) { wantSignedOut(t, g) })
}

func TestASignOutUnderLoadHoldsAtThreeGateways(t *testing.T) {
	w := newWorld(t)
	doors := []*door{w.gateway(t, nil), w.gateway(t, nil), w.gateway(t, nil)}
	m := w.keys.session(nil)
	w.services[console].handle(func(out http.ResponseWriter, r *http.Request) {
		p, err := w.signer.Verify(r.Header.Get(passport.Header), console)
		if err != nil || p.Session == "" {
			out.WriteHeader(http.StatusSeeOther)
		}
	})
	var ended atomic.Bool
	var before, late, after atomic.Int64
	var group sync.WaitGroup
	for i := range 12 {
		group.Go(func() {
			for n := 0; n < 30; n++ {
				started := ended.Load()
				g, err := doors[i%3].try(t.Context(), http.MethodGet, "/console/", "", browser(m.cookie()))
				switch {
				case err != nil:
					t.Error(err)
				case g.status == 429 && !started: // the limit of the session; Redis counts no request after the end
					n = 0
				case g.status == 200 && started:
					late.Add(1)
				case g.status == 200:
					before.Add(1)
					n = 0
				case g.status == 303:
					after.Add(1)
				default:
					t.Errorf("%d %s", g.status, g.body)
				}
			}
		})
	}
	eventually(t, "the session is in use", func() bool { return before.Load() > 100 })
	w.keys.revoke(t, m)
	ended.Store(true)
	group.Wait()
	if late.Load() != 0 || after.Load() == 0 {
		t.Errorf("%d pages were shown after the sign-out, %d were not", late.Load(), after.Load())
	}
}

func TestSessionsHoldWithoutRedis(t *testing.T) {
	server, err := engines.StartRedis("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorldOn(t, server.URL())
	d := w.gateway(t, nil)
	m := w.keys.session(nil)
	signedIn := func() {
		t.Helper()
		if p := d.get(t, "/console/", browser(m.cookie())).echo(t).Passport; p.Session != m.credential.Session {
			t.Errorf("%+v", p)
		}
	}
	signedIn()
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	signedIn()
	lookups := w.keys.lookups.Load()
	signedIn()
	if w.keys.lookups.Load() == lookups {
		t.Error("identity was not asked")
	}
	wantSignedOut(t, d.get(t, "/console/", browser(m.cookie()+"x")))
	// A member must be able to publish during the outage. Nothing can then prevent that a form is sent twice.
	if e := d.do(t, "POST", "/console/events/new?once=1", "a=b", formOf(m.cookie())).echo(t); e.Body != "a=b" {
		t.Errorf("%+v", e)
	}
	w.keys.mu.Lock()
	delete(w.keys.credentials, m.entries()[0])
	w.keys.mu.Unlock()
	wantSignedOut(t, d.get(t, "/console/", browser(m.cookie())))
}

func TestWithoutIdentityOnlyCachedSessionsAndSignedOutPagesPass(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	cached, fresh := w.keys.session(nil), w.keys.session(nil)
	wantStatus(t, d.get(t, "/console/", browser(cached.cookie())), 200)
	w.services[identity].server.Close()
	if p := d.get(t, "/console/", browser(cached.cookie())).echo(t).Passport; p.Session == "" {
		t.Errorf("%+v", p)
	}
	wantSignedOut(t, d.get(t, "/console/sign-in", browser("")))
	wantPage(t, d.get(t, "/console/", browser(fresh.cookie())), 503, "Keys cannot be checked at the moment")
	wantSignedOut(t, d.get(t, consoleFiles+"console.0.js", browser(fresh.cookie())))
	w.services[console].server.Close()
	wantNoPage(t, d.get(t, consoleFiles+"console.0.js", browser(fresh.cookie())), 503)
	g := d.get(t, "/console/", browser(cached.cookie()))
	wantPage(t, g, 503, "The console cannot be reached at the moment", noService)
	if g.header.Get("Retry-After") == "" {
		t.Error("503 without Retry-After")
	}
}

func TestASessionHas600RequestsInAMinute(t *testing.T) {
	w := newWorld(t)
	doors := []*door{w.gateway(t, nil), w.gateway(t, nil)}
	m := w.keys.session(func(c *peer.Credential) { c.Limits.AppPerMinute = 1 })
	other := w.keys.session(func(c *peer.Credential) { c.Organization, c.User = m.credential.Organization, m.credential.User })
	var passed, refused atomic.Int64
	var group sync.WaitGroup
	for i := range 10 {
		group.Go(func() {
			for range 62 {
				g := doors[i%2].get(t, "/console/", browser(m.cookie()))
				if g.status == 200 {
					passed.Add(1)
					continue
				}
				refused.Add(1)
				if wait, err := strconv.Atoi(g.header.Get("Retry-After")); err != nil || wait < 1 || wait > 60 {
					t.Errorf("Retry-After %q", g.header.Get("Retry-After"))
				}
				wantPage(t, g, 429, "Too many requests")
			}
		})
	}
	group.Wait()
	if passed.Load() != 600 || refused.Load() != 20 {
		t.Errorf("%d requests passed, %d were refused", passed.Load(), refused.Load())
	}
	wantStatus(t, doors[0].get(t, "/console/", browser(other.cookie())), 200)
	// A page that passed gets its style and scripts, too.
	wantSignedOut(t, doors[0].get(t, consoleFiles+"console.0.js", browser(m.cookie())))
}

func TestTheConsoleIsOnItsHostOnly(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	for _, host := range []string{"status.example.com", "127.0.0.1:8080", "localhost", "192.0.2.1"} {
		for _, method := range []string{"GET", "POST", "PUT"} {
			wantPage(t, d.do(t, method, "/console/events", "", map[string]string{"Host": host}), 421, "https://console.example.com/console/")
			wantNoPage(t, d.do(t, method, consoleFiles+"console.0.js", "", map[string]string{"Host": host}), 421)
		}
	}
	// The host of a dashboard has no other path, and names no host of the platform.
	for _, host := range []string{"dashboard.customer.example", "console.example.com.evil.example"} {
		if g := d.get(t, "/console/", map[string]string{"Host": host}); strings.Contains(g.body, "console.example.com/") || w.services[console].calls.Load() > 0 {
			t.Errorf("%s: %d %s", host, g.status, g.body)
		}
	}
	for _, host := range []string{"console.example.com", "CONSOLE.example.com:443", "console.example.com."} {
		wantStatus(t, d.get(t, "/console/", map[string]string{"Host": host}), 200)
	}
	local := w.gateway(t, func(c *Config) { c.ConsoleBaseURL = "http://localhost:8080" })
	g := local.get(t, "/console/welcome?token=a%2Bb", map[string]string{"Host": "127.0.0.1:8080"})
	if wantStatus(t, g, 308); g.header.Get("Location") != "http://localhost:8080/console/welcome?token=a%2Bb" || g.body != "" {
		t.Errorf("%v %q", g.header, g.body)
	}
	wantStatus(t, local.get(t, "/console/", map[string]string{"Host": "[::1]:8080"}), 308)
	wantStatus(t, local.get(t, "/console/", map[string]string{"Host": "localhost:8080"}), 200)
	wantPage(t, local.do(t, "POST", "/console/", "a=b", map[string]string{"Host": "127.0.0.1:8080"}), 421, "http://localhost:8080/console/")
	wantPage(t, local.get(t, "/console/", map[string]string{"Host": "192.0.2.1:8080"}), 421, "http://localhost:8080/console/")
}

func TestAFormOfAnotherSiteIsRefused(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	m := w.keys.session(nil)
	for what, headers := range map[string]map[string]string{
		"another site":      {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
		"a sibling host":    {"Sec-Fetch-Site": "same-site", "Origin": "https://status.example.com"},
		"an old browser":    {"Origin": "https://evil.example"},
		"no origin at all":  {"Origin": "null"},
		"http of this host": {"Sec-Fetch-Site": "cross-site", "Origin": "http://console.example.com"},
	} {
		t.Run(what, func(t *testing.T) {
			header := browser(m.cookie())
			maps.Copy(header, headers)
			wantPage(t, d.do(t, "POST", "/console/events/new?once=1", "a=b", header), 403, "another site")
			wantStatus(t, d.get(t, "/console/events/new", header), 200) // a link of another site
		})
	}
	if calls := w.services[console].calls.Load(); calls != 5 {
		t.Errorf("the console got %d requests", calls)
	}
	for what, headers := range map[string]map[string]string{
		"the page itself": {"Sec-Fetch-Site": "same-origin", "Origin": "https://console.example.com"},
		"an old browser":  {"Origin": "https://console.example.com"},
		"no browser":      {},
	} {
		header := browser(m.cookie())
		maps.Copy(header, headers)
		if e := d.do(t, "POST", "/console/events/new", "a=b", header).echo(t); e.Body != "a=b" || e.Method != "POST" {
			t.Errorf("%s: %+v", what, e)
		}
	}
}

func TestTheConsoleTakesGetAndPostOnly(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	for _, method := range []string{"HEAD", "OPTIONS", "PUT", "PATCH", "DELETE", "FROB"} {
		g := d.do(t, method, "/console/events", "", browser(""))
		if wantStatus(t, g, 405); g.header.Get("Allow") != "GET, POST" {
			t.Errorf("%s: Allow %q", method, g.header.Get("Allow"))
		}
		if method != "HEAD" {
			wantPage(t, g, 405)
		}
		if method != "HEAD" {
			wantNoPage(t, d.do(t, method, consoleFiles+"console.0.js", "", browser("")), 405)
		}
	}
	// The double of the console responds with the request, so the lengths differ.
	get, head := d.get(t, consoleFiles+"console.0.js", browser("")), d.do(t, "HEAD", consoleFiles+"console.0.js", "", browser(""))
	for _, header := range []http.Header{get.header, head.header} {
		header.Del("X-Request-Id")
		header.Del("Content-Length")
	}
	if wantStatus(t, head, 200); head.body != "" || !reflect.DeepEqual(head.header, get.header) {
		t.Errorf("HEAD of a file: %q %v; GET has %v", head.body, head.header, get.header)
	}
	wantPage(t, d.do(t, "POST", "/console/events", strings.Repeat("x", maxBody+1), formOf("")), 413, "1048576 bytes")
	// A member may send more to the page of an import.
	large, m := strings.Repeat("x", maxBody+1), w.keys.session(nil)
	wantPage(t, d.do(t, "POST", importParts+"read", large, formOf("")), 413, "1048576 bytes")
	wantPage(t, d.do(t, "POST", "/console/parts/text", large, formOf(m.cookie())), 413, "1048576 bytes")
	wantPage(t, d.do(t, "POST", importParts+"read", strings.Repeat("x", importBody+1), formOf(m.cookie())), 413, "8388608 bytes")
	if calls := w.services[console].calls.Load(); calls != 2 { // GET and HEAD of the file
		t.Errorf("the console got %d requests", calls)
	}
	if e := d.do(t, "POST", importParts+"read", large, formOf(m.cookie())).echo(t); len(e.Body) != len(large) {
		t.Errorf("the console got %d bytes", len(e.Body))
	}
	// The id of a request is the client's text.
	header := browser("")
	header["X-Request-Id"] = "<script>alert(1)</script>"
	if g := d.do(t, "PUT", "/console/", "", header); strings.Contains(g.body, "<script") || !strings.Contains(g.body, "&lt;script&gt;") {
		t.Errorf("%s", g.body)
	}
}

// redirects sets a handler that writes and redirects, as after a form. It returns the counter of its writes.
func redirects(s *service) *atomic.Int64 {
	var done atomic.Int64
	s.handle(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "wrong") {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		n := strconv.FormatInt(done.Add(1), 10)
		w.Header()["Set-Cookie"] = []string{"__Host-bellbuoy-notice=saved" + n, "__Host-bellbuoy-browser=b"}
		w.Header().Set("Location", "/console/events/"+n)
		w.WriteHeader(http.StatusSeeOther)
	})
	return &done
}

// Two quick taps show the page with a new secret. A browser that sends the form again later, such as for a reload, learns
// that it was carried out. No second secret is made.
func TestAPageWithASecretIsNotShownAgainLater(t *testing.T) {
	w := newWorld(t)
	var later, made atomic.Int64
	d := w.gateway(t, func(c *Config) { c.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) } })
	m := w.keys.session(nil)
	w.services[console].handle(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(web.SecretHeader, "shown")
		_, _ = fmt.Fprintf(w, "secret %d", made.Add(1))
	})
	const path = "/console/profile/keys?once=1"
	for range 2 {
		g := d.do(t, "POST", path, "name=a", formOf(m.cookie()))
		if wantStatus(t, g, 200); g.body != "secret 1" || g.header.Get(web.SecretHeader) != "" {
			t.Errorf("%v %s", g.header, g.body)
		}
	}
	later.Store(int64(2 * time.Minute))
	for range 2 {
		g := d.do(t, "POST", path, "name=a", formOf(m.cookie()))
		if wantPage(t, g, 409, "This form was sent before", "It is shown only once"); strings.Contains(g.body, "secret 1") {
			t.Error(g.body)
		}
	}
	if made.Load() != 1 {
		t.Errorf("%d secrets were made", made.Load())
	}
}

func TestADoubleTapWritesOnce(t *testing.T) {
	w := newWorld(t)
	doors := []*door{w.gateway(t, nil), w.gateway(t, nil)}
	m, other := w.keys.session(nil), w.keys.session(nil)
	done := redirects(w.services[console])
	const path = "/console/events/new?once=01890a5d-ac96-774b-bcce-b302099a8057"
	for i, d := range append(doors, doors...) {
		g := d.do(t, "POST", path, "title=a", formOf(m.cookie()))
		if wantStatus(t, g, 303); g.header.Get("Location") != "/console/events/1" ||
			strings.Join(g.header.Values("Set-Cookie"), "|") != "__Host-bellbuoy-notice=saved1|__Host-bellbuoy-browser=b" {
			t.Errorf("response %d: %v", i, g.header)
		}
	}
	if done.Load() != 1 {
		t.Fatalf("written %d times", done.Load())
	}
	// The value belongs to the session, and to a GET it means nothing.
	for range 2 {
		wantStatus(t, doors[0].do(t, "POST", path, "title=a", formOf(other.cookie())), 303)
		wantStatus(t, doors[1].do(t, "POST", path, "title=a", formOf("")), 303)
	}
	wantStatus(t, doors[1].get(t, path, browser(m.cookie())), 303)
	if done.Load() != 4 {
		t.Errorf("written %d times", done.Load())
	}
	// Signed-out browsers behind one address do not get the responses to each other's forms: these can contain a session.
	for _, cookie := range []string{"__Host-bellbuoy-code=a", "__Host-bellbuoy-code=a", "__Host-bellbuoy-code=b", ""} {
		wantStatus(t, doors[0].do(t, "POST", "/console/sign-in/code?once=1", "code=1", formOf(cookie)), 303)
	}
	if done.Load() != 7 {
		t.Errorf("written %d times", done.Load())
	}
	// A form with wrong input can be corrected and sent with the same value.
	const corrected = "/console/events/new?once=2"
	for range 2 {
		wantStatus(t, doors[0].do(t, "POST", corrected, "title=wrong", formOf(m.cookie())), 422)
	}
	wantStatus(t, doors[0].do(t, "POST", corrected, "title=a", formOf(m.cookie())), 303)
	for range 2 { // without a value
		wantStatus(t, doors[0].do(t, "POST", "/console/events/new", "title=a", formOf(m.cookie())), 303)
	}
	if done.Load() != 10 {
		t.Errorf("written %d times", done.Load())
	}
	// Somebody who goes back and writes something else means another write.
	for range 2 {
		wantStatus(t, doors[0].do(t, "POST", path, "title=b", formOf(m.cookie())), 303)
	}
	if done.Load() != 11 {
		t.Errorf("written %d times", done.Load())
	}
	// A form with a file has another boundary each time.
	for i := range 3 {
		header := formOf(m.cookie())
		header["Content-Type"] = "multipart/form-data; boundary=bound" + strconv.Itoa(i)
		body := strings.ReplaceAll("--?\r\nContent-Disposition: form-data; name=\"rows\"; filename=\"a.csv\"\r\n\r\na@example.com\r\n--?--\r\n", "?", "bound"+strconv.Itoa(i))
		wantStatus(t, doors[0].do(t, "POST", path, body, header), 303)
	}
	if done.Load() != 12 {
		t.Errorf("written %d times", done.Load())
	}
}

// A second tap during the first waits for the response to the first, which the browser would otherwise never show.
func TestASecondTapWaitsForTheFirst(t *testing.T) {
	w := newWorld(t)
	c := w.config(t, io.Discard)
	defer c.Listener.Close()
	edge, err := newEdge(c)
	if err != nil {
		t.Fatal(err)
	}
	trips := &countTrips{}
	edge.guard.redis.client.AddHook(trips)
	server := httptest.NewServer(edge)
	defer server.Close()
	d := &door{base: server.URL, http: w.client}
	m := w.keys.session(nil)
	arrived, release := make(chan struct{}), make(chan struct{})
	var done atomic.Int64
	w.services[console].handle(func(w http.ResponseWriter, r *http.Request) {
		done.Add(1)
		close(arrived)
		<-release
		w.Header().Set("Location", "/console/events/1")
		w.WriteHeader(http.StatusSeeOther)
	})
	taps := make(chan got, 4)
	tap := func() {
		g, err := d.try(context.Background(), "POST", "/console/events/new?once=1", "title=a", formOf(m.cookie()))
		if err != nil {
			t.Error(err)
		}
		taps <- g
	}
	go tap()
	<-arrived
	from := trips.Load()
	for range 3 {
		go tap()
	}
	// A tap has one round trip for the session. More are questions whether the first tap has ended.
	eventually(t, "the later taps wait", func() bool { return trips.Load() > from+3+3 })
	close(release)
	for range 4 {
		if g := <-taps; g.status != 303 || g.header.Get("Location") != "/console/events/1" {
			t.Errorf("%d %v %s", g.status, g.header, g.body)
		}
	}
	if done.Load() != 1 {
		t.Errorf("written %d times", done.Load())
	}
}

// If the response to a form was lost, the form is not sent again.
func TestAFormWithALostResponseIsSentOnce(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	m := w.keys.session(nil)
	var done atomic.Int64
	w.services[console].handle(func(http.ResponseWriter, *http.Request) {
		done.Add(1)
		panic(http.ErrAbortHandler)
	})
	wantPage(t, d.do(t, "POST", "/console/events/new?once=1", "title=a", formOf(m.cookie())), 503, onceLost)
	wantPage(t, d.do(t, "POST", "/console/events/new?once=1", "title=a", formOf(m.cookie())), 409, "This form was sent before", "Look at the record")
	if done.Load() != 1 {
		t.Errorf("sent %d times", done.Load())
	}
}

// The console continues the trace of the request.
func TestTheConsoleGetsTheTrace(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	header := browser("")
	header["Traceparent"] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	e := d.get(t, "/console/", header).echo(t)
	if got := e.Header.Get("Traceparent"); !strings.HasPrefix(got, "00-0af7651916cd43dd8448eb211c80319c-") || got == header["Traceparent"] {
		t.Errorf("the console got the trace %q", got)
	}
}

// A log line names the request and the organization, and contains no session.
func TestTheLogOfTheConsoleHasNoSession(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	m := w.keys.session(nil)
	header := formOf(m.cookie())
	header["X-Request-Id"] = "of-this-test"
	d.do(t, "POST", "/console/welcome?once=1&token=hush", "password=hush", header)
	eventually(t, "the line", func() bool { return strings.Contains(d.log.String(), "of-this-test") })
	text := d.log.String()
	for _, want := range []string{`"route":"/console/{path}"`, m.credential.Organization} {
		if !strings.Contains(text, want) {
			t.Errorf("the log does not have %s", want)
		}
	}
	for _, secret := range []string{"hush", m.secret, m.credential.Session} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
}

// A session ends exactly, although a gateway has cached it and nobody voids the entry.
func TestACachedSessionEndsWithTheSession(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	end := time.Now().Add(2 * time.Second)
	m := w.keys.session(func(c *peer.Credential) { c.ExpiresAt = end })
	wantStatus(t, d.get(t, "/console/", browser(m.cookie())), 200)
	lookups := w.keys.lookups.Load()
	ending := time.AfterFunc(time.Until(end), func() {
		w.keys.mu.Lock()
		delete(w.keys.credentials, m.entries()[0])
		w.keys.mu.Unlock()
	})
	t.Cleanup(func() { ending.Stop() })
	for range time.Tick(20 * time.Millisecond) { // the limit of a session is 600 a minute
		asked := time.Now()
		if p := d.get(t, "/console/", browser(m.cookie())).echo(t).Passport; p.Session == "" {
			break
		}
		if late := asked.Sub(end); late > time.Second {
			t.Fatalf("a page %v after the end", late)
		}
	}
	if left := time.Until(end); left > 0 {
		t.Errorf("the session has ended %v early", left)
	}
	if w.keys.lookups.Load() == lookups {
		t.Error("identity was not asked after the end")
	}
	late := w.keys.session(func(c *peer.Credential) { c.ExpiresAt = end }) // the clock of identity is late
	if p := d.get(t, "/console/", browser(late.cookie())).echo(t).Passport; p.Session != "" {
		t.Errorf("%+v", p)
	}
}
