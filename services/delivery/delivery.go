// Package delivery is the service that notifies. It consumes the changes of events, asks
// integrations and subscribers for the recipients, sends to each recipient, retries after a
// failure that may pass, and logs each attempt. It publishes the outcome of each delivery.
// Several processes share the work by partition.
package delivery

import (
	"context"
	"fmt"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/service"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/bus"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/channel"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/gauge"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/store"
)

// Config holds the service's settings.
type Config struct {
	boot.Process   `embed:""`
	boot.Documents `embed:""`
	boot.Kafka     `embed:""`
	boot.Secret    `embed:""`
	boot.Receivers `embed:""`
	boot.Sending   `embed:""`
	boot.Mail      `embed:""`
	boot.Texts     `embed:""`

	IntegrationsURL string `name:"integrations-url" env:"INTEGRATIONS_URL" default:"http://integrations:8080" check:"upstream" help:"URL of the integrations service."`
	SubscribersURL  string `name:"subscribers-url" env:"SUBSCRIBERS_URL" default:"http://subscribers:8080" check:"upstream" help:"URL of the subscribers service."`
	Data            string `name:"data" env:"BELLBUOY_DATA" default:"./data" help:"Folder for mail and texts while SMTP_URL or SMS_URL is not set."`
}

// Run serves until ctx ends.
func Run(ctx context.Context, c Config) error {
	authorities, err := c.Authorities()
	if err != nil {
		return err
	}
	s, err := service.Open("delivery", c.Process, c.Documents, c.Kafka, c.Secret)
	if err != nil {
		return err
	}
	defer s.Close()
	channels, err := channel.Table(channel.Options{
		Timeout: c.Timeout, Resolve: c.Resolve, Roots: authorities, Mail: c.Mail, Texts: c.Texts, Data: c.Data,
		Log: c.Log, Tracer: c.Tracer, Propagator: c.Propagator,
	})
	if err != nil {
		return err
	}
	table, err := routes(channels, map[topic.Keeper]dispatch.Recipients{
		topic.Integrations: peer.Recipients{Client: s.Peer("integrations", c.IntegrationsURL)},
		topic.Subscribers:  peer.Recipients{Client: s.Peer("subscribers", c.SubscribersURL)},
	})
	if err != nil {
		return err
	}
	messages := bus.New(s.Kafka, c.Log)
	parts := dispatch.Parts{
		Store: store.New(s.Database), Bus: messages, Policy: c.RetrySchedule, Timeout: c.Timeout, Now: c.Now, Log: c.Log,
		Routes: table,
		Traces: gauge.Traces{Propagator: c.Propagator}, Observer: gauge.New(c.Metrics),
	}
	planner, sender := dispatch.NewPlanner(parts), dispatch.NewSender(parts)
	return s.Serve(ctx, service.Work{
		Start: []func(context.Context) error{messages.EnsureTopics},
		Background: []func(context.Context) error{
			sender.Run,
			func(ctx context.Context) error { return messages.Send(ctx, sender) },
			func(ctx context.Context) error { return messages.Plan(ctx, planner) },
			s.Relay,
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
