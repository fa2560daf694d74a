package web

import (
	"log/slog"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// OrganizationParam is the name of the path parameter with the organization, in calls between services.
const OrganizationParam = "organization"

// checkPassport returns a handler that responds with an error to a request without a valid passport for this service,
// and to a peer's request whose path names another organization than its passport. The handler stores the passport and
// the origin of the request's writes in the context of the request.
func checkPassport(service string, signer *passport.Signer, log *slog.Logger) gin.HandlerFunc {
	return func(c *gin.Context) {
		p, err := signer.Verify(c.GetHeader(passport.Header), service)
		if err != nil {
			log.WarnContext(c.Request.Context(), "request without a valid passport", "reason", err.Error(), "path", c.FullPath())
			Fail(c, err)
			return
		}
		if organization, named := c.Params.Get(OrganizationParam); named && p.Surface == passport.Peer && organization != p.Organization {
			log.WarnContext(c.Request.Context(), "passport of another organization", "path", c.FullPath())
			Fail(c, fault.New(fault.Denied, "the passport is another organization's"))
			return
		}
		ctx := audit.With(passport.With(c.Request.Context(), p), origin(p, c.GetHeader("X-Request-Id")))
		c.Request = c.Request.WithContext(ctx)
		c.Next()
	}
}

// origin returns the origin of a request's writes for the audit log. It is zero for a call of another service,
// because the request that causes this call makes the audit entry.
func origin(p passport.Passport, request string) audit.Origin {
	o := audit.OfRequest(p.IP, request, string(p.Surface))
	switch p.Surface {
	case passport.App, passport.Legacy:
		if p.ByConsole() {
			o.Surface = string(passport.Console)
			if p.Session == "" { // a sign-in page: the operation finds out who the user is, see audit.WithUser
				return o
			}
		}
		o.Actor = topic.Actor{Type: topic.ActorUser, ID: p.User, Email: p.Email, KeyID: p.KeyID}
	case passport.Operator:
		o.Actor.Type = topic.ActorOperator
	case passport.Public:
		o.Actor.Type = topic.ActorVisitor
	default:
		return audit.Origin{}
	}
	return o
}

// Surface returns a handler that responds with a Denied fault to callers of other surfaces.
func Surface(surfaces ...passport.Surface) gin.HandlerFunc {
	return func(c *gin.Context) {
		if !slices.Contains(surfaces, Caller(c).Surface) {
			Fail(c, fault.New(fault.Denied, "the passport is for another interface"))
		}
	}
}

// Caller returns the passport of the request's caller.
func Caller(c *gin.Context) passport.Passport { return passport.From(c.Request.Context()) }
