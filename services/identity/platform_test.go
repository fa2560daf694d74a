package identity_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/engines"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/topic"

	"github.com/bellbuoy/bellbuoy/services/identity"
)

const secret = "a secret of the tests, long enough to be one"

// platform is the environment of the service under test: Redis, a server in place of the events service, and a clock that
// tests put forward. It starts and stops the identity service.
type platform struct {
	t       testing.TB
	records string       // the address of its database
	ahead   atomic.Int64 // nanoseconds by which the clock is ahead
	stopped atomic.Pointer[time.Time]
	events  *events
	redis   *engines.Redis
	broker  *engines.Broker
	client  *redis.Client
	signer  *passport.Signer
	process boot.Process
	url     string
	stop    func()
}

// start runs identity on records of its own. Without settings it has the defaults.
func start(t testing.TB, set func(*identity.Config)) *platform {
	t.Helper()
	p := &platform{t: t, records: apitest.Documents(t)}
	p.signer = passport.NewSigner(secret, p.now)
	p.events = startEvents(t, p.signer)
	p.startRedis("127.0.0.1:0")
	p.startKafka("127.0.0.1:0", t.TempDir())
	p.run(set)
	return p
}

func (p *platform) now() time.Time {
	now := p.stopped.Load()
	if now == nil {
		now = new(time.Now())
	}
	return now.UTC().Add(time.Duration(p.ahead.Load())).Truncate(time.Millisecond)
}

// stopClock keeps the time of the service as it is, apart from p.ahead.
func (p *platform) stopClock() { p.stopped.Store(new(time.Now())) }

func (p *platform) startRedis(addr string) {
	p.t.Helper()
	var err error
	if p.redis, err = engines.StartRedis(addr); err != nil {
		p.t.Fatal(err)
	}
	options, err := redis.ParseURL(apitest.Patient(p.redis.URL()))
	if err != nil {
		p.t.Fatal(err)
	}
	options.MaxRetries, options.DialerRetries = -1, 1
	client := redis.NewClient(options)
	running := p.redis
	p.client = client
	p.t.Cleanup(func() {
		client.Close()
		if p.redis == running {
			running.Close()
		}
	})
}

func (p *platform) startKafka(addr, folder string) {
	p.t.Helper()
	var err error
	if p.broker, err = engines.StartKafka(p.t.Context(), engines.Kafka{Addr: addr, Dir: folder}); err != nil {
		p.t.Fatal(err)
	}
	running := p.broker
	p.t.Cleanup(func() { running.Close() })
}

// stopRedis stops Redis and returns its address.
func (p *platform) stopRedis() (addr string) {
	addr = strings.TrimSuffix(strings.TrimPrefix(p.redis.URL(), "redis://"), "/0")
	p.redis.Close()
	p.redis = nil
	return addr
}

// run starts the service; p.stop or the test's end stops it.
func (p *platform) run(set func(*identity.Config)) {
	p.t.Helper()
	config := identity.Config{
		Documents:     boot.Documents{DocumentsURL: p.records},
		Kafka:         boot.Kafka{KafkaBrokers: []string{p.broker.Addr()}},
		Redis:         boot.Redis{RedisURL: "redis://127.0.0.1:1/0"},
		Secret:        boot.Secret{Secret: secret},
		Links:         boot.Links{ConsoleBaseURL: "http://console.example.com"},
		EventsService: boot.EventsService{EventsURL: p.events.server.URL}, Rates: boot.Rates{LegacyRatePerHour: 1000, AppRatePerMinute: 600},
	}
	if p.redis != nil {
		config.RedisURL = apitest.Patient(p.redis.URL())
	}
	config.Process = apitest.Process(p.t, "identity", "info", p.t.Output(), p.now)
	if set != nil {
		set(&config)
	}
	p.process = config.Process
	p.url, p.stop = apitest.Launch(p.t, config.Process, func(ctx context.Context) error { return identity.Run(ctx, config) })
}

// identity returns the client with which gateways call the service.
func (p *platform) identity() peer.Identity {
	return peer.Identity{Client: peer.NewClient("identity", p.url, peer.Options{
		Caller: "gateway", Signer: p.signer, Tracer: p.process.Tracer, Propagator: p.process.Propagator,
	})}
}

