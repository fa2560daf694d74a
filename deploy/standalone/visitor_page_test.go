package main_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const hostileName = `Acme <script>alert(1)</script> & "Söhne"`

var (
	stylePattern  = regexp.MustCompile(`(?s)<style>(.*?)</style>`)
	scriptPattern = regexp.MustCompile(`(?s)<script>(.*?)</script>`)
)

// expectLook fails the test unless the page has the look of the dashboard with the name. Its content security policy
// must allow its style and scripts, and the name must be escaped.
func expectLook(t testing.TB, label, name string, page answer) answer {
	t.Helper()
	text, policy := string(page.body), page.header.Get("Content-Security-Policy")
	styles := stylePattern.FindAllStringSubmatch(text, -1)
	for _, one := range append(styles, scriptPattern.FindAllStringSubmatch(text, -1)...) {
		sum := sha256.Sum256([]byte(one[1]))
		if !strings.Contains(policy, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
			t.Errorf("%s: the policy lacks %.80q: %s", label, one[1], policy)
		}
	}
	if len(styles) != 1 || !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Count(text, "<h1") != 1 || strings.Count(text, `<main id="main"`) != 1 ||
		!strings.Contains(text, `<meta name="robots" content="noindex">`) || !strings.Contains(html.UnescapeString(text), name) || strings.Contains(text, "<script>alert") {
		t.Errorf("%s: %v %s", label, page.header, text)
	}
	return page
}

