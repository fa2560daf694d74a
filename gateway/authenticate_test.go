package gateway

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/engines"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/seal"
)

func TestEveryWrongKeyIs403AndEmpty(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	m := w.keys.member(nil)
	id, name, secret := m.credential.KeyID, m.credential.Username, m.secret
	for _, surface := range []struct{ path, id, scheme, other string }{
		{"/app/users", id, "Bearer", "ApiKey"},
		{"/api/v1/service/", name, "ApiKey", "Bearer"},
	} {
		for what, authorization := range map[string]string{
			"none":                   "",
			"scheme alone":           surface.scheme,
			"scheme and a space":     surface.scheme + " ",
			"no colon":               surface.scheme + " " + surface.id,
			"no id":                  surface.scheme + " :" + secret,
			"no secret":              surface.scheme + " " + surface.id + ":",
			"wrong secret":           surface.scheme + " " + surface.id + ":" + secret + "x",
			"unknown id":             surface.scheme + " x" + surface.id + ":" + secret,
			"id in another case":     surface.scheme + " " + strings.ToUpper(surface.id) + ":" + secret,
			"other scheme":           surface.other + " " + surface.id + ":" + secret,
			"basic":                  "Basic " + surface.id + ":" + secret,
			"no white space":         surface.scheme + ":" + surface.id + ":" + secret,
			"an id beyond the bound": surface.scheme + " " + strings.Repeat("x", 600) + ":" + secret,
			"the other kind of id":   surface.scheme + " " + strings.Replace(id+name, surface.id, "", 1) + ":" + secret,
		} {
			for _, when := range []string{"before the key is cached", "after"} {
				t.Run(surface.scheme+": "+what+", "+when, func(t *testing.T) {
					header := map[string]string{}
					if authorization != "" {
						header["Authorization"] = authorization
					}
					wantEmpty403(t, d.get(t, surface.path, header))
				})
			}
		}
		for _, authorization := range []string{
			surface.scheme + " " + surface.id + ":" + secret,
			strings.ToUpper(surface.scheme) + " \t " + surface.id + ":" + secret,
			strings.ToLower(surface.scheme) + "\t" + surface.id + ":" + secret + " ",
		} {
			wantStatus(t, d.get(t, surface.path, map[string]string{"Authorization": authorization}), 200)
		}
		twice := d.raw(t, "GET "+surface.path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: "+
			surface.scheme+" "+surface.id+":"+secret+"\r\nAuthorization: x\r\n\r\n")
		if !strings.HasPrefix(twice, "HTTP/1.1 403 ") {
			t.Errorf("two Authorization headers: %s", twice)
		}
		inQuery := d.get(t, surface.path+"?username="+surface.id+"&api_key="+secret, nil)
		wantEmpty403(t, inQuery)
	}
}

func TestASecretMayHoldColons(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	m := w.keys.member(func(c *peer.Credential) { c.SecretDigest = seal.Digest("a:b:c") })
	wantStatus(t, d.get(t, "/app/users", map[string]string{"Authorization": "Bearer " + m.credential.KeyID + ":a:b:c"}), 200)
}

func TestAnOrganizationWithoutAPIAccessIsRefused(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	m := w.keys.member(func(c *peer.Credential) { c.Features.API = false })
	wantError(t, d.get(t, "/app/nothing", map[string]string{"Authorization": m.bearer()}), 403, noAPI)
	wantError(t, d.get(t, "/api/v1/service/", map[string]string{"Authorization": m.apiKey()}), 403, noAPI)
	wantEmpty403(t, d.get(t, "/app/users", map[string]string{"Authorization": m.bearer() + "x"}))
	w.keys.change(t, m, func() {
		m.credential.Features.API = true
		w.keys.set(m.credential)
	})
	wantStatus(t, d.get(t, "/app/users", map[string]string{"Authorization": m.bearer()}), 200)
}

