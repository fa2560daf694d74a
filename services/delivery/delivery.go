// Package delivery is the service that tells people: it takes the changes of events,
// finds out who wants to hear of them (integrations, subscribers), sends to each of
// them, again where that may help, and keeps the log of it. It tells the owners of the
// recipients how each delivery ended. Several processes share the work by partition.
package delivery

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/outward"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/api"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/bus"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/channel"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/directory"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/gauge"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/store"
)

const (
	name       = "delivery"
	maxTimeout = 14 * time.Second // a stop waits 15 s for what is in flight
)

// Config are the service's settings.
type Config struct {
	boot.Process   `embed:""`
	boot.Documents `embed:""`
	boot.Kafka     `embed:""`
	boot.Secret    `embed:""`

	IntegrationsURL string          `name:"integrations-url" env:"INTEGRATIONS_URL" default:"http://integrations:8080" help:"Where the integrations service answers."`
	SubscribersURL  string          `name:"subscribers-url" env:"SUBSCRIBERS_URL" default:"http://subscribers:8080" help:"Where the subscribers service answers."`
	Resolve         outward.Resolve `name:"delivery-resolve" env:"DELIVERY_RESOLVE" placeholder:"HOST:443=HOST:PORT,..." help:"Receivers dialled elsewhere than their name says, exempt from the guard against private addresses."`
	CAFile          string          `name:"delivery-ca-file" env:"DELIVERY_CA_FILE" help:"Certificate authorities trusted beside the system's, a PEM file."`
	RetrySchedule   []time.Duration `name:"delivery-retry-schedule" env:"DELIVERY_RETRY_SCHEDULE" default:"5s,30s,2m,10m,30m,60m" help:"Waits between the attempts of a delivery, separated by commas."`
	Timeout         time.Duration   `name:"delivery-timeout" env:"DELIVERY_TIMEOUT" default:"10s" help:"Time of one attempt, at most 14s."`
}

// Validate is called by the settings' parser.
func (c Config) Validate() error {
	_, authorities := roots(c.CAFile)
	schedule := dispatch.Policy(c.RetrySchedule).Validate()
	if schedule != nil {
		schedule = fmt.Errorf("DELIVERY_RETRY_SCHEDULE: %w", schedule)
	}
	var timeout error
	if c.Timeout <= 0 || c.Timeout > maxTimeout {
		timeout = fmt.Errorf("DELIVERY_TIMEOUT must be longer than 0 and at most %s", maxTimeout)
	}
	return errors.Join(authorities, schedule, timeout,
		boot.OptionalURL("INTEGRATIONS_URL", c.IntegrationsURL, "http", "https"),
		boot.OptionalURL("SUBSCRIBERS_URL", c.SubscribersURL, "http", "https"))
}

// Run is the service until ctx ends.
func Run(ctx context.Context, c Config) error {
	authorities, err := roots(c.CAFile)
	if err != nil {
		return err
	}
	db, err := document.Open(c.DocumentsURL, name, document.Options{Log: c.Log, Tracer: c.Tracer, Propagator: c.Propagator})
	if err != nil {
		return err
	}
	defer db.Close()
	kafka := stream.Connect(stream.Options{
		Brokers: c.KafkaBrokers, ClientID: name, Log: c.Log, Tracer: c.Tracer, Propagator: c.Propagator, Registerer: c.Metrics,
	})
	defer kafka.Close()
	desk := passport.NewDesk(c.Secret.Secret, c.Now)
	calls := peer.Options{Caller: name, Desk: desk, Tracer: c.Tracer, Propagator: c.Propagator}
	messages := bus.New(kafka, c.Log)
	parts := dispatch.Parts{
		Store: store.New(db), Bus: messages, Policy: c.RetrySchedule, Timeout: c.Timeout, Now: c.Now, Log: c.Log,
		Routes: routes(
			channel.Table(channel.Options{Timeout: c.Timeout, Resolve: c.Resolve, Roots: authorities, Tracer: c.Tracer, Propagator: c.Propagator}),
			directory.New(peer.NewClient("integrations", c.IntegrationsURL, calls)),
			directory.New(peer.NewClient("subscribers", c.SubscribersURL, calls))),
		Traces: gauge.Traces{Propagator: c.Propagator}, Observer: gauge.New(c.Metrics),
	}
	planner, sender := dispatch.NewPlanner(parts), dispatch.NewSender(parts)
	return c.Serve(ctx, boot.Service{
		Handler: api.New(web.Options{Service: name, Desk: desk, Log: c.Log, Tracer: c.Tracer, Propagator: c.Propagator, Metrics: c.Metrics}),
		Start:   []func(context.Context) error{db.Migrate, messages.EnsureTopics},
		Ready:   map[string]func(context.Context) error{"documents": db.Ping, "kafka": kafka.Ping},
		Background: []func(context.Context) error{
			sender.Run,
			func(ctx context.Context) error { return messages.Send(ctx, sender) },
			func(ctx context.Context) error { return messages.Plan(ctx, planner) },
			func(ctx context.Context) error {
				return db.Relay(ctx, func(ctx context.Context, records []stream.Record) error { return kafka.Publish(ctx, records...) })
			},
			func(ctx context.Context) error { return dispatch.Retain(ctx, parts) },
		},
	})
}

// routes puts each channel together with the service that knows its recipients:
// integrations knows endpoints, subscribers knows people.
func routes(channels map[topic.Channel]dispatch.Channel, endpoints, people dispatch.Recipients) map[topic.Channel]dispatch.Route {
	table := make(map[topic.Channel]dispatch.Route, len(channels))
	for name, channel := range channels {
		recipients := endpoints
		switch name {
		case topic.Email, topic.SMS, topic.WhatsApp:
			recipients = people
		}
		table[name] = dispatch.Route{Channel: channel, Recipients: recipients}
	}
	return table
}

// roots are the system's certificate authorities and those of the file, if any.
func roots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("DELIVERY_CA_FILE: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("DELIVERY_CA_FILE holds no certificate")
	}
	return pool, nil
}
