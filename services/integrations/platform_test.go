package integrations_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/engines"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/integrations"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
)

const (
	secret = "a secret of the tests, long enough to be one"
	path   = "/app/integrations/webhooks/outbound/endpoints"

	suppressionPath = "/app/integrations/webhooks/outbound/suppression"
)

// platform is the service with what surrounds it: a Kafka broker, the ends of the
// calls it makes to events and identity, and a clock that can be put forward.
type platform struct {
	t         testing.TB
	documents string
	ahead     atomic.Int64 // time that is added to the real one, in nanoseconds
	signer    *passport.Signer
	upstream  *upstream
	broker    *engines.Broker
	redis     *engines.Redis
	bus       *stream.Client // delivery's and events' end of the topics
	logs      *apitest.Log
	ips       atomic.Int64 // the addresses that visitors have
	process   boot.Process
	url       string
	stop      func() // ends the service
	limits    boot.Suppression
	opening   sync.Once
	opened    endpoint.Store // after opening; see records
}

func start(t testing.TB, set func(*integrations.Config)) *platform {
	t.Helper()
	p := &platform{t: t, documents: apitest.Documents(t), logs: &apitest.Log{}}
	p.signer = passport.NewSigner(secret, p.now)
	p.upstream = startUpstream(t, p.signer)
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
	p.run(set)
	return p
}

func (p *platform) now() time.Time {
	return time.Now().UTC().Add(time.Duration(p.ahead.Load())).Truncate(time.Millisecond)
}

// run starts the service; stop or the test's end stops it.
func (p *platform) run(set func(*integrations.Config)) {
	p.t.Helper()
	config := integrations.Config{
		Documents: boot.Documents{DocumentsURL: p.documents},
		Kafka:     boot.Kafka{KafkaBrokers: []string{p.broker.Addr()}},
		Secret:    boot.Secret{Secret: secret},
		Redis:     boot.Redis{RedisURL: apitest.Patient(p.redis.URL())}, Confirmation: boot.Confirmation{ConfirmWithin: 48 * time.Hour},
		Links:         boot.Links{AppBaseURL: "https://status.example.com"},
		EventsService: boot.EventsService{EventsURL: p.upstream.server.URL}, IdentityService: boot.IdentityService{IdentityURL: p.upstream.server.URL}, Suppression: boot.Suppression{AlertAfter: 5, SuppressAfter: 10},
		Providers: boot.Providers{
			TeamsWorkflowHosts: []string{"*.logic.azure.com"}, TeamsPlatformHosts: []string{"*.environment.api.powerplatform.com"},
			TeamsConnectorHosts: []string{"*.webhook.office.com", "outlook.office.com"},
			GChatHosts:          []string{"chat.googleapis.com"},
			SlackHosts:          []string{"hooks.slack.com"}, DiscordHosts: []string{"discord.com", "*.discord.com", "discordapp.com"},
		},
	}
	p.t.Cleanup(func() {
		if p.t.Failed() {
			for line := range strings.Lines(p.logs.String()) {
				if !strings.Contains(line, `"level":"DEBUG"`) {
					p.t.Log(line)
				}
			}
		}
	})
	config.Process = apitest.Process(p.t, "integrations", "debug", p.logs, p.now)
	if set != nil {
		set(&config)
	}
	p.process, p.limits = config.Process, config.Suppression
	p.url, p.stop = apitest.Launch(p.t, config.Process, func(ctx context.Context) error { return integrations.Run(ctx, config) })
}

// organization is a tenant with two dashboards of components of its own.
type organization struct {
	id                  string
	dashboard, second   string
	one, two, elsewhere string // components: two of the first dashboard, one of the second
	hidden              string // a component of the first dashboard that visitors do not see, if the dashboard has an offer
}

func (p *platform) organization(limit int) organization {
	o := organization{id: id(), dashboard: id(), second: id(), one: id(), two: id(), elsewhere: id(), hidden: id()}
	p.upstream.put(o.id, limit,
		topic.DashboardRecord{ID: o.dashboard, Name: "Main", Slug: o.dashboard, URL: "http://d.test/d/main", Timezone: "Europe/Berlin", Locale: "de", Components: []topic.ComponentRecord{{ID: o.one}, {ID: o.two}}},
		topic.DashboardRecord{ID: o.second, Name: "Second", Slug: o.second, URL: "http://d.test/d/second", Components: []topic.ComponentRecord{{ID: o.elsewhere}, {ID: o.one}}})
	return o
}

func id() string { return uuid.Must(uuid.NewV7()).String() }

// member is the passport of a user of the organization on the App interface.
func (o organization) member(role string) passport.Passport {
	return passport.Passport{
		Audience: "integrations", Surface: passport.App, Organization: o.id, User: id(), Roles: []string{role},
		Features: passport.Features{API: true, Integrations: true},
	}
}

// record is an endpoint as answers show it, with the fields that tests use.
type record struct {
	LegacyID            int64    `json:"legacyId"`
	URLHash             string   `json:"urlHash"`
	URLDisplay          string   `json:"urlDisplay"`
	ManagementEmail     string   `json:"managementEmail"`
	Verified            bool     `json:"verified"`
	URL                 string   `json:"url"`
	Secret              string   `json:"secret"`
	Suppressed          bool     `json:"suppressed"`
	Paused              bool     `json:"paused"`
	Locked              bool     `json:"locked"`
	ComponentIDs        []string `json:"componentIds"`
	ConsecutiveFailures int      `json:"consecutiveFailures"`
	LastSuccessAt       *string  `json:"lastSuccessAt"`
	DashboardName       string   `json:"dashboardName"`
	Format              string   `json:"format"`
	MinIntervalMs       *int     `json:"minIntervalMs"`
}

