package web

import (
	"log/slog"
	"net/url"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/gin-gonic/gin"
)

// OrganizationParam is the name of the path parameter with the organization, on the Peer surface.
const OrganizationParam = "organization"

// checkPassport refuses each request without a valid passport for this service, and each
// request of a peer whose path contains another organization than its passport.
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
			Fail(c, fault.New(fault.Denied, "The passport is for another organization."))
			return
		}
		c.Request = c.Request.WithContext(passport.With(c.Request.Context(), p))
		c.Next()
	}
}

// Surface refuses callers of other surfaces. On the App and Operator surfaces it also refuses a
// query that cannot be parsed, because handlers there read single parameters.
func Surface(surfaces ...passport.Surface) gin.HandlerFunc {
	return func(c *gin.Context) {
		surface := Caller(c).Surface
		if !slices.Contains(surfaces, surface) {
			Fail(c, fault.New(fault.Denied, "The passport is for another interface."))
			return
		}
		if surface != passport.App && surface != passport.Operator {
			return
		}
		if _, err := url.ParseQuery(c.Request.URL.RawQuery); err != nil {
			Fail(c, fault.Wrap(fault.Invalid, err, "The query cannot be read."))
		}
	}
}

// Role refuses callers without any of the roles. An admin has every role.
func Role(roles ...string) gin.HandlerFunc {
	return func(c *gin.Context) {
		if !Caller(c).Has(roles...) {
			Fail(c, fault.New(fault.Forbidden, "Your role does not allow this."))
		}
	}
}

// Integrations refuses organizations whose plan does not include integrations.
func Integrations(c *gin.Context) {
	if !Caller(c).Features.Integrations {
		Fail(c, fault.New(fault.Forbidden, "The plan of your organization does not include integrations."))
	}
}

// UptimeReports refuses organizations whose plan does not include uptime reports.
func UptimeReports(c *gin.Context) {
	if !Caller(c).Features.UptimeReports {
		Fail(c, fault.New(fault.Forbidden, "The plan of your organization does not include uptime reports."))
	}
}

// Caller returns the verified passport of the request.
func Caller(c *gin.Context) passport.Passport { return passport.From(c.Request.Context()) }
