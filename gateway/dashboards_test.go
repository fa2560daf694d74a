package gateway

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/bellbuoy/bellbuoy/libs/etag"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
)

const (
	eventID        = "01890a5d-ac96-774b-bcce-b302099a8064"
	cacheOfPublic  = "public, max-age=0, s-maxage=10, stale-while-revalidate=60, stale-if-error=86400"
	cacheOfPrivate = "private, no-store"
	noAddress      = "There is nothing at this path.\n"
)

var ownHost = map[string]string{"Host": "Status.Acme.test:8443", "Accept-Encoding": "identity"}

// plainly returns the headers with an Accept-Encoding. Without it, the client of the test would add its own.
func plainly(header map[string]string) map[string]string {
	all := map[string]string{"Accept-Encoding": "identity"}
	for name, value := range header {
		all[name] = value
	}
	return all
}

func TestTheFilesOfADashboardAreServed(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	p := newPublication(w)
	for _, row := range []struct {
		path, name string
		shared     bool
	}{
		{"/", "", false}, {"/events/e1", "events/e1", false}, {"/components/c1", "components/c1", false}, {"/history", "history", false},
		{"/subscribe", "subscribe", false}, {"/subscribe/sent", "subscribe/sent", false}, {"/history/2026-01", "history/2026-01", false}, {"/embed", "embed", false}, {"/embed.js", "embed.js", false},
		{"/feed.rss", "feed.rss", true}, {"/feed.atom", "feed.atom", true}, {"/feed.json", "feed.json", true},
		{"/history.rss", "feed.rss", true}, {"/history.atom", "feed.atom", true}, {"/components/c1/feed.rss", "components/c1/feed.rss", true},
		{"/maintenance.ics", "maintenance.ics", false}, {"/badge.svg", "badge.svg", true}, {"/components/c1/badge.svg", "components/c1/badge.svg", true},
		{"/robots.txt", "robots.txt", false}, {"/api/v2/summary.json", "api/v2/summary.json", true},
		{"/api/v2/incidents/unresolved.json", "api/v2/incidents/unresolved.json", true},
	} {
		for at, header := range map[string]map[string]string{"/d/main" + row.path: nil, row.path: ownHost} {
			body := p.body(row.name, codingPlain)
			g := d.get(t, at+"?utm=1&key=x", plainly(header))
			wantStatus(t, g, 200)
			want := map[string]string{
				"Content-Type": p.media[row.name], "Etag": etag.Of([]byte(body)), "Cache-Control": cacheOfPublic, "Vary": "Accept-Encoding",
				"X-Content-Type-Options": "nosniff", "Content-Encoding": "", "Age": "", "Set-Cookie": "",
				"Access-Control-Allow-Origin": map[bool]string{true: "*"}[row.shared],
				"Content-Security-Policy":     map[bool]string{true: policy}[p.media[row.name] == htmlType],
			}
			if g.body != body {
				t.Errorf("%s: %q", at, g.body)
			}
			wantHeaders(t, at, g, want)
			want["Content-Length"] = g.header.Get("Content-Length")
			head := d.do(t, "HEAD", at, "", plainly(header))
			if head.status != 200 || head.body != "" {
				t.Errorf("HEAD %s: %d %q", at, head.status, head.body)
			}
			wantHeaders(t, "HEAD "+at, head, want)
			conditional := plainly(header)
			conditional["If-None-Match"] = etag.Of([]byte(body))
			same := d.get(t, at, conditional)
			if same.status != 304 || same.body != "" {
				t.Errorf("%s again: %d %q", at, same.status, same.body)
			}
			wantHeaders(t, at+" again", same, map[string]string{"Etag": want["Etag"], "Cache-Control": cacheOfPublic, "Vary": "Accept-Encoding", "Content-Type": ""})
			g = d.do(t, "DELETE", at, "", header)
			wantStatus(t, g, 405)
			wantHeaders(t, "DELETE "+at, g, map[string]string{"Allow": "GET"})
		}
		if _, n := p.asked(row.name); row.name != "feed.rss" && n != 1 && !strings.Contains(strings.Join(p.edition.Files, " ")+" ", row.name+" ") {
			t.Errorf("%s was read %d times", row.name, n)
		}
	}
	for _, uri := range p.uris {
		if strings.Contains(uri, "?") {
			t.Errorf("events was asked with a query: %s", uri)
		}
	}
}

func TestFormerAddressesRedirect(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	newPublication(w)
	for _, row := range []struct {
		path, location string
		header         map[string]string
	}{
		{"/d/main", "/d/main/", nil}, {"/d/main?utm=1", "/d/main/", nil}, {"/d/main/incidents/" + eventID, "/d/main/events/" + eventID, nil}, {"/d/main/incidents/" + eventID + "/", "/d/main/events/" + eventID, nil},
		{"/incidents/" + eventID, "/events/" + eventID, ownHost}, {"/d/main/uptime", "/d/main/history", nil}, {"/uptime/?day=1", "/history", ownHost}, {"/d/main/subscriptions/x/y", "/d/main/subscribe", nil}, {"/d/main/history/", "/d/main/history", nil}, {"/d/main/events/e%2F1/", "/d/main/events/e%2F1", nil},
		{"/events/e1/", "/events/e1", ownHost}, {"/d/main/feed.rss/", "/d/main/feed.rss", nil},
	} {
		g := d.get(t, row.path, row.header)
		if g.status != 308 || g.header.Get("Location") != row.location || g.body != "" {
			t.Errorf("%s: %d to %q, %q", row.path, g.status, g.header.Get("Location"), g.body)
		}
	}
	wantError(t, d.get(t, "/d/none/api/v2/status.json/", nil), 404, noBoard)
}