func TestAChangeHoldsForTheNextRequestEverywhere(t *testing.T) {
	w := newWorld(t)
	doors := []*door{w.gateway(t, nil), w.gateway(t, nil)}
	m := w.keys.member(nil)
	header := map[string]string{"Authorization": m.bearer()}
	for _, d := range doors {
		wantStatus(t, d.get(t, "/app/users", header), 200)
		wantStatus(t, d.get(t, "/app/users", header), 200)
	}
	w.keys.change(t, m, func() {
		m.credential.Roles = []string{passport.RoleSubscriber}
		w.keys.set(m.credential)
	})
	for _, d := range doors {
		if e := d.get(t, "/app/users", header).echo(t); e.Passport.Has(passport.RoleAdmin) {
			t.Errorf("still an admin: %+v", e.Passport)
		}
	}
	w.keys.revoke(t, m)
	for _, d := range doors {
		wantEmpty403(t, d.get(t, "/app/users", header))
		wantEmpty403(t, d.get(t, "/api/v1/user/", map[string]string{"Authorization": m.apiKey()}))
	}
}

func TestARevocationUnderLoadHoldsAtThreeGateways(t *testing.T) {
	w := newWorld(t)
	doors := []*door{w.gateway(t, nil), w.gateway(t, nil), w.gateway(t, nil)}
	m := w.keys.member(func(c *peer.Credential) { c.Limits.AppPerMinute = 1 << 30 })
	header := map[string]string{"Authorization": m.bearer()}
	var revoked atomic.Bool
	var before, after, late atomic.Int64
	var group sync.WaitGroup
	for i := range 24 {
		group.Go(func() {
			d := doors[i%len(doors)]
			for n := 0; n < 200; n++ {
				started := revoked.Load()
				g, err := d.try(t.Context(), http.MethodGet, "/app/users", "", header)
				switch {
				case err != nil:
					t.Error(err)
				case g.status == 200 && started:
					late.Add(1)
				case g.status == 200:
					before.Add(1)
					n = 0 // 200 responses follow the revocation
				case g.status == 403 && g.body == "":
					after.Add(1)
				default:
					t.Errorf("%d %s", g.status, g.body)
				}
			}
		})
	}
	eventually(t, "the key is in use", func() bool { return before.Load() > 300 })
	w.keys.revoke(t, m)
	revoked.Store(true)
	group.Wait()
	if late.Load() != 0 || after.Load() == 0 {
		t.Errorf("%d requests started after the revocation succeeded, %d were refused", late.Load(), after.Load())
	}
}

func TestAFillUnderWayCannotUndoAVoid(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	m := w.keys.member(nil)
	header := map[string]string{"Authorization": m.bearer()}
	reading, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	hold := func() {
		once.Do(func() {
			close(reading)
			<-release
		})
	}
	w.keys.hold.Store(&hold)
	first := make(chan got)
	go func() {
		g, err := d.try(context.Background(), http.MethodGet, "/app/users", "", header)
		if err != nil {
			t.Error(err)
		}
		first <- g
	}()
	<-reading // identity has read the credential but has not responded yet
	w.keys.revoke(t, m)
	second := make(chan got)
	go func() {
		g, err := d.try(context.Background(), http.MethodGet, "/app/users", "", header)
		if err != nil {
			t.Error(err)
		}
		second <- g
	}()
	close(release)
	<-first // this request began before the revocation, so either result is right
	wantEmpty403(t, <-second)
	if entry := w.redis.Get(t.Context(), w.tag+m.entries()[0]).Val(); entry != peer.Void {
		t.Fatalf("the entry is %q", entry)
	}
	wantEmpty403(t, d.get(t, "/app/users", header))
}

// Only the service that receives messages of monitoring tools reads the header Authorization itself, on one row.
func TestOnlyTheFormatsOfTheInboundWebhookGetTheAuthorization(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	header := map[string]string{"Authorization": "Bearer key:secret", "Content-Type": "application/json"}
	for path, want := range map[string]string{"/public/webhooks/inbound/gatus": "Bearer key:secret", "/public/webhooks/inbound/generic?source=a": "Bearer key:secret", "/public/webhooks/inbound": ""} {
		if e := d.do(t, http.MethodPost, path, "{}", header).echo(t); e.Header.Get("Authorization") != want || e.Passport.Surface != passport.Public {
			t.Errorf("%s: the service gets %q", path, e.Header.Get("Authorization"))
		}
	}
	wantStatus(t, d.do(t, http.MethodPost, "/public/webhooks/inbound/pagerduty", "{}", header), 404)
	wantStatus(t, d.get(t, "/public/webhooks/inbound/gatus", header), 405)
}

