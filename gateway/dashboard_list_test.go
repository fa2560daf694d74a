package gateway

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
)

const listPath = "/d/main/api/v1/dashboard/"

// publish makes the events service return a list with a strong ETag. It returns a function that changes the list, the
// number of requests, and the number of full responses.
func publish(w *world) (change func(text string), asked, full *atomic.Int64) {
	var text atomic.Pointer[string]
	asked, full = &atomic.Int64{}, &atomic.Int64{}
	change = func(next string) { text.Store(&next) }
	change("one")
	w.services[events].handle(func(out http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if base, is := strings.CutSuffix(r.URL.Path, "/edition"); is && (base == "/public/v1/dashboards/main" || base == "/public/v1/hosts/status.acme.test") {
			asked.Add(-1)
			io.WriteString(out, `{"id": "e1", "number": 1, "dashboardId": "d1", "access": {"mode": "public"}, "files": []}`)
			return
		}
		if p, err := w.signer.Verify(r.Header.Get(passport.Header), events); err != nil || p.Surface != passport.Public {
			http.Error(out, "wrong passport", http.StatusTeapot)
			return
		}
		if r.URL.Path != "/public/v1/dashboards/main/list" && r.URL.Path != "/public/v1/hosts/status.acme.test/list" {
			out.Header().Set("Content-Type", "application/json")
			out.WriteHeader(http.StatusNotFound)
			io.WriteString(out, `{"error":"no dashboard"}`)
			return
		}
		now := *text.Load()
		out.Header().Set("Etag", strconv.Quote(now))
		out.Header().Set("Cache-Control", "no-cache")
		if r.Header.Get("If-None-Match") == strconv.Quote(now) {
			out.WriteHeader(http.StatusNotModified)
			return
		}
		full.Add(1)
		out.Header().Set("Content-Type", "application/json")
		io.WriteString(out, now+" "+r.URL.RequestURI())
	})
	return change, asked, full
}

func TestTheLegacyListIsServedWithItsETag(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	change, _, full := publish(w)
	g := d.get(t, listPath, nil)
	wantStatus(t, g, 200)
	if g.body != "one /public/v1/dashboards/main/list" || g.header.Get("Etag") != `"one"` || g.header.Get("Content-Type") != "application/json" ||
		g.header.Get("Access-Control-Allow-Origin") != "*" || g.header.Get("Cache-Control") != "no-cache" {
		t.Errorf("%q %v", g.body, g.header)
	}
	for range 3 {
		wantStatus(t, d.get(t, "/d/main/api/v1/dashboard", nil), 200)
	}
	if full.Load() > 2 { // one for the visitors, and one for Redis
		t.Errorf("events made the list %d times", full.Load())
	}
	for _, query := range []string{"?limit=1&offset=2", "?x=/edition"} {
		if g := d.get(t, listPath+query, nil); g.body != "one /public/v1/dashboards/main/list"+query {
			t.Errorf("%q", g.body)
		}
	}
	for etag, status := range map[string]int{`"one"`: 304, `W/"one"`: 304, `"x", "one"`: 304, "*": 304, `"x"`: 200} {
		g := d.get(t, listPath, map[string]string{"If-None-Match": etag})
		wantStatus(t, g, status)
		if status == 304 && (g.body != "" || g.header.Get("Etag") != `"one"`) {
			t.Errorf("304 with %q %v", g.body, g.header)
		}
	}
	if g := d.do(t, "HEAD", listPath, "", nil); g.status != 200 || g.body != "" || g.header.Get("Etag") != `"one"` {
		t.Errorf("HEAD %d %q %v", g.status, g.body, g.header)
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
		g := d.do(t, method, listPath, "", nil)
		wantError(t, g, 405, noMethod)
		if g.header.Get("Allow") != "GET" {
			t.Errorf("Allow %q", g.header.Get("Allow"))
		}
	}
	change("two") // the next visitor sees the change
	if g := d.get(t, listPath, map[string]string{"If-None-Match": `"one"`}); g.status != 200 || g.header.Get("Etag") != `"two"` {
		t.Errorf("%d %v", g.status, g.header)
	}
	wantError(t, d.get(t, "/d/unknown/api/v1/dashboard/", nil), 404, "no dashboard")
}

