package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/web"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
)

func (a api) lookupKey(c *gin.Context) error {
	in, err := web.Body[peer.KeyLookup](c)
	if err != nil {
		return err
	}
	if in.Scheme != peer.Bearer && in.Scheme != peer.APIKey && in.Scheme != peer.Session {
		return fault.Field("scheme", "must be %s, %s or %s", peer.Bearer, peer.APIKey, peer.Session)
	}
	ref := account.KeyRef{Scheme: account.Scheme(in.Scheme), ID: in.ID}
	credential, err := a.accounts.Credential(c.Request.Context(), ref, in.SecretDigest)
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, viewCredential(credential))
	return nil
}

// viewCredential returns the credential as gateways cache it.
func viewCredential(credential account.Credential) peer.Credential {
	user := credential.User
	view := peer.Credential{
		SecretDigest: credential.Key.Digest, Organization: user.Organization,
		User: user.ID, LegacyUser: user.LegacyID, Username: user.Username, Email: user.Email,
		KeyID: credential.Key.ID, Roles: find.Values(credential.Roles, func(role account.Role) string { return string(role) }),
		Features: passport.Features(credential.Terms.Features), Limits: peer.Limits(credential.Terms.Limits),
	}
	if s := credential.Session; s != nil {
		view.KeyID, view.Session, view.ExpiresAt = "", s.ID, s.ExpiresAt()
	}
	return view
}

// terms returns a handler that responds with a view of the terms of an organization.
func (a api) terms(view func(account.Terms) any) gin.HandlerFunc {
	return web.Handle(func(c *gin.Context) error {
		organization, err := a.accounts.Organization(c.Request.Context(), c.Param(web.OrganizationParam))
		if err != nil {
			return err
		}
		c.PureJSON(http.StatusOK, view(a.accounts.Terms(organization)))
		return nil
	})
}