// TestVisitorsPagesLookLikeTheDashboard subscribes and unsubscribes below /d/{slug} and on the dashboard's own host,
// without scripts.
func TestVisitorsPagesLookLikeTheDashboard(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	_, base := started(t, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "BELLBUOY_DATA="+data)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	_, checkout := a.service("Checkout")
	send(t, http.MethodPatch, base+"/app/dashboards/"+a.DashboardID, a.app(), map[string]any{
		"name": hostileName, "locale": "de", "searchIndexing": false, "customDomains": []string{"status.acme.example"},
		"links":         map[string]any{"navigation": []any{map[string]any{"text": "Über uns", "href": "https://acme.example/"}}},
		"subscriptions": map[string]any{"email": true, "sms": true, "webhook": true},
	}).expect(t, http.StatusOK)
	look := func(v visitor, status int, method, path string, form url.Values) string {
		t.Helper()
		page := expectLook(t, method+" "+path, hostileName, v.do(method, path, form).expect(t, status))
		if !strings.Contains(string(page.body), "Über uns") || !strings.Contains(string(page.body), `<html lang="de"`) {
			t.Errorf("%s %s: not in the frame: %s", method, path, page.body)
		}
		return string(page.body)
	}
	confirmed := func(channel, address string) bool {
		t.Helper()
		listed := send(t, http.MethodGet, base+"/api/v1/subscribers/"+channel+"/?confirmed=true", a.legacy(), nil).expect(t, http.StatusOK)
		return strings.Contains(string(listed.body), address)
	}
	here := visitor{t: t, base: base}
	for i, v := range []visitor{here, {t: t, base: base, header: http.Header{"Host": {"status.acme.example"}}}} {
		subscribe := []string{"/d/" + a.DashboardSlug, ""}[i] + "/subscribe"
		form := look(v, http.StatusOK, http.MethodGet, subscribe, nil)
		for _, channel := range []string{"email", "sms", "webhook"} {
			if !strings.Contains(form, `action="subscribe/`+channel+`"`) {
				t.Errorf("%s has no form of %s", subscribe, channel)
			}
			v.do(http.MethodGet, subscribe+"/"+channel, nil).expect(t, http.StatusMethodNotAllowed)
		}
		if wrong := look(v, http.StatusUnprocessableEntity, http.MethodPost, subscribe+"/email", url.Values{"email": {"vera@"}, "componentIds": {checkout}}); !strings.Contains(wrong, `value="vera@"`) ||
			!strings.Contains(wrong, `aria-invalid="true" aria-describedby="email-problem"`) || strings.Count(wrong, " checked") != 1 {
			t.Errorf("a wrong form: %s", wrong)
		}
		if wrong := look(v, http.StatusUnprocessableEntity, http.MethodPost, subscribe+"/webhook", url.Values{"url": {"ftp://x"}}); !strings.Contains(wrong, `<main id="main" tabindex="-1" class="small">`) || !strings.Contains(wrong, "Einen Endpunkt abonnieren") {
			t.Errorf("a wrong form of an endpoint: %s", wrong)
		}
		sent := look(v, http.StatusOK, http.MethodGet, subscribe+"/sent", nil)
		if !strings.Contains(sent, `action="`+base+`/public/confirm"`) || !strings.Contains(sent, `name="dashboardId" value="`+a.DashboardID+`"`) {
			t.Errorf("the page after a form: %s", sent)
		}
		if policy := v.do(http.MethodGet, subscribe+"/sent", nil).header.Get("Content-Security-Policy"); !strings.Contains(policy, "form-action 'self' "+base+";") {
			t.Errorf("the policy of the form for a code: %s", policy)
		}

		p := &person{v, data, "email", fmt.Sprintf("vera%d@example.com", i), map[string]bool{}}
		link, _ := p.asks(strings.TrimSuffix(subscribe, "/subscribe"), checkout)
		for range 2 {
			look(here, http.StatusOK, http.MethodGet, link, nil)
		}
		if confirmed("email", p.address) {
			t.Error("a GET has confirmed it")
		}
		done := look(here, http.StatusOK, http.MethodPost, link, nil)
		manage := "/public/" + html.UnescapeString(manageLink.FindStringSubmatch(done)[1])
		look(here, http.StatusGone, http.MethodGet, link, nil)
		look(here, http.StatusOK, http.MethodGet, manage, nil)
		look(here, http.StatusUnprocessableEntity, http.MethodPost, manage, url.Values{"componentIds": {""}})
		look(here, http.StatusOK, http.MethodPost, manage, url.Values{"paused": {"on"}, "locale": {"en"}})
		unsubscribe := strings.Replace(manage, "manage", "unsubscribe", 1) // the token in the link has the purpose of the manage page
		if plain := here.do(http.MethodGet, unsubscribe, nil).expect(t, http.StatusNotFound); strings.Contains(string(plain.body), "Über uns") {
			t.Errorf("a link that is not valid: %s", plain.body)
		}
		if !confirmed("email", p.address) {
			t.Error("it is not confirmed, or a refused request has ended it")
		}
		look(here, http.StatusOK, http.MethodPost, manage, url.Values{"action": {"unsubscribe"}})
		if confirmed("email", p.address) {
			t.Error("it is still there")
		}

		s := &person{v, data, "sms", fmt.Sprintf("+491511234567%d", i), map[string]bool{}}
		_, code := s.asks(strings.TrimSuffix(subscribe, "/subscribe"))
		try := url.Values{"channel": {"sms"}, "phone": {s.address}, "code": {"12"}, "dashboardId": {a.DashboardID}}
		if wrong := look(here, http.StatusUnprocessableEntity, http.MethodPost, "/public/confirm", try); !strings.Contains(wrong, `aria-describedby="code-problem"`) || !strings.Contains(html.UnescapeString(wrong), s.address) {
			t.Errorf("a wrong code: %s", wrong)
		}
		try.Set("code", code)
		look(here, http.StatusOK, http.MethodPost, "/public/confirm", try)
	}
}

