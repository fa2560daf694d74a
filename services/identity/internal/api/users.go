package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/web"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
)

type userView struct {
	ID        string         `json:"id"`
	Username  string         `json:"username"`
	Email     string         `json:"email"`
	FirstName string         `json:"firstName"`
	LastName  string         `json:"lastName"`
	Roles     []account.Role `json:"roles"`
	Disabled  bool           `json:"disabled"`
	CreatedAt web.Time       `json:"createdAt"`
}

func viewUser(u account.User) userView {
	return userView{
		ID: u.ID, Username: u.Username, Email: u.Email, FirstName: u.FirstName, LastName: u.LastName,
		Roles: u.Roles, Disabled: u.Disabled, CreatedAt: web.Time(u.CreatedAt),
	}
}

func (a api) addUser(c *gin.Context) error {
	type body struct {
		Username  string         `json:"username"`
		Email     string         `json:"email"`
		FirstName string         `json:"firstName"`
		LastName  string         `json:"lastName"`
		Roles     []account.Role `json:"roles"`
	}
	in, err := web.Body[body](c)
	if err != nil {
		return err
	}
	user, err := a.directory.AddUser(c.Request.Context(), c.Param("id"), account.NewUser(in))
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusCreated, gin.H{"user": viewUser(user)})
	return nil
}

// listUsers shows all of an organization's users, so that an operator who has lost an
// id finds it again.
func (a api) listUsers(c *gin.Context) error {
	o, err := a.directory.Organization(c.Request.Context(), c.Param("id"))
	if err != nil {
		return err
	}
	users, _, err := a.directory.Members(c.Request.Context(), o.ID, find.Query{Order: []find.Order{{Field: "legacyId"}}})
	if err != nil {
		return err
	}
	views := make([]userView, len(users))
	for i, u := range users {
		views[i] = viewUser(u)
	}
	c.PureJSON(http.StatusOK, gin.H{"users": views})
	return nil
}

func (a api) changeUser(c *gin.Context) error {
	type body struct {
		Roles    account.Sent[[]account.Role] `json:"roles"`
		Disabled account.Sent[bool]           `json:"disabled"`
	}
	in, err := web.Body[body](c)
	if err != nil {
		return err
	}
	user, err := a.directory.ChangeUser(c.Request.Context(), c.Param("id"), account.UserPatch(in))
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, gin.H{"user": viewUser(user)})
	return nil
}

func (a api) deleteUser(c *gin.Context) error {
	if err := a.directory.DeleteUser(c.Request.Context(), c.Param("id")); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

func (a api) addKey(c *gin.Context) error {
	type body struct {
		Name string `json:"name"`
	}
	in, err := web.OptionalBody[body](c)
	if err != nil {
		return err
	}
	secret := seal.Random()
	key, err := a.directory.AddKey(c.Request.Context(), c.Param("id"), in.Name, seal.Digest(secret))
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusCreated, gin.H{"keyId": key.ID, "apiKey": key.ID + ":" + secret})
	return nil
}

func (a api) setLegacyKey(c *gin.Context) error {
	if _, err := web.OptionalBody[struct{}](c); err != nil {
		return err
	}
	secret := seal.Random()
	user, err := a.directory.SetLegacyKey(c.Request.Context(), c.Param("id"), seal.Digest(secret))
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusCreated, gin.H{"username": user.Username, "key": secret})
	return nil
}
