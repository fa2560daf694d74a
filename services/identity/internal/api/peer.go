package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/fault"
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
	if in.Scheme != peer.Bearer && in.Scheme != peer.APIKey {
		return fault.Field("scheme", "must be %s or %s", peer.Bearer, peer.APIKey)
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
	roles := make([]string, len(user.Roles))
	for i, role := range user.Roles {
		roles[i] = string(role)
	}
	return peer.Credential{
		SecretDigest: credential.Key.Digest, Organization: user.Organization,
		User: user.ID, LegacyUser: user.LegacyID, Username: user.Username, Email: user.Email,
		KeyID: credential.Key.ID, Roles: roles,
		Features: passport.Features(credential.Terms.Features), Limits: peer.Limits(credential.Terms.Limits),
	}
}

func (a api) limits(c *gin.Context) error {
	organization, err := a.accounts.Organization(c.Request.Context(), c.Param(web.OrganizationParam))
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, peer.Limits(a.accounts.Terms(organization).Limits))
	return nil
}

func (a api) features(c *gin.Context) error {
	organization, err := a.accounts.Organization(c.Request.Context(), c.Param(web.OrganizationParam))
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, passport.Features(a.accounts.Terms(organization).Features))
	return nil
}
