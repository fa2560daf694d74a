// Package identity is the service for organizations with their plans, users with their roles, keys, and the sign-in to
// the console. The operator creates organizations and users. Admins invite members. Gateways look up keys and sessions
// in this service. A change of the rights of a key or session takes effect for the next request. The service also stores
// the audit entries of all services.
package identity

import (
	"context"
	_ "time/tzdata" // preferences name time zones, also on a system without time zone files

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/quota"
	"github.com/bellbuoy/bellbuoy/libs/service"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
	"github.com/bellbuoy/bellbuoy/services/identity/internal/api"
	"github.com/bellbuoy/bellbuoy/services/identity/internal/issuer"
	"github.com/bellbuoy/bellbuoy/services/identity/internal/store"
	"github.com/bellbuoy/bellbuoy/services/identity/internal/telemetry"
)

// Config holds the service's settings.
type Config struct {
	boot.Process       `embed:""`
	boot.Documents     `embed:""`
	boot.Kafka         `embed:""`
	boot.Redis         `embed:""`
	boot.Secret        `embed:""`
	boot.Rates         `embed:""`
	boot.Links         `embed:""`
	boot.SignOn        `embed:""`
	boot.EventsService `embed:""`
}

// Operations declares what the service offers on the App and the operator interface.
func Operations() []web.Operation {
	return append(api.Operations(), web.SetupOperation("identity", nil))
}

// Legacy returns the resources that the service offers on the legacy interface.
func Legacy() []legacy.Declared { return api.Legacy() }

// Run serves until ctx ends.
func Run(ctx context.Context, c Config) error {
	s, err := service.Open("identity", c.Process, c.Documents, c.Kafka, c.Secret)
	if err != nil {
		return err
	}
	defer s.Close()
	gateways, err := store.NewGateways(c.Redis)
	if err != nil {
		return err
	}
	defer gateways.Close()
	tries, err := quota.New(c.Redis, c.Log, c.Now)
	if err != nil {
		return err
	}
	defer tries.Close()
	authorities, err := c.SignOn.Authorities()
	if err != nil {
		return err
	}
	events := peer.Events{Client: s.Peer("events", c.EventsURL)}
	accounts := account.New(account.Options{
		Store: store.New(s.Database), Gateways: gateways,
		Dashboard: func(ctx context.Context, organization, id, name string) (string, error) {
			dashboard, err := events.CreateDashboard(ctx, organization, id, peer.NewDashboard{Name: name})
			return dashboard.Slug, err
		},
		Plan: func(ctx context.Context, organization string, of account.Features) error {
			return events.SetPlan(ctx, organization, peer.Plan{Integrations: of.Integrations})
		},
		LegacyPerHour: c.LegacyRatePerHour, AppPerMinute: c.AppRatePerMinute,
		Issuers: issuer.New(issuer.Options{Resolve: c.SSOResolve, Roots: authorities, Now: c.Now}), SignOnResolve: c.SSOResolve,
		Tries: tries, Observer: telemetry.New(c.Metrics), Secret: c.Secret.Secret, ConsoleBaseURL: c.ConsoleBaseURL, Log: c.Log, Now: c.Now,
	})
	if err := api.Mount(s.Engine, accounts, web.NewPages(c.Secret.Secret), c.Log); err != nil {
		return err
	}
	// The start does not wait for Redis: without it the service still looks up and changes keys.
	return s.Serve(ctx, service.Work{
		Background: []func(context.Context) error{accounts.Sweep, s.Relay},
		Topics:     service.Topics(topic.Audit, topic.Notices),
		Consumers:  []func(context.Context) error{service.Messages(s, "identity-audit", topic.Audit, accounts.Record)},
	})
}
