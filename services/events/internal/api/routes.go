// Package api serves the catalog over HTTP: the legacy resources, the App interface, the calls of peers, and the public
// files of a dashboard. A handler decodes the request, calls the domain and returns a view of the result.
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

// Options are what the routes need besides the catalog and the editions.
type Options struct {
	Log        *slog.Logger
	Pages      web.Pages
	LegacyBase string // the URL below which /api/v1/ is
	Addresses  catalog.Addresses
	// ProofToken returns the text that the TXT record of a host of an organization must contain.
	ProofToken func(organization, host string) string
	Entries    seal.Tickets // issues the tickets of visitors who have entered the password of a page
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
	return slices.Concat(a.dashboardOperations(), a.componentOperations(), a.eventListOperations(), a.eventOperations(), a.importOperations(), a.eventExportOperations(), a.timelineOperations(), a.noteOperations(), a.postMortemOperations(), a.reportOperations(), a.templateOperations())
}

func Mount(engine *gin.Engine, board *catalog.Catalog, editions *edition.Editions, options Options) error {
	a := api{board, editions, options}

	legacy.Mount(engine.Group("", web.Surface(passport.Legacy)), legacy.Options{Log: options.Log, BaseURL: options.LegacyBase},
		a.legacyResources()...)

	public := engine.Group("/public/v1", web.Surface(passport.Public))
	read := []string{"GET", "HEAD"}
	public.Match(read, "/editions/:edition/files/*name", web.Handle(a.editionFile))
	public.Match(read, "/aliases/:dashboard", web.Handle(a.aliasTable))
	for _, at := range []string{"/dashboards/:slug", "/hosts/:host"} {
		public.Match(read, at+"/list", web.Handle(a.publicList))
		public.Match(read, at+"/edition", web.Handle(a.publicEdition))
		public.POST(at+"/enter", web.Handle(a.enter))
	}

	engine.POST(peer.Prefix+"/public-dashboards/lookup", web.Surface(passport.Peer), web.Handle(a.peerPublicDashboard))
	engine.GET(peer.Prefix+"/public-dashboards/only", web.Surface(passport.Peer), web.Handle(a.peerOnlyDashboard))
	engine.GET(peer.Prefix+"/dashboards/:id/frame", web.Surface(passport.Peer), web.Handle(a.peerFrame))
	peers := engine.Group(peer.Prefix+"/organizations/:"+web.OrganizationParam, web.Surface(passport.Peer))
	peers.GET("/dashboards/:id", web.Handle(a.peerDashboard))
	peers.GET("/dashboards/first", web.Handle(a.peerFirstDashboard))
	peers.GET("/dashboards/:id/status", web.Handle(a.peerPageStatus))
	peers.PUT("/dashboards/:id", web.Handle(a.peerCreateDashboard))
	peers.POST("/dashboards/lookup", web.Handle(a.peerDashboards))
	peers.PUT("/plan", web.Handle(a.peerPlan))
	peers.GET("/events/:id", web.Handle(a.peerEvent))
	peers.POST("/components/lookup", web.Handle(a.peerComponents))
	peers.POST("/inbound", web.Handle(a.peerIngest))
	return web.Mount(engine, a.appOperations())
}

// operation returns an operation on records. path is relative to the path of their list, /app/{records}.
func operation(records string, roles []string, method, path, id, summary, description string, status int, errors ...int) web.Operation {
	return web.Operation{
		Method: method, Path: "/app/" + records + path, ID: id, Tag: records, Summary: summary, Description: description,
		Roles: roles, Versioned: true, Status: status, Errors: errors,
	}
}

// appCommand returns the Command of a write through the App interface, with the caller as author and the check of
// If-Match.
func appCommand[P, B any](c *web.Call[P, B]) catalog.Command {
	return catalog.Command{
		Organization: c.Caller.Organization, Source: catalog.SourceApp, IfMatch: c.IfMatch,
		Author: catalog.Author{UserID: c.Caller.User, LegacyUserID: c.Caller.LegacyUser, Name: c.Caller.Username},
	}
}

// withBody returns a change that applies the body of the request. The change reads the body, so that a version conflict
// is reported before a fault of the body.
func withBody[P, B any](c *web.Call[P, B], apply func(*catalog.EventEdit, B) error) func(*catalog.EventEdit) error {
	return func(d *catalog.EventEdit) error {
		in, err := c.Body()
		if err != nil {
			return err
		}
		return apply(d, in)
	}
}

// checkSent returns an Invalid fault if the body of a change has no member.
func checkSent(body any) error {
	if reflect.ValueOf(body).IsZero() {
		return fault.New(fault.Invalid, "Send at least one field to change.")
	}
	return nil
}
