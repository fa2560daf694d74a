// Package api is the service's HTTP door: the App interface of endpoints and the
// answers to peers. Each handler binds its input, makes one call of the domain and
// shows what comes back.
package api

import (
	"log/slog"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
	"github.com/gin-gonic/gin"
)

// API holds what the handlers use.
type API struct {
	endpoints *endpoint.Endpoints
	kinds     []endpoint.Kind
	pages     web.Pages
	log       *slog.Logger
}

// New makes the handlers.
func New(endpoints *endpoint.Endpoints, kinds []endpoint.Kind, pages web.Pages, log *slog.Logger) *API {
	return &API{endpoints: endpoints, kinds: kinds, pages: pages, log: log}
}

// Operations declares what the service offers on the App interface for the kinds.
func Operations(kinds []endpoint.Kind) []web.Operation {
	return (&API{kinds: kinds}).operations()
}

func (a *API) operations() []web.Operation {
	var operations []web.Operation
	for _, kind := range a.kinds {
		operations = append(operations, resource{a, kind}.operations()...)
	}
	return operations
}

// Mount adds the routes to the engine.
func (a *API) Mount(engine *gin.Engine) error {
	recipients := engine.Group(peer.Prefix+"/organizations/:"+web.OrganizationParam+"/recipients", web.Surface(passport.Peer))
	recipients.POST("/concerned", web.Handle(a.concerned))
	recipients.POST("/resolve", web.Handle(a.resolve))
	recipients.DELETE("/components/:component", web.Handle(a.forgetComponent))
	return web.Mount(engine, a.operations())
}
