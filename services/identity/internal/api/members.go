package api

import (
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/web"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
)

const memberExample = `{"userId": "01890a5d-ac96-774b-bcce-b302099a8057", "username": "ada", "email": "ada@example.com", "firstName": "Ada", "lastName": "Lovelace",
	"roles": ["admin", "api"], "allowPasswordAuth": true, "disabled": false, "createdAt": "2026-01-31T09:30:00.000Z", "lastLoginAt": null,
	"secondFactors": {"totp": true, "passkeys": 1}, "signOn": false, "hasPassword": true, "invited": false, "version": 3}`

const invitationExample = `{"url": "https://status.example.com/console/welcome?token=token", "expiresAt": "2026-02-03T09:30:00.000Z"}`

func (a api) memberOperations() []web.Operation {
	admin := []string{passport.RoleAdmin}
	return []web.Operation{
		web.Declare(web.Operation{
			Method: "GET", Path: "/app/users", ID: "listUsers", Tag: "users", Summary: "List the organization's members",
			Roles: admin, Status: 200, Example: web.Example{Response: `{"users": [` + memberExample + `]}`},
		}, a.listMembers),
		web.Declare(web.Operation{
			Method: "POST", Path: "/app/users", ID: "inviteUser", Tag: "users", Summary: "Invite a new member",
			Description: "The user name must not contain @. The member gets a mail with a link to set a password, which is valid for 72 hours. Only this response shows the link. A session needs a recent sign-in. A key cannot invite an admin.",
			Roles:       admin, Versioned: true, Status: 201, Errors: []int{409},
			Example: web.Example{
				Request:  `{"username": "ada", "email": "ada@example.com", "firstName": "Ada", "lastName": "Lovelace", "roles": ["admin", "api"]}`,
				Response: `{"user": ` + memberExample + `, "invitation": ` + invitationExample + `}`,
			},
		}, web.WithBody(a.inviteMember)),
		web.Declare(web.Operation{
			Method: "GET", Path: "/app/users/{id}", ID: "getUser", Tag: "users", Summary: "Get a member",
			Roles: admin, Versioned: true, Status: 200, Example: web.Example{Response: `{"user": ` + memberExample + `}`},
		}, a.getMember),
		web.Declare(web.Operation{
			Method: "PATCH", Path: "/app/users/{id}", ID: "changeUser", Tag: "users", Summary: "Change a member",
			Description: "At least one member of the body is required. Roles and disabled take effect for the member's next request. A disabled member has no sessions. The last enabled admin stays. With enforced single sign-on, only members with allowPasswordAuth true may use a password. A session needs a recent sign-in. A key cannot change email, cannot set allowPasswordAuth to true, cannot add the role admin, and cannot enable a member with it.",
			Roles:       admin, Versioned: true, Status: 200, Errors: []int{409},
			Example: web.Example{Request: `{"roles": ["event"], "disabled": false}`, Response: `{"user": ` + memberExample + `}`},
		}, a.changeMember),
		web.Declare(web.Operation{
			Method: "DELETE", Path: "/app/users/{id}", ID: "deleteUser", Tag: "users", Summary: "Delete a member",
			Description: "The member's keys and sessions are refused from the next request on. The last enabled admin stays. A session needs a recent sign-in.",
			Roles:       admin, Versioned: true, Status: 204, Errors: []int{409},
		}, a.deleteMember),
		web.Declare(web.Operation{
			Method: "POST", Path: "/app/users/{id}/invitation", ID: "inviteAgain", Tag: "users", Summary: "Send a member a new link to set a password",
			Description: "A member without a password gets a new invitation, which replaces the former one. A member with a password gets a mail with a link that is valid for 1 hour; url and expiresAt are null then. A session needs a recent sign-in. A key cannot invite an admin.",
			Roles:       admin, Status: 201, Errors: []int{409}, Example: web.Example{Response: `{"invitation": ` + invitationExample + `}`},
		}, a.inviteAgain),
		web.Declare(web.Operation{
			Method: "DELETE", Path: "/app/users/{id}/second-factors", ID: "removeSecondFactors", Tag: "users", Summary: "Remove all second factors of a member",
			Description: "The codes of the app, the recovery codes and the passkeys. All sessions of the member end. It needs a recent sign-in.",
			Access:      web.SignedIn, Roles: admin, Status: 204,
		}, a.removeSecondFactors),
	}
}

// memberView is the "Organization member" of the specification, with additional fields.
type memberView struct {
	UserID            string            `json:"userId" format:"uuid"`
	Username          string            `json:"username"`
	Email             string            `json:"email"`
	FirstName         string            `json:"firstName"`
	LastName          string            `json:"lastName"`
	Roles             []account.Role    `json:"roles"`
	AllowPasswordAuth bool              `json:"allowPasswordAuth" description:"The member has a password and may use it."`
	Disabled          bool              `json:"disabled"`
	CreatedAt         web.Time          `json:"createdAt"`
	LastLoginAt       *web.Time         `json:"lastLoginAt" description:"Null if the member never logged in."`
	SecondFactors     memberFactorsView `json:"secondFactors"`
	SignOn            bool              `json:"signOn" description:"The member has signed in by single sign-on."`
	HasPassword       bool              `json:"hasPassword"`
	Invited           bool              `json:"invited" description:"The member has an invitation that is still valid, and no password."`
	Version           int64             `json:"version"`
}