// Redirects and errors, also in JSON, have the same Cache-Control as the 404 page of the dashboard.
func TestErrorsAndRedirectsHaveTheCacheControlOfThePage(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	p := newPublication(w)
	statuses := map[string]int{
		"/nothing": 404, "/components/none/badge.svg": 404, "/api/v2/nothing.json": 404, "/api/v2/incidents.json": 404, "/api/v1/service/": 404, "/api": 404, "/api/v1/": 404,
		"/history/": 308, "/incidents/" + eventID: 308, "/incidents/e1": 404, "/api/v2/summary.json/": 308, "/subscribe/email": 405, "/subscribe/webhook": 405, "/subscribe/fax": 404,
	}
	check := func(want string, header map[string]string, statuses map[string]int) {
		t.Helper()
		for path, status := range statuses {
			for base, header := range map[string]map[string]string{"/d/main": header, "": {"Host": "status.acme.test", "Cookie": header["Cookie"]}} {
				g := d.get(t, base+path, plainly(header))
				wantStatus(t, g, status)
				wantHeaders(t, base+path, g, map[string]string{"Cache-Control": want, "Allow": map[bool]string{true: "POST"}[status == 405]})
			}
		}
		for _, method := range []string{"POST", "DELETE"} {
			g := d.do(t, method, "/d/main/api/v2/summary.json", "", plainly(header))
			wantError(t, g, 405, noMethod)
			wantHeaders(t, method, g, map[string]string{"Cache-Control": want, "Allow": "GET"})
		}
	}
	check(cacheOfPublic, nil, statuses)
	wantHeaders(t, "no redirect", d.get(t, "/d/main", nil), map[string]string{"Cache-Control": cacheOfPublic})
	for path, status := range map[string]int{"/d/none/": 404, "/d/none": 404, "/d/none/api/v2/summary.json": 404, "/d/none/api/v1/dashboard/": 404, "/d/MAIN/api/v2/x.json": 404} {
		g := d.get(t, path, plainly(nil))
		wantStatus(t, g, status)
		wantHeaders(t, path, g, map[string]string{"Cache-Control": cacheOfPublic})
	}
	p.change(func(of *peer.Edition) {
		of.Access = peer.Access{Mode: peer.AccessPassword, Password: "v1", FeedKey: "secret-key"}
	})
	tickets := peer.PasswordTickets(testSecret, func() time.Time { return time.Now() })
	check(cacheOfPrivate, map[string]string{"Cookie": peer.PasswordCookie + "=" + tickets.Issue(peer.PasswordTicketOwner("dashboard-1", "v1"), time.Hour)}, statuses)
	for path, status := range statuses { // a visitor without access does not learn which paths exist
		if status == 404 {
			statuses[path] = 403
		}
	}
	check(cacheOfPrivate, nil, statuses)
}

// The path of an unknown channel does not exist. The paths of the other channels only accept a form.
func TestAnUnknownChannelIsNotFound(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	p := newPublication(w)
	missing := p.body(peer.MissingFile, codingPlain)
	for base, header := range map[string]map[string]string{"/d/main": nil, "": ownHost} {
		for _, channel := range []string{"email", "sms", "whatsapp", "webhook", "teams", "gchat"} {
			g := d.get(t, base+"/subscribe/"+channel, header)
			wantError(t, g, 405, noMethod)
			wantHeaders(t, channel, g, map[string]string{"Allow": "POST"})
			wantStatus(t, d.do(t, "POST", base+"/subscribe/"+channel, "a=b", header), 200)
		}
		for _, channel := range []string{"fax", "Email", "webhooks", "{channel}"} {
			if g := d.get(t, base+"/subscribe/"+channel, plainly(header)); g.status != 404 || g.body != missing {
				t.Errorf("GET %s: %d %q", channel, g.status, g.body)
			}
			wantError(t, d.do(t, "POST", base+"/subscribe/"+channel, "{}", plainly(header)), 404, noPath)
			browser := plainly(header)
			browser["Accept"] = "text/html"
			if g := d.do(t, "POST", base+"/subscribe/"+channel, "a=b", browser); g.status != 404 || g.body != missing {
				t.Errorf("POST %s: %d %q", channel, g.status, g.body)
			}
		}
	}
}

