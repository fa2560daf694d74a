// Package subscribers is the service of people who subscribe: mail addresses, phone
// numbers and their subscriptions to components. Delivery asks it for the recipients of a
// change and, immediately before sending, for their addresses.
package subscribers

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/service"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/api"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/directory"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/messages"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/store"
)

// Config holds the service's settings.
type Config struct {
	boot.Process   `embed:""`
	boot.Documents `embed:""`
	boot.Kafka     `embed:""`
	boot.Secret    `embed:""`
	boot.Links     `embed:""`

	EventsURL string `name:"events-url" env:"EVENTS_URL" default:"http://events:8080" check:"upstream" help:"URL of the events service."`
}

// Run serves until ctx ends.
func Run(ctx context.Context, c Config) error {
	s, err := service.Open("subscribers", c.Process, c.Documents, c.Kafka, c.Secret)
	if err != nil {
		return err
	}
	defer s.Close()
	events := peer.Events{Client: s.Peer("events", c.EventsURL)}
	people := audience.New(store.New(s.Database), directory.New(events), c.Now)
	api.New(people, api.NewPasses(c.Secret.Secret, c.AppBaseURL), c.LegacyBaseURL, c.Log).Mount(s.Engine)
	consumer := messages.New(people, c.Log)
	return s.Serve(ctx, service.Work{
		Start: []func(context.Context) error{people.Sweep, s.Topics(topic.ComponentChanges, topic.DeliveryOutcomes)},
		Background: []func(context.Context) error{
			s.Consume("subscribers-components", topic.ComponentChanges, consumer.ComponentChanges),
			s.Consume("subscribers-outcomes", topic.DeliveryOutcomes, consumer.Outcomes),
		},
	})
}