func TestClientsCannotSpeakForThePlatform(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	m := w.keys.member(nil)
	forged := w.signer.Sign(passport.Passport{Audience: identity, Surface: passport.Operator, Organization: "another"})
	e := d.get(t, "/app/users", map[string]string{
		"Authorization": m.bearer(), "Bellbuoy-Passport": forged, "bellbuoy-anything": "x", "X-Forwarded-For": "1.2.3.4",
		"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https", "X-Forwarded-Port": "1", "Forwarded": "for=1.2.3.4", "X-Real-Ip": "1.2.3.4",
		"Connection": "X-Private, close", "X-Private": "hop", "Te": "trailers", "Keep-Alive": "1", "Proxy-Authorization": "Basic x",
		"Accept-Language": "de", "If-Match": `"7"`,
	}).echo(t)
	if e.Passport.Organization != m.credential.Organization || e.Passport.Surface != passport.App || e.Passport.IP != "127.0.0.1" {
		t.Errorf("passport %+v", e.Passport)
	}
	for _, name := range []string{"Authorization", "Bellbuoy-Anything", "X-Forwarded-Port", "Forwarded", "X-Real-Ip", "X-Private", "Te", "Keep-Alive", "Proxy-Authorization", "Connection"} {
		if values, sent := e.Header[name]; sent {
			t.Errorf("%s: %v was passed on", name, values)
		}
	}
	for name, want := range map[string]string{"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": strings.TrimPrefix(d.base, "http://"), "X-Forwarded-Proto": "http", "Accept-Language": "de", "If-Match": `"7"`} {
		if got := strings.Join(e.Header.Values(name), "|"); got != want {
			t.Errorf("%s %q, want %q", name, got, want)
		}
	}
	if g := d.get(t, "/app/users", map[string]string{"Authorization": m.bearer()}); g.header.Get("Bellbuoy-Private") != "" {
		t.Error("a service's internal header came out")
	}
}

// A passport is used again only for requests from the same address.
func TestPassportsNameTheAddressOfTheClient(t *testing.T) {
	signer := passport.NewSigner(strings.Repeat("s", 32), time.Now)
	g := &guard{signer: signer, now: time.Now}
	c := newCaller(peer.Bearer, "", peer.Credential{User: "ada"})
	tokens := map[string]int{}
	for _, ip := range []string{"192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.1"} {
		token := g.passport(c, identity, passport.App, ip)
		tokens[token]++
		if p, err := signer.Verify(token, identity); err != nil || p.IP != ip {
			t.Errorf("the passport for %s names %q, %v", ip, p.IP, err)
		}
	}
	if len(tokens) > 3 {
		t.Error("requests from one address have two passports")
	}
}

func TestWithoutIdentityOnlyCachedKeysPass(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	cached, fresh := w.keys.member(nil), w.keys.member(nil)
	header := map[string]string{"Authorization": cached.apiKey()}
	wantStatus(t, d.get(t, "/api/v1/service/", header), 200)
	w.services[identity].server.Close()
	wantStatus(t, d.get(t, "/api/v1/service/", header), 200)
	wantEmpty403(t, d.get(t, "/api/v1/service/", map[string]string{"Authorization": cached.apiKey() + "x"}))
	for path, key := range map[string]string{"/api/v1/service/": fresh.apiKey(), "/app/components": fresh.bearer()} {
		g := d.get(t, path, map[string]string{"Authorization": key})
		wantError(t, g, 503, noKeyCheck)
		if g.header.Get("Retry-After") == "" {
			t.Error("503 without Retry-After")
		}
	}
}

