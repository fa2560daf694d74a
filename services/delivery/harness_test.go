package delivery_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/egress"
	"github.com/bellbuoy/bellbuoy/libs/engines"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/store"
)

const (
	platformSecret = "a secret of the platform, for tests only"
	signingSecret  = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	organization   = "0190a000-0000-7000-8000-000000000001"
	dashboardID    = "0190a000-0000-7000-8000-00000000000d"
	componentID    = "0190a000-0000-7000-8000-0000000000c1"
	hiddenID       = "0190a000-0000-7000-8000-0000000000c2" // a component that messages must not name
	patience       = time.Minute
)

var program = apitest.Program{Package: "./cmd/delivery"}

func TestMain(m *testing.M) {
	apitest.BeRawLoop()
	names.Install()
	os.Exit(program.Run(m))
}

// world is the environment of the service: a broker, a folder for its database, the integrations service, and
// receivers.
type world struct {
	t           testing.TB
	dir         string
	documents   string // the address of the service's database
	broker      *engines.Broker
	kafka       *stream.Client
	authorities *authority
	caFile      string
	resolve     []string
	peer        *integrations
	incidents   *events
	outcomes    *outcomes
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), documents: apitest.Documents(t), authorities: newAuthority(t)}
	var err error
	w.broker, err = engines.StartKafka(t.Context(), engines.Kafka{Addr: "127.0.0.1:0", Dir: filepath.Join(w.dir, "kafka")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.broker.Close() })
	w.kafka = stream.Connect(stream.Options{Brokers: []string{w.broker.Addr()}, ClientID: "test"})
	t.Cleanup(func() { w.kafka.Close() })
	err = w.kafka.EnsureTopics(t.Context(),
		stream.Topic{Name: topic.EventChanges, Partitions: 12},
		stream.Topic{Name: topic.Notices, Partitions: 12},
		stream.Topic{Name: topic.Deliveries, Partitions: topic.Buckets},
		stream.Topic{Name: topic.DeliveryOutcomes, Partitions: 12})
	if err != nil {
		t.Fatal(err)
	}
	w.caFile = filepath.Join(w.dir, "ca.pem")
	if err := os.WriteFile(w.caFile, w.authorities.pem, 0o600); err != nil {
		t.Fatal(err)
	}
	w.peer = newPeer(t, "integrations")
	w.incidents = newEvents(t)
	w.outcomes = newOutcomes(t, w.kafka)
	return w
}

// config returns the service's settings.
func (w *world) config(schedule ...time.Duration) delivery.Config {
	var c delivery.Config
	c.LogLevel = "error"
	c.DocumentsURL = w.documents
	c.KafkaBrokers = []string{w.broker.Addr()}
	c.Secret.Secret = platformSecret
	c.EventsURL = w.incidents.server.URL
	c.IntegrationsURL, c.SubscribersURL = w.peer.server.URL, w.peer.server.URL
	c.CAFile = w.caFile
	c.RetrySchedule = schedule
	if len(schedule) == 0 {
		c.RetrySchedule = []time.Duration{50 * time.Millisecond, 100 * time.Millisecond}
	}
	c.Timeout, c.StateTimeout = 10*time.Second, patience // for a busy machine
	var resolve egress.Resolve
	if err := resolve.UnmarshalText([]byte(strings.Join(w.resolve, ","))); err != nil {
		w.t.Fatal(err)
	}
	c.Resolve = resolve
	return c
}

// service is a running delivery service.
type service struct {
	url  string
	stop func()
	logs *apitest.Log
}

