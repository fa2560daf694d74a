package events_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Other services find a dashboard by the address at which visitors find it.
func TestPublicDashboard(t *testing.T) {
	p := start(t, startBroker(t))
	change := func(body string) {
		t.Helper()
		p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, body)
	}
	ask := func(at topic.PublicAddress) (topic.PublicDashboard, error) {
		return p.peers.PublicDashboard(t.Context(), at)
	}
	change(`{"customDomains": ["status.acme.example"], "subscriptions": {"webhook": true, "gchat": true, "email": false}}`)
	for _, at := range []topic.PublicAddress{{Slug: "acme-status"}, {Host: "status.acme.example"}} {
		got, err := ask(at)
		if err != nil {
			t.Fatal(err)
		}
		want, err := p.peers.Dashboard(t.Context(), orgA, dashA)
		if err != nil {
			t.Fatal(err)
		}
		if got.Organization != orgA || got.ID != dashA || got.Name != want.Name || got.URL != want.URL || len(got.Components) != len(want.Components) ||
			!slices.Equal(got.Channels, []topic.Channel{topic.Webhook, topic.GChat}) {
			t.Errorf("%+v is %+v", at, got)
		}
	}
	for _, at := range []topic.PublicAddress{{}, {Slug: "nobody"}, {Host: "other.example"}, {Slug: "nobody", Host: "status.acme.example"}} {
		if _, err := ask(at); !fault.Is(err, fault.NotFound) {
			t.Errorf("%+v: %v", at, err)
		}
	}
	change(`{"access": {"mode": "ipAllowlist", "allowedIps": ["192.0.2.1"]}}`)
	if got, err := ask(topic.PublicAddress{Slug: "acme-status"}); err != nil || got.ID != dashA { // the gateway decides who asks
		t.Errorf("a private dashboard: %+v %v", got, err)
	}
	change(`{"access": {"mode": "public"}, "enabled": false}`)
	if _, err := ask(topic.PublicAddress{Slug: "acme-status"}); !fault.Is(err, fault.NotFound) {
		t.Errorf("a disabled dashboard: %v", err)
	}
}

// The gateway leads visitors of the platform's address to the only dashboard of the installation, which may be of any
// organization.
func TestOnlyDashboard(t *testing.T) {
	p := start(t, startBroker(t))
	want := func(slug string) {
		t.Helper()
		if got, err := p.peers.OnlyDashboard(t.Context()); got.Slug != slug || fault.Is(err, fault.NotFound) != (slug == "") || err != nil && slug != "" {
			t.Errorf("%+v %v, want %q", got, err, slug)
		}
	}
	want("")
	p.must(200, "app admin b", "PATCH", "/app/dashboards/"+dashB, `{"enabled": false}`)
	want("acme-status")
	p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, `{"slug": "acme-new", "access": {"mode": "ipAllowlist", "allowedIps": ["192.0.2.1"]}}`)
	want("acme-new")
	second := p.must(201, "app admin a", "POST", "/app/dashboards", `{"name": "Second"}`)["dashboard"].(map[string]any)["id"].(string)
	want("")
	p.must(204, "app admin a", "DELETE", "/app/dashboards/"+second, "")
	want("acme-new")
	p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, `{"enabled": false}`)
	want("")
}

// The page offers no endpoints that the plan of the organization does not include, and no link to a form without channels.
func TestPlanWithoutIntegrations(t *testing.T) {
	p := start(t, startBroker(t))
	p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, `{"subscriptions": {"webhook": true, "gchat": true, "email": true}}`)
	text := func(name string) string {
		t.Helper()
		response := p.file(p.edition().ID, name, "")
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatal(response.Status, err)
		}
		return string(body)
	}
	for _, included := range []bool{false, true, false} {
		for range 2 {
			if err := p.peers.SetPlan(t.Context(), orgA, peer.Plan{Integrations: included}); err != nil {
				t.Fatal(err)
			}
		}
		got, err := p.peers.PublicDashboard(t.Context(), topic.PublicAddress{Slug: "acme-status"})
		if err != nil || slices.Contains(got.Channels, topic.Webhook) != included || !slices.Contains(got.Channels, topic.Email) {
			t.Errorf("%v: the channels are %v (%v)", included, got.Channels, err)
		}
		if page := text("subscribe"); strings.Contains(page, "subscribe/webhook") != included || strings.Contains(page, "subscribe/gchat") != included || !strings.Contains(page, "subscribe/email") {
			t.Errorf("%v: the forms are %s", included, page)
		}
	}
	p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, `{"subscriptions": {"email": false}}`)
	if page := text(""); strings.Contains(page, `href="subscribe"`) {
		t.Errorf("a link to no form: %s", page)
	}
}

// Other services show their pages in the frame of the dashboard, which follows each change of the dashboard.
func TestFrameOfADashboard(t *testing.T) {
	p := start(t, startBroker(t))
	change := func(body string) {
		t.Helper()
		p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, body)
	}
	frame := func() string {
		t.Helper()
		f, err := p.peers.Frame(t.Context(), dashA)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(f.Before, "<!DOCTYPE html>") || !strings.HasSuffix(f.Before, "<title>") || !strings.Contains(f.Between, "</title>") ||
			!strings.HasSuffix(strings.TrimSpace(f.After), "</html>") || !strings.HasPrefix(f.Policy, "default-src 'none'; style-src 'sha256-") || f.Lang != "de" {
			t.Errorf("the frame is %+v", f)
		}
		return f.Before + f.Between + f.After
	}
	change(`{"locale": "de", "name": "Acme <b>Status</b>", "links": {"navigation": [{"text": "Intranet", "href": "https://intra.example"}]}}`)
	if got := frame(); !strings.Contains(got, "Acme &lt;b&gt;Status&lt;/b&gt;") || !strings.Contains(got, "Intranet") || strings.Contains(got, "<b>Status") {
		t.Errorf("the frame is %s", got)
	}
	change(`{"name": "Renamed", "access": {"mode": "password", "password": "correct horse"}}`)
	if got := frame(); !strings.Contains(got, "Renamed") || strings.Contains(got, "Intranet") {
		t.Errorf("the frame of a private dashboard is %s", got)
	}
	change(`{"enabled": false}`)
	for _, id := range []string{dashA, "nobody"} {
		if _, err := p.peers.Frame(t.Context(), id); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", id, err)
		}
	}
}
