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

// Mount puts the routes on the engine.
func (a *API) Mount(engine *gin.Engine) {
	app := engine.Group("/app/integrations", web.Surface(passport.App), web.Role(passport.RoleSubscriber), web.Integrations)
	for _, kind := range a.kinds {
		r := resource{a, kind}
		path := "/" + kind.Path + "/endpoints"
		app.GET(path, web.Handle(r.list))
		app.POST(path, web.Handle(r.create))
		app.PATCH(path, web.Handle(r.change))
		app.DELETE(path, web.Handle(r.remove))
	}
	recipients := engine.Group(peer.Prefix+"/organizations/:"+web.OrganizationParam+"/recipients", web.Surface(passport.Peer))
	recipients.POST("/concerned", web.Handle(a.concerned))
	recipients.POST("/resolve", web.Handle(a.resolve))
	recipients.DELETE("/components/:component", web.Handle(a.forgetComponent))
}
