package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/datafolder"
	"github.com/bellbuoy/bellbuoy/gateway"
	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/engines"
	"github.com/bellbuoy/bellbuoy/libs/failurelog"
	"github.com/bellbuoy/bellbuoy/services/console"
	"github.com/bellbuoy/bellbuoy/services/delivery"
	"github.com/bellbuoy/bellbuoy/services/events"
	"github.com/bellbuoy/bellbuoy/services/identity"
	"github.com/bellbuoy/bellbuoy/services/integrations"
	"github.com/bellbuoy/bellbuoy/services/subscribers"
)

// platform contains the settings, connections and listeners of the services.
type platform struct {
	settings settings
	links    boot.Links
	registry *prometheus.Registry
	internal *http.ServeMux // pages of the internal address
	closers  []func() error
	seeded   atomic.Bool // true if no first start is pending
	log      *slog.Logger
	disk     *disk
	// lastBackup is nil if DOCUMENTS_URL names the database.
	lastBackup func() (*time.Time, error)

	documents boot.Documents
	kafka     boot.Kafka
	redis     boot.Redis
	secret    boot.Secret
	listeners map[string]net.Listener
}

// names lists the services and the gateway in the order of their start. They stop in the reverse order.
var names = []string{"identity", "events", "subscribers", "integrations", "delivery", "console", "gateway"}

func run(ctx context.Context, s settings) error {
	folder, err := openFolder(s.Data)
	if err != nil {
		return err
	}
	defer folder.close()
	seed, err := folder.pendingSeed(s.Seed)
	if err != nil {
		return err
	}
	if s.FirstStartAt != "" {
		return startElsewhere(ctx, s, folder, seed)
	}
	p := &platform{settings: s, registry: prometheus.NewRegistry(), listeners: map[string]net.Listener{}}
	if p.log, err = s.Logger("engines", os.Stderr); err != nil {
		return err
	}
	p.disk = &disk{folders: []string{folder.path}, outages: failurelog.New(p.log)}
	if documents, is := strings.CutPrefix(s.DocumentsURL, "sqlite:"); is {
		p.disk.folders = append(p.disk.folders, strings.TrimPrefix(documents, "//"))
	}
	p.documents.DocumentsURL = cmp.Or(s.DocumentsURL, "sqlite:"+folder.file("documents"))
	if s.DocumentsURL == "" {
		p.lastBackup = func() (*time.Time, error) { return datafolder.LastBackup(folder.path) }
	}
	defer p.close()
	p.seeded.Store(seed == nil)
	if p.secret.Secret, err = folder.sealSecret(s.Secret); err != nil {
		return err
	}
	if p.settings.OperatorToken, err = folder.secret(s.OperatorToken, "operator-token"); err != nil {
		return err
	}
	if err := p.listen(); err != nil {
		return err
	}
	if err := p.startEngines(ctx, folder); err != nil {
		return err
	}
	p.internal = boot.InternalPages(p.registry)
	internal, err := boot.Listen("BELLBUOY_INTERNAL_ADDR", s.InternalAddr)
	if err != nil {
		return err
	}
	return boot.Together(ctx,
		func(ctx context.Context) error { return boot.ServeHTTP(ctx, internal, p.internal) },
		func(ctx context.Context) error { return runParts(ctx, p.parts()) },
		func(ctx context.Context) error {
			if err := p.welcome(ctx, folder, seed); ctx.Err() == nil {
				return err
			}
			return nil // ctx has ended
		},
	)
}

// listen opens the public address, and a loopback address for each service.
func (p *platform) listen() error {
	for _, name := range names {
		address := "127.0.0.1:0"
		if name == "gateway" {
			address = p.settings.Addr
		}
		listener, err := boot.Listen("BELLBUOY_ADDR", address)
		if err != nil {
			return err
		}
		p.listeners[name] = listener
	}
	p.links = p.settings.links(p.listeners["gateway"].Addr().String())
	return nil
}

// startEngines starts the embedded Kafka broker and the embedded Redis, except for an engine that the settings name.
func (p *platform) startEngines(ctx context.Context, folder *folder) error {
	p.kafka, p.redis = boot.Kafka{KafkaBrokers: p.settings.KafkaBrokers}, boot.Redis{RedisURL: p.settings.RedisURL}
	if len(p.kafka.KafkaBrokers) == 0 {
		broker, err := engines.StartKafka(ctx, engines.Kafka{Addr: "127.0.0.1:0", Dir: folder.file("kafka"), Log: p.log})
		if err != nil {
			return fmt.Errorf("the embedded Kafka broker cannot start: %w", err)
		}
		p.closers = append(p.closers, broker.Close)
		p.kafka.KafkaBrokers = []string{broker.Addr()}
	}
	if p.redis.RedisURL == "" {
		server, err := engines.KeepRedis(p.log, "127.0.0.1:0", folder.file("redis"), "rate:", "quota:", "idempotency:")
		if err != nil {
			return fmt.Errorf("the embedded Redis cannot start: %w", err)
		}
		p.closers = append(p.closers, server.Close)
		p.redis.RedisURL = server.URL()
	}
	return nil
}

