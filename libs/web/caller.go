package web

import (
	"log/slog"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/gin-gonic/gin"
)

// OrganizationParam names the path parameter that peers name the organization with.
const OrganizationParam = "organization"

// checkPassport refuses every request without a valid passport for this service,
// and one whose path names another organization than its passport.
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
		c.Request = c.Request.WithContext(passport.With(c.Request.Context(), p))
		c.Next()
	}
}

// Surface refuses callers of other surfaces.
func Surface(surfaces ...passport.Surface) gin.HandlerFunc {
	return func(c *gin.Context) {
		if !slices.Contains(surfaces, Caller(c).Surface) {
			Fail(c, fault.New(fault.Denied, "the passport is for another interface"))
		}
	}
}

// Caller is who makes the request.
func Caller(c *gin.Context) passport.Passport { return passport.From(c.Request.Context()) }