func TestAKilledRedisRefusesNoRequest(t *testing.T) {
	server, err := engines.StartRedis("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorldOn(t, server.URL())
	d := w.gateway(t, nil)
	m := w.keys.member(func(c *peer.Credential) { c.Limits = peer.Limits{LegacyPerHour: 1 << 30, AppPerMinute: 1 << 30} })
	keys := map[string]string{"/app/users": m.bearer(), "/api/v1/service/": m.apiKey()}
	passed := map[string]*atomic.Int64{}
	var slowest atomic.Int64 // in nanoseconds
	stop := make(chan struct{})
	var group sync.WaitGroup
	client := func(path string) {
		header := map[string]string{"Authorization": keys[path]}
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				start := time.Now()
				g, err := d.try(t.Context(), http.MethodGet, path, "", header)
				if err != nil || g.status != 200 {
					t.Errorf("%s: %d %s %v", path, g.status, g.body, err)
					return
				}
				took := time.Since(start).Nanoseconds()
				for former := slowest.Load(); took > former && !slowest.CompareAndSwap(former, took); former = slowest.Load() {
				}
				passed[path].Add(1)
			}
		})
	}
	for path := range keys {
		passed[path] = &atomic.Int64{}
	}
	for path := range keys {
		for range 4 {
			client(path)
		}
	}
	more := func(what string) {
		t.Helper()
		for path := range keys {
			from := passed[path].Load()
			eventually(t, what+": "+path, func() bool { return passed[path].Load() > from+150 })
		}
	}
	more("calls pass with Redis")
	usual := time.Duration(slowest.Load())
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	more("calls pass without Redis")
	for path, key := range keys {
		wantEmpty403(t, d.get(t, path, map[string]string{"Authorization": key + "x"}))
	}
	if server, err = engines.StartRedis(strings.TrimSuffix(strings.TrimPrefix(w.redisURL, "redis://"), "/0")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	eventually(t, "Redis is noticed", func() bool { return strings.Contains(d.log.String(), "Redis is back") })
	more("calls pass with Redis again")
	close(stop)
	group.Wait()
	if took := time.Duration(slowest.Load()); took > max(time.Second, 3*usual) {
		t.Errorf("a call took %v; with Redis %v at the most", took, usual)
	}
	if n := strings.Count(d.log.String(), "Redis cannot be reached"); n != 1 {
		t.Errorf("the outage was logged %d times", n)
	}
	if n := w.redis.Exists(t.Context(), m.entries()...).Val(); n != 2 {
		t.Errorf("%d of the keys are cached again", n)
	}
}

// TestAHangingRedisRefusesNoRequest uses a server that accepts connections and never responds.
func TestAHangingRedisRefusesNoRequest(t *testing.T) {
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	w := newWorld(t)
	const timeout = 3 * time.Second
	d := w.gateway(t, func(c *Config) {
		c.RedisURL = "redis://" + deaf.Addr().String() + "/0?read_timeout=" + timeout.String()
	})
	header := map[string]string{"Authorization": w.keys.member(nil).bearer()}
	together := func() time.Duration {
		start := time.Now()
		var group sync.WaitGroup
		for range 40 {
			group.Go(func() { wantStatus(t, d.get(t, "/app/users", header), 200) })
		}
		group.Wait()
		return time.Since(start)
	}
	first, later := together(), together()
	if first > timeout*5/2+3*later {
		t.Errorf("the first requests took %v, later ones %v", first, later)
	}
	// Other work of the machine may delay some of the ten requests.
	quickest := time.Hour
	for range 10 {
		start := time.Now()
		wantStatus(t, d.get(t, "/app/users", header), 200)
		quickest = min(quickest, time.Since(start))
	}
	if quickest > timeout/2 {
		t.Errorf("a later request took %v", quickest)
	}
}

func TestARevokedKeyIsRefusedWithoutRedisToo(t *testing.T) {
	server, err := engines.StartRedis("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorldOn(t, server.URL())
	d := w.gateway(t, nil)
	m := w.keys.member(nil)
	header := map[string]string{"Authorization": m.bearer()}
	wantStatus(t, d.get(t, "/app/users", header), 200)
	w.keys.revoke(t, m)
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	wantEmpty403(t, d.get(t, "/app/users", header))
	w.services[identity].server.Close()
	wantError(t, d.get(t, "/app/users", header), 503, noKeyCheck)
}
