package main_test

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/gateway"
)

// looker is a visitor of dashboards.
type looker struct {
	t      testing.TB
	base   string
	host   string
	cookie string
}

// fresh repeats a request until the response is not one that the gateway kept from before, because the events service was
// slow. Such a response has the header Age. A refusal has no Age: it is repeated if it took as long as the gateway waits
// for the events service, and while the gateway rests after that.
func fresh(t testing.TB, request func() answer) (got answer) {
	t.Helper()
	const patience, rest = 500 * time.Millisecond, 600 * time.Millisecond
	var rested time.Time
	eventually(t, time.Minute, "a response that was not kept", func() error {
		began := time.Now()
		got = request()
		if time.Since(began) >= patience {
			rested = time.Now().Add(rest)
		}
		if age := got.header.Get("Age"); age != "" || got.status >= http.StatusBadRequest && time.Now().Before(rested) {
			return fmt.Errorf("%d with the age %q", got.status, age)
		}
		return nil
	})
	return got
}

// visit sends a request with the form as its body. If the form is nil, the request has no body. It repeats a request
// without a form until the response is fresh.
func (l looker) visit(method, path string, form url.Values, header ...string) answer {
	l.t.Helper()
	if form != nil {
		return l.once(method, path, form, header...)
	}
	return fresh(l.t, func() answer { return l.once(method, path, nil, header...) })
}

