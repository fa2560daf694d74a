package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// only sets the slug that the events service returns as the only dashboard of the installation. An empty slug means
// that there is none, or that there are several. It returns a counter of the questions.
func (w *world) only(slug string) *atomic.Int64 {
	questions := &atomic.Int64{}
	pages := *w.services[events].handler.Load()
	w.services[events].handle(func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Path != peer.Prefix+"/public-dashboards/only" {
			pages(out, r)
			return
		}
		questions.Add(1)
		of, err := w.signer.Verify(r.Header.Get(passport.Header), events)
		switch {
		case err != nil || of.Surface != passport.Peer || of.Organization != "":
			http.Error(out, "wrong passport", http.StatusTeapot)
		case slug == "":
			out.WriteHeader(http.StatusNotFound)
			json.NewEncoder(out).Encode(peer.Refusal{Kind: fault.NotFound})
		default:
			json.NewEncoder(out).Encode(peer.OnlyDashboard{Slug: slug})
		}
	})
	return questions
}

const browserAccepts = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// A person who opens the address of the platform reads how to find a dashboard.
func TestThePlatformsAddressHasAPage(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	newPublication(w)
	w.only("")
	for path, status := range map[string]int{"/": 200, "/?utm=1": 200, "/d": 404, "/d/": 404, "/d/none/": 404, "/d/none": 404, "/d/none/history": 404, "/d/NONE/": 404} {
		g := d.get(t, path, map[string]string{"Accept": browserAccepts})
		wantStatus(t, g, status)
		wantHeaders(t, path, g, map[string]string{"Content-Type": htmlType, "Vary": "Accept", "X-Content-Type-Options": "nosniff", "Access-Control-Allow-Origin": ""})
		link := map[bool]string{false: `href="/docs"`, true: `href="/"`}[strings.Contains(strings.ToLower(path), "none")]
		if !strings.Contains(g.body, "https://status.example.com/d/<var>name</var>/") || !strings.Contains(g.body, link) || strings.Contains(g.body, "main") && !strings.Contains(g.body, `<main id="main"`) ||
			!strings.HasPrefix(g.header.Get("Content-Security-Policy"), "default-src 'none'; style-src 'sha256-") {
			t.Errorf("%s: %s %v", path, g.body, g.header)
		}
		head := d.do(t, "HEAD", path, "", map[string]string{"Accept": browserAccepts})
		if head.status != status || head.body != "" {
			t.Errorf("HEAD %s: %d %q", path, head.status, head.body)
		}
	}
	for _, path := range []string{"/", "/d", "/d/"} {
		g := d.get(t, path, map[string]string{"Accept": "application/json"})
		wantError(t, g, 404, noPath)
		wantHeaders(t, path, g, map[string]string{"Vary": "Accept", "Cache-Control": "no-cache"})
		g = d.do(t, "POST", path, "{}", nil)
		wantError(t, g, 405, noMethod)
		wantHeaders(t, path, g, map[string]string{"Allow": "GET"})
	}
	g := d.get(t, "/", nil)
	wantHeaders(t, "/", g, map[string]string{"Cache-Control": "no-cache"})
	wantStatus(t, d.get(t, "/", map[string]string{"If-None-Match": g.header.Get("Etag")}), 304)
	if own := d.get(t, "/", ownHost); own.status != 200 || !strings.Contains(own.body, "edition-1") {
		t.Errorf("a dashboard's own host: %d %q", own.status, own.body)
	}
	if other := d.get(t, "/", map[string]string{"Host": "other.test", "Accept": browserAccepts}); other.status != 404 || other.body != noBoard+"\n" {
		t.Errorf("a host of no dashboard: %d %q", other.status, other.body)
	}
}

// The address / redirects to the only dashboard of an installation, also while the events service is down. Many
// visitors cause at most one question per second.
func TestThePlatformsAddressLeadsToItsOnlyDashboard(t *testing.T) {
	w := newWorld(t)
	var ahead atomic.Int64
	d := w.gateway(t, func(c *Config) {
		impatient(c)
		c.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	newPublication(w)
	questions := w.only("main")
	leads := func(what string) {
		t.Helper()
		for _, path := range []string{"/", "/d", "/d/"} {
			g := d.get(t, path, map[string]string{"Accept": browserAccepts})
			if g.status != 302 || g.header.Get("Location") != "/d/main/" || g.body != "" {
				t.Errorf("%s: %s: %d %v %q", what, path, g.status, g.header, g.body)
			}
			wantHeaders(t, path, g, map[string]string{"Cache-Control": "no-cache", "Vary": "Accept"})
		}
	}
	accepts := map[string]string{"Accept": browserAccepts}
	eventually(t, "the dashboard is known", func() bool { return d.get(t, "/", accepts).status == 302 }) // on a slow machine the question may take longer than the patience
	began := time.Now()
	questions.Store(0)
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() { leads("at once") })
	}
	group.Wait()
	if n, took := questions.Load(), time.Since(began); time.Duration(n-1)*onlyTime > took {
		t.Errorf("%d questions in %v", n, took)
	}
	wantError(t, d.get(t, "/", map[string]string{"Accept": "application/json"}), 404, noPath)
	former := *w.services[events].handler.Load()
	release := make(chan struct{})
	w.services[events].handle(func(http.ResponseWriter, *http.Request) { <-release })
	ahead.Add(int64(onlyTime))
	leads("events hangs")
	close(release)
	w.services[events].handle(former)
	w.only("")
	ahead.Add(int64(onlyTime))
	eventually(t, "there are several dashboards", func() bool { return d.get(t, "/", accepts).status == 200 })
	w.services[events].server.Close()
	ahead.Add(int64(onlyTime))
	wantStatus(t, d.get(t, "/", map[string]string{"Accept": browserAccepts}), 200)
	wantStatus(t, w.gateway(t, impatient).get(t, "/", map[string]string{"Accept": browserAccepts}), 200)
}
