package main_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

const browserAccepts = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// TestThePlatformsAddressLeadsSomewhere requests the address of an installation that has no, one and two dashboards.
func TestThePlatformsAddressLeadsSomewhere(t *testing.T) {
	t.Parallel()
	_, base := started(t, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken)
	l := looker{t: t, base: base}
	shows := func(status int) answer {
		t.Helper()
		var got answer
		apitest.Eventually(t, "the response follows the dashboards", func() bool {
			got = l.visit("GET", "/", nil, "Accept", browserAccepts)
			return got.status == status
		})
		return got
	}
	nowhere := shows(http.StatusOK)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	if got := shows(http.StatusFound); got.header.Get("Location") != "/d/"+a.DashboardSlug+"/" {
		t.Errorf("%v", got.header)
	}
	l.visit("GET", "/d/", nil, "Accept", browserAccepts).expect(t, http.StatusFound)
	l.visit("GET", "/", nil, "Accept", "application/json").expect(t, http.StatusNotFound)
	b := actor{t, provision(t, base, "Beta", "beta-admin", "admin", "api")}
	several := shows(http.StatusOK)
	if text := string(several.body); text != string(nowhere.body) || strings.Contains(text, a.DashboardSlug) || !strings.Contains(text, base+"/d/") || !strings.Contains(text, `href="/docs"`) {
		t.Errorf("the page with several dashboards is %s, and that with none %s", text, nowhere.body)
	}
	l.visit("GET", "/docs", nil, "Accept", browserAccepts).expect(t, http.StatusOK)
	send(t, http.MethodPatch, base+"/app/dashboards/"+a.DashboardID, a.app(), map[string]any{"enabled": false}).expect(t, http.StatusOK)
	if got := shows(http.StatusFound); got.header.Get("Location") != "/d/"+b.DashboardSlug+"/" {
		t.Errorf("%v", got.header)
	}
	unknown := l.visit("GET", "/d/"+a.DashboardSlug+"/", nil, "Accept", browserAccepts).expect(t, http.StatusNotFound)
	if !strings.Contains(string(unknown.body), "<h1") || !strings.HasPrefix(unknown.header.Get("Content-Type"), "text/html") {
		t.Errorf("%v %s", unknown.header, unknown.body)
	}
}

// TestChannelsFollowThePlan changes the plan of an organization whose dashboard offers endpoints to visitors.
func TestChannelsFollowThePlan(t *testing.T) {
	t.Parallel()
	base := commonBase(t)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	a.service("Checkout")
	send(t, http.MethodPatch, base+"/app/dashboards/"+a.DashboardID, a.app(), map[string]any{
		"subscriptions": map[string]any{"email": true, "webhook": true, "teams": true, "gchat": true},
	}).expect(t, http.StatusOK)
	l := looker{t: t, base: base}
	slug := "/d/" + a.DashboardSlug
	for _, included := range []bool{true, false, true} {
		send(t, http.MethodPatch, base+"/operator/v1/organizations/"+a.OrganizationID, a.operator(), map[string]any{
			"enabledFeatures": map[string]any{"integrations": included},
		}).expect(t, http.StatusOK)
		form := string(l.visit("GET", slug+"/subscribe", nil).expect(t, http.StatusOK).body)
		for _, channel := range []string{"webhook", "teams", "gchat"} {
			if strings.Contains(form, "subscribe/"+channel) != included {
				t.Errorf("included %v: %s in %s", included, channel, form)
			}
			want := map[bool]int{false: http.StatusNotFound, true: http.StatusUnprocessableEntity}[included]
			l.visit("POST", slug+"/subscribe/"+channel, url.Values{"url": {"ftp://x"}}, "Accept", browserAccepts).expect(t, want)
		}
		if !strings.Contains(form, "subscribe/email") {
			t.Errorf("included %v: no mail in %s", included, form)
		}
	}
}

var addressPattern = regexp.MustCompile(`(?:href|src)="([^"#][^"]*)"`)

// TestAPrivatePageLinksNothingThatIsRefused follows the links on the pages of a private dashboard without a favicon. It
// reads the password form without a cookie, and the other pages with the cookie of a visitor who entered the password.
// It reads feeds and the calendar without a cookie, except those that the 404 page links.
func TestAPrivatePageLinksNothingThatIsRefused(t *testing.T) {
	t.Parallel()
	_, base := started(t, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	_, component := a.service("Checkout")
	send(t, http.MethodPatch, base+"/app/dashboards/"+a.DashboardID, a.app(), map[string]any{
		"access": map[string]any{"mode": "password", "password": "correct horse"},
	}).expect(t, http.StatusOK)
	slug := "/d/" + a.DashboardSlug
	stranger := looker{t: t, base: base}
	visitor := stranger
	visitor.cookie, _, _ = strings.Cut(stranger.visit("POST", slug+"/enter", url.Values{"password": {"correct horse"}}).expect(t, http.StatusSeeOther).header.Get("Set-Cookie"), ";")
	follow := func(at string, from looker, status int) {
		t.Helper()
		here, err := url.Parse(base + slug + at)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range addressPattern.FindAllStringSubmatch(scriptPattern.ReplaceAllString(string(from.visit("GET", slug+at, nil).expect(t, status).body), ""), -1) {
			to, err := here.Parse(html.UnescapeString(link[1]))
			if err != nil || to.Scheme == "data" || to.Host != here.Host || to.Path == slug+"/" {
				continue
			}
			reader := from
			if at != "/nothing" && (strings.Contains(to.Path, "feed.") || strings.HasSuffix(to.Path, ".ics")) {
				reader = stranger
			}
			if got := reader.visit("GET", to.RequestURI(), nil); got.status >= http.StatusBadRequest {
				t.Errorf("%s links %s: %d", at, to, got.status)
			}
		}
	}
	follow("/", stranger, http.StatusForbidden)
	follow("/history", stranger, http.StatusForbidden)
	for _, at := range []string{"/", "/history", "/subscribe", "/components/" + component} {
		follow(at, visitor, http.StatusOK)
	}
	follow("/nothing", visitor, http.StatusNotFound)
}