// TestVisitorsSubscribeOnAPrivateDashboard subscribes on a dashboard with a password.
func TestVisitorsSubscribeOnAPrivateDashboard(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	_, base := started(t, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "BELLBUOY_DATA="+data)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	_, checkout := a.service("Checkout")
	change := func(of map[string]any) {
		t.Helper()
		send(t, http.MethodPatch, base+"/app/dashboards/"+a.DashboardID, a.app(), of).expect(t, http.StatusOK)
	}
	change(map[string]any{
		"name": hostileName, "access": map[string]any{"mode": "password", "password": "correct horse"}, "customDomains": []string{"status.acme.example"},
		"links":         map[string]any{"navigation": []any{map[string]any{"text": "Intranet", "href": "https://intra.example/"}}},
		"subscriptions": map[string]any{"email": true, "webhook": true},
	})
	forms := map[string]url.Values{
		"email":   {"email": {"vera@example.com"}, "componentIds": {checkout}},
		"webhook": {"url": {"https://hooks.example.com/x"}, "managementEmail": {"vera@example.com"}},
	}
	for i, header := range []http.Header{{}, {"Host": {"status.acme.example"}}} {
		v := visitor{t: t, base: base, header: header}
		dashboard := []string{"/d/" + a.DashboardSlug, ""}[i]
		for channel, form := range forms {
			refused := v.do(http.MethodPost, dashboard+"/subscribe/"+channel, form).expect(t, http.StatusForbidden)
			if !strings.Contains(string(refused.body), `action="../enter"`) || strings.Contains(string(refused.body), "Checkout") {
				t.Errorf("without the password: %s", refused.body)
			}
		}
		entered := v.do(http.MethodPost, dashboard+"/enter", url.Values{"password": {"correct horse"}}).expect(t, http.StatusSeeOther)
		cookie, _, _ := strings.Cut(entered.header.Get("Set-Cookie"), ";")
		v.header = header.Clone()
		v.header.Set("Cookie", cookie)
		p := &person{v, data, "email", fmt.Sprintf("vera%d@example.com", i), map[string]bool{}}
		link, _ := p.asks(dashboard, checkout)
		expectLook(t, "wrong", hostileName, v.do(http.MethodPost, dashboard+"/subscribe/email", url.Values{"email": {"x"}}).expect(t, http.StatusUnprocessableEntity))
		v.do(http.MethodPost, dashboard+"/subscribe/webhook", forms["webhook"]).expect(t, http.StatusSeeOther)
		// A link needs no password. Its pages show nothing of the dashboard but its name and the subject of the link.
		stranger := visitor{t: t, base: base}
		asked := expectLook(t, "confirm", hostileName, stranger.do(http.MethodGet, link, nil).expect(t, http.StatusOK))
		if text := string(asked.body); strings.Contains(text, "Intranet") || strings.Contains(text, "feed.rss") || !strings.Contains(text, "Checkout") {
			t.Errorf("the page of a link: %s", text)
		}
		p.header = nil // without the Host of the dashboard, because pages behind links are on the platform's host
		p.confirms(link, "", false)
	}
	v := visitor{t: t, base: base}
	verify := linkTo(t, data, "vera@example.com", 2)
	expectLook(t, "verify", hostileName, v.do(http.MethodGet, verify, nil).expect(t, http.StatusOK))
	path := "/d/" + a.DashboardSlug + "/subscribe/email"
	change(map[string]any{"access": map[string]any{"mode": "ipAllowlist", "allowedIps": []string{"192.0.2.0/24"}}})
	if refused := v.do(http.MethodPost, path, forms["email"]).expect(t, http.StatusForbidden); len(refused.body) > 0 {
		t.Errorf("from another address: %s", refused.body)
	}
	change(map[string]any{"access": map[string]any{"mode": "ipAllowlist", "allowedIps": []string{"127.0.0.0/8"}}})
	v.do(http.MethodPost, path, forms["email"]).expect(t, http.StatusSeeOther)
}

// TestVisitorsLeaveWhileEventsIsDown unsubscribes while the look and the content of dashboards cannot be read.
func TestVisitorsLeaveWhileEventsIsDown(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	c := startCluster(t, "BELLBUOY_DATA="+data)
	a := actor{t, provision(t, c.base, "Acme", "acme-admin", "admin", "api")}
	a.service("Checkout")
	p := &person{visitor{t: t, base: c.base}, data, "email", "vera@example.com", map[string]bool{}}
	link, _ := p.asks(strings.TrimPrefix(a.DashboardURL, c.base))
	manage := p.confirms(link, "", false)
	expectLook(t, "manage", "Acme", p.do(http.MethodGet, manage, nil).expect(t, http.StatusOK))
	c.processes["events"].kill()
	left := expectLook(t, "left", "You are unsubscribed", p.do(http.MethodPost, manage, url.Values{"action": {"unsubscribe"}}).expect(t, http.StatusOK))
	if strings.Contains(string(left.body), "<header") {
		t.Errorf("a page in a frame: %s", left.body)
	}
	p.do(http.MethodPost, manage, url.Values{"action": {"unsubscribe"}}).expect(t, http.StatusGone)
}
