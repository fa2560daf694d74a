// Package integrations is the service of outbound integration endpoints: who wants
// to be told where, whether deliveries arrive there, and when to stop. Delivery asks it who is
// concerned by a change and, right before sending, where they live; it learns from
// delivery's outcomes how that went. URLs and signing secrets rest sealed, and leave
// only in the answer that creates them and to delivery.
package integrations

import (
	"context"
	"errors"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/api"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/directory"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/messages"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/store"
)

const (
	name       = "integrations"
	partitions = 12
)

// Config are the service's settings.
type Config struct {
	boot.Process     `embed:""`
	boot.Documents   `embed:""`
	boot.Kafka       `embed:""`
	boot.Secret      `embed:""`
	boot.Receivers   `embed:""`
	boot.Suppression `embed:""`
	boot.Providers   `embed:""`

	EventsURL   string `name:"events-url" env:"EVENTS_URL" default:"http://events:8080" help:"Where the events service answers."`
	IdentityURL string `name:"identity-url" env:"IDENTITY_URL" default:"http://identity:8080" help:"Where the identity service answers."`
}

// Validate is called by the settings' parser.
func (c Config) Validate() error {
	return errors.Join(boot.Upstream("EVENTS_URL", c.EventsURL), boot.Upstream("IDENTITY_URL", c.IdentityURL))
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
	calls := peer.Options{Caller: name, Desk: desk, Tracer: c.Tracer, Propagator: c.Propagator}
	known := directory.New(
		peer.Events{Client: peer.NewClient("events", c.EventsURL, calls)},
		peer.Identity{Client: peer.NewClient("identity", c.IdentityURL, calls)}, c.Now)
	kinds := endpoint.Kinds(endpoint.Providers{
		TeamsWorkflow: c.TeamsWorkflowHosts, TeamsPlatform: c.TeamsPlatformHosts, TeamsConnector: c.TeamsConnectorHosts,
	})
	endpoints := endpoint.New(store.New(db), known, c.Resolve, seal.NewBox(c.Secret.Secret, "endpoint"),
		endpoint.Policy{SuppressAfter: c.SuppressAfter}, c.Now)
	engine := web.NewEngine(web.Options{
		Service: name, Desk: desk, Log: c.Log, Tracer: c.Tracer, Propagator: c.Propagator, Metrics: c.Metrics,
	})
	api.New(endpoints, kinds, web.NewPages(c.Secret.Secret), c.Log).Mount(engine)
	consumer := messages.New(endpoints, c.Log)
	return c.Serve(ctx, boot.Service{
		Handler: engine,
		Start: []func(context.Context) error{db.Migrate, func(ctx context.Context) error {
			return bus.EnsureTopics(ctx,
				stream.Topic{Name: topic.DeliveryOutcomes, Partitions: partitions},
				stream.Topic{Name: topic.ComponentChanges, Partitions: partitions})
		}},
		Ready: map[string]func(context.Context) error{"documents": db.Ping, "kafka": bus.Ping},
		Background: []func(context.Context) error{
			func(ctx context.Context) error {
				return bus.ConsumeBatches(ctx, stream.Subscription{Group: "integrations-outcomes", Topics: []string{topic.DeliveryOutcomes}}, consumer.Outcomes)
			},
			func(ctx context.Context) error {
				return bus.ConsumeBatches(ctx, stream.Subscription{Group: "integrations-components", Topics: []string{topic.ComponentChanges}}, consumer.ComponentChanges)
			},
		},
	})
}
