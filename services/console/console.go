// Package console is the service that renders the web console, the HTML pages below /console. It stores no records. It
// calls the other services by their declared operations of the App interface, for the member whom the gateway has found
// by the session. So a program can do with the App interface everything that the console does.
//
// Decision: the console signs passports as the gateway does, instead of calling the App interface through the gateway
// with a key. A page needs several calls, and one check of the session is enough for all of them.
package console

import (
	"context"
	"net/http"
	"time"
	_ "time/tzdata" // members choose their time zone, also on a system without time zone files

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/web"

	"github.com/bellbuoy/bellbuoy/services/console/internal/pages"
)

// Config holds the service's settings.
type Config struct {
	boot.Process   `embed:""`
	boot.Secret    `embed:""`
	boot.Links     `embed:""`
	boot.Upstreams `embed:""`
}

// downloadTime is the time limit of one request to the product from which a status page is imported.
const downloadTime = 15 * time.Second

// Run serves until ctx ends.
func Run(ctx context.Context, c Config) error {
	signer := passport.NewSigner(c.Secret.Secret, c.Now)
	engine := web.NewEngine("console", c.Process, signer)
	if err := pages.Mount(engine, pages.Options{
		Services: c.Upstreams.ByName(), Signer: signer, Links: c.Links, Process: c.Process, Download: &http.Client{Timeout: downloadTime},
	}); err != nil {
		return err
	}
	return c.Serve(ctx, boot.Service{Handler: engine})
}
