package gateway

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// If the events service does not respond in time for one address, its visitors get the last page. Visitors of other
// addresses see each change.
func TestASlowDashboardDoesNotMakeOthersStale(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, func(c *Config) { c.Patience = 2 * time.Second }) // the other address must respond in this time
	p := newPublication(w)
	wantStatus(t, d.get(t, "/d/main/", plainly(nil)), 200)
	wantStatus(t, d.get(t, "/", ownHost), 200)
	serve := w.services[events].handler.Load()
	release := make(chan struct{})
	w.services[events].handle(func(out http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/public/v1/dashboards/main/") {
			<-release
		}
		(*serve)(out, r)
	})
	p.change(nil)
	var visitors sync.WaitGroup
	for range 5 { // they wait for one response
		visitors.Go(func() {
			if g := d.get(t, "/d/main/", plainly(nil)); g.status != 200 || g.header.Get("Age") == "" {
				t.Errorf("the slow address: %d %q", g.status, g.body)
			}
		})
	}
	visitors.Wait()
	if g := d.get(t, "/", ownHost); g.body != p.body("", codingPlain) || g.header.Get("Age") != "" {
		t.Errorf("the other address: %q %v", g.body, g.header)
	}
	close(release)
	eventually(t, "the slow address is current again", func() bool {
		g := d.get(t, "/d/main/", plainly(nil))
		return g.body == p.body("", codingPlain) && g.header.Get("Age") == ""
	})
}
