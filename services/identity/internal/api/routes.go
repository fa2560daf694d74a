// Package api is identity's HTTP side: provisioning for the operator, what the App
// and the legacy interface show of users and keys, and what other services ask.
package api

import (
	"log/slog"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/web"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
)

type api struct {
	directory *account.Directory
	pages     web.Pages
}

// Mount puts all routes on the engine.
func Mount(engine *gin.Engine, directory *account.Directory, pages web.Pages, log *slog.Logger) {
	a := api{directory, pages}

	operator := engine.Group("/operator/v1", web.Surface(passport.Operator))
	operator.POST("/organizations", web.Handle(a.addOrganization))
	operator.GET("/organizations", web.Handle(a.listOrganizations))
	operator.GET("/organizations/:id", web.Handle(a.getOrganization))
	operator.PATCH("/organizations/:id", web.Handle(a.changeOrganization))
	operator.POST("/organizations/:id/users", web.Handle(a.addUser))
	operator.GET("/organizations/:id/users", web.Handle(a.listUsers))
	operator.PATCH("/users/:id", web.Handle(a.changeUser))
	operator.DELETE("/users/:id", web.Handle(a.deleteUser))
	operator.POST("/users/:id/api-keys", web.Handle(a.addKey))
	operator.POST("/users/:id/legacy-key", web.Handle(a.setLegacyKey))

	app := engine.Group("/app", web.Surface(passport.App), entitled)
	app.GET("/users", web.Role(passport.RoleAdmin), web.Handle(a.listMembers))
	app.GET("/profile", web.Handle(a.profile))
	app.GET("/api-keys", web.Handle(a.listKeys))
	app.DELETE("/api-keys/:keyId", web.Handle(a.revokeKey))

	peers := engine.Group(peer.Prefix, web.Surface(passport.Peer))
	peers.POST("/keys/lookup", web.Handle(a.lookupKey))
	peers.GET("/organizations/:"+web.OrganizationParam+"/limits", web.Handle(a.limits))

	legacy.Mount(engine.Group("", web.Surface(passport.Legacy)), legacy.Options{Log: log}, users(directory))
}

// entitled lets only organizations in whose plan has the API.
func entitled(c *gin.Context) {
	if !web.Caller(c).Features.API {
		web.Fail(c, fault.New(fault.Forbidden, "The plan of your organization does not include the API."))
	}
}
