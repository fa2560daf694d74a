package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/web"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
)

// memberView is the specification's "Organization member".
type memberView struct {
	Email             string         `json:"email"`
	FirstName         string         `json:"firstName"`
	LastName          string         `json:"lastName"`
	Roles             []account.Role `json:"roles"`
	AllowPasswordAuth bool           `json:"allowPasswordAuth"`
	Disabled          bool           `json:"disabled"`
	CreatedAt         web.Time       `json:"createdAt"`
	LastLoginAt       *web.Time      `json:"lastLoginAt"`
}

func (a api) listMembers(c *gin.Context) error {
	members, _, err := a.directory.Members(c.Request.Context(), web.Caller(c).Organization,
		find.Query{Order: []find.Order{{Field: "legacyId"}}})
	if err != nil {
		return err
	}
	views := make([]memberView, len(members))
	for i, u := range members {
		views[i] = memberView{
			Email: u.Email, FirstName: u.FirstName, LastName: u.LastName, Roles: u.Roles,
			AllowPasswordAuth: u.AllowPasswordAuth, Disabled: u.Disabled,
			CreatedAt: web.Time(u.CreatedAt), LastLoginAt: web.TimeOf(u.LastLoginAt),
		}
	}
	c.PureJSON(http.StatusOK, gin.H{"users": views})
	return nil
}

type profileView struct {
	UserID            string                  `json:"userId"`
	Email             string                  `json:"email"`
	FirstName         string                  `json:"firstName"`
	LastName          string                  `json:"lastName"`
	Roles             []account.Role          `json:"roles"`
	Organization      profileOrganizationView `json:"organization"`
	EnabledFeatures   featuresView            `json:"enabledFeatures"`
	Capabilities      capabilitiesView        `json:"capabilities"`
	AllowPasswordAuth bool                    `json:"allowPasswordAuth"`
	CreatedAt         web.Time                `json:"createdAt"`
	LastLoginAt       *web.Time               `json:"lastLoginAt"`
	APIKey            keyView                 `json:"apiKey"`
}

type profileOrganizationView struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type keyView struct {
	KeyID      string    `json:"keyId"`
	Name       string    `json:"name"`
	CreatedAt  web.Time  `json:"createdAt"`
	LastUsedAt *web.Time `json:"lastUsedAt"`
}

func viewKey(k account.Key) keyView {
	return keyView{KeyID: k.ID, Name: k.Name, CreatedAt: web.Time(k.CreatedAt), LastUsedAt: web.TimeOf(k.LastUsedAt)}
}

// member is the calling user's record. One that was deleted, or whose key was
// revoked, since the gateway let it in is denied like any later request.
func (a api) member(c *gin.Context) (account.User, account.Key, error) {
	caller := web.Caller(c)
	user, err := a.directory.Member(c.Request.Context(), caller.Organization, caller.User)
	if fault.Is(err, fault.NotFound) {
		return user, account.Key{}, fault.Wrap(fault.Denied, err, "the caller is gone")
	}
	for _, key := range user.ActiveKeys() {
		if key.ID == caller.KeyID {
			return user, key, err
		}
	}
	if err == nil {
		err = fault.New(fault.Denied, "the caller's key is gone")
	}
	return user, account.Key{}, err
}

func (a api) profile(c *gin.Context) error {
	user, key, err := a.member(c)
	if err != nil {
		return err
	}
	organization, err := a.directory.Organization(c.Request.Context(), user.Organization)
	if err != nil {
		return err
	}
	terms := a.directory.Terms(organization)
	c.PureJSON(http.StatusOK, gin.H{"profile": profileView{
		UserID: user.ID, Email: user.Email, FirstName: user.FirstName, LastName: user.LastName, Roles: user.Roles,
		Organization:    profileOrganizationView{organization.ID, organization.Name},
		EnabledFeatures: viewFeatures(terms), Capabilities: capabilitiesView{terms.Features.UptimeReports},
		AllowPasswordAuth: user.AllowPasswordAuth, CreatedAt: web.Time(user.CreatedAt), LastLoginAt: web.TimeOf(user.LastLoginAt),
		APIKey: viewKey(key),
	}})
	return nil
}

func (a api) listKeys(c *gin.Context) error {
	limit, after, err := a.pages.Asked(c)
	if err != nil {
		return err
	}
	user, _, err := a.member(c)
	if err != nil {
		return err
	}
	keys, next := user.KeysAfter(after, limit)
	views := make([]keyView, len(keys))
	for i, key := range keys {
		views[i] = viewKey(key)
	}
	c.PureJSON(http.StatusOK, gin.H{"apiKeys": views, "nextToken": a.pages.Token(c, next)})
	return nil
}

func (a api) revokeKey(c *gin.Context) error {
	caller := web.Caller(c)
	if err := a.directory.RevokeKey(c.Request.Context(), caller.Organization, caller.User, c.Param("keyId")); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}