// start runs the service until the test ends, or stop is called.
func (w *world) start(c delivery.Config) *service {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	s := &service{logs: &apitest.Log{}}
	closeTelemetry, err := c.Open(ctx, "delivery", prometheus.NewRegistry(), s.logs)
	if err != nil {
		w.t.Fatal(err)
	}
	if c.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		w.t.Fatal(err)
	}
	s.url = "http://" + c.Listener.Addr().String()
	ended := make(chan error, 1)
	go func() { ended <- delivery.Run(ctx, c) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				w.t.Errorf("the service ended with %v", err)
			}
		case <-time.After(patience):
			w.t.Error("the service does not stop")
		}
		closeTelemetry()
	})
	w.t.Cleanup(s.stop)
	apitest.Eventually(w.t, "the service to be ready", func() bool {
		response, err := http.Get(s.url + "/readyz")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	return s
}

// child is the service as a separate process.
type child struct{ command *exec.Cmd }

func (w *world) child(extra ...string) *child {
	w.t.Helper()
	c := &child{command: program.Command(w.t)}
	c.command.Stderr = os.Stderr
	c.command.Env = append(os.Environ(), append([]string{
		"BELLBUOY_ADDR=127.0.0.1:0", "BELLBUOY_INTERNAL_ADDR=127.0.0.1:0", "BELLBUOY_LOG_LEVEL=warn",
		"DOCUMENTS_URL=" + w.documents, "KAFKA_BROKERS=" + w.broker.Addr(),
		"BELLBUOY_SECRET=" + platformSecret, "INTEGRATIONS_URL=" + w.peer.server.URL, "EVENTS_URL=" + w.incidents.server.URL, "DELIVERY_CA_FILE=" + w.caFile,
		"DELIVERY_RESOLVE=" + strings.Join(w.resolve, ","), "DELIVERY_RETRY_SCHEDULE=100ms,200ms", "DELIVERY_TIMEOUT=10s",
	}, extra...)...)
	if err := c.command.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.kill)
	return c
}

func (c *child) kill() {
	if c.command.ProcessState == nil {
		_ = c.command.Process.Kill()
		_ = c.command.Wait()
	}
}

// known makes the events service know the event of a change.
func (w *world) known(change topic.EventChange) {
	state := topic.EventState{Published: true}
	for _, component := range change.Event.Components {
		state.Components = append(state.Components, component.ID)
	}
	w.incidents.set(change.Organization, change.Event.ID, state)
}

// publish publishes a change like the events service, or a notice like integrations.
func (w *world) publish(message topic.Message, headers map[string]string) {
	w.t.Helper()
	if change, is := message.(topic.EventChange); is {
		w.known(change)
	}
	value, err := json.Marshal(message)
	if err != nil {
		w.t.Fatal(err)
	}
	err = w.kafka.Publish(w.t.Context(), stream.Record{Topic: message.Topic(), Key: message.Key(), Value: value, Headers: headers})
	if err != nil {
		w.t.Fatal(err)
	}
}

// change returns a change of an incident for webhooks.
func change(event string, sequence int64) topic.EventChange {
	now := time.Now().UTC().Truncate(time.Millisecond)
	return topic.EventChange{
		ID: uuid.Must(uuid.NewV7()).String(), Kind: topic.IncidentCreated, Organization: organization, OccurredAt: now, Sequence: sequence,
		Event: topic.Event{
			ID: event, LegacyID: 7, Type: "incident", Title: "Logins fail", Status: "investigating", StartAt: now,
			Components: []topic.Component{{ID: componentID, Name: "API", Group: "Core", Impact: "major_outage", Dashboards: []string{dashboardID}}},
		},
		Entry:  &topic.Entry{StatusID: "0190a000-0000-7000-8000-0000000000e1", Status: "investigating", Timestamp: now, Text: "We <look> into it.", HTML: "<p>We &lt;look&gt; into it.</p>"},
		Notify: topic.Notify{topic.Webhook: {}},
	}
}

func newEvent() string { return uuid.Must(uuid.NewV7()).String() }

// archive reads the service's database: rows, and the members of blocks as rows.
type archive struct {
	t     testing.TB
	store *store.Store
	db    *document.Database
	all   *document.Collection[deliverylog.Block]
}

