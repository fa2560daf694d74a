package web

import (
	"log/slog"
	"net/url"
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

// Surface lets only callers of the surfaces in, and on those whose parameters are read one by one
// only a query that can be read whole.
func Surface(surfaces ...passport.Surface) gin.HandlerFunc {
	return func(c *gin.Context) {
		surface := Caller(c).Surface
		if !slices.Contains(surfaces, surface) {
			Fail(c, fault.New(fault.Denied, "the passport is for another interface"))
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

// Role lets only members with one of the roles in; an admin always is.
func Role(roles ...string) gin.HandlerFunc {
	return func(c *gin.Context) {
		if !Caller(c).Has(roles...) {
			Fail(c, fault.New(fault.Forbidden, "Your role does not allow this."))
		}
	}
}

// Integrations lets only organizations in whose plan has the integrations.
func Integrations(c *gin.Context) {
	if !Caller(c).Features.Integrations {
		Fail(c, fault.New(fault.Forbidden, "The plan of your organization does not include integrations."))
	}
}

// UptimeReports lets only organizations in whose plan are reports of uptime.
func UptimeReports(c *gin.Context) {
	if !Caller(c).Features.UptimeReports {
		Fail(c, fault.New(fault.Forbidden, "The plan of your organization does not include uptime reports."))
	}
}

// Caller is who makes the request.
func Caller(c *gin.Context) passport.Passport { return passport.From(c.Request.Context()) }
