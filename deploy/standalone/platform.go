package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bellbuoy/bellbuoy/gateway"
	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/engines"
	"github.com/bellbuoy/bellbuoy/services/delivery"
	"github.com/bellbuoy/bellbuoy/services/events"
	"github.com/bellbuoy/bellbuoy/services/identity"
	"github.com/bellbuoy/bellbuoy/services/integrations"
	"github.com/bellbuoy/bellbuoy/services/subscribers"
)

// platform is what run has opened for the services to share.
type platform struct {
	settings settings
	links    boot.Links
	registry *prometheus.Registry
	closers  []func()

	documents boot.Documents
	kafka     boot.Kafka
	redis     boot.Redis
	secret    boot.Secret
	listeners map[string]net.Listener
}

// names of the services and the gateway, in the order they start; they stop the other way round.
var names = []string{"identity", "events", "subscribers", "integrations", "delivery", "gateway"}

// run is the platform from the data folder to the stop.
func run(ctx context.Context, s settings) error {
	seed, err := readSeed(s.Seed)
	if err != nil {
		return err
	}
	folder, err := openFolder(s.Data)
	if err != nil {
		return err
	}
	defer folder.close()
	p := &platform{settings: s, registry: prometheus.NewRegistry(), documents: s.documents(), listeners: map[string]net.Listener{}}
	defer p.close()
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
	parts, err := p.parts(ctx)
	if err != nil {
		return err
	}
	internal, err := net.Listen("tcp", s.InternalAddr)
	if err != nil {
		return fmt.Errorf("cannot listen on BELLBUOY_INTERNAL_ADDR: %w", err)
	}
	return boot.Together(ctx,
		func(ctx context.Context) error { return boot.ServeInternal(ctx, internal, p.registry) },
		func(ctx context.Context) error { return runParts(ctx, parts) },
		func(ctx context.Context) error { return p.welcome(ctx, folder, seed) },
	)
}

// listen opens the public address and one on loopback for each service.
func (p *platform) listen() error {
	for _, name := range names {
		address := "127.0.0.1:0"
		if name == "gateway" {
			address = p.settings.Addr
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return fmt.Errorf("cannot listen on BELLBUOY_ADDR: %w", err)
		}
		p.listeners[name] = listener
	}
	p.links = p.settings.links(p.listeners["gateway"].Addr().String())
	return nil
}

// startEngines starts the engines that the settings do not name.
func (p *platform) startEngines(ctx context.Context, folder *folder) error {
	p.kafka, p.redis = boot.Kafka{KafkaBrokers: p.settings.KafkaBrokers}, boot.Redis{RedisURL: p.settings.RedisURL}
	if len(p.kafka.KafkaBrokers) == 0 {
		broker, err := engines.StartKafka(ctx, engines.Kafka{Addr: "127.0.0.1:0", Dir: folder.file("kafka")})
		if err != nil {
			return fmt.Errorf("the embedded Kafka broker cannot start: %w", err)
		}
		p.closers = append(p.closers, closer("kafka", broker.Close))
		p.kafka.KafkaBrokers = []string{broker.Addr()}
	}
	if p.redis.RedisURL == "" {
		server, err := engines.StartRedis("127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("the embedded Redis cannot start: %w", err)
		}
		p.closers = append(p.closers, closer("redis", server.Close))
		p.redis.RedisURL = server.URL()
	}
	return nil
}

