package gateway

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

// counter counts calls against a quota. The test sets the time. The script in Redis and the memory implement it, and
// must return the same results.
type counter interface {
	set(now time.Time)
	take(t *testing.T, q quota, calls int) (granted int, retry time.Duration)
}

type scriptCounter struct {
	server *miniredis.Miniredis
	redis  *redisClient
}

func (c *scriptCounter) set(now time.Time) { c.server.SetTime(now) }

func (c *scriptCounter) take(t *testing.T, q quota, calls int) (int, time.Duration) {
	t.Helper()
	sent := &query{check: check{entryKey: "entry", entry: "as known", counted: true, quota: q}, calls: calls, done: make(chan struct{})}
	c.redis.send([]*query{sent})
	if sent.err != nil || sent.reply.state != entrySame {
		t.Fatalf("%v %+v", sent.err, sent.reply)
	}
	return sent.reply.granted, sent.reply.retry
}

type memoryCounter struct {
	memory *memory
	now    time.Time
}

func (c *memoryCounter) set(now time.Time) { c.now = now }

func (c *memoryCounter) take(_ *testing.T, q quota, calls int) (int, time.Duration) {
	return c.memory.take(q, calls)
}

func newScriptCounter(t *testing.T) *scriptCounter {
	t.Helper()
	server := miniredis.RunT(t)
	client, err := newRedisClient(boot.Redis{RedisURL: "redis://" + server.Addr() + "/0?read_timeout=1m"}, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.client.Close() })
	if err := server.Set("entry", "as known"); err != nil {
		t.Fatal(err)
	}
	return &scriptCounter{server, client}
}

func counters(t *testing.T) map[string]counter {
	inMemory := &memoryCounter{}
	inMemory.memory = newMemory(func() time.Time { return inMemory.now })
	return map[string]counter{"script": newScriptCounter(t), "memory": inMemory}
}

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func TestNoMoreThanTheLimitInAnyWindow(t *testing.T) {
	for name, c := range counters(t) {
		t.Run(name, func(t *testing.T) {
			q := quota{"log", 10, time.Hour}
			step := func(after time.Duration, calls, granted int, retry time.Duration) {
				t.Helper()
				c.set(noon.Add(after))
				got, wait := c.take(t, q, calls)
				if got != granted || wait != retry {
					t.Fatalf("at %v: %d of %d granted, retry in %v; want %d, %v", after, got, calls, wait, granted, retry)
				}
			}
			step(0, 4, 4, 0)
			step(59*time.Minute, 4, 4, 0)
			// A count per calendar hour would start at 0 again here. This count must not.
			step(60*time.Minute, 3, 2, time.Millisecond)
			step(60*time.Minute, 1, 0, time.Millisecond)
			step(60*time.Minute+time.Millisecond, 5, 4, 59*time.Minute)
			step(119*time.Minute, 1, 0, time.Millisecond)
			step(119*time.Minute+time.Millisecond, 1, 1, 0)
			step(10*time.Hour, 12, 10, time.Hour+time.Millisecond)
			// Earlier calls also count when the limit is lowered or raised.
			q.limit = 3
			step(10*time.Hour+time.Minute, 1, 0, 59*time.Minute+time.Millisecond)
			q.limit = 12
			step(10*time.Hour+time.Minute, 3, 2, 59*time.Minute+time.Millisecond)
			q.limit = 5
			step(10*time.Hour+2*time.Minute, 1, 0, 58*time.Minute+time.Millisecond)
			q.limit = 2
			step(10*time.Hour+2*time.Minute, 1, 0, 59*time.Minute+time.Millisecond)
			q.limit = 0
			step(20*time.Hour, 1, 0, time.Hour)
		})
	}
}

