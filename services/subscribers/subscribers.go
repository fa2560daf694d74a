// Package subscribers is the service for people who subscribe: it stores mail addresses, phone numbers and their
// subscriptions to components. The delivery service requests the recipients of a change from this service and,
// immediately before sending, their addresses.
package subscribers

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/quota"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/service"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/api"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/store"
)

// Config holds the service's settings.
type Config struct {
	boot.Process       `embed:""`
	boot.Documents     `embed:""`
	boot.Kafka         `embed:""`
	boot.Secret        `embed:""`
	boot.Links         `embed:""`
	boot.Redis         `embed:""`
	boot.Confirmation  `embed:""`
	boot.EventsService `embed:""`
}

// Legacy returns the resources that the service offers on the legacy interface.
func Legacy() []legacy.Declared { return api.Legacy() }

// Operations declares what the service offers on the App interface.
func Operations() []web.Operation {
	return append(api.Operations(), web.SetupOperation("subscribers", nil))
}

// Public declares what the service offers on the public interface.
func Public() []web.Public { return api.Public() }

// Run serves until ctx ends.
func Run(ctx context.Context, c Config) error {
	s, err := service.Open("subscribers", c.Process, c.Documents, c.Kafka, c.Secret)
	if err != nil {
		return err
	}
	defer s.Close()
	counter, err := quota.New(c.Redis, c.Log, c.Now)
	if err != nil {
		return err
	}
	defer counter.Close()
	links := audience.NewLinks(seal.Key(c.Secret.Secret, "subscriber-link"), c.AppBaseURL)
	events := peer.Events{Client: s.Peer("events", c.EventsURL)}
	var people *audience.Audience
	people = &audience.Audience{
		Store:  store.New(s.Database, func() store.Follower { return people }),
		Events: peer.NewRecentDashboards(events, time.Second, c.Now),
		Links:  links, Log: c.Log, Now: c.Now,
	}
	visitors := &audience.Visitors{
		Audience: people, Quota: counter, Links: links, ConfirmWithin: c.ConfirmWithin,
	}
	if err := api.New(people, visitors, events, web.NewPages(c.Secret.Secret), c.LegacyBaseURL, c.Log).Mount(s.Engine); err != nil {
		return err
	}
	return s.Serve(ctx, service.Work{
		Start: []func(context.Context) error{people.Sweep},
		Background: []func(context.Context) error{
			s.Relay, s.Every(c.Sweep(), "expired requests of visitors could not be deleted", visitors.Expire),
			s.Every(c.Sweep(), "addresses without subscribers could not be deleted", people.Reclaim),
		},
		Topics: service.Topics(topic.ComponentChanges, topic.DashboardChanges, topic.DeliveryOutcomes, topic.Notices, topic.Audit),
		Consumers: []func(context.Context) error{
			s.DeletedComponents(people.ForgetComponent),
			service.Messages(s, "subscribers-outcomes", topic.DeliveryOutcomes, people.Suppress),
			s.DeletedDashboards(people.ForgetDashboard),
		},
	})
}