type part struct {
	name string
	run  func(ctx context.Context) error
}

// runParts runs the parts until ctx ends or a part returns. It then stops them one at a time in reverse order. So the
// gateway stops first, and the running requests that it has forwarded can finish.
func runParts(ctx context.Context, parts []part) error {
	group, stop := errgroup.WithContext(ctx)
	var stops []func()
	for _, part := range parts {
		partContext, cancel := context.WithCancel(context.WithoutCancel(ctx))
		done := make(chan struct{})
		group.Go(func() error {
			defer close(done)
			err := part.run(partContext)
			if err == nil && partContext.Err() == nil {
				return fmt.Errorf("%s stopped without a signal", part.name)
			}
			return err
		})
		stops = append(stops, func() { cancel(); <-done })
	}
	<-stop.Done()
	for _, stop := range slices.Backward(stops) {
		stop()
	}
	return group.Wait()
}

// parts returns one part for each service and one for the gateway, in the order of names. Each part has the settings that
// its separate binary would have.
func (p *platform) parts() []part {
	s, others := p.settings, p.upstreams()
	return []part{
		bind(p, "identity", identity.Run, identity.Config{
			Documents: p.documents, Kafka: p.kafka, Redis: p.redis, Secret: p.secret, Links: p.links,
			Rates: s.Rates, SignOn: s.SignOn, EventsService: others.EventsService,
		}),
		bind(p, "events", events.Run, events.Config{
			Documents: p.documents, Kafka: p.kafka, Secret: p.secret, Links: p.links, Redis: p.redis, Domains: s.Domains,
			IdentityService: others.IdentityService, SubscribersService: others.SubscribersService, IntegrationsService: others.IntegrationsService,
		}),
		bind(p, "subscribers", subscribers.Run, subscribers.Config{
			Documents: p.documents, Kafka: p.kafka, Secret: p.secret, Links: p.links, Redis: p.redis, Confirmation: s.Confirmation,
			EventsService: others.EventsService,
		}),
		bind(p, "integrations", integrations.Run, integrations.Config{
			Documents: p.documents, Kafka: p.kafka, Secret: p.secret, Links: p.links,
			Receivers: s.Receivers, Suppression: s.Suppression, Providers: s.Providers, Redis: p.redis, Confirmation: s.Confirmation,
			EventsService: others.EventsService, IdentityService: others.IdentityService,
		}),
		bind(p, "delivery", delivery.Run, delivery.Config{
			Documents: p.documents, Kafka: p.kafka, Secret: p.secret,
			EventsService: others.EventsService, IntegrationsService: others.IntegrationsService, SubscribersService: others.SubscribersService, IdentityService: others.IdentityService,
			Receivers: s.Receivers, Sending: s.Sending, Mail: s.Mail, Texts: s.Texts, Data: s.Data,
			Templates: s.Templates, Confirmation: s.Confirmation,
		}),
		bind(p, "console", console.Run, console.Config{Secret: p.secret, Links: p.links, Upstreams: others}),
		bind(p, "gateway", gateway.Run, gateway.Config{
			Process: boot.Process{Ready: map[string]func(context.Context) error{"disk": p.disk.check, "first start": func(context.Context) error {
				if p.seeded.Load() {
					return nil
				}
				return errors.New("The first start has not written credentials.json yet.")
			}}},
			Redis: p.redis, Secret: p.secret, Links: p.links, Proxies: s.Proxies, Cache: s.Cache, RedisInProcess: s.RedisURL == "",
			Upstreams: others, ConsoleURL: p.url("console"),
			OperatorToken: s.OperatorToken,
		}),
	}
}

func (p *platform) upstreams() boot.Upstreams {
	return boot.Upstreams{
		IdentityService:     boot.IdentityService{IdentityURL: p.url("identity")},
		EventsService:       boot.EventsService{EventsURL: p.url("events")},
		SubscribersService:  boot.SubscribersService{SubscribersURL: p.url("subscribers")},
		IntegrationsService: boot.IntegrationsService{IntegrationsURL: p.url("integrations")},
		DeliveryService:     boot.DeliveryService{DeliveryURL: p.url("delivery")},
	}
}

// bind returns the part with this name. The part opens the Process in config and calls run.
func bind[C any, P interface {
	*C
	boot.Config
}](p *platform, name string, run func(context.Context, C) error, config C) part {
	return part{name, func(ctx context.Context) error {
		process := P(&config).Host()
		process.Settings, process.Listener, process.Internal, process.LastBackup = p.settings.Settings, p.listeners[name], p.internal, p.lastBackup
		closeTelemetry, err := process.Open(ctx, name, p.registry, os.Stderr)
		if err != nil {
			return err
		}
		defer closeTelemetry()
		return run(ctx, config)
	}}
}

