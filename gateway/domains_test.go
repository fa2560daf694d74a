package gateway

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/prometheus/client_golang/prometheus"
)

// TestAProxyLearnsForWhichHostsItMayObtainCertificates asks on the internal address. The address is in no route of the
// public address.
func TestAProxyLearnsForWhichHostsItMayObtainCertificates(t *testing.T) {
	w := newWorld(t)
	w.services[events].handle(func(response http.ResponseWriter, r *http.Request) {
		var at topic.PublicAddress
		if err := json.NewDecoder(r.Body).Decode(&at); err != nil || r.URL.Path != peer.Prefix+"/public-dashboards/lookup" || at.Slug != "" {
			t.Errorf("%s %+v (%v)", r.URL, at, err)
		}
		switch at.Host {
		case "status.acme.example":
			_ = json.NewEncoder(response).Encode(topic.PublicDashboard{})
		case "down.acme.example":
			response.WriteHeader(http.StatusBadGateway)
		default:
			response.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(response).Encode(peer.Refusal{Kind: fault.NotFound, Message: "none"})
		}
	})
	internal := boot.InternalPages(prometheus.NewRegistry())
	d := w.gateway(t, func(c *Config) { c.Internal = internal })
	for query, want := range map[string]int{
		"?domain=status.acme.example": 200, "?domain=Status.Acme.Example": 200, "?domain=status.acme.example.": 200,
		"?domain=status.example.com": 200, "?domain=" + consoleHost: 200, // hosts of the platform
		"?domain=other.example": 404, "?domain=": 404, "": 404, "?domain=localhost": 404, "?domain=127.0.0.1": 404, "?domain=[::1]": 404, "?domain=a%20b.example/..": 404,
		"?domain=down.acme.example": 503,
	} {
		response := httptest.NewRecorder()
		internal.ServeHTTP(response, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/domains"+query, nil))
		if response.Code != want || response.Body.Len() != 0 {
			t.Errorf("%s: %d %s, want %d", query, response.Code, response.Body, want)
		}
	}
	if g := d.get(t, "/domains?domain=status.acme.example", nil); g.status == http.StatusOK {
		t.Errorf("the public address responds with %d %s", g.status, g.body)
	}
}
