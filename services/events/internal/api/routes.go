// Package api serves the catalog over HTTP: the legacy resources, the App interface, the calls of peers, and the public
// files of a dashboard. A handler decodes the request, makes one call of the domain and returns its view.
package api

import (
	"log/slog"
	"reflect"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
	"github.com/gin-gonic/gin"
)

// Options are what the routes need besides the catalog.
type Options struct {
	Log           *slog.Logger
	Pages         web.Pages
	LegacyBase    string       // what /api/v1/ is reached under
	DashboardBase string       // what /d/{slug} is reached under
	Entries       seal.Tickets // tickets of visitors who know the password of a page
}

type api struct {
	catalog  *catalog.Catalog
	editions *edition.Editions
	Options
}

func Operations() []web.Operation { return api{}.appOperations() }

// Legacy returns the resources, for the document of the legacy interface.
func Legacy() []legacy.Declared { return api{}.legacyResources() }

func (a api) legacyResources() []legacy.Declared {
	return append(legacy.Lookups(), a.services(), a.events(), a.eventServices(), a.eventUpdates())
}

func (a api) appOperations() []web.Operation {
	return slices.Concat(a.dashboardOperations(), a.componentOperations(), a.eventListOperations(), a.eventOperations(), a.noteOperations(), a.postMortemOperations(), a.reportOperations())
}

func Mount(engine *gin.Engine, board *catalog.Catalog, editions *edition.Editions, options Options) error {
	a := api{board, editions, options}

	legacy.Mount(engine.Group("", web.Surface(passport.Legacy)), legacy.Options{Log: options.Log, BaseURL: options.LegacyBase},
		a.legacyResources()...)

	public := engine.Group("/public/v1", web.Surface(passport.Public))
	for _, method := range []string{"GET", "HEAD"} {
		public.Handle(method, "/dashboards/:slug/list", web.Handle(a.publicBySlug))
		public.Handle(method, "/hosts/:host/list", web.Handle(a.publicByHost))
		public.Handle(method, "/dashboards/:slug/edition", web.Handle(a.editionBySlug))
		public.Handle(method, "/hosts/:host/edition", web.Handle(a.editionByHost))
		public.Handle(method, "/editions/:edition/files/*name", web.Handle(a.editionFile))
	}
	public.POST("/dashboards/:slug/enter", web.Handle(a.enterBySlug))
	public.POST("/hosts/:host/enter", web.Handle(a.enterByHost))

	engine.POST(peer.Prefix+"/public-dashboards/lookup", web.Surface(passport.Peer), web.Handle(a.peerPublicDashboard))
	engine.GET(peer.Prefix+"/public-dashboards/only", web.Surface(passport.Peer), web.Handle(a.peerOnlyDashboard))
	engine.GET(peer.Prefix+"/dashboards/:id/frame", web.Surface(passport.Peer), web.Handle(a.peerFrame))
	peers := engine.Group(peer.Prefix+"/organizations/:"+web.OrganizationParam, web.Surface(passport.Peer))
	peers.GET("/dashboards/:id", web.Handle(a.peerDashboard))
	peers.GET("/dashboards/first", web.Handle(a.peerFirstDashboard))
	peers.PUT("/dashboards/:id", web.Handle(a.peerCreateDashboard))
	peers.POST("/dashboards/lookup", web.Handle(a.peerDashboards))
	peers.PUT("/plan", web.Handle(a.peerPlan))
	peers.GET("/events/:id", web.Handle(a.peerEvent))
	peers.POST("/components/lookup", web.Handle(a.peerComponents))
	peers.POST("/inbound", web.Handle(a.peerIngest))
	return web.Mount(engine, a.appOperations())
}

// appCommand returns the origin of a write through the App interface, with the condition of its If-Match.
func appCommand[P, B any](c *web.Call[P, B]) catalog.Command {
	return catalog.Command{
		Organization: c.Caller.Organization, Source: catalog.SourceApp, IfMatch: c.IfMatch,
		Author: catalog.Author{UserID: c.Caller.User, LegacyUserID: c.Caller.LegacyUser, Name: c.Caller.Username},
	}
}

// checkSent returns an Invalid fault if the body of a change has no member.
func checkSent(body any) error {
	if reflect.ValueOf(body).IsZero() {
		return fault.New(fault.Invalid, "Send at least one field to change.")
	}
	return nil
}