func (p *platform) seeder(name string) *seeder {
	s := newSeeder(p.links, p.listeners[name].Addr().String(), p.settings.OperatorToken)
	if p.settings.RedisURL == "" {
		s.start = rand.Text()
	}
	return s
}

// patienceElsewhere bounds the time for which startElsewhere waits until the platform is ready.
const patienceElsewhere = time.Minute

// startElsewhere does the first start of a platform that runs in other processes. s.FirstStartAt is the address of its
// gateway, host:port. If the first start was done before, but the platform has no organization, all data were deleted since.
// startElsewhere then does the first start again.
func startElsewhere(ctx context.Context, s settings, folder *folder, pending *seed) error {
	links := s.links(s.FirstStartAt)
	gateway := newSeeder(links, s.FirstStartAt, s.OperatorToken)
	waiting, cancel := context.WithTimeout(ctx, patienceElsewhere)
	defer cancel()
	if err := gateway.ready(waiting); err != nil {
		return fmt.Errorf("FIRST_START_AT: the platform at %s is not ready: %w", s.FirstStartAt, err)
	}
	organization, _, err := folder.seeded()
	if err != nil {
		return err
	}
	var remarks string
	if organization != "" {
		exists, empty, err := gateway.knows(ctx, organization)
		if err != nil {
			return fmt.Errorf("FIRST_START_AT: %w", err)
		}
		switch {
		case exists:
			remarks, err = folder.unused(s.Seed, "`docker compose down -v` deletes all data; the next start then creates it.")
		case empty:
			pending, err = readSeed(s.Seed)
		default:
			remarks = credentialsFile + " is of another installation: this one has other organizations. Create keys with the commands user and key.\n"
		}
		if err != nil {
			return err
		}
	}
	return welcome{folder: folder, seed: pending, gateway: gateway, links: links, remarks: remarks, seeded: func() {}}.run(ctx)
}

// welcome waits until all services are ready and then calls run of the type welcome. It asks each service itself, because the
// gateway reports ready also while delivery or console is not ready.
func (p *platform) welcome(ctx context.Context, folder *folder, seed *seed) error {
	for _, name := range names[:len(names)-1] {
		if err := p.seeder(name).ready(ctx); err != nil {
			return err
		}
	}
	remarks, err := folder.unused(p.settings.Seed, "BELLBUOY_DATA names another data folder.")
	if err != nil {
		return err
	}
	return welcome{
		folder: folder, seed: seed, gateway: p.seeder("gateway"), links: p.links, remarks: remarks,
		files: fmt.Sprintf("  files              %s\n", folder.path), seeded: func() { p.seeded.Store(true) },
	}.run(ctx)
}

// welcome is the last step of a start. It begins when the services are ready.
type welcome struct {
	folder  *folder
	seed    *seed // nil if no first start is pending
	gateway *seeder
	links   boot.Links
	files   string // line that names the data folder, if the user can read the folder
	remarks string // lines about a BELLBUOY_SEED or a credentials.json that does not belong to the platform
	seeded  func() // called when no first start is pending any more
}

// run waits for the gateway and prints the addresses. If a first start is pending, run first does it, unless mayStart forbids
// it, and then calls seeded.
func (w welcome) run(ctx context.Context) error {
	var credentials string
	if w.seed != nil {
		if may, err := w.folder.mayStart(ctx, w.seed, w.gateway); err != nil {
			return err
		} else if !may {
			w.remarks += noEffect(w.seed.Setting, "This one has organizations. Create keys with the commands user and key.")
			w.seed = nil
			w.seeded()
		}
	}
	if w.seed != nil {
		made, console, err := w.folder.firstStart(ctx, w.seed, w.gateway)
		if err != nil {
			return err
		}
		w.seeded()
		if w.seed.Showcase != nil {
			credentials = fmt.Sprintf("  sample dashboard   %s/d/%s/\n", w.links.DashboardBaseURL, w.seed.Showcase.Slug)
		}
		credentials += fmt.Sprintf("  console            %s\n", console)
		place := "These are"
		if w.files != "" {
			place = w.folder.file(credentialsFile) + " has"
		}
		credentials += fmt.Sprintf("The first start created an organization. %s the credentials:\n%s", place, made)
	}
	if err := w.gateway.ready(ctx); err != nil {
		return err
	}
	fmt.Printf("Bellbuoy is ready.\n  legacy interface   %s/api/v1/\n  App interface      %s/app/\n  dashboards         %s/d/{slug}\n%s%s%s",
		w.links.LegacyBaseURL, w.links.AppBaseURL, w.links.DashboardBaseURL, w.files, credentials, w.remarks)
	return nil
}

func (p *platform) url(name string) string { return "http://" + p.listeners[name].Addr().String() }

func (p *platform) close() {
	for _, closing := range slices.Backward(p.closers) {
		if err := closing(); err != nil {
			fmt.Fprintf(os.Stderr, "bellbuoy: %v\n", err)
		}
	}
	for _, listener := range p.listeners {
		listener.Close() // the services that ran have closed their listener already
	}
}
