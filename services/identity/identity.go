// Package identity is the service that knows who may use the platform:
// organizations with their plans, users with their roles, and keys. The operator
// provisions them, gateways ask it whose key they were shown, and every change of
// what a key may do holds for the next request.
package identity

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/web"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
	"github.com/bellbuoy/bellbuoy/services/identity/internal/api"
	"github.com/bellbuoy/bellbuoy/services/identity/internal/store"
)

// Config is everything that can be set.
type Config struct {
	boot.Process   `embed:""`
	boot.Documents `embed:""`
	boot.Redis     `embed:""`
	boot.Secret    `embed:""`
	boot.Rates     `embed:""`

	EventsURL string `name:"events-url" env:"EVENTS_URL" default:"http://events:8080" help:"Where the events service is."`
}

// Validate is called by the settings' parser.
func (c Config) Validate() error { return boot.Upstream("EVENTS_URL", c.EventsURL) }

// Run is the service, until ctx ends.
func Run(ctx context.Context, c Config) error {
	db, err := document.Open(c.DocumentsURL, "identity", document.Options{Log: c.Log, Tracer: c.Tracer, Propagator: c.Propagator})
	if err != nil {
		return err
	}
	defer db.Close()
	redis, err := c.Redis.Options()
	if err != nil {
		return err
	}
	gateways := store.NewGateways(redis)
	defer gateways.Close()
	signer := passport.NewSigner(c.Secret.Secret, c.Now)
	events := peer.Events{Client: peer.NewClient("events", c.EventsURL, peer.Options{
		Caller: "identity", Signer: signer, Tracer: c.Tracer, Propagator: c.Propagator,
	})}
	directory := account.New(account.Options{
		Store: store.New(db), Gateways: gateways,
		Dashboard: func(ctx context.Context, organization, id, name string) (string, error) {
			dashboard, err := events.CreateDashboard(ctx, organization, id, peer.NewDashboard{Name: name})
			return dashboard.Slug, err
		},
		LegacyPerHour: c.LegacyRatePerHour, AppPerMinute: c.AppRatePerMinute, Log: c.Log, Now: c.Now,
	})
	engine := web.NewEngine(web.Options{
		Service: "identity", Signer: signer, Log: c.Log, Tracer: c.Tracer, Propagator: c.Propagator, Metrics: c.Metrics,
	})
	api.Mount(engine, directory, web.NewPages(c.Secret.Secret), c.Log)
	return c.Serve(ctx, boot.Service{
		Handler: engine,
		Start:   []func(context.Context) error{db.Migrate},
		// Without Redis keys are still looked up and changed, so it does not make identity unready.
		Ready:      map[string]func(context.Context) error{"database": db.Ping},
		Background: []func(context.Context) error{directory.Sweep},
	})
}