type memberFactorsView struct {
	TOTP     bool `json:"totp"`
	Passkeys int  `json:"passkeys"`
}

type membersView struct {
	Users []memberView `json:"users"`
}

func (a api) viewMember(u account.User, o account.Organization) memberView {
	return memberView{
		UserID: u.ID, Username: u.Username, Email: u.Email, FirstName: u.FirstName, LastName: u.LastName, Roles: u.Roles,
		AllowPasswordAuth: u.AllowsPassword(o), Disabled: u.Disabled,
		CreatedAt: web.Time(u.CreatedAt), LastLoginAt: web.TimeOf(u.LastLoginAt),
		SecondFactors: memberFactorsView{u.HasTOTP(), len(u.Passkeys)}, SignOn: u.Subject != "", HasPassword: u.Password != "",
		Invited: u.Invited(a.accounts.Now()), Version: u.Version,
	}
}

func (a api) listMembers(c *web.Call[web.None, web.None]) (membersView, error) {
	organization, err := a.accounts.Organization(c, c.Caller.Organization)
	if err != nil {
		return membersView{}, err
	}
	members, _, err := a.accounts.Members(c, c.Caller.Organization, find.Query{Order: []find.Order{{Field: account.FieldLegacyID}}})
	return membersView{find.Values(members, func(u account.User) memberView { return a.viewMember(u, organization) })}, err
}

type oneMemberView struct {
	User memberView `json:"user"`
}

// RecordVersion implements web.Versioned.
func (v oneMemberView) RecordVersion() int64 { return v.User.Version }

type linkView struct {
	URL       *string   `json:"url" description:"Shown once; null if the link was only sent by mail."`
	ExpiresAt *web.Time `json:"expiresAt"`
}

func (a api) viewLink(user string, link *account.Link) linkView {
	if link == nil {
		return linkView{}
	}
	url := a.accounts.LinkURL(user, *link)
	return linkView{&url, web.TimeOf(&link.ExpiresAt)}
}

type invitedView struct {
	User       memberView `json:"user"`
	Invitation linkView   `json:"invitation"`
}

// RecordVersion implements web.Versioned.
func (v invitedView) RecordVersion() int64 { return v.User.Version }

func (a api) inviteMember(c *web.Call[web.None, userBody], in userBody) (invitedView, error) {
	organization, err := a.accounts.Organization(c, c.Caller.Organization)
	if err != nil {
		return invitedView{}, err
	}
	user, link, err := a.accounts.AddMember(c, whoOf(c.Caller), account.NewUser{
		Username: in.Username.Value, Email: in.Email.Value, FirstName: in.FirstName.Value, LastName: in.LastName.Value, Roles: in.Roles.Value,
	})
	return invitedView{a.viewMember(user, organization), a.viewLink(user.ID, &link)}, err
}

type memberParameters struct {
	ID string `path:"id" format:"uuid" record:"user"`
}

func (a api) getMember(c *web.Call[memberParameters, web.None]) (oneMemberView, error) {
	user, err := a.accounts.Member(c, c.Caller.Organization, c.Parameters.ID)
	if err != nil {
		return oneMemberView{}, err
	}
	organization, err := a.accounts.Organization(c, c.Caller.Organization)
	return oneMemberView{a.viewMember(user, organization)}, err
}

type memberPatch struct {
	FirstName         optional.Value[string]         `json:"firstName" maxLength:"100"`
	LastName          optional.Value[string]         `json:"lastName" maxLength:"100"`
	Email             optional.Value[string]         `json:"email" format:"email" maxLength:"254"`
	Roles             optional.Value[[]account.Role] `json:"roles" minItems:"1"`
	Disabled          optional.Value[bool]           `json:"disabled"`
	AllowPasswordAuth optional.Value[bool]           `json:"allowPasswordAuth"`
}

func (a api) changeMember(c *web.Call[memberParameters, memberPatch]) (oneMemberView, error) {
	user, err := a.accounts.ChangeMember(c, whoOf(c.Caller), c.Parameters.ID, func(u account.User) (account.UserPatch, error) {
		if err := c.IfMatch(u.Version); err != nil {
			return account.UserPatch{}, err
		}
		in, err := c.Body()
		return account.UserPatch{
			FirstName: in.FirstName, LastName: in.LastName, Email: in.Email, Roles: in.Roles, Disabled: in.Disabled, PasswordAuth: in.AllowPasswordAuth,
		}, err
	})
	if err != nil {
		return oneMemberView{}, err
	}
	organization, err := a.accounts.Organization(c, c.Caller.Organization)
	return oneMemberView{a.viewMember(user, organization)}, err
}

func (a api) deleteMember(c *web.Call[memberParameters, web.None]) (web.None, error) {
	return web.None{}, a.accounts.DeleteMember(c, whoOf(c.Caller), c.Parameters.ID, func(u account.User) error { return c.IfMatch(u.Version) })
}

type oneLinkView struct {
	Invitation linkView `json:"invitation"`
}

func (a api) inviteAgain(c *web.Call[memberParameters, web.None]) (oneLinkView, error) {
	link, err := a.accounts.InviteMember(c, whoOf(c.Caller), c.Parameters.ID)
	return oneLinkView{a.viewLink(c.Parameters.ID, link)}, err
}

func (a api) removeSecondFactors(c *web.Call[memberParameters, web.None]) (web.None, error) {
	return web.None{}, a.accounts.RemoveSecondFactors(c, whoOf(c.Caller), c.Parameters.ID)
}
