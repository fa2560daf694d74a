// Package events is the service of what an organization publishes: dashboards,
// components, incidents and maintenance, their timelines, and the public list of a
// dashboard. It tells of every change through Kafka and tells nobody itself.
package events

import (
	"context"
	"errors"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/api"
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
	var board *catalog.Catalog
	board = catalog.New(store.Declare(db, func() store.Follower { return board }), c.Now)
	engine := web.NewEngine(web.Options{
		Service: "events", Desk: passport.NewDesk(c.Secret.Secret, c.Now),
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
		}, func(ctx context.Context) error { return board.KeepTime(ctx, c.Log) }},
	}), bus.Close(), db.Close())
}
