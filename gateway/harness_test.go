package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/gateway/internal/dashboards"
	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/engines"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

const (
	testSecret    = "a secret of the platform for tests only, long enough"
	operatorToken = "the operator's token"
	consoleHost   = "console.example.com"
)

// world is the environment of a gateway: Redis and the services.
type world struct {
	redis    redis.UniversalClient
	tag      string // first part of the names of all keys
	redisURL string
	signer   *passport.Signer
	keys     *keys
	services map[string]*service
	client   *http.Client
}

// newWorld starts the services and a Redis in this process. If BELLBUOY_TEST_REDIS is set,
// it uses that Redis.
func newWorld(t testing.TB) *world {
	t.Helper()
	if address := os.Getenv("BELLBUOY_TEST_REDIS"); address != "" {
		return newWorldOn(t, address)
	}
	server, err := engines.StartRedis("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return newWorldOn(t, server.URL())
}

func newWorldOn(t testing.TB, redisURL string) *world {
	t.Helper()
	settings := boot.Redis{RedisURL: apitest.Patient(redisURL)}
	client, _, err := settings.Connect(1)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		redis: client, tag: settings.Tag(peer.GatewayTag), redisURL: redisURL,
		signer:   passport.NewSigner(testSecret, func() time.Time { return time.Now() }),
		services: map[string]*service{},
		client:   &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	w.keys = &keys{redis: w.redis, tag: w.tag, credentials: map[string]peer.Credential{}}
	t.Cleanup(func() {
		w.client.CloseIdleConnections()
		w.redis.Close()
	})
	for _, name := range []string{identity, events, subscribers, integrations, delivery, console} {
		w.services[name] = newService(t, name, w.signer, w.keys)
	}
	return w
}

// service is a service behind the gateway. It checks the passport. Then it calls the handler of the test. Without a
// handler, it returns an echo of the request.
type service struct {
	name    string
	server  *httptest.Server
	handler atomic.Pointer[http.HandlerFunc]
	calls   atomic.Int64
}

// echo is the request that a service received.
type echo struct {
	Service  string            `json:"service"`
	Method   string            `json:"method"`
	URI      string            `json:"uri"`
	Header   http.Header       `json:"header"`
	Body     string            `json:"body"`
	Passport passport.Passport `json:"passport"`
}

func newService(t testing.TB, name string, signer *passport.Signer, keys *keys) *service {
	s := &service{name: name}
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			return
		}
		p, err := signer.Verify(r.Header.Get(passport.Header), name)
		if err != nil {
			http.Error(w, err.Error(), http.StatusTeapot)
			return
		}
		if name == identity && r.URL.Path == peer.Prefix+"/keys/lookup" {
			keys.serve(w, r)
			return
		}
		s.calls.Add(1)
		if handler := s.handler.Load(); handler != nil {
			(*handler)(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Bellbuoy-Private", "for nobody outside")
		json.NewEncoder(w).Encode(echo{name, r.Method, r.RequestURI, r.Header, string(body), p})
	}))
	t.Cleanup(s.server.Close)
	return s
}

func (s *service) handle(handler http.HandlerFunc) { s.handler.Store(&handler) }

// named returns the keys of the gateway whose names match the pattern, in a cluster those of all nodes.
func (w *world) named(pattern string) (names []string) {
	cluster, is := w.redis.(*redis.ClusterClient)
	if !is {
		return w.redis.Keys(context.Background(), w.tag+pattern).Val()
	}
	var mu sync.Mutex
	err := cluster.ForEachMaster(context.Background(), func(ctx context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		names = append(names, node.Keys(ctx, w.tag+pattern).Val()...)
		return nil
	})
	if err != nil {
		panic(err)
	}
	return names
}

// keys behaves like identity: it looks up keys, and writes a Void entry before each change.
type keys struct {
	redis       redis.UniversalClient
	tag         string
	mu          sync.Mutex
	credentials map[string]peer.Credential
	lookups     atomic.Int64
	hold        atomic.Pointer[func()] // runs between reading a credential and the response
}