func TestWrongAddressesAreNotFound(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	p := newPublication(w)
	p.setMedia("events/"+eventID, htmlType)
	wantStatus(t, d.get(t, "/d/main/events/%30"+eventID[1:], nil), 200) // decoded once
	missing := p.body(peer.MissingFile, codingPlain)
	for _, row := range []struct {
		path   string
		header map[string]string
		body   string
		media  string
	}{
		{"/d/main/nothing", nil, missing, htmlType}, {"/nothing", ownHost, missing, htmlType}, {"/d/main/events/none", nil, missing, htmlType},
		{"/d/main/history/2020-01", nil, missing, htmlType}, {"/d/main/events/a%2F..%2Fb", nil, missing, htmlType}, {"/d/main/events/..", nil, missing, htmlType},
		{"//", ownHost, missing, htmlType}, {"/d/main//", nil, missing, htmlType},
		{"/d/main/enter/below", nil, missing, htmlType}, {"/d/main/404", nil, missing, htmlType}, {"/d/main/events/%2530" + eventID[1:], nil, missing, htmlType}, {"/events/%2530" + eventID[1:], ownHost, missing, htmlType}, {"/d/main/events/%25", nil, missing, htmlType}, {"/d/main/events/%00", nil, missing, htmlType},
		{"/d/main/components/none/badge.svg", nil, noAddress, "text/plain; charset=utf-8"}, {"/d/main/components/none/feed.rss", nil, noAddress, "text/plain; charset=utf-8"},
		{"/d/none/", nil, noBoard + "\n", "text/plain; charset=utf-8"}, {"/", map[string]string{"Host": "other.test"}, noBoard + "\n", "text/plain; charset=utf-8"},
		{"/d/none/events/e1", nil, noBoard + "\n", "text/plain; charset=utf-8"}, {"/d/MAIN/", nil, noAddress, "text/plain; charset=utf-8"},
		{"/", map[string]string{"Host": "other_host.test"}, noAddress, "text/plain; charset=utf-8"},
	} {
		g := d.get(t, row.path, plainly(row.header))
		if g.status != 404 || g.body != row.body || g.header.Get("Content-Type") != row.media || g.header.Get("Etag") != "" {
			t.Errorf("%s: %d %q %v", row.path, g.status, g.body, g.header)
		}
	}
	for _, row := range []struct {
		path, error string
		header      map[string]string
	}{
		{"/d/main/api/v2/nothing.json", noPath, nil}, {"/d/none/api/v2/summary.json", noBoard, nil}, {"/d/main/api/v1/service/", noPath, nil},
		{"/d/main/api/v2/incidents.json", noPath, nil}, {"/api/v2/nothing.json", noPath, ownHost},
	} {
		wantError(t, d.get(t, row.path, row.header), 404, row.error)
	}
}

// A dashboard's own host serves the paths of this dashboard and nothing else.
func TestAnOwnHostHasOnlyItsDashboard(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	newPublication(w)
	m := w.keys.member(nil)
	for path, authorization := range map[string]string{
		"/app/users": m.bearer(), "/app": m.bearer(), "/operator/v1/organizations": "Operator " + operatorToken, "/console": "", "/docs": "", "/openapi/app.yaml": "",
		"/api/v1/": m.apiKey(), "/api/v1/service/": m.apiKey(), "/api/v1/event/list/1/": m.apiKey(), "/d/main/": "", "/d/main/api/v1/dashboard/": "",
		"/public/confirm": "", "/public/webhooks/inbound": "", "/public/v1/dashboards/main/edition": "", "/internal/v1/keys/lookup": "",
	} {
		g := d.get(t, path, plainly(map[string]string{"Host": "status.acme.test", "Authorization": authorization}))
		if g.status != 404 {
			t.Errorf("%s: %d %s", path, g.status, g.body)
		}
	}
	for _, host := range []string{"status.example.com", "127.0.0.1", "localhost:8080", "[::1]:8080", "gateway:8080"} {
		wantStatus(t, d.get(t, "/app/users", map[string]string{"Host": host, "Authorization": m.bearer()}), 200)
		wantError(t, d.get(t, "/", map[string]string{"Host": host, "Accept": "application/json"}), 404, noPath)
		wantError(t, d.get(t, "/feed.rss", map[string]string{"Host": host}), 404, noPath)
	}
}

func TestAFileHasTheBestAcceptedCoding(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	p := newPublication(w)
	for accept, coding := range map[string]string{
		"gzip, deflate, br, zstd": "br", "gzip, deflate, br": "br", "gzip": "gzip", "identity": "identity", "br;q=0.5, gzip": "gzip",
		"gzip;q=0.5, br;q=0.8": "br", "gzip;q=0, br;q=0": "identity", "*": "br", "*;q=0.5, br;q=0": "gzip", "GZIP": "gzip", "x-gzip": "gzip",
		"identity;q=1, br;q=0.5": "identity", "identity;q=0": "identity", "zstd": "identity", "gzip; q=0.9 , br ; Q=0.1": "gzip", "br;q=x": "identity",
		"br;q=NaN, gzip;q=0.1": "gzip", ",": "identity",
	} {
		g := d.get(t, "/d/main/", map[string]string{"Accept-Encoding": accept})
		body := p.body("", coding)
		if g.body != body {
			t.Errorf("%q: %q", accept, g.body)
		}
		content := map[bool]string{false: coding}[coding == "identity"]
		wantHeaders(t, accept, g, map[string]string{"Content-Encoding": content, "Etag": etag.Of([]byte(body)), "Vary": "Accept-Encoding"})
		if again := d.get(t, "/d/main/", map[string]string{"Accept-Encoding": accept, "If-None-Match": etag.Of([]byte(body))}); again.status != 304 {
			t.Errorf("%q again: %d", accept, again.status)
		}
	}
}

func TestTheNextVisitorSeesANewEdition(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	p := newPublication(w)
	for range 20 {
		for _, path := range []string{"/d/main/", "/d/main/events/e1", "/d/main/badge.svg"} {
			if g := d.get(t, path, plainly(nil)); !strings.Contains(g.body, p.edition.ID+" in full") || g.header.Get("Age") != "" {
				t.Fatalf("%s: %q %v of %s", path, g.body, g.header, p.edition.ID)
			}
		}
		p.change(nil)
	}
}