// archive opens the service's database until the caller closes it.
func (w *world) archive() *archive {
	w.t.Helper()
	open := func() *document.Database {
		db, err := document.Open(w.documents, "delivery", document.Options{})
		if err != nil {
			w.t.Fatal(err)
		}
		return db
	}
	a := &archive{t: w.t, db: open()}
	a.store = store.New(a.db)
	plain := open()
	a.all = document.Declare(plain, document.Schema[deliverylog.Block]{Name: "blocks", Shard: document.Whole("a test"), Key: func(b *deliverylog.Block) string { return b.ID }})
	w.t.Cleanup(func() { plain.Close() })
	return a
}

func (a *archive) close() { a.db.Close() }

// rows returns the deliveries with the ids that are stored, in the order of the ids.
func (a *archive) rows(ids ...string) []deliverylog.Delivery {
	a.t.Helper()
	found, err := a.store.Deliveries(a.t.Context(), ids)
	if err != nil {
		a.t.Fatal(err)
	}
	byID := make(map[string]deliverylog.Delivery, len(ids))
	if len(found) < len(ids) {
		blocks, err := a.all.Find(a.t.Context(), find.Query{})
		if err != nil {
			a.t.Fatal(err)
		}
		for i := range blocks.Items {
			members, err := blocks.Items[i].Select(deliverylog.Filter{})
			if err != nil {
				a.t.Fatal(err)
			}
			for _, member := range members {
				byID[member.ID] = member
			}
		}
	}
	for _, row := range found {
		byID[row.ID] = row
	}
	rows := make([]deliverylog.Delivery, 0, len(ids))
	for _, id := range ids {
		if row, stored := byID[id]; stored {
			rows = append(rows, row)
		}
	}
	return rows
}

// rows reads deliveries from the service's database.
func (w *world) rows(ids ...string) []deliverylog.Delivery {
	w.t.Helper()
	a := w.archive()
	defer a.close()
	return a.rows(ids...)
}

// ended waits until the deliveries of a change to the recipients have ended, and returns their rows.
func (w *world) ended(change string, recipients ...string) []deliverylog.Delivery {
	w.t.Helper()
	ids := deliveries(change, recipients)
	a := w.archive()
	defer a.close()
	rows := make([]deliverylog.Delivery, 0, len(ids))
	const some = 1000 // at a time, so that waiting uses little processor time
	apitest.Eventually(w.t, "the deliveries to end", func() bool {
		for len(rows) < len(ids) {
			asked := ids[len(rows):min(len(rows)+some, len(ids))]
			found := a.rows(asked...)
			for i, row := range found {
				if row.ID != asked[i] || row.EndedAt == nil {
					return false
				}
				rows = append(rows, row)
			}
			if len(found) < len(asked) {
				return false
			}
		}
		return true
	})
	return rows
}

// integrations is the integrations service, or the subscribers service.
type integrations struct {
	server *httptest.Server

	mu        sync.Mutex
	endpoints map[string][]*topic.Destination // by organization
	byID      map[string]*topic.Destination
	managed   map[string]topic.Destination        // where mail about an endpoint goes
	explained map[string]topic.ExplainedRecipient // by organization and address, with one verdict for all changes
	byChannel bool                                // pages have only recipients on the channel of the query
	down      bool
	refusals  atomic.Int64
	asked     int // times recipients were resolved
	resolved  func(ids []string)
	page      int                     // the maximum number of recipients on a page; 0: no maximum
	listed    func(after string) bool // false refuses a page
}

