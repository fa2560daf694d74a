// Package subscribers is the service of people who want to be told: mail addresses,
// phone numbers and their subscriptions to components. Delivery asks it who is
// concerned by a change and, right before sending, where they are reached.
package subscribers

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/api"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/directory"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/messages"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/store"
)

const (
	name       = "subscribers"
	partitions = 12
)

// Config are the service's settings.
type Config struct {
	boot.Process   `embed:""`
	boot.Documents `embed:""`
	boot.Kafka     `embed:""`
	boot.Secret    `embed:""`
	boot.Links     `embed:""`

	EventsURL string `name:"events-url" env:"EVENTS_URL" default:"http://events:8080" help:"Where the events service answers."`
}

// Validate is called by the settings' parser.
func (c Config) Validate() error {
	return boot.Upstream("EVENTS_URL", c.EventsURL)
}

// Run is the service until ctx ends.
func Run(ctx context.Context, c Config) error {
	db, err := document.Open(c.DocumentsURL, name, document.Options{Log: c.Log, Tracer: c.Tracer, Propagator: c.Propagator})
	if err != nil {
		return err
	}
	defer db.Close()
	bus := stream.Connect(stream.Options{
		Brokers: c.KafkaBrokers, ClientID: name, Log: c.Log, Tracer: c.Tracer, Propagator: c.Propagator, Registerer: c.Metrics,
	})
	defer bus.Close()
	desk := passport.NewDesk(c.Secret.Secret, c.Now)
	events := peer.Events{Client: peer.NewClient("events", c.EventsURL, peer.Options{
		Caller: name, Desk: desk, Tracer: c.Tracer, Propagator: c.Propagator,
	})}
	people := audience.New(store.New(db), directory.New(events), c.Now)
	doors, heard := api.New(people, api.NewPasses(c.Secret.Secret, c.AppBaseURL), c.LegacyBaseURL, c.Log), messages.New(people, c.Log)
	engine := web.NewEngine(web.Options{
		Service: name, Desk: desk, Log: c.Log, Tracer: c.Tracer, Propagator: c.Propagator, Metrics: c.Metrics,
	})
	doors.Mount(engine)
	return c.Serve(ctx, boot.Service{
		Handler: engine,
		Start: []func(context.Context) error{
			db.Migrate,
			people.Sweep,
			func(ctx context.Context) error {
				return bus.EnsureTopics(ctx,
					stream.Topic{Name: topic.ComponentChanges, Partitions: partitions},
					stream.Topic{Name: topic.DeliveryOutcomes, Partitions: partitions})
			},
		},
		Ready: map[string]func(context.Context) error{"documents": db.Ping, "kafka": bus.Ping},
		Background: []func(context.Context) error{
			func(ctx context.Context) error {
				return bus.ConsumeBatches(ctx, stream.Subscription{Group: "subscribers-components", Topics: []string{topic.ComponentChanges}}, heard.ComponentChanges)
			},
			func(ctx context.Context) error {
				return bus.ConsumeBatches(ctx, stream.Subscription{Group: "subscribers-outcomes", Topics: []string{topic.DeliveryOutcomes}}, heard.Outcomes)
			},
		},
	})
}