// The query of a file does not matter: all visitors share the cached file.
func TestQueriesAreIgnored(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	p := newPublication(w)
	for _, query := range []string{"", "?a=1", "?a=2", "?key=3", "?" + strings.Repeat("x", 3000)} {
		wantStatus(t, d.get(t, "/d/main/events/e1"+query, plainly(nil)), 200)
	}
	if _, files := p.asked("events/e1"); files != 1 {
		t.Errorf("the file was read %d times", files)
	}
}

// The gateway asks once for the edition for all visitors who wait, and reads a file once.
func TestVisitorsOfAPageShareQuestions(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	p := newPublication(w)
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			for range 25 {
				wantStatus(t, d.get(t, "/d/main/history", plainly(nil)), 200)
			}
		})
	}
	group.Wait()
	if editions, files := p.asked("history"); editions > 400 || files != 1 {
		t.Errorf("events was asked %d times for the edition and %d times for the file, for 800 visits", editions, files)
	}
}

// Visitors who come one after the other also share a question if they come within questionTime.
func TestQuestionsAreSpaced(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	p := newPublication(w)
	wantStatus(t, d.get(t, "/d/main/", plainly(nil)), 200)
	from, _ := p.asked("")
	began := time.Now()
	for range 300 {
		wantStatus(t, d.get(t, "/d/main/", plainly(nil)), 200)
	}
	editions, _ := p.asked("")
	if took := time.Since(began); time.Duration(editions-from-1)*questionTime > took {
		t.Errorf("events was asked %d times for the edition in %v", editions-from, took)
	}
}

func TestFilesAreServedWithoutTheEventsService(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, impatient)
	p := newPublication(w)
	paths := []string{"/d/main/", "/d/main/events/e1", "/d/main/feed.rss"}
	for _, path := range paths {
		wantStatus(t, d.get(t, path, plainly(nil)), 200)
	}
	old := p.body("events/e1", codingPlain)
	p.change(nil)
	wantStatus(t, d.get(t, "/d/main/", plainly(nil)), 200) // the gateway knows the new edition, but not its other files
	visit := func(what string) {
		t.Helper()
		for _, path := range paths {
			g := d.get(t, path, plainly(nil))
			age, err := strconv.Atoi(g.header.Get("Age"))
			if g.status != 200 || err != nil || age < 0 || age > 60 {
				t.Errorf("%s: %s: %d %q %v", what, path, g.status, g.body, g.header)
			}
			// A cache counts s-maxage from Age 0. It may serve this response for 10 s, however old the response is.
			wantHeaders(t, what+": "+path, g, map[string]string{"Cache-Control": fmt.Sprintf("public, max-age=0, s-maxage=%d, stale-while-revalidate=60, stale-if-error=86400", age+10)})
			if path == "/d/main/events/e1" && g.body != old {
				t.Errorf("%s: %q", what, g.body)
			}
			same := d.get(t, path, map[string]string{"Accept-Encoding": "identity", "If-None-Match": g.header.Get("Etag")})
			if same.status != 304 || same.header.Get("Age") == "" {
				t.Errorf("%s: %s again: %d %v", what, path, same.status, same.header)
			}
		}
	}
	serve := w.services[events].handler.Load()
	w.services[events].handle(func(out http.ResponseWriter, _ *http.Request) { out.WriteHeader(http.StatusServiceUnavailable) })
	visit("refusing")
	release := make(chan struct{})
	w.services[events].handle(func(http.ResponseWriter, *http.Request) { <-release })
	visit("hanging")
	close(release)
	w.services[events].handle(*serve)
	eventually(t, "the current edition is served", func() bool {
		g := d.get(t, "/d/main/events/e1", plainly(nil))
		return g.body == p.body("events/e1", codingPlain) && g.header.Get("Age") == ""
	})
	old = p.body("events/e1", codingPlain)
	w.services[events].server.Close()
	visit("down")
	g := d.get(t, "/d/main/history", plainly(nil))
	wantStatus(t, g, 503)
	wantHeaders(t, "never seen", g, map[string]string{"Retry-After": "1", "Content-Type": "text/plain; charset=utf-8"})
	wantStatus(t, d.get(t, "/d/other/", plainly(nil)), 503)
}