// answer is a response, with its JSON read into the fields that tests use.
type answer struct {
	status        int
	text          string
	Organization  struct{ ID string }
	User          struct{ ID string }
	KeyID         string `json:"keyId"`
	APIKey        string `json:"apiKey"`
	Key           string
	Organizations []struct{ ID, Name string }
	URL           string // link of an invitation
	Session       *struct{ Token, ID string }
	Browser       string
	header        http.Header
	NextToken     *string
}

// send sends a request with a passport, or without one for the zero passport.
func (p *platform) send(as passport.Passport, method, path, body string) answer {
	p.t.Helper()
	token := ""
	if as.Surface != "" {
		as.Audience = "identity"
		token = p.signer.Sign(as)
	}
	return p.sendToken(token, method, path, body)
}

func (p *platform) sendToken(token, method, path, body string) answer {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		request.Header.Set(passport.Header, token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	out := answer{status: response.StatusCode, text: string(text), header: response.Header}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &out); err != nil {
			p.t.Fatalf("%s %s answered %d with %q", method, path, out.status, text)
		}
	}
	return out
}

// operator sends a request of the operator, and fails the test if the response has another status.
func (p *platform) operator(status int, method, path, body string) answer {
	p.t.Helper()
	a := p.send(passport.Passport{Surface: passport.Operator}, method, "/operator/v1/"+path, body)
	if a.status != status {
		p.t.Fatalf("%s %s answered %d %s, want %d", method, path, a.status, a.text, status)
	}
	return a
}

// member is a user of a new organization with both kinds of keys.
type member struct {
	organization, id, username string
	keyID, secret, legacy      string
}

func (p *platform) member(username, roles string) member {
	p.t.Helper()
	m := member{username: username}
	m.organization = p.operator(201, "POST", "organizations", `{"name": "Acme"}`).Organization.ID
	m.id = p.operator(201, "POST", "organizations/"+m.organization+"/users",
		`{"username": "`+username+`", "email": "`+username+`@example.com", "roles": [`+roles+`]}`).User.ID
	key := p.operator(201, "POST", "users/"+m.id+"/api-keys", "")
	m.keyID = key.KeyID
	_, m.secret, _ = strings.Cut(key.APIKey, ":")
	m.legacy = p.operator(201, "POST", "users/"+m.id+"/legacy-key", "").Key
	return m
}

// app returns the passport that a gateway signs for the member on the App interface.
func (m member) app() passport.Passport {
	return passport.Passport{
		Surface: passport.App, Organization: m.organization, User: m.id, KeyID: m.keyID,
		Roles: []string{passport.RoleAdmin}, Features: passport.Features{API: true, Integrations: true},
	}
}

// events replaces the events service: it creates dashboards and stores plans, or refuses each call while down is true.
type events struct {
	server *httptest.Server
	down   atomic.Bool

	mu         sync.Mutex
	dashboards map[string]topic.DashboardRecord
	plans      map[string]peer.Plan // by organization
	// lastOrganization is the one a dashboard was last asked for.
	lastOrganization string
}

func startEvents(t testing.TB, signer *passport.Signer) *events {
	e := &events{dashboards: map[string]topic.DashboardRecord{}, plans: map[string]peer.Plan{}}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT "+peer.Prefix+"/organizations/{organization}/dashboards/{id}", func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		defer e.mu.Unlock()
		p, err := signer.Verify(r.Header.Get(passport.Header), "events")
		if err != nil || p.Surface != passport.Peer || p.Organization != r.PathValue("organization") {
			refuse(w, fault.Denied)
			return
		}
		e.lastOrganization = p.Organization
		if e.down.Load() {
			refuse(w, fault.Unavailable)
			return
		}
		var in peer.NewDashboard
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Name == "" {
			refuse(w, fault.Invalid)
			return
		}
		dashboard, made := e.dashboards[r.PathValue("id")]
		if !made {
			dashboard = topic.DashboardRecord{ID: r.PathValue("id"), Name: in.Name, Slug: "dashboard-" + r.PathValue("id")}
			e.dashboards[dashboard.ID] = dashboard
		}
		json.NewEncoder(w).Encode(dashboard)
	})
	mux.HandleFunc("PUT "+peer.Prefix+"/organizations/{organization}/plan", func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		defer e.mu.Unlock()
		p, err := signer.Verify(r.Header.Get(passport.Header), "events")
		var in peer.Plan
		switch {
		case err != nil || p.Surface != passport.Peer || p.Organization != r.PathValue("organization"):
			refuse(w, fault.Denied)
		case e.down.Load():
			refuse(w, fault.Unavailable)
		case json.NewDecoder(r.Body).Decode(&in) != nil:
			refuse(w, fault.Invalid)
		default:
			e.plans[p.Organization] = in
			json.NewEncoder(w).Encode(in)
		}
	})
	e.server = httptest.NewServer(mux)
	t.Cleanup(e.server.Close)
	return e
}

