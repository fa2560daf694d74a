// Package integrations is the service for outbound integration endpoints. The delivery service requests from this service
// the recipients of a change and, immediately before sending, their URLs. The service counts the failures that delivery
// publishes as outcomes, and suppresses the URL of an endpoint that fails too often. URLs and signing secrets are stored
// sealed. The service returns a URL only to delivery and to the member who creates the endpoint. It returns a secret of an
// endpoint only to delivery and to the person whose request creates the secret. The service also receives messages of
// monitoring tools.
package integrations

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/quota"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/service"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/api"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/client"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/inbound"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/store"
)

// Config holds the service's settings.
type Config struct {
	boot.Process         `embed:""`
	boot.Documents       `embed:""`
	boot.Kafka           `embed:""`
	boot.Secret          `embed:""`
	boot.Links           `embed:""`
	boot.Receivers       `embed:""`
	boot.Suppression     `embed:""`
	boot.Providers       `embed:""`
	boot.Redis           `embed:""`
	boot.Confirmation    `embed:""`
	boot.EventsService   `embed:""`
	boot.IdentityService `embed:""`
}

// Operations declares what the service offers on the App interface.
func Operations() []web.Operation {
	return append(api.Operations(endpoint.Kinds(endpoint.Providers{})), web.SetupOperation("integrations", nil))
}

// Public declares what the service offers without a key.
func Public() []web.Public { return api.Public() }

// Run serves until ctx ends.
func Run(ctx context.Context, c Config) error {
	s, err := service.Open("integrations", c.Process, c.Documents, c.Kafka, c.Secret)
	if err != nil {
		return err
	}
	defer s.Close()
	kinds := endpoint.Kinds(endpoint.Providers{
		TeamsWorkflow: c.TeamsWorkflowHosts, TeamsPlatform: c.TeamsPlatformHosts, TeamsConnector: c.TeamsConnectorHosts, GChat: c.GChatHosts,
		Slack: c.SlackHosts, Discord: c.DiscordHosts,
	})
	counter, err := quota.New(c.Redis, c.Log, c.Now)
	if err != nil {
		return err
	}
	defer counter.Close()
	events := peer.Events{Client: s.Peer("events", c.EventsURL)}
	services, err := client.New(events, peer.Identity{Client: s.Peer("identity", c.IdentityURL)}, c.Now)
	if err != nil {
		return err
	}
	tools := &inbound.Inbound{
		Store: store.NewInbound(s.Database), Services: services, Box: seal.NewBox(c.Secret.Secret, "inbound"), Log: c.Log, Now: c.Now,
	}
	endpoints := &endpoint.Endpoints{
		Store: store.New(s.Database), Services: services,
		Hosts: c.Resolve, Box: seal.NewBox(c.Secret.Secret, "endpoint"), AlertAfter: c.AlertAfter, SuppressAfter: c.SuppressAfter, Log: c.Log, Now: c.Now,
		Kinds: kinds, Links: endpoint.NewLinks(seal.Key(c.Secret.Secret, "endpoint-link"), c.AppBaseURL), Quota: counter, ConfirmWithin: c.ConfirmWithin,
	}
	if err := api.New(endpoints, tools, kinds, events, web.NewPages(c.Secret.Secret)).Mount(s.Engine); err != nil {
		return err
	}
	return s.Serve(ctx, service.Work{
		Background: []func(context.Context) error{
			s.Relay, s.Every(time.Second, "due steps of reported problems could not be completed", tools.Complete), s.Every(time.Second, "silent signing keys could not be reported", tools.Listen), s.Every(c.Sweep(), "old logs of inbound messages cannot be deleted", tools.Prune), s.Every(c.Sweep(), "old claims and requests of endpoints could not be removed", endpoints.Sweep),
		},
		Topics: service.Topics(topic.DeliveryOutcomes, topic.ComponentChanges, topic.DashboardChanges, topic.Notices, topic.Audit),
		Consumers: []func(context.Context) error{
			service.Messages(s, "integrations-outcomes", topic.DeliveryOutcomes, endpoints.Count),
			s.DeletedComponents(endpoints.ForgetComponent),
			s.DeletedDashboards(endpoints.ForgetDashboard),
		},
	})
}