// A list is read once for each list state that an edition names. The gateway stores it under the state that came with
// the list, not the state in the edition: the list may have changed between the two requests, and change back later.
func TestAListIsReadOnceForEachState(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	var ofEdition, ofList atomic.Pointer[string]
	var read atomic.Int64
	w.services[events].handle(func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/edition") {
			io.WriteString(out, `{"id": "e1", "number": 1, "dashboardId": "d1", "access": {"mode": "public"}, "list": "`+*ofEdition.Load()+`"}`)
			return
		}
		if r.URL.RawQuery != "" { // for Redis, the gateway itself reads files and the list without a query
			read.Add(1)
		}
		tag := strconv.Quote(*ofList.Load())
		out.Header().Set(peer.ListHeader, *ofList.Load())
		out.Header().Set("Etag", tag)
		if r.Header.Get("If-None-Match") == tag {
			out.WriteHeader(http.StatusNotModified)
			return
		}
		io.WriteString(out, *ofList.Load()+r.URL.RawQuery)
	})
	for i, step := range []struct {
		edition, list, query, want string
		reads                      int64
	}{
		{"a", "a", "x", "ax", 1}, {"a", "a", "x", "ax", 1}, {"a", "a", "y", "ay", 2}, {"b", "b", "x", "bx", 3}, {"b", "b", "x", "bx", 3},
		{"a", "c", "x", "cx", 4}, {"a", "a", "x", "ax", 5}, {"a", "a", "x", "ax", 5}, {"", "a", "x", "ax", 6}, {"", "a", "x", "ax", 7}, {"a", "a", "x", "ax", 7},
	} {
		ofEdition.Store(&step.edition)
		ofList.Store(&step.list)
		g := d.get(t, listPath+"?"+step.query, nil)
		if g.status != 200 || g.body != step.want || read.Load() != step.reads || g.header.Get(peer.ListHeader) != "" {
			t.Errorf("step %d: %d %q after %d reads", i, g.status, g.body, read.Load())
		}
	}
}

func TestAListWithALongQueryIsNotCached(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	publish(w)
	serve, read := w.services[events].handler.Load(), atomic.Int64{}
	w.services[events].handle(func(out http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "" {
			read.Add(1)
		}
		(*serve)(out, r)
	})
	query := "?other=" + strings.Repeat("x", maxURI) + "&limit=1"
	for range 2 {
		g := d.get(t, listPath+query, nil)
		wantStatus(t, g, 200)
		if g.body != "one /public/v1/dashboards/main/list"+query || g.header.Get("Etag") != `"one"` || g.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%q %v", g.body, g.header)
		}
	}
	if read.Load() != 2 {
		t.Errorf("events made the list %d times", read.Load())
	}
	wantStatus(t, d.get(t, listPath+query, map[string]string{"If-None-Match": `"one"`}), 304)
	if g := d.do(t, "HEAD", listPath+query, "", nil); g.status != 200 || g.body != "" {
		t.Errorf("HEAD %d %q", g.status, g.body)
	}
	wantError(t, d.get(t, "/d/unknown/api/v1/dashboard/"+query, nil), 404, "no dashboard")
	w.services[events].handle(func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "application/json")
		out.WriteHeader(http.StatusBadRequest)
		io.WriteString(out, `{"error":"limit"}`)
	})
	wantError(t, d.get(t, listPath+"?limit="+strings.Repeat("9", 20), nil), 400, "limit")
	wantError(t, d.get(t, listPath+"?limit="+strings.Repeat("9", maxURI), nil), 400, "limit")
	w.services[events].handle(func(out http.ResponseWriter, _ *http.Request) { out.WriteHeader(http.StatusInternalServerError) })
	wantError(t, d.get(t, listPath+query, nil), 503, noPage)
}

