// Package gateway is the public door of the platform. It decides who is calling and
// how often they may; the services behind it decide what. For each request it finds
// the row in the route table (routes.go), checks the key and counts the call in one
// look at Redis (authenticate.go, ledger.go, limit.lua), takes away whatever a client
// has no business saying, signs a passport and forwards (proxy.go).
//
// What was decided here:
//
//   - No gateway keeps a key's state to itself: each request asks Redis whether the
//     credential is still what it was, so a revocation holds for the very next request
//     everywhere. Requests that come while a question is under way share the next one,
//     so a busy gateway pays a fraction of a round trip for each.
//   - Without Redis, identity is asked about each request and calls are counted in
//     memory; an outage is never a 403, and a 503 only when a key can be checked nowhere.
//   - A public dashboard's list is served from memory, confirmed by events, and without
//     events as it last was (pages.go).
//   - A write with an Idempotency-Key happens once (once.go).
package gateway

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// Config is the gateway's settings.
type Config struct {
	boot.Process `embed:""`
	boot.Redis   `embed:""`
	boot.Secret  `embed:""`
	boot.Links   `embed:""`
	Upstreams    `embed:""`

	OperatorToken string `name:"operator-token" env:"BELLBUOY_OPERATOR_TOKEN" default:"" help:"Enables /operator for who presents it; empty: there is none."`
}

// Upstreams are the services' addresses.
type Upstreams struct {
	IdentityURL     string `name:"identity-url" env:"IDENTITY_URL" default:"http://identity:8080" help:"Where the identity service is."`
	EventsURL       string `name:"events-url" env:"EVENTS_URL" default:"http://events:8080" help:"Where the events service is."`
	SubscribersURL  string `name:"subscribers-url" env:"SUBSCRIBERS_URL" default:"http://subscribers:8080" help:"Where the subscribers service is."`
	IntegrationsURL string `name:"integrations-url" env:"INTEGRATIONS_URL" default:"http://integrations:8080" help:"Where the integrations service is."`
}

// Validate is called by the settings' parser.
func (u Upstreams) Validate() error {
	return errors.Join(boot.Upstream("IDENTITY_URL", u.IdentityURL), boot.Upstream("EVENTS_URL", u.EventsURL),
		boot.Upstream("SUBSCRIBERS_URL", u.SubscribersURL), boot.Upstream("INTEGRATIONS_URL", u.IntegrationsURL))
}

// byName are the addresses by the name that passports are issued to.
func (u Upstreams) byName() map[string]string {
	return map[string]string{
		identity: u.IdentityURL, events: u.EventsURL, subscribers: u.SubscribersURL, integrations: u.IntegrationsURL,
	}
}

// Run serves until ctx ends.
func Run(ctx context.Context, c Config) error {
	edge, err := newEdge(c)
	if err != nil {
		return err
	}
	defer edge.guard.ledger.client.Close() // behind what is in flight
	return c.Serve(ctx, boot.Service{
		Handler:    edge,
		Ready:      ready(c, edge),
		Background: []func(context.Context) error{edge.guard.ledger.watch},
	})
}

// newEdge wires the gateway up. Nothing behind it needs to be reachable yet.
func newEdge(c Config) (*edge, error) {
	signer := passport.NewSigner(c.Secret.Secret, c.Now)
	memory := newMemory(c.Now)
	ledger, err := newLedger(c.Redis, memory, c.Log, c.Metrics)
	if err != nil {
		return nil, err
	}
	proxy, err := newProxy(c.byName(), c.Propagator)
	if err != nil {
		return nil, err
	}
	docs, err := newDocs()
	if err != nil {
		return nil, err
	}
	keys := peer.Identity{Client: peer.NewClient(identity, c.IdentityURL, peer.Options{
		Caller: "gateway", Signer: signer, Tracer: c.Tracer, Propagator: c.Propagator,
	})}
	return &edge{
		router: newRouter(Routes(), baseHosts(c.Links)),
		guard: &guard{
			ledger: ledger, memory: memory, identity: keys, lookups: newRounds[presented, *caller](),
			callers: newLRU[string, *caller](maxCallers), signer: signer, now: c.Now, log: c.Log,
		},
		proxy: proxy,
		pages: &pages{
			proxy: proxy, signer: signer, now: c.Now,
			kept: newLRU[pageKey, *page](pagesRoom), rounds: newRounds[pageKey, *page](),
		},
		once: newOnce(ledger, c.Secret.Secret, c.Now), signer: signer, operator: tokenDigest(c.OperatorToken),
		discovery: legacy.Discovery(), docs: docs, log: c.Log, tracer: c.Tracer.Tracer("gateway"), propagator: c.Propagator, seconds: boot.RequestSeconds(c.Metrics),
	}, nil
}

func tokenDigest(token string) *[sha256.Size]byte {
	if token == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(token))
	return &sum
}

// baseHosts tells the platform's own hosts, those of the links it hands out and plain
// addresses, from the dashboards' own.
func baseHosts(links boot.Links) func(host string) bool {
	own := map[string]bool{"localhost": true, "": true}
	for _, base := range []string{links.LegacyBaseURL, links.AppBaseURL, links.DashboardBaseURL} {
		if u, err := url.Parse(base); err == nil {
			own[hostname(u.Host)] = true
		}
	}
	return func(host string) bool {
		name := hostname(host)
		return own[name] || name[0] == '[' || net.ParseIP(name) != nil
	}
}

// ready are the checks behind /readyz: Redis, and that every service is ready itself.
func ready(c Config, e *edge) map[string]func(context.Context) error {
	checks := map[string]func(context.Context) error{"redis": e.guard.ledger.ready}
	client := &http.Client{Transport: e.proxy.transport, Timeout: 2 * time.Second}
	for name, base := range c.byName() {
		checks[name] = func(ctx context.Context) error { return readyUpstream(ctx, client, base, c.Log) }
	}
	return checks
}

func readyUpstream(ctx context.Context, client *http.Client, base string, log *slog.Logger) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", nil)
	if err != nil {
		return fmt.Errorf("readyz: %w", err)
	}
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("readyz: %w", err)
	}
	if err := answer.Body.Close(); err != nil {
		log.WarnContext(ctx, "readyz: the answer was not closed", "error", err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("readyz: %s", answer.Status)
	}
	return nil
}
