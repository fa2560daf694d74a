package gateway

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/gateway/internal/message"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// domainsPage responds on the internal address to /domains?domain=, by which a proxy asks whether it may obtain a
// certificate for a host: 200 for a host of the platform and for a host on which an enabled dashboard is served, else
// 404. While the events service cannot respond, domainsPage responds 503, and the proxy asks again later.
func domainsPage(events peer.Events, platform []string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		host := message.Hostname(r.URL.Query().Get("domain"))
		w.Header().Set("Cache-Control", "no-store")
		if _, err := netip.ParseAddr(host); err == nil || !strings.Contains(host, ".") {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		var err error
		if !slices.Contains(platform, host) {
			_, err = events.PublicDashboard(r.Context(), topic.PublicAddress{Host: host})
		}
		switch {
		case err == nil:
			w.WriteHeader(http.StatusOK)
		case fault.Is(err, fault.NotFound):
			w.WriteHeader(http.StatusNotFound)
		default:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
}
