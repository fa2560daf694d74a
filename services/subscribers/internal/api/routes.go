// Package api serves the App interface for subscribers, the legacy resources for addresses and subscriptions, the forms
// and pages of visitors, and the requests of other services.
package api

import (
	"log/slog"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/page"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

// API has the dependencies of the handlers.
type API struct {
	audience *audience.Audience
	visitors *audience.Visitors
	frames   page.Frames
	pages    web.Pages
	base     string // LEGACY_BASE_URL
	log      *slog.Logger
}

// New returns the handlers. Mount adds them to an engine.
func New(audience *audience.Audience, visitors *audience.Visitors, frames page.Frames, pages web.Pages, base string, log *slog.Logger) *API {
	return &API{audience: audience, visitors: visitors, frames: frames, pages: pages, base: base, log: log}
}

// kind has the names of the legacy interface for the addresses and subscriptions of one channel.
type kind struct {
	*API
	channel       topic.Channel
	name          string // name of the resource of addresses, and of the field with the address
	subscriptions string // the name of the resource of subscriptions
	label         string
	blocked       bool           // addresses have the field blocked
	keywords      map[string]any // schema keywords of the field with the address, for the API document
}

// Legacy returns the resources that the service offers on the legacy interface.
func Legacy() []legacy.Declared { return (&API{}).resources() }

func (a *API) resources() []legacy.Declared {
	email := kind{a, topic.Email, "email", "subscribers/email", "Email address", false, map[string]any{"format": "idn-email"}}
	sms := kind{a, topic.SMS, "number", "subscribers/sms", "Phone number: a plus sign, country code and number", true,
		map[string]any{"pattern": `^\+[0-9]{8,15}$`, "description": "A plus sign and 8 to 15 digits, unique."}}
	return []legacy.Declared{email.addressResource(), sms.addressResource(), email.subscriptionResource(), sms.subscriptionResource()}
}

// Mount adds the routes to the engine.
func (a *API) Mount(engine *gin.Engine) error {
	legacy.Mount(engine.Group("", web.Surface(passport.Legacy)), legacy.Options{Log: a.log, BaseURL: a.base}, a.resources()...)

	if err := a.mountVisitors(engine); err != nil {
		return err
	}
	web.MountRecipients(engine, a.audience)
	return web.Mount(engine, a.operations())
}