// TestTheLogGrantsWhatACountGrants compares both counters with a simple list of times, for a limit below maxMarks and a
// limit above.
func TestTheLogGrantsWhatACountGrants(t *testing.T) {
	for name, c := range counters(t) {
		for _, q := range []quota{{"small", 7, time.Minute}, {"large", 3 * maxMarks, time.Minute}} {
			t.Run(name+" "+q.log, func(t *testing.T) {
				random := rand.New(rand.NewPCG(1, 2))
				now := noon
				var let []time.Time
				for range 1500 {
					now = now.Add(time.Duration(random.IntN(4*int(q.window.Milliseconds())/min(q.limit, 1000))) * time.Millisecond)
					c.set(now)
					asked := 1 + random.IntN(max(3, q.limit/200))
					granted, _ := c.take(t, q, asked)
					for len(let) > 0 && let[0].Before(now.Add(-q.window)) {
						let = let[1:]
					}
					room := q.limit - len(let)
					if granted > room {
						t.Fatalf("%d granted where %d may be", granted, room)
					}
					if q.limit <= maxMarks && granted != min(asked, room) {
						t.Fatalf("%d of %d granted where %d may be", granted, asked, room)
					}
					for range granted {
						let = append(let, now)
					}
				}
			})
		}
	}
}

func TestALogIsBounded(t *testing.T) {
	c := newScriptCounter(t)
	q := quota{"log", 50, time.Minute}
	for i := range 500 {
		c.set(noon.Add(time.Duration(i) * 400 * time.Millisecond))
		c.take(t, q, 1)
	}
	if marks, err := c.server.List("log"); err != nil || len(marks) > q.limit+1 {
		t.Errorf("%d marks for a limit of %d (%v)", len(marks), q.limit, err)
	}
	large := quota{"large", 1 << 30, time.Minute}
	if marks := int(large.window / large.slot()); marks > maxMarks {
		t.Errorf("a window holds %d slots", marks)
	}
	const step = 5 * time.Millisecond
	for i := range 600 {
		c.set(noon.Add(time.Duration(i) * step))
		c.take(t, large, 1)
	}
	if marks, err := c.server.List("large"); err != nil || len(marks) > int(600*step/large.slot())+2 {
		t.Errorf("%d marks (%v)", len(marks), err)
	}
}

func TestExactly1000Of1064CallsPassThreeGateways(t *testing.T) {
	w := newWorld(t)
	doors := []*door{w.gateway(t, nil), w.gateway(t, nil), w.gateway(t, nil)}
	m := w.keys.member(nil)
	header := map[string]string{"Authorization": m.apiKey()}
	start := time.Now()
	var passed, refused atomic.Int64
	var group sync.WaitGroup
	calls := make(chan int)
	for range 64 {
		group.Go(func() {
			for i := range calls {
				g, err := doors[i%len(doors)].try(t.Context(), http.MethodGet, []string{"/api/v1/service/", "/api/v1/user/1/", "/api/v1/email/schema/"}[i%7%3], "", header)
				switch {
				case err == nil && g.status == 200:
					passed.Add(1)
				case err == nil && g.status == 403 && g.body == "":
					refused.Add(1)
					if wait, err := strconv.Atoi(g.header.Get("Retry-After")); err != nil || wait < 3600-seconds(time.Since(start)) || wait > 3601 {
						t.Errorf("Retry-After %q", g.header.Get("Retry-After"))
					}
				default:
					t.Errorf("%d %s %v", g.status, g.body, err)
				}
			}
		})
	}
	for i := range 1064 {
		calls <- i
	}
	close(calls)
	group.Wait()
	if passed.Load() != 1000 || refused.Load() != 64 {
		t.Errorf("%d passed, %d refused", passed.Load(), refused.Load())
	}
	if n := w.services[events].calls.Load() + w.services[identity].calls.Load() + w.services[subscribers].calls.Load(); n != 1000 {
		t.Errorf("%d calls reached a service", n)
	}
}