// A gateway that starts while the events service is down serves files from Redis: those that the edition lists. A
// client that does not accept brotli gets the plain text.
func TestAGatewayThatStartsDuringAnOutageServesSavedFiles(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	p := newPublication(w)
	saved := func(edition int64) {
		t.Helper()
		eventually(t, "the files are in Redis", func() bool {
			wantStatus(t, d.get(t, "/d/main/", plainly(nil)), 200) // after a failed save, a later visit starts another one
			number, _ := w.redis.HGet(t.Context(), w.tag+"pages:dashboard-1", "number").Int64()
			return number == edition
		})
	}
	wantStatus(t, d.get(t, "/d/main/", plainly(nil)), 200)
	saved(1)
	p.change(nil)
	wantStatus(t, d.get(t, "/d/main/", plainly(nil)), 200)
	wantStatus(t, d.get(t, "/", ownHost), 200)
	saved(2)
	eventually(t, "the own host is in Redis", func() bool {
		return w.redis.Exists(t.Context(), w.tag+"page-at:/public/v1/hosts/status.acme.test").Val() == 1
	})
	if left := w.redis.TTL(t.Context(), w.tag+"pages:dashboard-1").Val(); left <= 23*time.Hour || left > 24*time.Hour {
		t.Errorf("Redis keeps the files for %v", left)
	}
	for _, value := range w.redis.HGetAll(t.Context(), w.tag+"pages:dashboard-1").Val() {
		if strings.Contains(value, "edition-2") {
			t.Errorf("a value in Redis is not sealed: %s", value)
		}
	}
	w.services[events].server.Close()
	again := w.gateway(t, nil)
	for _, name := range p.edition.Files {
		for _, coding := range []string{codingBrotli, codingGzip, codingPlain} {
			for range 2 {
				g := again.get(t, "/d/main/"+name, map[string]string{"Accept-Encoding": coding})
				sent := map[string]string{codingBrotli: codingBrotli}[coding]
				body := p.body(name, sent)
				age, err := strconv.Atoi(g.header.Get("Age"))
				if g.status != 200 || g.body != body || err != nil || g.header.Get("Etag") != etag.Of([]byte(body)) || g.header.Get("Content-Type") != p.media[name] ||
					!strings.HasPrefix(g.header.Get("Cache-Control"), fmt.Sprintf("public, max-age=0, s-maxage=%d,", age+10)) || g.header.Get("Content-Encoding") != sent {
					t.Errorf("%s in %s: %d %q %v", name, coding, g.status, g.body, g.header)
				}
			}
		}
	}
	wantStatus(t, again.get(t, "/", ownHost), 200)
	if g := again.get(t, "/d/main/", plainly(nil)); g.header.Get("Content-Security-Policy") != policy {
		t.Errorf("%v", g.header)
	}
	for at, header := range map[string]map[string]string{"/d/main": nil, "": ownHost} {
		base := map[bool]string{true: "/public/v1/dashboards/main", false: "/public/v1/hosts/status.acme.test"}[header == nil]
		g := again.get(t, at+"/api/v1/dashboard/", header)
		if g.status != 200 || g.body != "list "+base+"/list" || g.header.Get("Age") == "" || g.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("the list below %q: %d %q %v", at, g.status, g.body, g.header)
		}
	}
	if g := again.get(t, "/d/main/nothing", plainly(nil)); g.status != 404 || g.body != p.body(peer.MissingFile, codingPlain) {
		t.Errorf("an unknown path: %d %q", g.status, g.body)
	}
	wantStatus(t, again.get(t, "/d/main/api/v1/dashboard/?limit=1", nil), 503)
	wantStatus(t, again.get(t, "/d/main/history", plainly(nil)), 503)
	wantStatus(t, again.get(t, "/d/other/", plainly(nil)), 503)
}

// A gateway that starts while the events service is down serves the password form and the 404 page of a private
// dashboard. It admits a visitor who has entered the password before.
func TestAGatewayThatStartsDuringAnOutageServesAPrivateDashboard(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	p := newPublication(w)
	p.change(func(of *peer.Edition) {
		of.Access = peer.Access{Mode: peer.AccessPassword, Password: "v1", FeedKey: "k"}
	})
	wantStatus(t, d.get(t, "/d/main/", plainly(nil)), 403)
	eventually(t, "the files are in Redis", func() bool { return w.redis.Exists(t.Context(), w.tag+"pages:dashboard-1").Val() == 1 })
	w.services[events].server.Close()
	again := w.gateway(t, nil)
	tickets := peer.PasswordTickets(testSecret, func() time.Time { return time.Now() })
	right := map[string]string{"Cookie": peer.PasswordCookie + "=" + tickets.Issue(peer.PasswordTicketOwner("dashboard-1", "v1"), time.Hour)}
	for _, coding := range []string{codingBrotli, codingPlain} {
		for _, row := range []struct {
			path   string
			cookie string
			status int
			body   string
		}{
			{"/d/main/", "", 403, p.body(peer.EnterFile, coding)}, {"/d/main/events/e1", "", 403, p.body(peer.EnterBelowFile, coding)},
			{"/d/main/", right["Cookie"], 200, p.body("", coding)}, {"/d/main/nothing", right["Cookie"], 404, p.body(peer.MissingFile, coding)},
			{"/d/main/api/v1/dashboard/", right["Cookie"], 200, "list /public/v1/dashboards/main/list"}, {"/d/main/api/v1/dashboard/", "", 403, ""},
		} {
			g := again.get(t, row.path, map[string]string{"Accept-Encoding": coding, "Cookie": row.cookie})
			if g.status != row.status || g.body != row.body || g.header.Get("Cache-Control") != cacheOfPrivate {
				t.Errorf("%s with cookie %q in %s: %d %q %v", row.path, row.cookie, coding, g.status, g.body, g.header)
			}
		}
	}
}

