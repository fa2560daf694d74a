package main_test

import (
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/gateway"
)

// looker is a visitor of dashboards.
type looker struct {
	t      testing.TB
	base   string
	host   string
	cookie string
}

// visit sends a request with the form, or without a body if the form is nil.
func (l looker) visit(method, path string, form url.Values, header ...string) answer {
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
	defer response.Body.Close()
	return readAnswer(l.t.(*testing.T), response)
}

// filePaths returns the paths of a dashboard's files, below its address.
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

// TestFilesOfADashboard visits every file of a dashboard, under its slug and on its own host.
func TestFilesOfADashboard(t *testing.T) {
	_, base := started(t, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	service, component := a.service("Checkout")
	send(t, http.MethodPatch, base+"/app/dashboards/"+a.DashboardID, a.app(), map[string]any{"customDomains": []string{"status.acme.example"}}).expect(t, http.StatusOK)
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
		if path == "/history/2020-01" { // no month of this dashboard
			continue
		}
		for prefix, visitor := range map[string]looker{slug: l, "": {t: t, base: base, host: "status.acme.example"}} {
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

// feedAddress returns the address in a file that has a path and a query.
func feedAddress(t *testing.T, body []byte, path string) string {
	t.Helper()
	found := regexp.MustCompile(regexp.QuoteMeta(path) + `\?key=[^"]+`).Find(body)
	if found == nil {
		t.Fatalf("no address of %s in %s", path, body)
	}
	return html.UnescapeString(string(found))
}

// TestPrivateDashboard enters the password of a dashboard.
func TestPrivateDashboard(t *testing.T) {
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
	if late.header.Get("Retry-After") == "" || !strings.Contains(string(late.body), "too many wrong passwords") {
		t.Errorf("%v %s", late.header, late.body)
	}
	access(map[string]any{"mode": "ipAllowlist", "allowedIps": []string{"192.0.2.0/24"}})
	if got := l.visit("GET", slug+"/", nil).expect(t, http.StatusForbidden); len(got.body) > 0 {
		t.Errorf("%s", got.body)
	}
	access(map[string]any{"mode": "ipAllowlist", "allowedIps": []string{"127.0.0.0/8"}})
	l.visit("GET", slug+"/", nil).expect(t, http.StatusOK)
}