func TestRefusalsBeforeTheKeyAndWrongKeysAreNotCounted(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	m := w.keys.member(func(c *peer.Credential) { c.Limits.LegacyPerHour = 3 })
	header := map[string]string{"Authorization": m.apiKey()}
	spend := func() {
		for range 5 {
			wantEmpty403(t, d.get(t, "/api/v1/service/", map[string]string{"Authorization": m.apiKey() + "x"}))
			wantError(t, d.get(t, "/api/v1/nothing/", header), 404, noPath)
			wantStatus(t, d.do(t, "PATCH", "/api/v1/service/", "", header), 405)
			wantStatus(t, d.do(t, "OPTIONS", "/api/v1/service/", "", header), 200)
			wantStatus(t, d.get(t, "/api/v1/", header), 200)
		}
	}
	spend()
	for range 3 {
		wantStatus(t, d.get(t, "/api/v1/service/", header), 200)
		spend()
	}
	for range 3 {
		g := d.get(t, "/api/v1/service/", header)
		wantEmpty403(t, g)
		if g.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	// The App interface has a separate rate limit.
	wantStatus(t, d.get(t, "/app/users", map[string]string{"Authorization": m.bearer()}), 200)
}

func TestUsersOfAnOrganizationShareTheAppRate(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	one := w.keys.member(func(c *peer.Credential) { c.Limits.AppPerMinute = 4 })
	two := w.keys.member(func(c *peer.Credential) {
		c.Organization, c.Limits.AppPerMinute = one.credential.Organization, 4
	})
	other := w.keys.member(func(c *peer.Credential) { c.Limits.AppPerMinute = 4 })
	for range 2 {
		wantStatus(t, d.get(t, "/app/users", map[string]string{"Authorization": one.bearer()}), 200)
		wantError(t, d.get(t, "/app/nothing", map[string]string{"Authorization": two.bearer()}), 404, noPath)
	}
	for _, m := range []member{one, two} {
		g := d.get(t, "/app/users", map[string]string{"Authorization": m.bearer()})
		wantEmpty403(t, g)
		if wait, err := strconv.Atoi(g.header.Get("Retry-After")); err != nil || wait < 1 || wait > 61 {
			t.Errorf("Retry-After %q", g.header.Get("Retry-After"))
		}
	}
	wantStatus(t, d.get(t, "/app/users", map[string]string{"Authorization": other.bearer()}), 200)
	w.keys.change(t, one, func() {
		one.credential.Limits.AppPerMinute = 5
		w.keys.set(one.credential)
	})
	wantStatus(t, d.get(t, "/app/users", map[string]string{"Authorization": one.bearer()}), 200)
	wantEmpty403(t, d.get(t, "/app/users", map[string]string{"Authorization": one.bearer()}))
}

// TestMemoryCountsDuringAnOutage uses up a limit in memory during an outage. Redis keeps its own count. So even with
// two outages within a window, a caller gets at most twice the limit from one gateway.
func TestMemoryCountsDuringAnOutage(t *testing.T) {
	server := miniredis.RunT(t)
	w := newWorldOn(t, "redis://"+server.Addr()+"/0")
	d := w.gateway(t, nil)
	header := map[string]string{"Authorization": w.keys.member(func(c *peer.Credential) { c.Limits.LegacyPerHour = 50 }).apiKey()}
	spend := func(when string, calls, want int) {
		t.Helper()
		var passed atomic.Int64
		var group sync.WaitGroup
		for range calls {
			group.Go(func() {
				switch g, err := d.try(t.Context(), http.MethodGet, "/api/v1/service/", "", header); {
				case err != nil:
					t.Error(err)
				case g.status == http.StatusOK:
					passed.Add(1)
				case g.status != http.StatusForbidden || g.body != "" || g.header.Get("Retry-After") == "":
					t.Errorf("%d %s", g.status, g.body)
				}
			})
		}
		group.Wait()
		if passed.Load() != int64(want) {
			t.Errorf("%s: %d of %d passed, want %d", when, passed.Load(), calls, want)
		}
	}
	outage := func(during func()) {
		t.Helper()
		server.SetError("LOADING the data")
		during()
		server.SetError("")
		eventually(t, "Redis is back", func() bool {
			return strings.Count(d.log.String(), "Redis is back") == strings.Count(d.log.String(), "Redis cannot be reached")
		})
	}
	spend("before the outage", 20, 20)
	outage(func() { spend("during the outage", 60, 50) })
	spend("after the outage", 40, 30)
	outage(func() { spend("during a second outage", 10, 0) })
}

func TestARequestCostsOneRoundTrip(t *testing.T) {
	w := newWorld(t)
	c := w.config(t, io.Discard)
	defer c.Listener.Close()
	edge, err := newEdge(c)
	if err != nil {
		t.Fatal(err)
	}
	trips := &countTrips{}
	edge.guard.redis.client.AddHook(trips)
	server := httptest.NewServer(edge)
	defer server.Close()
	d := &door{base: server.URL, http: w.client}
	m := w.keys.member(nil)
	session := w.keys.session(nil)
	for path, key := range map[string]string{"/api/v1/service/": m.apiKey(), "/app/users": m.bearer(), "/console/events": session.cookie()} {
		header := func(key string) map[string]string {
			if path == "/console/events" {
				return map[string]string{"Host": consoleHost, "Cookie": key}
			}
			return map[string]string{"Authorization": key}
		}
		wantStatus(t, d.get(t, path, header(key)), 200)
		from := trips.Load()
		for range 20 {
			wantStatus(t, d.get(t, path, header(key)), 200)
			if wrong := d.get(t, path, header(key+"x")); path == "/console/events" {
				wantSignedOut(t, wrong)
			} else {
				wantEmpty403(t, wrong)
			}
		}
		if n := trips.Load() - from; n != 40 {
			t.Errorf("%d round trips for 40 requests", n)
		}
	}
}

// countTrips counts the round trips to Redis.
type countTrips struct{ atomic.Int64 }

func (*countTrips) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *countTrips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.Add(1)
		return next(ctx, cmd)
	}
}

