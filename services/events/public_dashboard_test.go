package events_test

import (
	"slices"
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
	ask := func(at peer.PublicAddress) (peer.PublicDashboard, error) {
		return p.peers.PublicDashboard(t.Context(), at)
	}
	change(`{"customDomains": ["status.acme.example"], "subscriptions": {"webhook": true, "gchat": true, "email": false}}`)
	for _, at := range []peer.PublicAddress{{Slug: "acme-status"}, {Host: "status.acme.example"}} {
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
	for _, at := range []peer.PublicAddress{{}, {Slug: "nobody"}, {Host: "other.example"}, {Slug: "nobody", Host: "status.acme.example"}} {
		if _, err := ask(at); !fault.Is(err, fault.NotFound) {
			t.Errorf("%+v: %v", at, err)
		}
	}
	change(`{"access": {"mode": "ipAllowlist", "allowedIps": ["192.0.2.1"]}}`)
	if _, err := ask(peer.PublicAddress{Slug: "acme-status"}); !fault.Is(err, fault.Denied) {
		t.Errorf("a private dashboard: %v", err)
	}
	change(`{"access": {"mode": "public"}, "enabled": false}`)
	if _, err := ask(peer.PublicAddress{Slug: "acme-status"}); !fault.Is(err, fault.NotFound) {
		t.Errorf("a disabled dashboard: %v", err)
	}
}
