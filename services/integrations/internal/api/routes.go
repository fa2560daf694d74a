// Package api serves the App interface for endpoints and the inbound webhook, the inbound webhook itself, the forms and
// pages of visitors, and the requests of other services. The handlers call the operations of the domains and return
// views of the results.
package api

import (
	"context"
	"net/http"

	"github.com/bellbuoy/bellbuoy/libs/page"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/inbound"
	"github.com/gin-gonic/gin"
)

// API has the dependencies of the handlers.
type API struct {
	endpoints *endpoint.Endpoints
	inbound   *inbound.Inbound
	kinds     []endpoint.Kind
	frames    page.Frames
	pages     web.Pages
}

// New returns the handlers.
func New(endpoints *endpoint.Endpoints, tools *inbound.Inbound, kinds []endpoint.Kind, frames page.Frames, pages web.Pages) *API {
	return &API{endpoints, tools, kinds, frames, pages}
}

// Operations declares what the service offers on the App interface, for the kinds of endpoints.
func Operations(kinds []endpoint.Kind) []web.Operation {
	return (&API{kinds: kinds}).operations()
}

func (a *API) operations() []web.Operation {
	var operations []web.Operation
	for _, kind := range a.kinds {
		of := resource{a, kind}
		operations = append(append(append(operations, of.operations()...), of.testOperation()), of.suppressionOperations()...)
	}
	return append(append(operations, a.countsOperation()), a.inboundOperations()...)
}

// Mount adds the routes to the engine.
func (a *API) Mount(engine *gin.Engine) error {
	web.MountRecipients(engine, recipients{a.endpoints, a.inbound})
	engine.GET(peer.Prefix+"/organizations/:"+web.OrganizationParam+"/endpoints/components/:component/only", web.Surface(passport.Peer),
		web.Handle(a.isOnlyComponent))
	engine.POST(inboundPath, web.Surface(passport.Public), web.Handle(a.receive))
	engine.POST(inboundPath+"/:format", web.Surface(passport.Public), web.Handle(a.receiveFormat))
	if err := a.mountVisitors(engine); err != nil {
		return err
	}
	return web.Mount(engine, a.operations())
}

// recipients implements web.Recipients. The recipients are endpoints; the recipients of mail about signing keys are the keys.
type recipients struct {
	*endpoint.Endpoints
	inbound *inbound.Inbound
}

// Resolve implements web.Recipients.
func (r recipients) Resolve(ctx context.Context, organization string, query topic.ResolveQuery) ([]topic.Destination, error) {
	if query.Kind == topic.InboundSilent {
		return r.inbound.Resolve(ctx, organization, query.IDs)
	}
	return r.Endpoints.Resolve(ctx, organization, query)
}

// isOnlyComponent handles the request of peer.Endpoints.IsOnlyComponent.
func (a *API) isOnlyComponent(c *gin.Context) error {
	only, err := a.endpoints.IsOnlyComponent(c.Request.Context(), web.Caller(c).Organization, c.Param("component"))
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, only)
	return nil
}