// A gateway that starts while the events service is down also serves the other files that visitors have requested. If
// nobody has requested a file since, it may be of an older edition. A file that was missing at the last request is not
// served.
func TestAGatewayThatStartsDuringAnOutageServesOtherFiles(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	p := newPublication(w)
	kept := func(name string) string {
		return w.redis.HGet(t.Context(), w.tag+"pages-asked:dashboard-1", codingBrotli+" "+name).Val()
	}
	ask := func(name string, status int, edition string) {
		t.Helper()
		wantStatus(t, d.get(t, "/d/main/"+name, map[string]string{"Accept-Encoding": codingBrotli}), status)
		eventually(t, name+" is in Redis", func() bool {
			number, sealed, _ := strings.Cut(kept(name), " ")
			return number == edition && !strings.Contains(sealed, name)
		})
	}
	names := []string{"events/e1", "components/c1", "history", "history/2026-01", "embed", "robots.txt", "subscribe"}
	for _, name := range names {
		ask(name, 200, "1")
	}
	bodies := map[string]string{"history": p.body("history", codingBrotli)}
	p.change(nil)
	ask("events/e1", 200, "2")
	bodies["events/e1"] = p.body("events/e1", codingBrotli)
	p.mu.Lock()
	delete(p.media, "subscribe")
	p.mu.Unlock()
	ask("subscribe", 404, "")
	eventually(t, "the edition is in Redis", func() bool {
		number, _ := w.redis.HGet(t.Context(), w.tag+"pages:dashboard-1", "number").Int64()
		wantStatus(t, d.get(t, "/d/main/", plainly(nil)), 200)
		return number == 2
	})
	w.services[events].server.Close()
	again := w.gateway(t, nil)
	for _, name := range names {
		want := map[bool]int{true: 503, false: 200}[name == "subscribe"]
		for range 2 {
			g := again.get(t, "/d/main/"+name, map[string]string{"Accept-Encoding": codingBrotli})
			if g.status != want || bodies[name] != "" && g.body != bodies[name] || want == 200 && (g.header.Get("Age") == "" || g.header.Get("Content-Type") != p.media[name]) {
				t.Errorf("%s: %d %q %v", name, g.status, g.body, g.header)
			}
		}
	}
}

// Redis contains at most othersRoom bytes of a dashboard's other files.
func TestOtherFilesInRedisAreBounded(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	p := newPublication(w)
	p.padding = 300 << 10
	total := func() (count, size int) {
		for field, value := range w.redis.HGetAll(t.Context(), w.tag+"pages-asked:dashboard-1").Val() {
			if field != "size" {
				count, size = count+1, size+len(value)
			}
		}
		return count, size
	}
	const room = 5 // number of files of 400 KB in base64
	for range 2 {
		asked := 0
		for name := range p.media {
			if strings.Contains(name, "/") && !strings.HasPrefix(name, "enter") && name != "api/v2/summary.json" {
				wantStatus(t, d.get(t, "/d/main/"+name, plainly(nil)), 200)
				asked++
				eventually(t, "the file is in Redis", func() bool {
					return w.redis.HExists(t.Context(), w.tag+"pages-asked:dashboard-1", codingPlain+" "+name).Val()
				})
			}
			if count, size := total(); size > othersRoom || count != min(asked, room) && p.edition.Number == 1 {
				t.Fatalf("after %d files Redis keeps %d files with %d bytes", asked, count, size)
			}
		}
		p.change(nil)
	}
	p.padding = 2 << 20
	p.change(nil)
	wantStatus(t, d.get(t, "/d/main/history", plainly(nil)), 200)
	eventually(t, "a file that is too large is not in Redis", func() bool { count, _ := total(); return count == 0 })
	if left := w.redis.TTL(t.Context(), w.tag+"pages-asked:dashboard-1").Val(); left > 24*time.Hour {
		t.Errorf("Redis keeps the files for %v", left)
	}
}