func TestAnOwnHostServesItsLegacyList(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	publish(w)
	for _, host := range []string{"status.acme.test", "Status.ACME.test:8443", "status.acme.test."} {
		g := d.get(t, "/api/v1/dashboard/", map[string]string{"Host": host})
		wantStatus(t, g, 200)
		if g.body != "one /public/v1/hosts/status.acme.test/list" {
			t.Errorf("%q", g.body)
		}
		g = d.do(t, "POST", "/api/v1/dashboard/", "", map[string]string{"Host": host})
		wantError(t, g, 405, noMethod)
	}
	wantError(t, d.get(t, "/api/v1/dashboard/", map[string]string{"Host": "other.test"}), 404, "no dashboard")
	for _, host := range []string{"status.example.com", "127.0.0.1", "localhost:8080", "[::1]:8080", "192.0.2.1:80"} {
		wantError(t, d.get(t, "/api/v1/dashboard/", map[string]string{"Host": host}), 404, noPath)
	}
}

func TestAListIsServedWithoutTheEventsService(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	publish(w)
	wantStatus(t, d.get(t, listPath, nil), 200)
	w.services[events].handle(func(out http.ResponseWriter, _ *http.Request) { out.WriteHeader(http.StatusServiceUnavailable) })
	wantStatus(t, d.get(t, listPath, nil), 200)
	wantError(t, d.get(t, "/d/never-seen/api/v1/dashboard/", nil), 503, noPage)
	w.services[events].server.Close()
	for range 3 {
		if g := d.get(t, listPath, nil); g.status != 200 || g.body != "one /public/v1/dashboards/main/list" {
			t.Errorf("%d %q", g.status, g.body)
		}
	}
}

func TestAListIsServedWhileTheEventsServiceHangs(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, impatient)
	publish(w)
	wantStatus(t, d.get(t, listPath, nil), 200)
	release := make(chan struct{})
	defer close(release)
	w.services[events].handle(func(http.ResponseWriter, *http.Request) { <-release })
	wantStatus(t, d.get(t, listPath, nil), 200)
}

func TestVisitorsOfAListShareQuestions(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	_, asked, _ := publish(w)
	wantStatus(t, d.get(t, listPath, nil), 200)
	from := asked.Load()
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			for range 25 {
				wantStatus(t, d.get(t, listPath, nil), 200)
			}
		})
	}
	group.Wait()
	if n := asked.Load() - from; n > 400 {
		t.Errorf("events was asked %d times for 800 visits", n)
	}
}

func TestADisabledDashboardIsServedNoMore(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	publish(w)
	wantStatus(t, d.get(t, listPath, nil), 200)
	w.services[events].handle(func(out http.ResponseWriter, _ *http.Request) { out.WriteHeader(http.StatusNotFound) })
	wantStatus(t, d.get(t, listPath, nil), 404)
	w.services[events].server.Close()
	wantError(t, d.get(t, listPath, nil), 503, noService)
}

func TestASlugIsOneSegment(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	publish(w)
	wantStatus(t, d.get(t, "/d/%6dain/api/v1/dashboard/", nil), 200)
	for _, slug := range []string{"main%2Fx", "main%2F..", "main%00", "MAIN", "main%3F"} {
		wantError(t, d.get(t, "/d/"+slug+"/api/v1/dashboard/", nil), 404, noPath)
	}
}

// If one list cannot be read, the gateway still serves the current version of the others.
func TestAFailingListLeavesOthersCurrent(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	change, _, _ := publish(w)
	wantStatus(t, d.get(t, listPath, nil), 200)
	wantStatus(t, d.get(t, listPath+"?limit=1", nil), 200)
	serve := w.services[events].handler.Load()
	w.services[events].handle(func(out http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "" {
			out.WriteHeader(http.StatusInternalServerError)
			return
		}
		(*serve)(out, r)
	})
	if g := d.get(t, listPath+"?limit=1", nil); g.status != 200 || g.header.Get("Etag") != `"one"` {
		t.Errorf("%d %v", g.status, g.header)
	}
	change("two")
	if g := d.get(t, listPath, nil); g.header.Get("Etag") != `"two"` {
		t.Errorf("%d %v", g.status, g.header)
	}
}