func refuse(w http.ResponseWriter, kind fault.Kind) {
	w.WriteHeader(kind.Status())
	json.NewEncoder(w).Encode(peer.Refusal{Kind: kind, Message: "refused by the test"})
}

// door replaces the gateway: it looks up keys at identity, caches the credentials in Redis as package peer requires, and
// signs passports. Scripts send their requests to it.
func (p *platform) door() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		as, err := p.authenticate(r)
		if err != nil {
			w.WriteHeader(fault.As(err).Kind.Status())
			return
		}
		as.Audience = "identity"
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		onward, err := http.NewRequestWithContext(r.Context(), r.Method, p.url+r.URL.RequestURI(), bytes.NewReader(body))
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		onward.Header = r.Header.Clone()
		onward.Header.Set(passport.Header, p.signer.Sign(as))
		response, err := http.DefaultTransport.RoundTrip(onward)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer response.Body.Close()
		for name, values := range response.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(response.StatusCode)
		io.Copy(w, response.Body)
	})
}

func (p *platform) authenticate(r *http.Request) (passport.Passport, error) {
	switch {
	case strings.HasPrefix(r.URL.Path, "/operator/"):
		return passport.Passport{Surface: passport.Operator}, nil
	case strings.HasPrefix(r.URL.Path, peer.Prefix):
		return passport.Passport{Surface: passport.Peer, Organization: r.Header.Get("Organization")}, nil
	}
	name, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	id, presented, _ := strings.Cut(rest, ":")
	scheme, surface, caller := peer.Bearer, passport.App, ""
	switch {
	case strings.HasPrefix(r.URL.Path, "/api/v1/"):
		scheme, surface = peer.APIKey, passport.Legacy
	case name == "Console": // the sign-in pages of the console, which has no such header
		return passport.Passport{Surface: passport.App, Caller: "console", IP: cmp.Or(r.Header.Get("X-Forwarded-For"), "192.0.2.1")}, nil
	case name == "Session":
		scheme, caller = peer.Session, "console"
	}
	if !strings.EqualFold(name, string(scheme)) {
		return passport.Passport{}, fault.New(fault.Denied, "another scheme")
	}
	credential, err := p.credential(r.Context(), scheme, id, presented)
	if fault.Is(err, fault.NotFound) || err == nil && credential.SecretDigest != digest(presented) {
		return passport.Passport{}, fault.New(fault.Denied, "no such key")
	}
	return passport.Passport{
		Surface: surface, Organization: credential.Organization, User: credential.User, LegacyUser: credential.LegacyUser,
		Username: credential.Username, Email: credential.Email, KeyID: credential.KeyID,
		Session: credential.Session, Caller: caller, Roles: credential.Roles, Features: credential.Features,
	}, err
}

// credential returns the credential of a key from Redis, or else from identity, as package peer requires.
func (p *platform) credential(ctx context.Context, scheme peer.Scheme, id, presented string) (peer.Credential, error) {
	var credential peer.Credential
	entry := peer.CredentialKey(scheme, id)
	cached, err := p.client.Get(ctx, entry).Result()
	if err == nil && cached != peer.Void {
		return credential, json.Unmarshal([]byte(cached), &credential)
	}
	credential, err = p.identity().Credential(ctx, peer.KeyLookup{Scheme: scheme, ID: id, SecretDigest: digest(presented)})
	if err != nil {
		return credential, err
	}
	text, err := json.Marshal(credential)
	if err != nil {
		return credential, err
	}
	err = p.client.SetArgs(ctx, entry, text, redis.SetArgs{Mode: "NX", TTL: peer.CredentialTTL}).Err()
	if errors.Is(err, redis.Nil) {
		err = nil // there was an entry, a void one perhaps
	}
	return credential, err
}

func digest(secret string) string { return seal.Digest(secret) }
