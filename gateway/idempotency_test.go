package gateway

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/engines"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
)

const endpointsPath = "/app/integrations/webhooks/outbound/endpoints"

// writes sets a handler that counts its calls and returns the count. It returns the counter.
func writes(s *service, status int) *atomic.Int64 {
	var done atomic.Int64
	s.handle(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Etag", `"1"`)
		w.WriteHeader(status)
		io.WriteString(w, `{"secret":"whsec_`+strconv.FormatInt(done.Add(1), 10)+`"}`)
	})
	return &done
}

func TestTheFirstResponseIsRepeated(t *testing.T) {
	w := newWorld(t)
	doors := []*door{w.gateway(t, nil), w.gateway(t, nil)}
	m := w.keys.member(nil)
	done := writes(w.services[integrations], http.StatusCreated)
	header := map[string]string{"Authorization": m.bearer(), "Content-Type": "application/json", "Idempotency-Key": "order 66"}
	for i := range 4 {
		g := doors[i%2].do(t, "POST", endpointsPath, `{"a":1}`, header)
		wantStatus(t, g, 201)
		if g.body != `{"secret":"whsec_1"}` || g.header.Get("Content-Type") != "application/json" || g.header.Get("Etag") != `"1"` {
			t.Errorf("response %d: %q %v", i, g.body, g.header)
		}
		if replayed := g.header.Get("Idempotency-Replayed") == "true"; replayed != (i > 0) {
			t.Errorf("response %d: replayed %v", i, replayed)
		}
	}
	if done.Load() != 1 {
		t.Fatalf("written %d times", done.Load())
	}
	for what, change := range map[string]func() got{
		"another body":   func() got { return doors[0].do(t, "POST", endpointsPath, `{"a":2}`, header) },
		"another method": func() got { return doors[0].do(t, "PATCH", endpointsPath, `{"a":1}`, header) },
		"another query":  func() got { return doors[0].do(t, "POST", endpointsPath+"?x", `{"a":1}`, header) },
	} {
		t.Run(what, func(t *testing.T) { wantError(t, change(), 409, onceOther) })
	}
	other := w.keys.member(nil)
	header["Authorization"] = other.bearer()
	if g := doors[0].do(t, "POST", endpointsPath, `{"a":1}`, header); g.body != `{"secret":"whsec_2"}` {
		t.Errorf("another caller got %q", g.body)
	}
	keys, err := w.redis.Keys(t.Context(), "idempotency:*").Result()
	if err != nil || len(keys) < 2 {
		t.Fatalf("%v %v", keys, err)
	}
	for _, key := range keys {
		if text := w.redis.Get(t.Context(), key).Val(); strings.Contains(text, "whsec") || strings.Contains(key, "order") {
			t.Errorf("%s holds %q in the clear", key, text)
		}
		if ttl := w.redis.TTL(t.Context(), key).Val(); ttl > idempotencyLife || ttl < idempotencyLife/2 {
			t.Errorf("kept for %v", ttl)
		}
	}
}

func TestConcurrentWritesHappenOnce(t *testing.T) {
	w := newWorld(t)
	doors := []*door{w.gateway(t, nil), w.gateway(t, nil)}
	m := w.keys.member(nil)
	arrived, release := make(chan struct{}), make(chan struct{})
	var done atomic.Int64
	w.services[integrations].handle(func(w http.ResponseWriter, r *http.Request) {
		done.Add(1)
		close(arrived)
		<-release
		w.WriteHeader(http.StatusNoContent)
	})
	header := map[string]string{"Authorization": m.bearer(), "Idempotency-Key": "k"}
	first := make(chan got)
	go func() {
		g, err := doors[0].try(context.Background(), "DELETE", endpointsPath, "", header)
		if err != nil {
			t.Error(err)
		}
		first <- g
	}()
	<-arrived
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() { wantError(t, doors[i%2].do(t, "DELETE", endpointsPath, "", header), 409, onceUnderWay) })
	}
	group.Wait()
	close(release)
	wantStatus(t, <-first, 204)
	g := doors[1].do(t, "DELETE", endpointsPath, "", header)
	wantStatus(t, g, 204)
	if done.Load() != 1 || g.body != "" {
		t.Errorf("done %d times, %q", done.Load(), g.body)
	}
}