func newPeer(t testing.TB, service string) *integrations {
	i := &integrations{endpoints: map[string][]*topic.Destination{}, byID: map[string]*topic.Destination{}, managed: map[string]topic.Destination{}, explained: map[string]topic.ExplainedRecipient{}}
	signer := passport.NewSigner(platformSecret, time.Now)
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+peer.Prefix+"/organizations/{organization}/recipients/concerned", i.concerned)
	mux.HandleFunc("POST "+peer.Prefix+"/organizations/{organization}/recipients/resolve", i.resolve)
	mux.HandleFunc("POST "+peer.Prefix+"/organizations/{organization}/recipients/count", i.count)
	mux.HandleFunc("POST "+peer.Prefix+"/organizations/{organization}/recipients/explain", i.explain)
	i.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := signer.Verify(r.Header.Get(passport.Header), service)
		i.mu.Lock()
		down := i.down
		i.mu.Unlock()
		switch {
		case err != nil || p.Surface != passport.Peer || p.Caller != "delivery" || !strings.Contains(r.URL.Path, p.Organization):
			w.WriteHeader(http.StatusForbidden)
		case down:
			i.refusals.Add(1)
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			mux.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(i.server.Close)
	return i
}

// add adds an endpoint with the id and the URL.
func (i *integrations) add(id, url string) *topic.Destination { return i.addFor(organization, id, url) }

// addFor adds an endpoint of another organization.
func (i *integrations) addFor(owner, id, url string) *topic.Destination {
	i.mu.Lock()
	defer i.mu.Unlock()
	d := &topic.Destination{
		ID: id, Channel: topic.Webhook, State: topic.RecipientActive, Dashboard: topic.Dashboard{ID: dashboardID, Name: "Status", URL: "https://status.test/d/main"},
		Components: []string{componentID}, URL: url, URLHash: fmt.Sprintf("%064x", len(i.byID)), URLDisplay: "hooks.test/…", Secrets: []string{signingSecret},
	}
	i.endpoints[owner] = append(i.endpoints[owner], d)
	i.byID[id] = d
	return d
}

// set changes an endpoint.
func (i *integrations) set(id string, change func(*topic.Destination)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	changed := *i.byID[id]
	change(&changed)
	*i.byID[id] = changed
}

// questions returns how many times recipients were resolved.
func (i *integrations) questions() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked
}

func (i *integrations) refused() int64 { return i.refusals.Load() }

func (i *integrations) setDown(down bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.down = down
}

