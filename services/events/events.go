// Package events is the service of what an organization publishes: dashboards,
// components, incidents and maintenance, their timelines, and the public list of a
// dashboard. It tells of every change through Kafka and tells nobody itself.
package events

import (
	"context"
	"errors"
	_ "time/tzdata" // reports are in dashboards' time zones, also where the system has no zones

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/api"
	"github.com/bellbuoy/bellbuoy/services/events/internal/cascade"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/store"
)

// partitions of the topics this service writes to.
const partitions = 12

// Config are the service's settings.
type Config struct {
	boot.Process   `embed:""`
	boot.Documents `embed:""`
	boot.Kafka     `embed:""`
	boot.Secret    `embed:""`
	boot.Links     `embed:""`

	SubscribersURL  string `name:"subscribers-url" env:"SUBSCRIBERS_URL" default:"http://subscribers:8080" help:"Where the subscribers service answers."`
	IntegrationsURL string `name:"integrations-url" env:"INTEGRATIONS_URL" default:"http://integrations:8080" help:"Where the integrations service answers."`
}

// Validate is called by the settings' parser.
func (c Config) Validate() error {
	return errors.Join(boot.Upstream("SUBSCRIBERS_URL", c.SubscribersURL), boot.Upstream("INTEGRATIONS_URL", c.IntegrationsURL))
}

// Run serves until ctx ends.
func Run(ctx context.Context, c Config) error {
	db, err := document.Open(c.DocumentsURL, "events", document.Options{Log: c.Log, Tracer: c.Tracer, Propagator: c.Propagator})
	if err != nil {
		return err
	}
	bus := stream.Connect(stream.Options{
		Brokers: c.KafkaBrokers, ClientID: "events", Log: c.Log, Tracer: c.Tracer, Propagator: c.Propagator, Registerer: c.Metrics,
	})
	desk := passport.NewDesk(c.Secret.Secret, c.Now)
	calls := peer.Options{Caller: "events", Desk: desk, Tracer: c.Tracer, Propagator: c.Propagator}
	others := cascade.New(c.Log,
		peer.Recipients{Client: peer.NewClient("subscribers", c.SubscribersURL, calls)},
		peer.Recipients{Client: peer.NewClient("integrations", c.IntegrationsURL, calls)})
	var board *catalog.Catalog
	board = catalog.New(store.Declare(db, func() store.Follower { return board }), others, c.Now)
	engine := web.NewEngine(web.Options{
		Service: "events", Desk: desk,
		Log: c.Log, Tracer: c.Tracer, Propagator: c.Propagator, Metrics: c.Metrics,
	})
	api.Mount(engine, board, api.Options{Log: c.Log, Pages: web.NewPages(c.Secret.Secret), DashboardBase: c.DashboardBaseURL})
	return errors.Join(c.Serve(ctx, boot.Service{
		Handler: engine,
		Start: []func(context.Context) error{db.Migrate, func(ctx context.Context) error {
			return bus.EnsureTopics(ctx,
				stream.Topic{Name: topic.EventChanges, Partitions: partitions}, stream.Topic{Name: topic.ComponentChanges, Partitions: partitions})
		}},
		Ready: map[string]func(context.Context) error{"documents": db.Ping, "kafka": bus.Ping},
		Background: []func(context.Context) error{func(ctx context.Context) error {
			return db.Relay(ctx, func(ctx context.Context, records []stream.Record) error { return bus.Publish(ctx, records...) })
		}, func(ctx context.Context) error { return board.RunScheduler(ctx, c.Log) }},
	}), bus.Close(), db.Close())
}
