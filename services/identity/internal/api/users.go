package api

import (
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/web"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
)

const userExample = `{"id": "01890a5d-ac96-774b-bcce-b302099a8057", "username": "ada", "email": "ada@example.com", "firstName": "Ada",
	"lastName": "Lovelace", "roles": ["admin", "api"], "disabled": false, "createdAt": "2026-01-31T09:30:00.000Z"}`

func (a api) userOperations() []web.Operation {
	return []web.Operation{
		web.Declare(web.Operation{
			Method: "POST", Path: "/operator/v1/organizations/{id}/users", ID: "createUser", Tag: "users", Summary: "Create a user",
			Status: 201, Errors: []int{409},
			Example: web.Example{Request: `{"username": "ada", "email": "ada@example.com", "firstName": "Ada", "lastName": "Lovelace", "roles": ["admin", "api"]}`, Response: `{"user": ` + userExample + `}`},
		}, web.WithBody(a.addUser)),
		web.Declare(web.Operation{
			Method: "GET", Path: "/operator/v1/organizations/{id}/users", ID: "listUsers", Tag: "users",
			Summary: "List the users of an organization", Status: 200, Example: web.Example{Response: `{"users": [` + userExample + `]}`},
		}, a.listUsers),
		web.Declare(web.Operation{
			Method: "PATCH", Path: "/operator/v1/users/{id}", ID: "changeUser", Tag: "users", Summary: "Change a user",
			Description: "At least one member is required. The change takes effect for the user's next request.", Status: 200,
			Example: web.Example{Request: `{"disabled": true}`, Response: `{"user": ` + userExample + `}`},
		}, web.WithBody(a.changeUser)),
		web.Declare(web.Operation{
			Method: "DELETE", Path: "/operator/v1/users/{id}", ID: "deleteUser", Tag: "users", Summary: "Delete a user",
			Description: "The user's keys are refused from the next request on.", Status: 204,
		}, a.deleteUser),
		web.Declare(web.Operation{
			Method: "POST", Path: "/operator/v1/users/{id}/api-keys", ID: "createKey", Tag: "keys", Summary: "Create a key for the App interface",
			Status: 201, Errors: []int{409}, BodyOptional: true,
			Example: web.Example{Request: `{"name": "deploy"}`, Response: `{"keyId": "01890a5d-ac96-774b-bcce-b302099a8059", "apiKey": "01890a5d-ac96-774b-bcce-b302099a8059:secret"}`},
		}, web.WithBody(a.addKey)),
		web.Declare(web.Operation{
			Method: "POST", Path: "/operator/v1/users/{id}/legacy-key", ID: "setLegacyKey", Tag: "keys", Summary: "Set the key for the legacy interface",
			Description: "The previous legacy key of the user stops working.", Status: 201,
			Example: web.Example{Response: `{"username": "ada", "key": "secret"}`},
		}, a.setLegacyKey),
		web.Declare(web.Operation{
			Method: "POST", Path: "/operator/v1/users/{id}/invitation", ID: "inviteUser", Tag: "users", Summary: "Create a link with which a user sets a password",
			Description: "Valid for 72 hours, once; it replaces the user's former invitation. It also allows the user the password again, for example if single sign-on does not work.", Status: 201,
			Example: web.Example{Response: invitationExample},
		}, a.invite),
	}
}

type userView struct {
	ID        string         `json:"id" format:"uuid"`
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

type oneUserView struct {
	User userView `json:"user"`
}

type userBody struct {
	Username  optional.Value[string]         `json:"username" required:"true" minLength:"1" maxLength:"150" description:"Unique on the installation; without colon and white space."`
	Email     optional.Value[string]         `json:"email" required:"true" format:"email" maxLength:"254"`
	FirstName optional.Value[string]         `json:"firstName" maxLength:"100"`
	LastName  optional.Value[string]         `json:"lastName" maxLength:"100"`
	Roles     optional.Value[[]account.Role] `json:"roles" required:"true" minItems:"1"`
}

func (a api) addUser(c *web.Call[idParameters, userBody], in userBody) (oneUserView, error) {
	user, err := a.accounts.AddUser(c, c.Parameters.ID, account.NewUser{
		Username: in.Username.Value, Email: in.Email.Value, FirstName: in.FirstName.Value, LastName: in.LastName.Value, Roles: in.Roles.Value,
	})
	return oneUserView{viewUser(user)}, err
}

type usersView struct {
	Users []userView `json:"users"`
}

// listUsers lists all users of an organization, so that an operator who lost the id of a user can find it.
func (a api) listUsers(c *web.Call[idParameters, web.None]) (usersView, error) {
	o, err := a.accounts.Organization(c, c.Parameters.ID)
	if err != nil {
		return usersView{}, err
	}
	users, _, err := a.accounts.Members(c, o.ID, find.Query{Order: []find.Order{{Field: account.FieldLegacyID}}})
	return usersView{find.Values(users, viewUser)}, err
}

type userPatch struct {
	Roles    optional.Value[[]account.Role] `json:"roles" minItems:"1"`
	Disabled optional.Value[bool]           `json:"disabled"`
}

func (a api) changeUser(c *web.Call[idParameters, userPatch], in userPatch) (oneUserView, error) {
	user, err := a.accounts.ChangeUser(c, c.Parameters.ID, account.UserPatch{Roles: in.Roles, Disabled: in.Disabled})
	return oneUserView{viewUser(user)}, err
}

func (a api) deleteUser(c *web.Call[idParameters, web.None]) (web.None, error) {
	return web.None{}, a.accounts.DeleteUser(c, c.Parameters.ID)
}

type keyBody struct {
	Name optional.Value[string] `json:"name" minLength:"1" maxLength:"80"`
}

type newKeyView struct {
	KeyID  string `json:"keyId"`
	APIKey string `json:"apiKey" description:"<keyId>:<secret>, shown once."`
}

func (a api) addKey(c *web.Call[idParameters, keyBody], in keyBody) (newKeyView, error) {
	secret := seal.Random()
	key, err := a.accounts.AddKey(c, c.Parameters.ID, in.Name, seal.Digest(secret))
	return newKeyView{key.ID, key.ID + ":" + secret}, err
}

type newLegacyKeyView struct {
	Username string `json:"username"`
	Key      string `json:"key" description:"Shown once."`
}

func (a api) setLegacyKey(c *web.Call[idParameters, web.None]) (newLegacyKeyView, error) {
	secret := seal.Random()
	user, err := a.accounts.SetLegacyKey(c, c.Parameters.ID, seal.Digest(secret))
	return newLegacyKeyView{user.Username, secret}, err
}

func (a api) invite(c *web.Call[idParameters, web.None]) (linkView, error) {
	link, err := a.accounts.Invite(c, c.Parameters.ID)
	return a.viewLink(c.Parameters.ID, &link), err
}