func (i *integrations) concerned(w http.ResponseWriter, r *http.Request) {
	var concern topic.RecipientQuery
	if err := json.NewDecoder(r.Body).Decode(&concern); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.listed != nil && !i.listed(concern.After) {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	from := 0
	fmt.Sscan(concern.After, &from)
	page := topic.RecipientPage{}
	if i.page > 0 {
		concern.Limit = min(concern.Limit, i.page)
	}
	owned := slices.DeleteFunc(slices.Clone(i.endpoints[r.PathValue("organization")]), func(d *topic.Destination) bool {
		return i.byChannel && d.Channel != concern.Channel
	})
	to := min(from+concern.Limit, len(owned))
	for _, d := range owned[from:to] {
		page.Recipients = append(page.Recipients, topic.Recipient{ID: d.ID, Destination: cmp.Or(d.Paced, d.URLHash)})
	}
	if to < len(owned) {
		page.Next = fmt.Sprint(to)
	}
	_ = json.NewEncoder(w).Encode(page)
}

// explain returns the recipient with the address. An endpoint with the URL is a recipient of every change.
func (i *integrations) explain(w http.ResponseWriter, r *http.Request) {
	var query topic.ExplainQuery
	if err := json.NewDecoder(r.Body).Decode(&query); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	out := topic.Explanation{}
	owner := r.PathValue("organization")
	if one, is := i.explained[owner+" "+query.Address]; is {
		one.Verdicts = slices.Repeat(one.Verdicts, len(query.Changes))
		out.Recipients = append(out.Recipients, one)
	}
	for _, d := range i.endpoints[owner] {
		if query.URLHash == d.URLHash && d.State != topic.RecipientGone {
			out.Recipients = append(out.Recipients, topic.ExplainedRecipient{
				Recipient: topic.Recipient{ID: d.ID, Destination: cmp.Or(d.Paced, d.URLHash)}, DashboardID: d.Dashboard.ID,
				Verdicts: make([]topic.Verdict, len(query.Changes)),
			})
		}
	}
	_ = json.NewEncoder(w).Encode(out)
}

// count counts the recipients on the channel of the query.
func (i *integrations) count(w http.ResponseWriter, r *http.Request) {
	var query topic.RecipientQuery
	if err := json.NewDecoder(r.Body).Decode(&query); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	var count topic.RecipientCount
	for _, d := range i.endpoints[r.PathValue("organization")] {
		if d.Channel == query.Channel {
			count.Recipients++
		}
	}
	_ = json.NewEncoder(w).Encode(count)
}

func (i *integrations) resolve(w http.ResponseWriter, r *http.Request) {
	var query topic.ResolveQuery
	if err := json.NewDecoder(r.Body).Decode(&query); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	ids := query.IDs
	i.mu.Lock()
	i.asked++
	resolved := i.resolved
	i.mu.Unlock()
	if resolved != nil {
		resolved(ids)
	}
	i.mu.Lock()
	out := make([]topic.Destination, len(ids))
	for n, id := range ids {
		out[n] = topic.Destination{ID: id, State: topic.RecipientGone}
		if d := i.byID[id]; d != nil && (query.Channel != topic.Email || d.Channel == topic.Email) {
			out[n] = *d
		}
		if d, found := i.managed[id]; found && query.Channel == topic.Email {
			out[n] = d
		}
	}
	i.mu.Unlock()
	w.Header().Set("Content-Type", topic.PackedDestinations)
	_, _ = w.Write(topic.Pack(out))
}

// events is the events service.
type events struct {
	server *httptest.Server
	known  sync.Map // topic.EventState by organization and event
}

func newEvents(t testing.TB) *events {
	e := &events{}
	signer := passport.NewSigner(platformSecret, time.Now)
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+peer.Prefix+"/organizations/{organization}/events/{id}", func(w http.ResponseWriter, r *http.Request) {
		p, err := signer.Verify(r.Header.Get(passport.Header), "events")
		state, known := e.known.Load([2]string{p.Organization, r.PathValue("id")})
		switch {
		case err != nil || p.Surface != passport.Peer || p.Organization != r.PathValue("organization"):
			w.WriteHeader(http.StatusForbidden)
		case known:
			_ = json.NewEncoder(w).Encode(state)
		default:
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(peer.Refusal{Kind: fault.NotFound, Message: "There is no such event."})
		}
	})
	mux.HandleFunc("POST "+peer.Prefix+"/organizations/{organization}/components/lookup", func(w http.ResponseWriter, r *http.Request) {
		var query peer.ComponentQuery
		_ = json.NewDecoder(r.Body).Decode(&query)
		found := []topic.ComponentRecord{}
		for _, id := range query.IDs {
			if id == componentID || id == hiddenID {
				found = append(found, topic.ComponentRecord{ID: id, Dashboards: []string{dashboardID}, HiddenFromNotifications: id == hiddenID})
			}
		}
		_ = json.NewEncoder(w).Encode(found)
	})
	mux.HandleFunc("POST "+peer.Prefix+"/organizations/{organization}/dashboards/lookup", func(w http.ResponseWriter, r *http.Request) {
		var ids []string
		_ = json.NewDecoder(r.Body).Decode(&ids)
		found := []topic.DashboardRecord{}
		if slices.Contains(ids, dashboardID) {
			found = append(found, topic.DashboardRecord{ID: dashboardID})
		}
		_ = json.NewEncoder(w).Encode(found)
	})
	e.server = httptest.NewServer(mux)
	t.Cleanup(e.server.Close)
	return e
}

// set sets what messages may show of an event.
func (e *events) set(owner, event string, state topic.EventState) {
	e.known.Store([2]string{owner, event}, state)
}