func (c *countTrips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.Add(1)
		return next(ctx, cmds)
	}
}

// The log of an outage has no host and no address: in a wrong URL, the password may be in their place.
func TestTheLogOfAnOutageHasNoAddress(t *testing.T) {
	for _, url := range []string{"redis://pass-word.invalid:6379/0", "redis://127.7.7.7:1/0"} {
		var log bytes.Buffer
		client, err := newRedisClient(boot.Redis{RedisURL: url}, slog.New(slog.NewTextHandler(&log, nil)), prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		defer client.client.Close()
		client.Fail(client.client.Ping(t.Context()).Err())
		if text := log.String(); !strings.Contains(text, "cannot be reached") || strings.Contains(text, "pass-word") || strings.Contains(text, "127.7.7.7") {
			t.Errorf("%s: %s", url, text)
		}
	}
}

// In a cluster, the two keys of the script are in one slot, for any tenant and any kind of key.
func TestTheKeysOfACheckAreInOneSlot(t *testing.T) {
	client := func(url string) *redisClient {
		c, err := newRedisClient(boot.Redis{RedisURL: url}, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.client.Close() })
		return c
	}
	cluster, single := client("redis://127.0.0.1:1?addr=127.0.0.1:2"), client("redis://127.0.0.1:1/0")
	slot := hashSlot("{" + peer.GatewayTag + "}")
	for range 1000 {
		id := uuid.NewString()
		for _, scheme := range []peer.Scheme{peer.APIKey, peer.Bearer, peer.Session} {
			known := newCaller(scheme, "", peer.Credential{Organization: uuid.NewString(), User: uuid.NewString(), Session: id})
			q := &query{check: check{entryKey: peer.CredentialKey(scheme, "{"+id+"}"), quota: known.quota}}
			for i, key := range cluster.keys(q) {
				if hashSlot(key) != slot {
					t.Errorf("%q is in slot %d, not %d", key, hashSlot(key), slot)
				}
				if want := []string{q.entryKey, q.quota.log}[i]; single.keys(q)[i] != want {
					t.Errorf("on a single server, the name %q must stay %q", single.keys(q)[i], want)
				}
			}
		}
	}
}

// hashSlot returns the slot of a key in a Redis cluster: the CRC-16 of the text in the first braces, or of the whole key.
func hashSlot(key string) uint16 {
	if begin := strings.IndexByte(key, '{'); begin >= 0 {
		if end := strings.IndexByte(key[begin+1:], '}'); end > 0 {
			key = key[begin+1 : begin+1+end]
		}
	}
	var crc uint16
	for _, b := range []byte(key) {
		crc ^= uint16(b) << 8
		for range 8 {
			if high := crc&0x8000 != 0; high {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc % 16384
}
