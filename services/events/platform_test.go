package events_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/engines"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/events"
)

const (
	secret = "a secret of the tests, long enough to be one"
	// legacyBase is LEGACY_BASE_URL: what the Location of a created record starts with.
	legacyBase = "https://api.status.example.com"

	orgA  = "0190aaaa-0000-7000-8000-00000000000a"
	orgB  = "0190aaaa-0000-7000-8000-00000000000b"
	dashA = "0190dddd-0000-7000-8000-00000000000a"
	dashB = "0190dddd-0000-7000-8000-00000000000b"
)

// platform is the surroundings of the service: a Kafka broker, and a clock that tests can put
// forward. Services are started on it.
type platform struct {
	t         testing.TB
	documents string
	broker    string
	ahead     atomic.Int64              // time that is added to the real one, in nanoseconds
	frozen    atomic.Pointer[time.Time] // the time at which the clock stands; nil: it goes
	signer    *passport.Signer
	url       string
	peers     peer.Events
	stop      func()
	logs      *apitest.Log // gets everything that the service logs; nil: the test's output gets warnings
	adjust    func(*events.Config)
	limit     atomic.Int64 // number of dashboards of an organization; 0: 50
	needed    atomic.Value // the component that is the only one of an endpoint; "down": integrations does not respond
}

// elsewhere stands for the integrations and the identity service.
func (p *platform) elsewhere() string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		needed, _ := p.needed.Load().(string)
		component, asked := strings.CutSuffix(r.URL.Path, "/only")
		switch {
		case needed == "down":
			w.WriteHeader(http.StatusBadGateway)
		case asked:
			_, _ = io.WriteString(w, strconv.FormatBool(strings.HasSuffix(component, "/endpoints/components/"+needed)))
		case strings.HasSuffix(r.URL.Path, "/limits"):
			_ = json.NewEncoder(w).Encode(peer.Limits{MaxDashboards: int(cmp.Or(p.limit.Load(), 50))})
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	}))
	p.t.Cleanup(server.Close)
	return server.URL
}

func startBroker(t testing.TB) string {
	t.Helper()
	broker, err := engines.StartKafka(t.Context(), engines.Kafka{Addr: "127.0.0.1:0", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := broker.Close(); err != nil {
			t.Errorf("closing the broker: %v", err)
		}
	})
	return broker.Addr()
}

// start runs the service with two organizations that have a dashboard each.
func start(t testing.TB, broker string) *platform {
	t.Helper()
	p := &platform{t: t, documents: apitest.Documents(t), broker: broker}
	p.signer = passport.NewSigner(secret, p.now)
	p.run()
	p.dashboards()
	return p
}

func (p *platform) now() time.Time {
	at := time.Now().UTC()
	if frozen := p.frozen.Load(); frozen != nil {
		at = *frozen
	}
	return at.Add(time.Duration(p.ahead.Load())).Truncate(time.Millisecond)
}

// freeze sets the time of the service, which then changes only with p.ahead.
func (p *platform) freeze(at time.Time) {
	p.frozen.Store(&at)
	p.ahead.Store(0)
}

// run starts a service process; p.stop or the test's end stops it.
func (p *platform) run() {
	p.t.Helper()
	config := configOf(p.broker, p.documents)
	config.IntegrationsURL = p.elsewhere()
	config.IdentityURL = config.IntegrationsURL
	if p.adjust != nil {
		p.adjust(&config)
	}
	level, logs := "warn", p.t.Output()
	if p.logs != nil {
		level, logs = "debug", p.logs
	}
	config.Process = apitest.Process(p.t, "events", level, logs, p.now)
	p.url, p.stop = apitest.Launch(p.t, config.Process, func(ctx context.Context) error { return events.Run(ctx, config) })
	p.peers = peer.Events{Client: peer.NewClient("events", p.url, peer.Options{
		Caller: "identity", Signer: p.signer, Tracer: config.Tracer, Propagator: config.Propagator,
	})}
}

// in is the platform for a test within the one that started it.
func (p *platform) in(t testing.TB) *platform {
	return &platform{t: t, documents: p.documents, broker: p.broker, signer: p.signer, url: p.url, peers: p.peers}
}

func configOf(broker, documents string) events.Config {
	config := events.Config{
		Documents: boot.Documents{DocumentsURL: documents},
		Kafka:     boot.Kafka{KafkaBrokers: []string{broker}},
		Secret:    boot.Secret{Secret: secret},
		Links:     boot.Links{LegacyBaseURL: legacyBase, DashboardBaseURL: "https://status.example"},
		Redis:     boot.Redis{RedisURL: "redis://127.0.0.1:1"}, // memory counts the tries of passwords
	}
	config.LogLevel = "warn"
	return config
}

func (p *platform) dashboards() {
	p.t.Helper()
	for organization, id := range map[string]string{orgA: dashA, orgB: dashB} {
		name := map[string]string{orgA: "Acme Status", orgB: "Bolt"}[organization]
		apitest.Eventually(p.t, "the dashboard is created", func() bool {
			_, err := p.peers.CreateDashboard(p.t.Context(), organization, id, peer.NewDashboard{Name: name})
			if err != nil && !fault.Is(err, fault.Unavailable) { // a client may give up on a slow machine
				p.t.Fatal(err)
			}
			return err == nil
		})
	}
}