func (e *events) remove(owner, event string) { e.known.Delete([2]string{owner, event}) }

// authority signs certificates of receivers.
type authority struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
	pem         []byte
}

func newAuthority(t testing.TB) *authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{key, certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})}
}

func (a *authority) issue(t testing.TB, hosts ...string) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: hosts, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}

// arrival is one request to a receiver.
type arrival struct {
	at     time.Time
	path   string
	query  string
	header http.Header
	body   []byte
}

func (a arrival) id() string { return a.header.Get("Webhook-Id") }

// receiver is a TLS server for one host.
type receiver struct {
	host string

	mu       sync.Mutex
	arrivals []arrival
	answer   http.HandlerFunc
}

// receiver starts a receiver. A nil answer means 204.
func (w *world) receiver(host string, answer http.HandlerFunc) *receiver {
	w.t.Helper()
	r := &receiver{host: host, answer: answer}
	server := httptest.NewUnstartedServer(r)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{w.authorities.issue(w.t, host)}}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	w.t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	w.resolve = append(w.resolve, host+":443="+server.Listener.Addr().String())
	return r
}

// hanging serves a host that accepts connections and sends nothing until the returned function is called.
func (w *world) hanging(host string) (cut func()) {
	w.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { listener.Close() })
	w.resolve = append(w.resolve, host+":443="+listener.Addr().String())
	return func() { listener.Close() }
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	r.mu.Lock()
	r.arrivals = append(r.arrivals, arrival{time.Now(), request.URL.Path, request.URL.RawQuery, request.Header.Clone(), body})
	answer := r.answer
	r.mu.Unlock()
	if answer == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	answer(w, request)
}

func (r *receiver) got() []arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]arrival(nil), r.arrivals...)
}

func (r *receiver) answers(answer http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// status returns a handler that always responds with the status.
func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// inTurn serves the n-th request with the n-th handler, and all later ones with the last.
func inTurn(handlers ...http.HandlerFunc) http.HandlerFunc {
	var mu sync.Mutex
	n := 0
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		handler := handlers[min(n, len(handlers)-1)]
		n++
		mu.Unlock()
		handler(w, r)
	}
}

// outcomes holds the published outcomes, one for each delivery, until stop is called.
type outcomes struct {
	stop  func()
	mu    sync.Mutex
	byID  map[string]topic.Outcome
	times map[string]int
}

func newOutcomes(t testing.TB, kafka *stream.Client) *outcomes {
	o := &outcomes{byID: map[string]topic.Outcome{}, times: map[string]int{}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = kafka.ConsumeBatches(ctx, stream.Subscription{Group: "test-outcomes", Topics: []string{topic.DeliveryOutcomes}},
			func(_ context.Context, batch []stream.Record) error {
				o.mu.Lock()
				defer o.mu.Unlock()
				var read []topic.Outcome
				for _, record := range batch {
					var outcome topic.Outcome
					if err := json.Unmarshal(record.Value, &outcome); err != nil {
						return err
					}
					read = append(read, outcome)
				}
				for _, outcome := range topic.Each(read) {
					if known, again := o.byID[outcome.DeliveryID]; again && !reflect.DeepEqual(known, outcome) {
						t.Errorf("delivery %s has two outcomes: %+v and %+v", outcome.DeliveryID, known, outcome)
					}
					o.byID[outcome.DeliveryID] = outcome
					o.times[outcome.DeliveryID]++
				}
				return nil
			})
	}()
	o.stop = func() {
		cancel()
		<-ended
	}
	t.Cleanup(o.stop)
	return o
}

// of waits for the outcome of a delivery.
func (o *outcomes) of(t testing.TB, id string) topic.Outcome {
	t.Helper()
	var found topic.Outcome
	apitest.Eventually(t, "the outcome of "+id, func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		var ok bool
		found, ok = o.byID[id]
		return ok
	})
	return found
}