type answer struct {
	status    int
	text      string
	Endpoint  record
	Endpoints []record
	NextToken *string
	Usage     struct{ UniqueEndpoints, Limit int }
	Error     string
}

// send sends a request with a passport token; an empty one means none.
func (p *platform) send(token, method, target string, body any) answer {
	p.t.Helper()
	out, err := p.try(token, method, target, body)
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

func (p *platform) try(token, method, target string, body any) (answer, error) {
	return p.tryAt(p.url, token, method, target, body)
}

// tryAt sends a request to one of several processes.
func (p *platform) tryAt(url, token, method, target string, body any) (answer, error) {
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return answer{}, err
		}
		in = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(p.t.Context(), method, url+target, in)
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
	if err == nil && len(text) > 0 && strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") && text[0] == '{' {
		err = json.Unmarshal(text, &out)
	}
	return out, err
}

type object map[string]any

// call is a request of an admin of the organization that must answer with the status.
func (p *platform) call(o organization, status int, method, target string, body any) answer {
	p.t.Helper()
	out := p.send(p.signer.Sign(o.member(passport.RoleAdmin)), method, target, body)
	if out.status != status {
		p.t.Fatalf("%s %s answered %d %s, want %d", method, target, out.status, out.text, status)
	}
	return out
}

// create registers a URL on the organization's first dashboard.
func (p *platform) create(o organization, url string, more object) record {
	p.t.Helper()
	body := object{"dashboardId": o.dashboard, "url": url, "managementEmail": "ops@example.com", "componentIds": []string{o.one}}
	for name, value := range more {
		body[name] = value
	}
	return p.call(o, http.StatusCreated, http.MethodPost, path, body).Endpoint
}

// shown is the endpoint as the list shows it.
func (p *platform) shown(o organization, urlHash string) record {
	p.t.Helper()
	list := p.call(o, http.StatusOK, http.MethodGet, path+"?dashboardId="+o.dashboard+"&urlHash="+urlHash, nil)
	if len(list.Endpoints) != 1 {
		p.t.Fatalf("%d endpoints have the hash: %s", len(list.Endpoints), list.text)
	}
	return list.Endpoints[0]
}

// recipients is delivery's end of the calls to the service.
func (p *platform) recipients() peer.Recipients {
	return peer.Recipients{Client: peer.NewClient("integrations", p.url, peer.Options{
		Caller: "delivery", Signer: p.signer, Tracer: p.process.Tracer, Propagator: p.process.Propagator,
	})}
}

// concerned lists the ids of the recipients of an incident on the components.
func (p *platform) concerned(o organization, change func(*topic.RecipientQuery), components ...string) []string {
	p.t.Helper()
	concern := topic.RecipientQuery{Kind: topic.IncidentCreated, Channel: topic.Webhook, Components: components, Limit: 5000}
	if change != nil {
		change(&concern)
	}
	var ids []string
	for {
		page, err := p.recipients().Concerned(p.t.Context(), o.id, concern)
		if err != nil {
			p.t.Fatal(err)
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
	return p.resolveFor(o, topic.IncidentCreated, topic.Webhook, ids...)
}

func (p *platform) resolveFor(o organization, kind topic.Kind, channel topic.Channel, ids ...string) []topic.Destination {
	p.t.Helper()
	found, err := p.recipients().Resolve(p.t.Context(), o.id, topic.ResolveQuery{Kind: kind, Channel: channel, IDs: ids})
	if err != nil {
		p.t.Fatal(err)
	}
	return found
}

// only is the id of the one endpoint that an incident on the component concerns.
func (p *platform) only(o organization, component string) string {
	p.t.Helper()
	ids := p.concerned(o, nil, component)
	if len(ids) != 1 {
		p.t.Fatalf("%d are concerned, not one", len(ids))
	}
	return ids[0]
}

type message interface {
	Topic() string
	Key() string
}

// publish does what delivery's and events' outboxes do.
func (p *platform) publish(messages ...message) {
	p.t.Helper()
	var records []stream.Record
	for _, m := range messages {
		value, err := json.Marshal(m)
		if err != nil {
			p.t.Fatal(err)
		}
		records = append(records, stream.Record{Topic: m.Topic(), Key: m.Key(), Value: value})
	}
	if err := p.bus.Publish(p.t.Context(), records...); err != nil {
		p.t.Fatal(err)
	}
}

// outcome is how a new delivery to where the recipient lives now ended.
func (p *platform) outcome(o organization, recipient string, result topic.Result) topic.Outcome {
	out := topic.Outcome{
		DeliveryID: id(), Organization: o.id, Channel: topic.Webhook, Recipient: recipient, EventID: id(),
		URLHash: p.resolve(o, recipient)[0].URLHash,
		Result:  result, Attempts: 1, HTTPStatus: 204, At: p.now(),
	}
	if result == topic.Failed {
		out.HTTPStatus, out.ErrorCode, out.Attempts = 500, "http_5xx", 7
	}
	return out
}