func (l looker) once(method, path string, form url.Values, header ...string) answer {
	l.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	request, err := http.NewRequestWithContext(l.t.Context(), method, l.base+path, body)
	if err != nil {
		l.t.Fatal(err)
	}
	request.Host = l.host
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if l.cookie != "" {
		request.Header.Set("Cookie", l.cookie)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := (&http.Transport{DisableCompression: true}).RoundTrip(request)
	if err != nil {
		l.t.Fatal(err)
	}
	got, err := readAnswer(response)
	if err != nil {
		l.t.Fatal(err)
	}
	return got
}

// filePaths returns the paths of a dashboard's files, relative to its address.
func filePaths(component, event string) (paths []string) {
	for _, route := range gateway.Routes() {
		below, is := strings.CutPrefix(route.Path, "/d/{slug}")
		if !is || route.Service != "events" || route.Methods[0] != http.MethodGet || strings.HasPrefix(below, "/incidents/") {
			continue
		}
		id := component
		if strings.HasPrefix(below, "/events/") {
			id = event
		}
		paths = append(paths, strings.NewReplacer("{id}", id, "{month}", "2020-01").Replace(below))
	}
	return paths
}

// fullDashboard fills the dashboard with 50 components in 7 groups, and with 60 incidents in 90 days, two of which are
// open. It returns the ids of a component and of the newest event.
func (a actor) fullDashboard() (component, event string) {
	a.t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	text := func(words int) string {
		list := strings.Fields("request queue node replica storage error latency region cache deploy network writes customers slowly traffic again restored monitoring identified database")
		var out []string
		for range words {
			out = append(out, list[random.IntN(len(list))])
		}
		return strings.Join(out, " ")
	}
	var services []string
	for n := range 50 {
		var made struct {
			URI string `json:"resource_uri"`
		}
		send(a.t, http.MethodPost, a.BaseURL+"/api/v1/service/", a.legacy(), map[string]any{
			"service_name": fmt.Sprintf("Service %d %s", n, text(1)), "group": fmt.Sprintf("Group %d", n/8), "description": text(6),
		}).expect(a.t, http.StatusCreated).into(a.t, &made)
		services = append(services, made.URI)
	}
	for n := 59; n >= 0; n-- {
		began := time.Now().UTC().Add(-time.Duration(n*36+3) * time.Hour)
		event := incident(services[0], text(20))
		event["start"], event["severity"] = began.Format("2006-01-02T15:04:05"), fmt.Sprintf("/api/v1/severity/%d/", 1+random.IntN(3))
		event["event_service"] = []any{services[random.IntN(25)], services[25+random.IntN(25)]}
		event["event_update"] = []any{map[string]any{"update": text(40)}, map[string]any{"update": text(40)}, map[string]any{"update": text(40)}}
		if n >= 2 {
			event["status"], event["end"] = "/api/v1/status/3/", began.Add(time.Hour).Format("2006-01-02T15:04:05")
		}
		delete(event, "notifications")
		send(a.t, http.MethodPost, a.BaseURL+"/api/v1/event/list/", a.legacy(), event).expect(a.t, http.StatusCreated)
	}
	var summary struct {
		Components []struct {
			ID    string
			Group bool
		}
		Incidents []struct{ ID string }
	}
	looker{t: a.t, base: a.DashboardURL}.visit("GET", "/api/v2/summary.json", nil).expect(a.t, http.StatusOK).into(a.t, &summary)
	groups, single := 0, ""
	for _, of := range summary.Components {
		if of.Group {
			groups++
		} else {
			single = of.ID
		}
	}
	if len(summary.Components)-groups != 50 || groups != 7 || len(summary.Incidents) != 2 {
		a.t.Fatalf("the dashboard has %d components in %d groups, and %d open incidents", len(summary.Components)-groups, groups, len(summary.Incidents))
	}
	return single, summary.Incidents[0].ID
}

var subresource = regexp.MustCompile(`(?i)<(link[^>]+rel="?(stylesheet|preload)|script[^>]+src|img|iframe|source|object)|@import|url\(`)

// TestAPageIsOneSmallRequest loads a page with 50 components, 90 days of bars and 14 days of history.
func TestAPageIsOneSmallRequest(t *testing.T) {
	t.Parallel()
	base := commonBase(t)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	_, event := a.fullDashboard()
	l := looker{t: t, base: a.DashboardURL}
	for _, coding := range []string{"br", "gzip"} {
		got := l.visit("GET", "/", nil, "Accept-Encoding", coding).expect(t, http.StatusOK)
		if t.Logf("%d bytes in %s", len(got.body), coding); len(got.body) > 30_000 || got.header.Get("Content-Encoding") != coding {
			t.Errorf("%d bytes, %v", len(got.body), got.header)
		}
	}
	got := l.visit("GET", "/", nil, "Accept-Encoding", "identity").expect(t, http.StatusOK)
	if found := subresource.Find(got.body); found != nil {
		t.Errorf("the page loads something else: %s", found)
	}
	if bars := bytes.Count(got.body, []byte("<svg")); bars < 50 || !bytes.Contains(got.body, []byte(event)) {
		t.Errorf("the page has %d drawings, or lacks the event %s: %s", bars, event, got.body)
	}
}

// TestEveryFileOfADashboardIsServed requests every file of a dashboard, by slug and on the dashboard's own host.
func TestEveryFileOfADashboardIsServed(t *testing.T) {
	t.Parallel()
	base := commonBase(t)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	service, component := a.service("Checkout")
	send(t, http.MethodPatch, base+"/app/dashboards/"+a.DashboardID, a.app(), map[string]any{"customDomains": []string{"files.acme.example"}}).expect(t, http.StatusOK)
	send(t, http.MethodPost, base+"/api/v1/event/list/", a.legacy(), incident(service, "The first words")).expect(t, http.StatusCreated)
	slug := "/d/" + a.DashboardSlug
	var unresolved struct{ Incidents []struct{ ID string } }
	l := looker{t: t, base: base}
	l.visit("GET", slug+"/api/v2/incidents/unresolved.json", nil).expect(t, http.StatusOK).into(t, &unresolved)
	if len(unresolved.Incidents) != 1 {
		t.Fatalf("open incidents: %+v", unresolved)
	}
	event := unresolved.Incidents[0].ID
	for _, path := range filePaths(component, event) {
		if path == "/history/2020-01" { // this dashboard has no events in that month
			continue
		}
		for prefix, visitor := range map[string]looker{slug: l, "": {t: t, base: base, host: "files.acme.example"}} {
			for _, coding := range []string{"br", "gzip", "identity"} {
				got := visitor.visit("GET", prefix+path, nil, "Accept-Encoding", coding).expect(t, http.StatusOK)
				if want := map[bool]string{false: coding}[coding == "identity"]; got.header.Get("Etag") == "" || !strings.HasSuffix(path, "/dashboard/") && got.header.Get("Content-Encoding") != want {
					t.Errorf("%s%s in %s: %v", prefix, path, coding, got.header)
				}
				visitor.visit("GET", prefix+path, nil, "Accept-Encoding", coding, "If-None-Match", got.header.Get("Etag")).expect(t, http.StatusNotModified)
			}
		}
		l.visit("GET", "/d/nobody"+path, nil).expect(t, http.StatusNotFound)
	}
	if got := l.visit("GET", slug, nil).expect(t, http.StatusPermanentRedirect); got.header.Get("Location") != slug+"/" {
		t.Errorf("%v", got.header)
	}
	if got := l.visit("GET", slug+"/incidents/"+event, nil).expect(t, http.StatusPermanentRedirect); got.header.Get("Location") != slug+"/events/"+event {
		t.Errorf("%v", got.header)
	}
	missing := l.visit("GET", slug+"/nothing", nil).expect(t, http.StatusNotFound)
	if !strings.HasPrefix(missing.header.Get("Content-Type"), "text/html") || !strings.Contains(string(missing.body), "<h1") {
		t.Errorf("%v %s", missing.header, missing.body)
	}
	// The next visitor sees a change.
	send(t, http.MethodPost, base+"/api/v1/event/list/", a.legacy(), incident(service, "The second words")).expect(t, http.StatusCreated)
	for _, path := range []string{"/", "/feed.rss", "/api/v2/summary.json"} {
		if got := l.visit("GET", slug+path, nil); !strings.Contains(string(got.body), "The second words") {
			t.Errorf("%s lacks the change: %s", path, got.body)
		}
	}
}

// feedAddress returns the address in a file whose path is path, with its query.
func feedAddress(t testing.TB, body []byte, path string) string {
	t.Helper()
	found := regexp.MustCompile(regexp.QuoteMeta(path) + `\?key=[^"]+`).Find(body)
	if found == nil {
		t.Fatalf("no address of %s in %s", path, body)
	}
	return html.UnescapeString(string(found))
}

// TestAPrivateDashboardOpensWithItsPassword enters the password of a private dashboard.
func TestAPrivateDashboardOpensWithItsPassword(t *testing.T) {
	t.Parallel()
	_, base := started(t, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	_, component := a.service("Checkout")
	access := func(of map[string]any) {
		t.Helper()
		send(t, http.MethodPatch, base+"/app/dashboards/"+a.DashboardID, a.app(), map[string]any{"access": of}).expect(t, http.StatusOK)
	}
	access(map[string]any{"mode": "password", "password": "correct horse"})
	slug := "/d/" + a.DashboardSlug
	l := looker{t: t, base: base}
	refused := func() {
		t.Helper()
		for _, path := range filePaths(component, "none") {
			got := l.visit("GET", slug+path, nil).expect(t, http.StatusForbidden)
			if form := strings.Contains(string(got.body), `type="password"`); form != (!strings.Contains(path, ".") && !strings.Contains(path, "/api/")) || got.header.Get("Cache-Control") != "private, no-store" {
				t.Errorf("%s: %v %s", path, got.header, got.body)
			}
		}
	}
	refused()
	wrong := l.visit("POST", slug+"/enter", url.Values{"password": {"wrong"}}).expect(t, http.StatusForbidden)
	if !strings.Contains(string(wrong.body), "The password is wrong.") || wrong.header.Get("Set-Cookie") != "" {
		t.Errorf("%v %s", wrong.header, wrong.body)
	}
	right := l.visit("POST", slug+"/enter", url.Values{"password": {"correct horse"}}).expect(t, http.StatusSeeOther)
	if right.header.Get("Location") != slug+"/" {
		t.Errorf("%v", right.header)
	}
	l.cookie, _, _ = strings.Cut(right.header.Get("Set-Cookie"), ";")
	for _, path := range []string{"/", "/history", "/feed.rss", "/api/v2/summary.json", "/api/v1/dashboard/", "/components/" + component} {
		l.visit("GET", slug+path, nil).expect(t, http.StatusOK)
	}
	feed := feedAddress(t, l.visit("GET", slug+"/components/"+component, nil).body, "components/"+component+"/feed.rss")
	reader := looker{t: t, base: base}
	self := feedAddress(t, reader.visit("GET", slug+"/"+feed, nil).expect(t, http.StatusOK).body, slug+"/components/"+component+"/feed.rss")
	reader.visit("GET", self, nil).expect(t, http.StatusOK)
	access(map[string]any{"mode": "password", "password": "another horse"})
	refused()
	reader.visit("GET", slug+"/"+feed, nil).expect(t, http.StatusForbidden)
	for range 9 {
		l.visit("POST", slug+"/enter", url.Values{"password": {"wrong"}}).expect(t, http.StatusForbidden)
	}
	late := l.visit("POST", slug+"/enter", url.Values{"password": {"another horse"}}).expect(t, http.StatusTooManyRequests)
	if late.header.Get("Retry-After") == "" || !strings.Contains(string(late.body), "Too many wrong passwords") {
		t.Errorf("%v %s", late.header, late.body)
	}
	access(map[string]any{"mode": "ipAllowlist", "allowedIps": []string{"192.0.2.0/24"}})
	if got := l.visit("GET", slug+"/", nil).expect(t, http.StatusForbidden); len(got.body) > 0 {
		t.Errorf("%s", got.body)
	}
	access(map[string]any{"mode": "ipAllowlist", "allowedIps": []string{"127.0.0.0/8"}})
	l.visit("GET", slug+"/", nil).expect(t, http.StatusOK)
}