func (k *keys) serve(w http.ResponseWriter, r *http.Request) {
	var lookup peer.KeyLookup
	if err := json.NewDecoder(r.Body).Decode(&lookup); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	k.lookups.Add(1)
	k.mu.Lock()
	credential, found := k.credentials[peer.CredentialKey(lookup.Scheme, lookup.ID)]
	k.mu.Unlock()
	if hold := k.hold.Load(); hold != nil {
		(*hold)()
	}
	if !found {
		w.WriteHeader(http.StatusNotFound)
		json.NewEncoder(w).Encode(peer.Refusal{Kind: fault.NotFound, Message: "no such key"})
		return
	}
	json.NewEncoder(w).Encode(credential)
}

// member is a user with both kinds of keys.
type member struct {
	credential peer.Credential
	secret     string
}

func (m member) bearer() string { return "Bearer " + m.credential.KeyID + ":" + m.secret }
func (m member) apiKey() string { return "ApiKey " + m.credential.Username + ":" + m.secret }

// member adds a user who is alone in an organization. change changes the credential first.
func (k *keys) member(change func(*peer.Credential)) member {
	m := member{secret: seal.Random(), credential: peer.Credential{
		Organization: uuid.NewString(), User: uuid.NewString(), LegacyUser: 7, Username: "user-" + uuid.NewString(),
		Email: "user@example.com", KeyID: uuid.NewString(), Roles: []string{passport.RoleAdmin},
		Features: passport.Features{API: true, Integrations: true},
		Limits:   peer.Limits{LegacyPerHour: 1000, AppPerMinute: 600},
	}}
	m.credential.SecretDigest = seal.Digest(m.secret)
	if change != nil {
		change(&m.credential)
	}
	k.set(m.credential)
	return m
}

// session adds a user, like member, who has a session of the console instead of keys.
func (k *keys) session(change func(*peer.Credential)) member {
	return k.member(func(c *peer.Credential) {
		c.KeyID, c.Session = "", uuid.NewString()
		if change != nil {
			change(c)
		}
	})
}

func (k *keys) set(c peer.Credential) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c.Session != "" {
		k.credentials[peer.CredentialKey(peer.Session, c.Session)] = c
		return
	}
	k.credentials[peer.CredentialKey(peer.Bearer, c.KeyID)] = c
	k.credentials[peer.CredentialKey(peer.APIKey, c.Username)] = c
}

// change writes Void to both entries and then applies the change, as identity does.
func (k *keys) change(t testing.TB, m member, apply func()) {
	t.Helper()
	for _, key := range m.entries() {
		if err := k.redis.Set(t.Context(), k.tag+key, peer.Void, peer.VoidTTL).Err(); err != nil {
			t.Fatal(err)
		}
	}
	apply()
}

func (m member) entries() []string {
	if m.credential.Session != "" {
		return []string{peer.CredentialKey(peer.Session, m.credential.Session)}
	}
	return []string{peer.CredentialKey(peer.Bearer, m.credential.KeyID), peer.CredentialKey(peer.APIKey, m.credential.Username)}
}

func (k *keys) revoke(t testing.TB, m member) {
	t.Helper()
	k.change(t, m, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		for _, key := range m.entries() {
			delete(k.credentials, key)
		}
	})
}

// door is a running gateway.
type door struct {
	base string
	log  *apitest.Log
	keys *keys
	http *http.Client
}

// config returns the settings of a gateway in this world.
func (w *world) config(t testing.TB, log io.Writer) Config {
	t.Helper()
	var c Config
	c.Settings = boot.Settings{LogLevel: "info"}
	c.Redis.RedisURL = apitest.Patient(w.redisURL)
	c.Patience = time.Minute // see impatient
	c.Secret.Secret = testSecret
	c.DashboardCache = "64MiB"
	c.OperatorToken = operatorToken
	c.LegacyBaseURL, c.AppBaseURL, c.DashboardBaseURL = "https://status.example.com", "https://status.example.com", "https://status.example.com"
	c.ConsoleBaseURL = "https://" + consoleHost
	c.IdentityURL, c.EventsURL = w.services[identity].server.URL, w.services[events].server.URL
	c.SubscribersURL, c.IntegrationsURL = w.services[subscribers].server.URL, w.services[integrations].server.URL
	c.DeliveryURL, c.ConsoleURL = w.services[delivery].server.URL, w.services[console].server.URL
	closeTelemetry, err := c.Open(t.Context(), "gateway", prometheus.NewRegistry(), log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeTelemetry)
	if c.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	return c
}

// impatient sets the patience with the events service that a gateway has outside tests. Only tests in which the service
// hangs need it. In other tests, a slow machine would make a gateway serve former editions.
func impatient(c *Config) { c.Patience = dashboards.Patience }