func TestAWriteGoesOnWithoutItsClient(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	m := w.keys.member(nil)
	arrived, release := make(chan struct{}), make(chan struct{})
	w.services[integrations].handle(func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-release
		io.WriteString(w, "done")
	})
	header := map[string]string{"Authorization": m.bearer(), "Idempotency-Key": "k"}
	ctx, leave := context.WithCancel(context.Background())
	left := make(chan struct{})
	go func() {
		defer close(left)
		if _, err := d.try(ctx, "POST", endpointsPath, "{}", header); err == nil {
			t.Error("the client did not leave")
		}
	}()
	<-arrived
	leave()
	<-left
	close(release)
	eventually(t, "the response is stored", func() bool {
		g := d.do(t, "POST", endpointsPath, "{}", header)
		return g.status == 200 && g.body == "done"
	})
}

func TestFailuresAreNotStored(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	m := w.keys.member(nil)
	header := map[string]string{"Authorization": m.bearer(), "Idempotency-Key": "k"}
	done := writes(w.services[integrations], http.StatusInternalServerError)
	for range 2 {
		wantStatus(t, d.do(t, "POST", endpointsPath, "{}", header), 500)
	}
	if done.Load() != 2 {
		t.Errorf("tried %d times", done.Load())
	}
	for _, status := range []int{400, 403, 404, 409} {
		done = writes(w.services[integrations], status)
		for range 2 {
			wantStatus(t, d.do(t, "POST", endpointsPath, "{}", header), status)
		}
		if done.Load() != 2 {
			t.Errorf("%d: tried %d times", status, done.Load())
		}
	}
	writes(w.services[integrations], http.StatusCreated)
	wantStatus(t, d.do(t, "POST", endpointsPath, "{}", header), 201)
}

// A service stops between the commit of a write and its response. If the client repeats the request, through either
// gateway, the write does not happen again.
func TestAWriteWithALostResponseHappensOnce(t *testing.T) {
	for what, respond := range map[string]func(http.ResponseWriter){
		"before the response": func(http.ResponseWriter) {},
		"within the response": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(http.StatusCreated)
			io.WriteString(w, "{")
			_ = http.NewResponseController(w).Flush()
		},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			doors := []*door{w.gateway(t, nil), w.gateway(t, nil)}
			m := w.keys.member(nil)
			var done atomic.Int64
			w.services[integrations].handle(func(w http.ResponseWriter, r *http.Request) {
				done.Add(1)
				respond(w)
				panic(http.ErrAbortHandler) // closes the connection, as the end of the process would do
			})
			header := map[string]string{"Authorization": m.bearer(), "Idempotency-Key": "k"}
			wantError(t, doors[0].do(t, "POST", endpointsPath, "{}", header), 503, onceLost)
			for i := range 4 {
				g := doors[i%2].do(t, "POST", endpointsPath, "{}", header)
				wantError(t, g, 409, onceUnknown)
			}
			if done.Load() != 1 {
				t.Errorf("written %d times", done.Load())
			}
			header["Idempotency-Key"] = "another"
			writes(w.services[integrations], http.StatusCreated)
			wantStatus(t, doors[1].do(t, "POST", endpointsPath, "{}", header), 201)
		})
	}
}

// If a request reached no service, its key can be used again.
func TestAWriteThatReachesNoServiceFreesItsKey(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	header := map[string]string{"Authorization": w.keys.member(nil).bearer(), "Idempotency-Key": "k"}
	w.services[integrations].server.Close()
	for range 3 {
		wantError(t, d.do(t, "POST", endpointsPath, "{}", header), 503, noService)
	}
}

