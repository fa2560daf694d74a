// Package delivery is the service that sends changes of events to recipients. It finds the recipients
// (integrations, subscribers), sends to each of them, retries after failures, and keeps the delivery log. It
// publishes the outcome of each delivery to the keeper of the recipient. Several processes share the
// work by partition.
package delivery

import (
	"context"
	"errors"
	"fmt"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/bus"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/channel"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/gauge"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/store"
)

const name = "delivery"

// Config are the service's settings.
type Config struct {
	boot.Process   `embed:""`
	boot.Documents `embed:""`
	boot.Kafka     `embed:""`
	boot.Secret    `embed:""`
	boot.Receivers `embed:""`
	boot.Sending   `embed:""`
	boot.Mail      `embed:""`
	boot.Texts     `embed:""`

	IntegrationsURL string `name:"integrations-url" env:"INTEGRATIONS_URL" default:"http://integrations:8080" help:"URL of the integrations service."`
	SubscribersURL  string `name:"subscribers-url" env:"SUBSCRIBERS_URL" default:"http://subscribers:8080" help:"URL of the subscribers service."`
	Data            string `name:"data" env:"BELLBUOY_DATA" default:"./data" help:"Folder for mail and texts if no server is configured."`
}

// Validate is called by the settings' parser.
func (c Config) Validate() error {
	return errors.Join(boot.Upstream("INTEGRATIONS_URL", c.IntegrationsURL), boot.Upstream("SUBSCRIBERS_URL", c.SubscribersURL))
}

// Run is the service until ctx ends.
func Run(ctx context.Context, c Config) error {
	authorities, err := c.Authorities()
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
	channels, err := channel.Table(channel.Options{
		Timeout: c.Timeout, Resolve: c.Resolve, Roots: authorities, Mail: c.Mail, Texts: c.Texts, Data: c.Data,
		Log: c.Log, Tracer: c.Tracer, Propagator: c.Propagator,
	})
	if err != nil {
		return err
	}
	table, err := routes(channels, map[topic.Keeper]dispatch.Recipients{
		topic.Integrations: peer.Recipients{Client: peer.NewClient("integrations", c.IntegrationsURL, calls)},
		topic.Subscribers:  peer.Recipients{Client: peer.NewClient("subscribers", c.SubscribersURL, calls)},
	})
	if err != nil {
		return err
	}
	parts := dispatch.Parts{
		Store: store.New(db), Bus: messages, Policy: c.RetrySchedule, Timeout: c.Timeout, Now: c.Now, Log: c.Log,
		Routes: table,
		Traces: gauge.Traces{Propagator: c.Propagator}, Observer: gauge.New(c.Metrics),
	}
	planner, sender := dispatch.NewPlanner(parts), dispatch.NewSender(parts)
	return c.Serve(ctx, boot.Service{
		Handler: web.NewEngine(web.Options{Service: name, Desk: desk, Log: c.Log, Tracer: c.Tracer, Propagator: c.Propagator, Metrics: c.Metrics}),
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

// routes combines every channel of topic.Channels with its implementation and the client of the service that
// keeps its recipients. A channel of topic.Nobody has no route.
func routes(channels map[topic.Channel]dispatch.Channel, keepers map[topic.Keeper]dispatch.Recipients) (map[topic.Channel]dispatch.Route, error) {
	table := make(map[topic.Channel]dispatch.Route, len(channels))
	for keeper, recipients := range keepers {
		for _, name := range topic.ChannelsOf(keeper) {
			channel, found := channels[name]
			if !found {
				return nil, fmt.Errorf("the channel %q has no implementation in package channel", name)
			}
			table[name] = dispatch.Route{Channel: channel, Recipients: recipients}
		}
	}
	return table, nil
}
