// Package gateway is the public entry of the platform. It decides who the caller is and how many calls the caller may
// make. The services decide what the caller may do. For each request with a key, the gateway finds the row in the route
// table (routes.go), checks the key and counts the call in one round trip to Redis (authenticate.go, redis.go, limit.lua),
// removes the headers that a client may not send, signs a passport and forwards the request (proxy.go).
//
// Decisions:
//
//   - The public, App and operator rows are generated from the operations that the services declare, together with the
//     OpenAPI documents (openapi.go).
//   - For each request with a key or a session, the gateway asks Redis whether the credential is unchanged, so a
//     revocation holds for the next request at every gateway. Requests that arrive during a round trip share the next
//     round trip, so a busy gateway needs fewer round trips than requests.
//   - While Redis is down, the gateway asks identity about each key and counts calls in memory. So an outage of Redis
//     alone refuses no valid request, except writes with an Idempotency-Key. If identity is down too, the response is
//     503. The calls that were counted in memory are not added to Redis afterwards: a caller may reach the limit once in
//     Redis and, during outages, once in each gateway (limit.go). Exact counts across an outage would need 100 lines and
//     a lock for each call, and no goal requires them.
//   - The files of dashboards are served from memory after the events service has confirmed the edition. If the events
//     service is down, the last confirmed files are served. A gateway that has just started loads them from Redis
//     (package dashboards). Package readserver replaces net/http for these requests, because net/http costs as much as
//     all other work for such a request.
//   - A write with an Idempotency-Key happens at most once (idempotency.go). So does a form of the web console, unless
//     Redis is down.
//   - The web console has one row in the route table. Its callers have a session instead of a key. The session is checked
//     and the call is counted in the same round trip (console.go).
package gateway

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/gateway/internal/dashboards"
	"github.com/bellbuoy/bellbuoy/gateway/internal/message"
	"github.com/bellbuoy/bellbuoy/gateway/internal/readserver"
	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	tries "github.com/bellbuoy/bellbuoy/libs/quota"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	lru "github.com/hashicorp/golang-lru/v2"
)

// Config is the gateway's settings.
type Config struct {
	boot.Process `embed:""`
	boot.Redis   `embed:""`
	boot.Secret  `embed:""`
	boot.Links   `embed:""`
	boot.Proxies `embed:""`
	boot.Cache   `embed:""`

	boot.Upstreams `embed:""`

	ConsoleURL    string `name:"console-url" env:"CONSOLE_URL" default:"http://console:8080" check:"upstream" help:"Address of the console service."`
	OperatorToken string `name:"operator-token" env:"BELLBUOY_OPERATOR_TOKEN" default:"" check:"secret" help:"The token of the operator interface. Empty: /operator does not exist."`

	// RedisInProcess is set if Redis runs in the gateway's process. Copies of dashboards in this Redis would be lost
	// together with the process, so the gateway saves none.
	RedisInProcess bool `kong:"-"`

	// Patience replaces dashboards.Patience in tests.
	Patience time.Duration `kong:"-"`
}

// services returns the addresses of the services behind the gateway, by name.
func (c Config) services() map[string]string {
	all := c.ByName()
	all[console] = c.ConsoleURL
	return all
}

// Run serves requests until ctx ends.
func Run(ctx context.Context, c Config) error {
	edge, err := newEdge(c)
	if err != nil {
		return err
	}
	defer edge.guard.redis.client.Close() // after the last request
	defer edge.tries.Close()
	if c.Internal != nil {
		hosts, err := c.Links.Hosts()
		if err != nil {
			return err
		}
		c.Internal.HandleFunc("GET /domains", domainsPage(edge.front.events, hosts))
	}
	listener := readserver.Listen(c.Listener, edge.read)
	defer listener.Wait()
	c.Listener = listener
	return c.Serve(ctx, boot.Service{
		Handler:    edge,
		Ready:      ready(c, edge),
		Background: []func(context.Context) error{edge.guard.redis.watch, edge.dashboards.Sweep},
	})
}