func TestAResponseIsNotRepeatedForLessAuthority(t *testing.T) {
	for what, less := range map[string]func(*peer.Credential){
		"role":    func(c *peer.Credential) { c.Roles = []string{"viewer"} },
		"feature": func(c *peer.Credential) { c.Features.Integrations = false },
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			d := w.gateway(t, nil)
			m := w.keys.member(func(c *peer.Credential) { c.Roles = []string{"b", "a"} })
			header := map[string]string{"Authorization": m.bearer(), "Idempotency-Key": "k"}
			writes(w.services[integrations], http.StatusCreated)
			first := d.do(t, "POST", endpointsPath, "{}", header)
			wantStatus(t, first, 201)
			same := m.credential
			same.Roles = []string{"a", "b"}
			w.keys.change(t, m, func() { w.keys.set(same) })
			if g := d.do(t, "POST", endpointsPath, "{}", header); g.status != 201 || g.body != first.body {
				t.Errorf("%d %q after roles in another order", g.status, g.body)
			}
			reduced := m.credential
			less(&reduced)
			w.keys.change(t, m, func() { w.keys.set(reduced) })
			writes(w.services[integrations], http.StatusForbidden)
			wantStatus(t, d.do(t, "POST", endpointsPath, "{}", header), 403)
		})
	}
}

func TestALongIdempotencyKeyIsRefused(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	m := w.keys.member(nil)
	header := map[string]string{"Authorization": m.bearer(), "Idempotency-Key": strings.Repeat("k", 256)}
	wantError(t, d.do(t, "POST", endpointsPath, "{}", header), 400, keyTooLong)
	wantStatus(t, d.get(t, endpointsPath, header), 200) // responds from Redis, without a write
	header["Idempotency-Key"] = strings.Repeat("k", 255)
	wantStatus(t, d.do(t, "POST", endpointsPath, "{}", header), 200)
	wantError(t, d.do(t, "POST", endpointsPath, strings.Repeat("x", maxBody+1), header), 413, bodyTooLarge)

	large := strings.Repeat("x", maxStored+1)
	var done atomic.Int64
	w.services[integrations].handle(func(w http.ResponseWriter, r *http.Request) {
		done.Add(1)
		io.WriteString(w, large)
	})
	header["Idempotency-Key"] = "large"
	if g := d.do(t, "POST", endpointsPath, "{}", header); g.status != 200 || g.body != large {
		t.Errorf("%d, %d bytes", g.status, len(g.body))
	}
	wantError(t, d.do(t, "POST", endpointsPath, "{}", header), 409, onceOmitted)
	if done.Load() != 1 {
		t.Errorf("done %d times", done.Load())
	}
}

func TestAnIdempotentWriteWithoutRedisIsRefused(t *testing.T) {
	server, err := engines.StartRedis("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorldOn(t, server.URL())
	d := w.gateway(t, nil)
	m := w.keys.member(func(c *peer.Credential) { c.Limits.AppPerMinute = 1 << 20 })
	header := map[string]string{"Authorization": m.bearer()}
	wantStatus(t, d.do(t, "POST", endpointsPath, "{}", header), 200)
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, d.do(t, "POST", endpointsPath, "{}", header), 200)
	header["Idempotency-Key"] = "k"
	wantError(t, d.do(t, "POST", endpointsPath, "{}", header), 503, noOnceCheck)
	wantStatus(t, d.get(t, endpointsPath, header), 200)
}

// If an operation does not declare the header Idempotency-Key, it ignores the header.
func TestOnlyOperationsThatDeclareTheHeaderAreIdempotent(t *testing.T) {
	w := newWorld(t)
	c := w.config(t, io.Discard)
	defer c.Listener.Close()
	edge, err := newEdge(c)
	if err != nil {
		t.Fatal(err)
	}
	var table []Route
	for base, surface := range map[string]passport.Surface{"/app/": passport.App, "/operator/v1/": passport.Operator} {
		for name, once := range map[string]bool{"once": true, "often": false} {
			table = append(table, Route{Methods: []string{"POST"}, Path: base + name, Service: events, Surface: surface, Idempotent: once})
		}
	}
	edge.router = newRouter(table, edge.router.isPlatformHost)
	server := httptest.NewServer(edge)
	defer server.Close()
	d := &door{base: server.URL, http: w.client}
	for base, authorization := range map[string]string{"/app/": w.keys.member(nil).bearer(), "/operator/v1/": "Operator " + operatorToken} {
		for name, want := range map[string]int64{"once": 1, "often": 2} {
			done := writes(w.services[events], http.StatusCreated)
			for range 2 {
				wantStatus(t, d.do(t, "POST", base+name, "{}", map[string]string{"Authorization": authorization, "Idempotency-Key": name}), 201)
			}
			if done.Load() != want {
				t.Errorf("%s%s: written %d times, want %d", base, name, done.Load(), want)
			}
		}
	}
}