// parts makes a part of each service, configured as its own binary would be.
func (p *platform) parts(ctx context.Context) ([]part, error) {
	processes := map[string]boot.Process{}
	for _, name := range names {
		process := boot.Process{Settings: p.settings.Settings, Listener: p.listeners[name]}
		closeTelemetry, err := process.Open(ctx, name, p.registry, os.Stderr)
		if err != nil {
			return nil, err
		}
		p.closers = append(p.closers, closeTelemetry)
		processes[name] = process
	}
	s := p.settings
	runs := map[string]func(context.Context) error{
		"identity": func(ctx context.Context) error {
			return identity.Run(ctx, identity.Config{
				Process: processes["identity"], Documents: p.documents, Redis: p.redis, Secret: p.secret,
				Rates: s.Rates, EventsURL: p.url("events"),
			})
		},
		"events": func(ctx context.Context) error {
			return events.Run(ctx, events.Config{
				Process: processes["events"], Documents: p.documents, Kafka: p.kafka, Secret: p.secret, Links: p.links,
				SubscribersURL: p.url("subscribers"), IntegrationsURL: p.url("integrations"),
			})
		},
		"subscribers": func(ctx context.Context) error {
			return subscribers.Run(ctx, subscribers.Config{
				Process: processes["subscribers"], Documents: p.documents, Kafka: p.kafka, Secret: p.secret, Links: p.links,
				EventsURL: p.url("events"),
			})
		},
		"integrations": func(ctx context.Context) error {
			return integrations.Run(ctx, integrations.Config{
				Process: processes["integrations"], Documents: p.documents, Kafka: p.kafka, Secret: p.secret,
				Receivers: s.Receivers, Suppression: s.Suppression, Providers: s.Providers,
				EventsURL: p.url("events"), IdentityURL: p.url("identity"),
			})
		},
		"delivery": func(ctx context.Context) error {
			return delivery.Run(ctx, delivery.Config{
				Process: processes["delivery"], Documents: p.documents, Kafka: p.kafka, Secret: p.secret,
				IntegrationsURL: p.url("integrations"), SubscribersURL: p.url("subscribers"),
				Receivers: s.Receivers, Sending: s.Sending, Mail: s.Mail, Texts: s.Texts, Data: s.Data,
			})
		},
		"gateway": func(ctx context.Context) error {
			return gateway.Run(ctx, gateway.Config{
				Process: processes["gateway"], Redis: p.redis, Secret: p.secret, Links: p.links,
				Upstreams: gateway.Upstreams{
					IdentityURL: p.url("identity"), EventsURL: p.url("events"),
					SubscribersURL: p.url("subscribers"), IntegrationsURL: p.url("integrations"),
				},
				OperatorToken: s.OperatorToken,
			})
		},
	}
	parts := make([]part, len(names))
	for i, name := range names {
		parts[i] = part{name, runs[name]}
	}
	return parts, nil
}

// ready waits for each part's own word: the gateway's says nothing of delivery.
func (p *platform) ready(ctx context.Context, client *http.Client) error {
	for _, name := range names {
		part := &sower{dial: p.listeners[name].Addr().String(), client: client}
		if err := part.ready(ctx); err != nil {
			return err
		}
	}
	return nil
}

// welcome waits until every part is ready, makes the first start's organization
// and says where things are.
func (p *platform) welcome(ctx context.Context, folder *folder, seed *seed) error {
	s := &sower{
		base: p.links.LegacyBaseURL, dashboards: p.links.DashboardBaseURL, dial: p.listeners["gateway"].Addr().String(),
		operatorToken: p.settings.OperatorToken, client: &http.Client{Timeout: 10 * time.Second},
	}
	if err := p.ready(ctx, s.client); err != nil {
		return stopped(ctx, err)
	}
	made, err := folder.firstStart(ctx, seed, s)
	if err != nil {
		return stopped(ctx, err)
	}
	fmt.Printf("Bellbuoy is ready.\n  legacy interface   %s/api/v1/\n  App interface      %s/app/\n  dashboards         %s/d/{slug}\n  files              %s\n",
		p.links.LegacyBaseURL, p.links.AppBaseURL, p.links.DashboardBaseURL, folder.path)
	if made == nil {
		return nil
	}
	content, err := json.MarshalIndent(made, "", "  ")
	if err != nil {
		return err
	}
	fmt.Printf("The first start made an organization; %s has what you need to use it:\n%s\n", folder.file(credentialsFile), content)
	return nil
}

func (p *platform) url(name string) string { return "http://" + p.listeners[name].Addr().String() }

// close ends what run opened, the last first.
func (p *platform) close() {
	for i := len(p.closers) - 1; i >= 0; i-- {
		p.closers[i]()
	}
	for _, listener := range p.listeners {
		listener.Close() // most are closed by their service
	}
}

func closer(name string, closing func() error) func() {
	return func() {
		if err := closing(); err != nil {
			fmt.Fprintf(os.Stderr, "bellbuoy: %s: %v\n", name, err)
		}
	}
}

// stopped makes nothing of an error that is only the stop.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil
	}
	return err
}