// newEdge returns the handler of all requests. Redis and the services may be down when it is called.
func newEdge(c Config) (*edge, error) {
	signer := passport.NewSigner(c.Secret.Secret, c.Now)
	redis, err := newRedisClient(c.Redis, c.Log, c.Metrics)
	if err != nil {
		return nil, err
	}
	wrong, err := tries.New(c.Redis, c.Log, c.Now)
	if err != nil {
		return nil, err
	}
	trusted, err := c.Networks()
	if err != nil {
		return nil, err
	}
	docs, err := newDocs()
	if err != nil {
		return nil, err
	}
	room, err := c.Cache.Bytes()
	if err != nil {
		return nil, err
	}
	inRedis := room
	if c.RedisInProcess {
		inRedis = 0
	}
	callers, _ := lru.New[string, *caller](maxCallers) // fails only for a size below 1
	proxy := newProxy(c.services(), c.Propagator)
	caller := peer.Options{Caller: "gateway", Signer: signer, Tracer: c.Tracer, Propagator: c.Propagator}
	keys := peer.Identity{Client: peer.NewClient(identity, c.IdentityURL, caller)}
	front, err := newFront(peer.Events{Client: peer.NewClient(events, c.EventsURL, caller)}, c.DashboardBaseURL, c.Now, cmp.Or(c.Patience, dashboards.Patience))
	if err != nil {
		return nil, err
	}
	console, err := newConsoleRules(c.ConsoleBaseURL, c.Log)
	if err != nil {
		return nil, err
	}
	return &edge{
		console: console,
		router:  newRouter(Routes(), platformHosts(c.Links)),
		guard: &guard{
			redis: redis, memory: newMemory(c.Now), identity: keys, callers: callers, signer: signer, now: c.Now,
		},
		proxy: proxy,
		dashboards: dashboards.New(dashboards.Options{
			Fetch: proxy.fetchPublic(signer), Redis: redis, Secret: c.Secret.Secret, Room: room, RoomInRedis: inRedis,
			Missing: &front.missing, Log: c.Log, Now: c.Now, Patience: c.Patience,
		}),
		front:       front,
		idempotency: &idempotency{redis: redis, now: c.Now, box: seal.NewBox(c.Secret.Secret, "idempotency")},
		signer:      signer, proxies: trusted, operator: c.OperatorToken, tries: wrong, discovery: legacy.Discovery(), docs: docs,
		log: c.Log, tracer: c.Tracer.Tracer("gateway"), traceRatio: c.TraceRatio, propagator: c.Propagator, seconds: boot.RequestSeconds(c.Metrics),
	}, nil
}

// platformHosts returns a function that reports whether a host belongs to the platform: a host in the links that the
// platform writes, an IP address, or a name without a dot, such as localhost. Every other host belongs to a dashboard.
func platformHosts(links boot.Links) func(host string) bool {
	own := map[string]bool{}
	for _, base := range []string{links.LegacyBaseURL, links.AppBaseURL, links.DashboardBaseURL, links.ConsoleBaseURL} {
		if u, err := url.Parse(base); err == nil {
			own[u.Host], own[message.Hostname(u.Host)] = true, true
		}
	}
	return func(host string) bool {
		if own[host] {
			return true
		}
		name := message.Hostname(host)
		if own[name] || !strings.Contains(name, ".") {
			return true
		}
		_, err := netip.ParseAddr(name)
		return err == nil
	}
}

// ready returns the checks for /readyz: Redis, and each service. The gateway is ready while delivery or the console is
// down: only delivery logs are missing then, and notifications wait in Kafka; the App interface does all that the
// console does.
func ready(c Config, e *edge) map[string]func(context.Context) error {
	checks := map[string]func(context.Context) error{
		"redis": func(ctx context.Context) error { return e.guard.redis.client.Ping(ctx).Err() },
	}
	client := &http.Client{Transport: e.proxy.usual, Timeout: 2 * time.Second}
	for name, base := range c.services() {
		checks[name] = func(ctx context.Context) error {
			err := readyUpstream(ctx, client, base)
			if err != nil && (name == delivery || name == console) {
				return boot.Tolerable{Err: err}
			}
			return err
		}
	}
	return checks
}

func readyUpstream(ctx context.Context, client *http.Client, base string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New("readyz: " + response.Status)
	}
	return nil
}
