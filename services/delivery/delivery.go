// Package delivery is the service that sends notifications. It consumes the changes of events and the notices of other
// services, requests the recipients from the services integrations, subscribers and identity, sends to each recipient,
// retries after a temporary failure, and logs each attempt. It publishes the outcome of each delivery. Several processes can
// share the Kafka partitions.
package delivery

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/service"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/api"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/channel"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/kafka"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/locale"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/store"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/telemetry"
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
	boot.Templates `embed:""`

	boot.Confirmation        `embed:""`
	boot.IntegrationsService `embed:""`
	boot.EventsService       `embed:""`
	boot.IdentityService     `embed:""`
	boot.SubscribersService  `embed:""`

	Data string `name:"data" env:"BELLBUOY_DATA" default:"./data" help:"Folder for mail and texts while SMTP_URL or SMS_URL is not set."`

	// StateTimeout sets dispatch.Parts.StateTimeout. Tests set it, because a request can take long on a busy machine.
	StateTimeout time.Duration `kong:"-"`
}

// Validate checks the operator's templates. The parser of the settings calls it.
func (c Config) Validate() error {
	_, err := locales(c, slog.New(slog.DiscardHandler))
	return err
}

// locales returns the words and templates of messages.
func locales(c Config, log *slog.Logger) (*locale.Locales, error) {
	opened, err := locale.Open(c.Templates.Templates, log)
	if err != nil {
		return nil, fmt.Errorf("BELLBUOY_TEMPLATES: %w", err)
	}
	return opened, nil
}

// Operations returns the operations that the service offers on the App interface.
func Operations() []web.Operation {
	return append(api.Operations(), web.SetupOperation("delivery", nil))
}

// Run serves until ctx ends.
func Run(ctx context.Context, c Config) error {
	authorities, err := c.Authorities()
	if err != nil {
		return err
	}
	texts, err := locales(c, c.Log)
	if err != nil {
		return err
	}
	s, err := service.Open("delivery", c.Process, c.Documents, c.Kafka, c.Secret)
	if err != nil {
		return err
	}
	defer s.Close()
	events := peer.Events{Client: s.Peer("events", c.EventsURL)}
	channels, err := channel.Table(channel.Options{
		Timeout: c.Timeout, Resolve: c.Resolve, Roots: authorities, Mail: c.Mail, Texts: c.Texts, Data: c.Data,
		Locales: texts, ConfirmWithin: c.ConfirmWithin, Status: events.PageStatus,
		Log: c.Log, Tracer: c.Tracer, Propagator: c.Propagator,
	})
	if err != nil {
		return err
	}
	messages := kafka.New(s.Kafka, c.Log)
	records := store.New(s.Database)
	logs := deliverylog.New(deliverylog.Options{Store: records, EventState: events.EventState, Now: c.Now, Log: c.Log})
	subscribers := peer.Recipients{Client: s.Peer("subscribers", c.SubscribersURL)}
	integrations := peer.Recipients{Client: s.Peer("integrations", c.IntegrationsURL)}
	parts := dispatch.Parts{
		Store: records, Logs: logs, Bus: messages, Policy: c.RetrySchedule, Timeout: c.Timeout, StateTimeout: c.StateTimeout, Now: c.Now, Log: c.Log,
		Channels: channels,
		Recipients: map[topic.RecipientService]dispatch.Recipients{
			topic.Integrations: peer.KeepDestinations(integrations),
			topic.Subscribers:  subscribers,
			topic.Identity:     peer.Recipients{Client: s.Peer("identity", c.IdentityURL)},
		},
		Explainers:  map[topic.RecipientService]dispatch.Explainer{topic.Integrations: integrations, topic.Subscribers: subscribers},
		Subscribers: subscribers, Events: events, Traces: telemetry.Traces{Propagator: c.Propagator}, Observer: telemetry.New(c.Metrics),
	}
	planner, sender := dispatch.NewPlanner(parts), dispatch.NewSender(parts)
	handlers := &api.API{Logs: logs, Planner: planner, Pages: web.NewPages(c.Secret.Secret), Mail: c.Mail, Texts: c.Texts}
	if err := handlers.Mount(s.Engine); err != nil {
		return err
	}
	return s.Serve(ctx, service.Work{
		Background: []func(context.Context) error{
			sender.Run,
			s.Relay,
			func(ctx context.Context) error {
				return logs.Retain(ctx, func(before time.Time) error { return channel.PruneFolders(c.Data, before) })
			},
		},
		Topics: append(service.Topics(topic.EventChanges, topic.Notices, topic.DeliveryOutcomes, topic.Audit),
			stream.Topic{Name: topic.Deliveries, Partitions: topic.Buckets}),
		Consumers: []func(context.Context) error{
			func(ctx context.Context) error { return messages.Send(ctx, sender) },
			func(ctx context.Context) error { return messages.Plan(ctx, planner) },
			func(ctx context.Context) error { return messages.Notices(ctx, planner) },
		},
	})
}
