// Package api serves the App and the operator interface of identity, the users on the legacy interface, and the
// requests of other services.
package api

import (
	"log/slog"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/web"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
)

type api struct {
	accounts *account.Accounts
	pages    web.Pages
}

// Operations declares what the service offers on the App and the operator interface.
func Operations() []web.Operation { return api{}.operations() }

func (a api) operations() []web.Operation {
	return slices.Concat(a.memberOperations(), a.profileOperations(), a.keyOperations(), a.signInOperations(), a.sessionOperations(), a.secondFactorOperations(), a.signOnOperations(), a.ownOrganizationOperations(),
		a.auditOperations(), a.organizationOperations(), a.userOperations())
}

// Legacy returns the resources that the service offers on the legacy interface.
func Legacy() []legacy.Declared { return []legacy.Declared{users(nil)} }

// Mount adds all routes to the engine.
func Mount(engine *gin.Engine, accounts *account.Accounts, pages web.Pages, log *slog.Logger) error {
	a := api{accounts, pages}

	peers := engine.Group(peer.Prefix, web.Surface(passport.Peer))
	peers.POST("/keys/lookup", web.Handle(a.lookupKey))
	peers.GET("/organizations/:"+web.OrganizationParam+"/limits", a.terms(func(t account.Terms) any { return peer.Limits(t.Limits) }))
	peers.GET("/organizations/:"+web.OrganizationParam+"/features", a.terms(func(t account.Terms) any { return passport.Features(t.Features) }))

	web.MountResolve(engine, accounts.Resolve)
	legacy.Mount(engine.Group("", web.Surface(passport.Legacy)), legacy.Options{Log: log}, users(accounts))
	return web.Mount(engine, a.operations())
}
