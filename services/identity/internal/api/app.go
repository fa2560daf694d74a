package api

import (
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/web"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
)

func (a api) memberOperations() []web.Operation {
	return []web.Operation{
		web.Declare(web.Operation{
			Method: "GET", Path: "/app/users", ID: "listUsers", Tag: "users", Summary: "List the organization's members",
			Roles: []string{passport.RoleAdmin}, Status: 200,
			Example: web.Example{Response: `{"users": [{"email": "ada@example.com", "firstName": "Ada", "lastName": "Lovelace", "roles": ["admin", "api"],
				"allowPasswordAuth": false, "disabled": false, "createdAt": "2026-01-31T09:30:00.000Z", "lastLoginAt": null}]}`},
		}, a.listMembers),
		web.Declare(web.Operation{
			Method: "GET", Path: "/app/profile", ID: "getProfile", Tag: "users", Summary: "Get the profile of the key's user", Status: 200,
			Example: web.Example{Response: `{"profile": {"userId": "01890a5d-ac96-774b-bcce-b302099a8057", "email": "ada@example.com",
				"firstName": "Ada", "lastName": "Lovelace", "roles": ["admin"],
				"organization": {"id": "01890a5d-ac96-774b-bcce-b302099a8058", "name": "Acme"},
				"enabledFeatures": {"api": true, "integrations": true}, "capabilities": {"uptimeReports": true}, "allowPasswordAuth": false,
				"createdAt": "2026-01-31T09:30:00.000Z", "lastLoginAt": "2026-02-01T08:00:00.000Z",
				"apiKey": {"keyId": "01890a5d-ac96-774b-bcce-b302099a8059", "name": "deploy", "createdAt": "2026-01-31T09:30:00.000Z", "lastUsedAt": null}}}`},
		}, a.profile),
		web.Declare(web.Operation{
			Method: "GET", Path: "/app/api-keys", ID: "listKeys", Tag: "api-keys", Summary: "List the caller's own keys",
			Description: "Without their secrets.", Status: 200,
			Example: web.Example{Response: `{"apiKeys": [{"keyId": "01890a5d-ac96-774b-bcce-b302099a8059", "name": "deploy",
				"createdAt": "2026-01-31T09:30:00.000Z", "lastUsedAt": null}], "nextToken": null}`},
		}, a.listKeys),
		web.Declare(web.Operation{
			Method: "DELETE", Path: "/app/api-keys/{keyId}", ID: "revokeKey", Tag: "api-keys", Summary: "Revoke one of the caller's own keys",
			Description: "The revocation is permanent. The next request with the key gets 403. A key of another member gets 403 too.", Status: 204,
		}, a.revokeKey),
	}
}

// memberView is the "Organization member" of the specification.
type memberView struct {
	Email             string         `json:"email"`
	FirstName         string         `json:"firstName"`
	LastName          string         `json:"lastName"`
	Roles             []account.Role `json:"roles"`
	AllowPasswordAuth bool           `json:"allowPasswordAuth"`
	Disabled          bool           `json:"disabled"`
	CreatedAt         web.Time       `json:"createdAt"`
	LastLoginAt       *web.Time      `json:"lastLoginAt" description:"Null if the member never logged in."`
}

type membersView struct {
	Users []memberView `json:"users"`
}

func (a api) listMembers(c *web.Call[web.None, web.None]) (membersView, error) {
	members, _, err := a.accounts.Members(c, c.Caller.Organization, find.Query{Order: []find.Order{{Field: account.FieldLegacyID}}})
	return membersView{find.Values(members, func(u account.User) memberView {
		return memberView{
			Email: u.Email, FirstName: u.FirstName, LastName: u.LastName, Roles: u.Roles,
			AllowPasswordAuth: u.AllowPasswordAuth, Disabled: u.Disabled,
			CreatedAt: web.Time(u.CreatedAt), LastLoginAt: web.TimeOf(u.LastLoginAt),
		}
	})}, err
}

type profileView struct {
	UserID            string                  `json:"userId" format:"uuid"`
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
	APIKey            keyView                 `json:"apiKey" description:"The key of this request."`
}

type profileOrganizationView struct {
	ID   string `json:"id" format:"uuid"`
	Name string `json:"name"`
}

type oneProfileView struct {
	Profile profileView `json:"profile"`
}

type keyView struct {
	KeyID      string    `json:"keyId" description:"The part of the key before the colon."`
	Name       string    `json:"name"`
	CreatedAt  web.Time  `json:"createdAt"`
	LastUsedAt *web.Time `json:"lastUsedAt" description:"To the minute; null if the key was never used."`
}

func viewKey(k account.Key) keyView {
	return keyView{KeyID: k.ID, Name: k.Name, CreatedAt: web.Time(k.CreatedAt), LastUsedAt: web.TimeOf(k.LastUsedAt)}
}

func (a api) profile(c *web.Call[web.None, web.None]) (oneProfileView, error) {
	user, key, err := a.accounts.Caller(c, c.Caller.Organization, c.Caller.User, c.Caller.KeyID)
	if err != nil {
		return oneProfileView{}, err
	}
	organization, err := a.accounts.Organization(c, user.Organization)
	if err != nil {
		return oneProfileView{}, err
	}
	terms := a.accounts.Terms(organization)
	return oneProfileView{profileView{
		UserID: user.ID, Email: user.Email, FirstName: user.FirstName, LastName: user.LastName, Roles: user.Roles,
		Organization:    profileOrganizationView{organization.ID, organization.Name},
		EnabledFeatures: viewFeatures(terms), Capabilities: capabilitiesView{terms.Features.UptimeReports},
		AllowPasswordAuth: user.AllowPasswordAuth, CreatedAt: web.Time(user.CreatedAt), LastLoginAt: web.TimeOf(user.LastLoginAt),
		APIKey: viewKey(key),
	}}, nil
}

type keysView struct {
	APIKeys   []keyView `json:"apiKeys"`
	NextToken *string   `json:"nextToken"`
}

func (a api) listKeys(c *web.Call[web.Paging, web.None]) (keysView, error) {
	keys, next, err := web.Listed(a.pages, c.List, c.Parameters, func(limit int, after string) (find.Page[account.Key], error) {
		user, _, err := a.accounts.Caller(c, c.Caller.Organization, c.Caller.User, c.Caller.KeyID)
		return user.KeysAfter(after, limit), err
	}, viewKey)
	return keysView{keys, next}, err
}

type keyParameters struct {
	KeyID string `path:"keyId" format:"uuid" description:"The part of the key before the colon."`
}

func (a api) revokeKey(c *web.Call[keyParameters, web.None]) (web.None, error) {
	return web.None{}, a.accounts.RevokeKey(c, c.Caller.Organization, c.Caller.User, c.Parameters.KeyID)
}
