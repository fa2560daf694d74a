package subscribers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/engines"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/subscribers"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/store"
)

const secret = "a secret of the tests, long enough to be one"

// platform is the service with what surrounds it: a Kafka broker, the events service's
// end of the calls to it, and a clock that can be put forward.
type platform struct {
	t         testing.TB
	documents string
	ahead     atomic.Int64 // time that is added to the real one, in nanoseconds
	signer    *passport.Signer
	events    *events
	broker    *engines.Broker
	redis     *engines.Redis
	within    time.Duration // CONFIRM_WITHIN; 0: the default
	ips       atomic.Int64
	bus       *stream.Client // the events service's end of the topic
	logs      *apitest.Log
	process   boot.Process
	url       string
	stop      func()
}

// surround makes everything but the service.
func surround(t testing.TB) *platform {
	t.Helper()
	p := &platform{t: t, documents: apitest.Documents(t), logs: &apitest.Log{}}
	p.signer = passport.NewSigner(secret, p.now)
	p.events = startEvents(t, p.signer)
	p.process = apitest.Process(t, "subscribers", "info", p.logs, p.now)
	var err error
	if p.broker, err = engines.StartKafka(t.Context(), engines.Kafka{Addr: "127.0.0.1:0", Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.broker.Close() })
	if p.redis, err = engines.StartRedis("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.redis.Close() })
	p.bus = stream.Connect(stream.Options{Brokers: []string{p.broker.Addr()}, ClientID: "test"})
	t.Cleanup(func() { p.bus.Close() })
	return p
}

func start(t testing.TB) *platform {
	t.Helper()
	p := surround(t)
	p.run()
	return p
}

func (p *platform) now() time.Time {
	return time.Now().UTC().Add(time.Duration(p.ahead.Load())).Truncate(time.Millisecond)
}

// run starts the service on its records; stop, or the test's end, ends it.
func (p *platform) run() {
	p.t.Helper()
	config := configure(p.documents, p.broker.Addr(), p.events.server.URL)
	config.RedisURL = apitest.Patient(p.redis.URL())
	if p.within > 0 {
		config.ConfirmWithin = p.within
	}
	p.t.Cleanup(func() {
		if p.t.Failed() {
			p.t.Log(p.logs.String())
		}
	})
	config.Process = apitest.Process(p.t, "subscribers", "info", p.logs, p.now)
	p.process = config.Process
	p.url, p.stop = apitest.Launch(p.t, config.Process, func(ctx context.Context) error { return subscribers.Run(ctx, config) })
}

func configure(documents, broker, events string) subscribers.Config {
	config := subscribers.Config{
		Documents:     boot.Documents{DocumentsURL: documents},
		Kafka:         boot.Kafka{KafkaBrokers: []string{broker}},
		Secret:        boot.Secret{Secret: secret},
		Links:         boot.Links{LegacyBaseURL: "https://api.status.example.com", AppBaseURL: "https://status.example.com"},
		EventsService: boot.EventsService{EventsURL: events},
		Redis:         boot.Redis{RedisURL: "redis://127.0.0.1:1"}, Confirmation: boot.Confirmation{ConfirmWithin: 48 * time.Hour},
	}
	config.LogLevel = "info"
	return config
}

// organization is a tenant with three services of its own: API, Web (hidden) and Zürich.
type organization struct {
	id        string
	dashboard string // the first
	services  []topic.ComponentRecord
}

func (p *platform) organization() organization {
	o := organization{id: id()}
	o.services = p.events.add(o.id,
		topic.ComponentRecord{Name: "API", Description: "All of it", Group: "Core"},
		topic.ComponentRecord{Name: "Web", Group: "Core", Hidden: true},
		topic.ComponentRecord{Name: "Zürich", Group: "default", HiddenFromNotifications: true})
	o.dashboard = o.services[0].Dashboards[0]
	return o
}

func id() string { return uuid.Must(uuid.NewV7()).String() }

// member is the passport of a user of the organization on the legacy interface.
func (o organization) member(role string) passport.Passport {
	return passport.Passport{
		Audience: "subscribers", Surface: passport.Legacy, Organization: o.id, User: id(), Roles: []string{role},
		Features: passport.Features{API: true},
	}
}

// app is the passport of a user of the organization on the App interface.
func (o organization) app(role string) passport.Passport {
	p := o.member(role)
	p.Surface = passport.App
	return p
}

// peer is the passport of a service that calls about the organization.
func (o organization) peer() passport.Passport {
	return passport.Passport{Audience: "subscribers", Surface: passport.Peer, Organization: o.id, Caller: "delivery"}
}

type answer struct {
	status      int
	text        string
	ResourceURI string `json:"resource_uri"`
	Meta        struct {
		TotalCount int `json:"total_count"`
	}
	Objects []answer
	Service *answer
}

type object map[string]any

// try sends a request with a passport token; an empty one means none.
func (p *platform) try(token, method, target string, body any) (answer, error) {
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return answer{}, err
		}
		in = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(p.t.Context(), method, p.url+target, in)
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set(passport.Header, token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	out := answer{status: response.StatusCode, text: string(text)}
	if err == nil && strings.HasPrefix(out.text, "{") {
		err = json.Unmarshal(text, &out)
	}
	return out, err
}

func (p *platform) send(token, method, target string, body any) answer {
	p.t.Helper()
	out, err := p.try(token, method, target, body)
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

// call is a request of an admin of the organization that must answer with the status.
func (p *platform) call(o organization, status int, method, target string, body any) answer {
	p.t.Helper()
	out := p.send(p.signer.Sign(o.member(passport.RoleAdmin)), method, target, body)
	if out.status != status {
		p.t.Fatalf("%s %s answered %d %s, want %d", method, target, out.status, out.text, status)
	}
	return out
}

// subscribe makes a confirmed subscription of the address to the organization's services.
func (p *platform) subscribe(o organization, email string, services ...int) (uris []string) {
	p.t.Helper()
	for _, n := range services {
		uris = append(uris, p.call(o, http.StatusCreated, http.MethodPost, "/api/v1/subscribers/email/", object{
			"email": object{"email": email}, "service": o.uri(n), "confirmed": true,
		}).ResourceURI)
	}
	return uris
}

// total is how many the list has.
func (p *platform) total(o organization, list string) int {
	p.t.Helper()
	out := p.call(o, http.StatusOK, http.MethodGet, list, nil)
	if len(out.Objects) != min(out.Meta.TotalCount, 20) {
		p.t.Fatalf("%s counts %d and shows %d", list, out.Meta.TotalCount, len(out.Objects))
	}
	return out.Meta.TotalCount
}

// awaitTotal waits until the list has n. While it waits, a record can vanish between the two queries of a list.
func (p *platform) awaitTotal(o organization, list string, n int) {
	p.t.Helper()
	apitest.Eventually(p.t, list+" has "+strconv.Itoa(n), func() bool { return p.call(o, http.StatusOK, http.MethodGet, list, nil).Meta.TotalCount == n })
	p.total(o, list)
}

// recipients is delivery's end of the calls to the service.
func (p *platform) recipients() peer.Recipients {
	return peer.Recipients{Client: peer.NewClient("subscribers", p.url, peer.Options{
		Caller: "delivery", Signer: p.signer, Tracer: p.process.Tracer, Propagator: p.process.Propagator,
	})}
}

// concerned lists the ids of the recipients by mail of an incident on the services.
func (p *platform) concerned(o organization, limit int, services ...string) []string {
	p.t.Helper()
	concern := topic.RecipientQuery{Kind: topic.IncidentCreated, Channel: topic.Email, Components: services, Limit: limit}
	var ids []string
	for {
		page, err := p.recipients().Concerned(p.t.Context(), o.id, concern)
		if err != nil {
			p.t.Fatal(err)
		}
		if len(page.Recipients) > limit {
			p.t.Fatalf("a page of %d has %d", limit, len(page.Recipients))
		}
		for _, recipient := range page.Recipients {
			ids = append(ids, recipient.ID)
		}
		if page.Next == "" {
			return ids
		}
		concern.After = page.Next
	}
}

func (p *platform) resolve(o organization, ids ...string) []topic.Destination {
	p.t.Helper()
	found, err := p.recipients().Resolve(p.t.Context(), o.id, topic.ResolveQuery{IDs: ids})
	if err != nil {
		p.t.Fatal(err)
	}
	return found
}

// publish does what the events service's outbox does.
func (p *platform) publish(values ...any) {
	p.t.Helper()
	records := make([]stream.Record, len(values))
	for i, v := range values {
		records[i] = stream.Record{Topic: topic.ComponentChanges, Key: "one"} // one partition: in order
		if text, ok := v.(string); ok {
			records[i].Value = []byte(text)
			continue
		}
		value, err := json.Marshal(v)
		if err != nil {
			p.t.Fatal(err)
		}
		records[i].Value = value
	}
	if err := p.bus.Publish(p.t.Context(), records...); err != nil {
		p.t.Fatal(err)
	}
}

// direct returns the domain on the records of the service, without the service. observe gets the operations of the store.
func (p *platform) direct(observe func(string)) *audience.Audience {
	p.t.Helper()
	db, err := document.Open(p.documents, "subscribers", document.Options{Observe: observe})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { db.Close() })
	var people *audience.Audience
	people = &audience.Audience{
		Store: store.New(db, func() store.Follower { return people }), Now: p.now, Log: p.process.Log, Links: audience.NewLinks(seal.Key(secret, "subscriber-link"), "https://status.example.com"),
		Events: peer.NewRecentDashboards(peer.Events{Client: peer.NewClient("events", p.events.server.URL, peer.Options{
			Caller: "subscribers", Signer: p.signer, Tracer: p.process.Tracer, Propagator: p.process.Propagator,
		})}, time.Second, p.now),
	}
	if err := db.Migrate(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	return people
}