// caller is a passport by the name scripts call it: a surface, the roles, the organization.
func caller(name string) passport.Passport {
	p := passport.Passport{Audience: "events", Features: passport.Features{API: true, Integrations: true}}
	words := strings.Fields(name)
	p.Surface = passport.Surface(words[0])
	for _, word := range words[1:] {
		switch word {
		case "a":
			p.Organization, p.User, p.Username, p.LegacyUser = orgA, "0190bbbb-0000-7000-8000-00000000000a", "ann", 7
		case "b":
			p.Organization, p.User, p.Username, p.LegacyUser = orgB, "0190bbbb-0000-7000-8000-00000000000b", "bob", 8
		case "no-api":
			p.Features.API = false
		case "uptime":
			p.Features.UptimeReports = true
		default:
			p.Roles = append(p.Roles, word)
		}
	}
	return p
}

// token is the passport that a request's As header asks for; "legacy api a" without one.
func (p *platform) token(as string) string {
	switch as {
	case "":
		as = "legacy api a"
	case "nobody":
		return ""
	case "forger":
		return passport.NewSigner(strings.Repeat("another secret ", 3), p.now).Sign(caller("legacy admin a"))
	case "late":
		then := passport.NewSigner(secret, func() time.Time { return p.now().Add(-2 * passport.Life) })
		return then.Sign(caller("legacy admin a"))
	case "elsewhere":
		other := caller("legacy admin a")
		other.Audience = "delivery"
		return p.signer.Sign(other)
	}
	return p.signer.Sign(caller(as))
}

// door stands in front of the service like a gateway: it issues the passport that the
// script's As header names. POST /clock/90s adds 90 s to the time of the service, and POST /clock/2040-01-31T00:00:00Z sets it.
// POST /needed/{component} makes the component the only one of an endpoint, and POST /needed/down stops the
// integrations service.
func (p *platform) door() http.Handler {
	target, err := url.Parse(p.url)
	if err != nil {
		p.t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Header.Del("As")
		if token := p.token(r.In.Header.Get("As")); token != "" {
			r.Out.Header.Set(passport.Header, token)
		}
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if needed, found := strings.CutPrefix(r.URL.Path, "/needed/"); found {
			p.needed.Store(needed)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		text, found := strings.CutPrefix(r.URL.Path, "/clock/")
		if !found {
			proxy.ServeHTTP(w, r)
			return
		}
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			p.ahead.Store(int64(time.Until(at)))
		} else if step, err := time.ParseDuration(text); err == nil {
			p.ahead.Add(int64(step))
		} else {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

// answer is a response.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (p *platform) send(as, method, path, body string) answer {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set(passport.Header, p.token(as))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, content}
}

// patiently repeats a request that got 503 after 4 s or more: a time limit of the platform has ended, as happens on a
// slow machine. The shortest limit is 5 s, minus the time that the request took to the service.
func patiently(send func() answer) (a answer) {
	for range 12 {
		began := time.Now()
		if a = send(); a.status != http.StatusServiceUnavailable || time.Since(began) < 4*time.Second {
			break
		}
	}
	return a
}

// must sends a request, checks the status of the response, and returns its JSON members.
func (p *platform) must(status int, as, method, path, body string) map[string]any {
	p.t.Helper()
	a := patiently(func() answer { return p.send(as, method, path, body) })
	if a.status != status {
		p.t.Fatalf("%s %s returned %d %s, want %d", method, path, a.status, a.body, status)
	}
	out := map[string]any{}
	if len(a.body) > 0 {
		if err := json.NewDecoder(bytes.NewReader(a.body)).Decode(&out); err != nil {
			p.t.Fatalf("%s %s returned %q", method, path, a.body)
		}
	}
	return out
}

// tape is what the service publishes.
type tape struct {
	t     testing.TB
	heard *apitest.Heard
}

// listen consumes the service's topics into a tape.
func (p *platform) listen() tape {
	p.t.Helper()
	bus := stream.Connect(stream.Options{Brokers: []string{p.broker}, ClientID: "listener"})
	p.t.Cleanup(func() {
		if err := bus.Close(); err != nil {
			p.t.Error(err)
		}
	})
	return tape{p.t, apitest.Listen(p.t, bus, topic.EventChanges, topic.ComponentChanges)}
}

// changes returns every change once, even if it is published several times.
func (h tape) changes() (changes []topic.EventChange) {
	h.t.Helper()
	known := map[string]bool{}
	for _, change := range apitest.Messages[topic.EventChange](h.t, h.heard, topic.EventChanges) {
		if !known[change.ID] {
			changes = append(changes, change)
		}
		known[change.ID] = true
	}
	return changes
}

// gone returns the deletions of components.
func (h tape) gone() []topic.ComponentDeleted {
	h.t.Helper()
	return apitest.Messages[topic.ComponentDeleted](h.t, h.heard, topic.ComponentChanges)
}

// of waits until n changes of the event with the legacy id have arrived, and returns them.
func (h tape) of(t testing.TB, legacyID int64, n int) []topic.EventChange {
	t.Helper()
	var found []topic.EventChange
	apitest.Eventually(t, "all changes are published", func() bool {
		found = nil
		for _, change := range h.changes() {
			if change.Event.LegacyID == legacyID {
				found = append(found, change)
			}
		}
		return len(found) >= n
	})
	if len(found) != n {
		t.Fatalf("%d changes, want %d", len(found), n)
	}
	return found
}