// If Redis has lost its data, the files are saved again, although the edition has not changed.
func TestFilesAreSavedAgainAfterRedisLostThem(t *testing.T) {
	w := newWorld(t)
	var ahead atomic.Int64
	d := w.gateway(t, func(c *Config) { c.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) } })
	newPublication(w)
	for range 2 {
		eventually(t, "the files and the address are in Redis", func() bool {
			ahead.Add(int64(checkTime / 50))
			wantStatus(t, d.get(t, "/d/main/", plainly(nil)), 200)
			return w.redis.Exists(t.Context(), w.tag+"pages:dashboard-1", w.tag+"page-at:/public/v1/dashboards/main").Val() == 2
		})
		if err := w.redis.Del(t.Context(), w.redis.Keys(t.Context(), w.tag+"page*").Val()...).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// When a dashboard is disabled, its address is deleted from Redis.
func TestTheAddressOfADisabledDashboardIsDeletedFromRedis(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	newPublication(w)
	wantStatus(t, d.get(t, "/d/main/", plainly(nil)), 200)
	eventually(t, "the files are in Redis", func() bool { return w.redis.Exists(t.Context(), w.tag+"pages:dashboard-1").Val() == 1 })
	w.services[events].handle(func(out http.ResponseWriter, _ *http.Request) { out.WriteHeader(http.StatusNotFound) })
	wantStatus(t, d.get(t, "/d/main/", plainly(nil)), 404)
	w.services[events].server.Close()
	wantStatus(t, d.get(t, "/d/main/", plainly(nil)), 503)
	wantStatus(t, w.gateway(t, nil).get(t, "/d/main/", plainly(nil)), 503)
}

// The gateway serves pages without Redis.
func TestFilesAreServedWithoutRedis(t *testing.T) {
	server := miniredis.RunT(t)
	w := newWorldOn(t, "redis://"+server.Addr()+"/0")
	d := w.gateway(t, nil)
	p := newPublication(w)
	server.Close()
	for range 3 {
		wantStatus(t, d.get(t, "/d/main/", plainly(nil)), 200)
		p.change(nil)
	}
	w.services[events].server.Close()
	wantStatus(t, d.get(t, "/d/main/", plainly(nil)), 200)
}

func TestAPrivateDashboardNeedsItsPassword(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	p := newPublication(w)
	p.change(func(of *peer.Edition) {
		of.Access = peer.Access{Mode: peer.AccessPassword, Password: "v1", FeedKey: "secret-key"}
	})
	tickets := peer.PasswordTickets(testSecret, func() time.Time { return time.Now() })
	ticket := func(dashboard, password string, life time.Duration) map[string]string {
		return plainly(map[string]string{"Cookie": "other=1; " + peer.PasswordCookie + "=" + tickets.Issue(peer.PasswordTicketOwner(dashboard, password), life)})
	}
	pages := map[string]string{
		"/d/main/": peer.EnterFile, "/d/main/history": peer.EnterFile, "/d/main/events/e1": peer.EnterBelowFile, "/d/main/nothing": peer.EnterFile,
		"/d/main/history/2026-01": peer.EnterBelowFile, "/d/main/x/y": peer.EnterBelowFile, "/d/main/x%2Fy": peer.EnterFile, "/d/main/x/y/": peer.EnterFileAt(2), "/d/main/status/main/rss/": peer.EnterFileAt(3),
	}
	files := []string{
		"/d/main/feed.rss", "/d/main/badge.svg", "/d/main/api/v2/summary.json", "/d/main/maintenance.ics", "/d/main/embed.js", "/d/main/robots.txt",
		"/d/main/components/c1/feed.rss", "/d/main/api/v1/dashboard/",
	}
	private := map[string]string{"Cache-Control": cacheOfPrivate, "Access-Control-Allow-Origin": ""}
	refused := func(what string, header map[string]string) {
		t.Helper()
		for path, form := range pages {
			g := d.get(t, path, header)
			if g.status != 403 || g.body != p.body(form, codingPlain) || g.header.Get("Etag") != "" || g.header.Get("Content-Security-Policy") != policy {
				t.Errorf("%s: %s: %d %q %v", what, path, g.status, g.body, g.header)
			}
			wantHeaders(t, what+" "+path, g, private)
		}
		for _, path := range files {
			g := d.get(t, path+"?key=wrong", header)
			if g.status != 403 || g.body != "" {
				t.Errorf("%s: %s: %d %q", what, path, g.status, g.body)
			}
			wantHeaders(t, what+" "+path, g, private)
		}
	}
	refused("no cookie", plainly(nil))
	refused("another password", ticket("dashboard-1", "v0", time.Hour))
	refused("another dashboard", ticket("dashboard-2", "v1", time.Hour))
	refused("expired", ticket("dashboard-1", "v1", -time.Second))
	refused("made up", plainly(map[string]string{"Cookie": peer.PasswordCookie + "=v1"}))
	right := ticket("dashboard-1", "v1", time.Hour)
	for _, path := range append(files, "/d/main/", "/d/main/events/e1") {
		g := d.get(t, path, right)
		wantStatus(t, g, 200)
		wantHeaders(t, path, g, private)
	}
	wantStatus(t, d.get(t, "/d/main/nothing", right), 404)
	for path, status := range map[string]int{
		"/d/main/feed.rss?a=%zz&key=secret-key": 200, "/d/main/feed.json?key=secret-key": 200, "/d/main/components/c1/feed.rss?key=secret-key": 200,
		"/d/main/maintenance.ics?key=secret-key": 200, "/d/main/?key=secret-key": 403, "/d/main/api/v2/summary.json?key=secret-key": 403,
		"/d/main/badge.svg?key=secret-key": 403, "/d/main/feed.rss?key=": 403,
	} {
		wantStatus(t, d.get(t, path, plainly(nil)), status)
	}
	for _, uri := range p.uris {
		if strings.Contains(uri, "key") && !strings.Contains(uri, "/list?") {
			t.Errorf("events was asked with a key: %s", uri)
		}
	}
	// The form of a visitor is forwarded only with the cookie.
	for _, path := range []string{"/d/main/subscribe/email", "/d/main/subscribe/webhook"} {
		for _, header := range []map[string]string{plainly(nil), ticket("dashboard-1", "v0", time.Hour)} {
			g := d.do(t, "POST", path, "a=b", header)
			if g.status != 403 || g.body != p.body(peer.EnterBelowFile, codingPlain) {
				t.Errorf("%s without the password: %d %q", path, g.status, g.body)
			}
			wantHeaders(t, path, g, private)
		}
		if e := d.do(t, "POST", path, "a=b", right).echo(t); e.URI != path || e.Body != "a=b" {
			t.Errorf("%s with the password: %+v", path, e)
		}
	}
	p.change(func(of *peer.Edition) { of.Access.Password = "v2" })
	refused("after a new password", right)
	p.change(func(of *peer.Edition) { of.Access = peer.Access{Mode: peer.AccessPassword} })
	refused("without a password and a key", ticket("dashboard-1", "", time.Hour))
	p.change(func(of *peer.Edition) { of.Access = peer.Access{Mode: "unknown"} })
	wantEmpty403(t, d.get(t, "/d/main/", right))
}

func TestARefusedPasswordGetsAFileOfTheEdition(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	p := newPublication(w)
	p.change(func(of *peer.Edition) {
		of.Access = peer.Access{Mode: peer.AccessPassword, Password: "v1", FeedKey: "secret-key"}
	})
	form := plainly(map[string]string{"Content-Type": "application/x-www-form-urlencoded"})
	status, uri := 0, ""
	p.enter = func(out http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		of, err := w.signer.Verify(r.Header.Get(passport.Header), events)
		uri = r.RequestURI
		if string(body) != "password=secret" || err != nil || of.IP != "127.0.0.1" || r.Header.Get("Content-Type") != form["Content-Type"] {
			t.Errorf("events got %q %+v", body, of)
		}
		out.Header().Set("Cache-Control", "private, no-store")
		if status == 303 {
			out.Header().Set("Location", "/d/main/")
			out.Header().Set("Set-Cookie", "a=b")
		}
		if status == 429 {
			out.Header().Set("Retry-After", "60")
		}
		out.WriteHeader(status)
	}
	for _, row := range []struct {
		status      int
		body, retry string
	}{{303, "", ""}, {403, p.body(peer.EnterWrongFile, codingPlain), ""}, {429, p.body(peer.EnterLateFile, codingPlain), "60"}} {
		status = row.status
		g := d.do(t, "POST", "/d/main/enter?key=x", "password=secret", form)
		if g.status != row.status || g.body != row.body || (g.header.Get("Set-Cookie") != "") != (row.status == 303) || uri != "/public/v1/dashboards/main/enter" {
			t.Errorf("%d: %d %q %v of %s", row.status, g.status, g.body, g.header, uri)
		}
		wantHeaders(t, "enter", g, map[string]string{"Cache-Control": cacheOfPrivate, "Retry-After": row.retry, "Access-Control-Allow-Origin": ""})
	}
	status = 404
	p.change(func(of *peer.Edition) { of.Access = peer.Access{Mode: peer.AccessPublic} })
	missing := d.do(t, "POST", "/d/main/enter", "password=secret", form)
	wantHeaders(t, "enter a public dashboard", missing, map[string]string{"Cache-Control": cacheOfPrivate})
	if missing.status != 404 || missing.body != p.body(peer.MissingFile, codingPlain) {
		t.Errorf("a public dashboard: %d %q", missing.status, missing.body)
	}
	p.change(func(of *peer.Edition) {
		of.Access = peer.Access{Mode: peer.AccessIPs, AllowedIPs: []string{"192.0.2.0/28"}}
	})
	wantEmpty403(t, d.do(t, "POST", "/d/main/enter", "password=secret", form))
	form["Host"] = "status.acme.test"
	status = 303
	wantStatus(t, d.do(t, "POST", "/enter", "password=secret", form), 303)
	if uri != "/public/v1/hosts/status.acme.test/enter" {
		t.Errorf("events was asked for %s", uri)
	}
	delete(form, "Host")
	g := d.get(t, "/d/main/enter", plainly(nil))
	wantStatus(t, g, 405)
	wantHeaders(t, "GET", g, map[string]string{"Allow": "POST"})
	wantStatus(t, d.do(t, "POST", "/d/none/enter", "password=secret", form), 404)
	w.services[events].server.Close()
	g = d.do(t, "POST", "/d/main/enter", "password=secret", form)
	wantStatus(t, g, 503)
	wantHeaders(t, "down", g, map[string]string{"Retry-After": "1"})
}

func TestOnlyAllowedAddressesSeeTheDashboard(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, func(c *Config) { c.TrustedProxies = []string{"127.0.0.0/8"} })
	p := newPublication(w)
	p.change(func(of *peer.Edition) {
		of.Access = peer.Access{Mode: peer.AccessIPs, AllowedIPs: []string{"192.0.2.0/28", "2001:db8::/32", "203.0.113.7"}, FeedKey: "secret-key"}
	})
	for from, status := range map[string]int{
		"192.0.2.15": 200, "192.0.2.16": 403, "2001:db8:1::1": 200, "2001:db9::1": 403, "203.0.113.7": 200, "203.0.113.8": 403, "::ffff:192.0.2.1": 200,
		"192.0.2.1, 198.51.100.1": 403, "198.51.100.1, 192.0.2.1": 200,
	} {
		for _, path := range []string{"/d/main/", "/d/main/feed.rss", "/d/main/api/v1/dashboard/", "/d/main/nothing"} {
			g := d.get(t, path, plainly(map[string]string{"X-Forwarded-For": from}))
			if want := map[bool]int{false: status, true: 404}[status == 200 && path == "/d/main/nothing"]; g.status != want || status == 403 && g.body != "" {
				t.Errorf("%s from %s: %d %q", path, from, g.status, g.body)
			}
			wantHeaders(t, path, g, map[string]string{"Cache-Control": cacheOfPrivate, "Access-Control-Allow-Origin": ""})
		}
	}
	wantStatus(t, d.get(t, "/d/main/feed.rss?key=secret-key", plainly(map[string]string{"X-Forwarded-For": "198.51.100.1"})), 200)
	wantStatus(t, d.do(t, "POST", "/d/main/subscribe/sms", "a=b", map[string]string{"X-Forwarded-For": "192.0.2.1"}), 200)
	wantEmpty403(t, d.do(t, "POST", "/d/main/subscribe/sms?key=secret-key", "a=b", map[string]string{"X-Forwarded-For": "198.51.100.1"}))
}
