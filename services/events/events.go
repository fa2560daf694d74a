// Package events is the service of dashboards, components, incidents and maintenances, and of the public files of a
// dashboard. It publishes each change to Kafka and sends no notification itself.
package events

import (
	"cmp"
	"context"
	"net"
	"strings"
	"time"
	_ "time/tzdata" // reports and pages use the time zones of dashboards, also on a system without time zone files

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/quota"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/service"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/api"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/client"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
	"github.com/bellbuoy/bellbuoy/services/events/internal/site"
	"github.com/bellbuoy/bellbuoy/services/events/internal/store"
)

// schedulerInterval is short, because a run is one indexed query that mostly finds nothing.
const schedulerInterval = time.Second

type Config struct {
	boot.Process             `embed:""`
	boot.Documents           `embed:""`
	boot.Kafka               `embed:""`
	boot.Secret              `embed:""`
	boot.Links               `embed:""`
	boot.Redis               `embed:""`
	boot.Domains             `embed:""`
	boot.IdentityService     `embed:""`
	boot.SubscribersService  `embed:""`
	boot.IntegrationsService `embed:""`

	// Resolver looks up the TXT records of custom domains. If it is nil, the resolver of the system does.
	Resolver *net.Resolver `kong:"-"`
}

// Operations declares what the service offers on the App interface.
func Operations() []web.Operation {
	return append(api.Operations(), web.SetupOperation("events", nil))
}

// Legacy returns the resources that the service has on the legacy interface.
func Legacy() []legacy.Declared { return api.Legacy() }

// Public declares what the service offers on the public interface.
func Public() []web.Public { return api.Public() }

func Run(ctx context.Context, c Config) error {
	s, err := service.Open("events", c.Process, c.Documents, c.Kafka, c.Secret)
	if err != nil {
		return err
	}
	defer s.Close()
	integrations := s.Peer("integrations", c.IntegrationsURL)
	others := client.NewServices(c.Log, peer.Recipients{Client: s.Peer("subscribers", c.SubscribersURL)}, peer.Recipients{Client: integrations})
	others.Endpoints, others.Identity = peer.Endpoints{Client: integrations}, peer.Identity{Client: s.Peer("identity", c.IdentityURL)}
	platform, err := c.Links.Hosts()
	if err != nil {
		return err
	}
	renderer, err := site.New(strings.TrimSuffix(c.AppBaseURL, "/") + "/public/confirm")
	if err != nil {
		return err
	}
	tries, err := quota.New(c.Redis, c.Log, c.Now)
	if err != nil {
		return err
	}
	defer tries.Close()
	addresses := catalog.Addresses{Base: c.DashboardBaseURL, NeedsProof: c.NeedsProof()}
	proofs := catalog.DomainProofs{
		Token: func(organization, host string) string {
			return seal.Sign(c.Secret.Secret, "custom domain", organization+"/"+host)
		},
		Lookup: cmp.Or(c.Resolver, net.DefaultResolver).LookupTXT,
	}
	records := store.Declare(s.Database)
	editions := edition.New(records.Store, records.Records, edition.Options{
		Renderer: renderer, Tries: tries, Addresses: addresses, Secret: c.Secret.Secret, Now: c.Now, Log: c.Log,
	})
	events := catalog.New(records.Store, others, editions, c.Now, platform...)
	records.Follow(events)
	if err := api.Mount(s.Engine, events, editions, api.Options{
		Log: c.Log, Pages: web.NewPages(c.Secret.Secret), LegacyBase: c.LegacyBaseURL, Addresses: addresses, ProofToken: proofs.Token,
		Entries: peer.PasswordTickets(c.Secret.Secret, c.Now),
	}); err != nil {
		return err
	}
	background := []func(context.Context) error{
		s.Relay,
		s.Every(schedulerInterval, "The scheduler failed to take a step with a maintenance or a component. It tries again.", events.RunDue),
		s.Every(schedulerInterval, "The scheduler failed to renew a page. It tries again.", editions.RunPages),
	}
	if addresses.NeedsProof {
		background = append(background, s.Every(schedulerInterval, "The check of a custom domain failed. It is repeated.", func(ctx context.Context) error {
			return events.RunDomainProofs(ctx, proofs)
		}))
	}
	return s.Serve(ctx, service.Work{
		Topics:     service.Topics(topic.EventChanges, topic.ComponentChanges, topic.DashboardChanges, topic.Audit),
		Background: background,
	})
}