// gateway runs a gateway until the test ends.
func (w *world) gateway(t testing.TB, change func(*Config)) *door {
	t.Helper()
	log := &apitest.Log{}
	c := w.config(t, log)
	if change != nil {
		change(&c)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, c) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	d := &door{base: "http://" + c.Listener.Addr().String(), log: log, keys: w.keys, http: w.client}
	eventually(t, "the gateway serves", func() bool { return d.get(t, "/api/v1/", nil).status == http.StatusOK })
	return d
}

// got is a response.
type got struct {
	status int
	header http.Header
	body   string
}

func (g got) echo(t testing.TB) echo {
	t.Helper()
	var out echo
	if err := json.Unmarshal([]byte(g.body), &out); err != nil || out.Service == "" {
		t.Fatalf("no echo of a service: %d %s", g.status, g.body)
	}
	return out
}

func (d *door) get(t testing.TB, path string, header map[string]string) got {
	t.Helper()
	return d.do(t, http.MethodGet, path, "", header)
}

// do sends a request to the gateway. The header Host sets the host.
func (d *door) do(t testing.TB, method, path, body string, header map[string]string) got {
	t.Helper()
	g, err := d.try(t.Context(), method, path, body, header)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (d *door) try(ctx context.Context, method, path, body string, header map[string]string) (got, error) {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(ctx, method, d.base+path, reader)
	if err != nil {
		return got{}, err
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	r.Host = header["Host"]
	answer, err := d.http.Do(r)
	if err != nil {
		return got{}, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return got{answer.StatusCode, answer.Header, string(text)}, err
}

// raw sends the bytes to the gateway and returns the bytes of the response.
func (d *door) raw(t testing.TB, request string) string {
	t.Helper()
	u, err := url.Parse(d.base)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, request)
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute) // long enough for a slow machine
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func wantStatus(t testing.TB, g got, status int) {
	t.Helper()
	if g.status != status {
		t.Fatalf("status %d, want %d; body %q", g.status, status, g.body)
	}
}

// wantEmpty403 checks the form of every refusal before the caller is known: status 403 without a body.
func wantEmpty403(t testing.TB, g got) {
	t.Helper()
	wantStatus(t, g, http.StatusForbidden)
	if g.body != "" || g.header.Get("Www-Authenticate") != "" || g.header.Get("Content-Type") != "" {
		t.Fatalf("403 with body %q, headers %v", g.body, g.header)
	}
}

// wantError checks the form and the message of an error that has a body.
func wantError(t testing.TB, g got, status int, message string) {
	t.Helper()
	wantStatus(t, g, status)
	var body struct{ Error string }
	if err := json.Unmarshal([]byte(g.body), &body); err != nil || body.Error != message {
		t.Fatalf("%d %s, want the error %q", g.status, g.body, message)
	}
	if g.header.Get("Content-Type") != "application/json" {
		t.Fatalf("Content-Type %q", g.header.Get("Content-Type"))
	}
}

// Error messages that several tests expect.
const (
	noPath        = "There is nothing at this path."
	noBoard       = "There is no dashboard at this address."
	noMethod      = "The path does not have this method."
	noService     = "A part of the platform cannot be reached. Try again shortly."
	noPage        = "The dashboard cannot be read at the moment. Try again shortly."
	noKeyCheck    = "Keys cannot be checked at the moment. Try again shortly."
	noOnceCheck   = "The Idempotency-Key cannot be checked at the moment. Try again shortly."
	onceOther     = "This Idempotency-Key was used for another request. Use another key."
	onceUnderWay  = "The first request with this Idempotency-Key is still under way. Try again shortly."
	onceUnknown   = "It is not known whether the first request with this Idempotency-Key was carried out. Check the record; to write again, use another key."
	onceOmitted   = "The first request with this Idempotency-Key was carried out, but its response was too large to be stored."
	onceLost      = "The response was lost: it is not known whether the request was carried out."
	maxBody       = 1 << 20 // limit of a request's body, in bytes
	bodyTooLarge  = "The body must be at most 1048576 bytes."
	noAPI         = "The plan of your organization does not include the API."
	keyTooLong    = "The header Idempotency-Key must be at most 255 characters."
	brokenOffBody = "The body is shorter than its Content-Length."
)
