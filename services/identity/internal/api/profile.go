package api

import (
	"cmp"
	"context"

	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/web"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
)

const profileExample = `{"profile": {"userId": "01890a5d-ac96-774b-bcce-b302099a8057", "username": "ada", "email": "ada@example.com",
	"firstName": "Ada", "lastName": "Lovelace", "roles": ["admin"],
	"organization": {"id": "01890a5d-ac96-774b-bcce-b302099a8058", "name": "Acme", "requireTwoFactor": false},
	"enabledFeatures": {"api": true, "integrations": true}, "capabilities": {"uptimeReports": true}, "allowPasswordAuth": true, "hasPassword": true,
	"createdAt": "2026-01-31T09:30:00.000Z", "lastLoginAt": "2026-02-01T08:00:00.000Z",
	"apiKey": {"keyId": "01890a5d-ac96-774b-bcce-b302099a8059", "name": "deploy", "createdAt": "2026-01-31T09:30:00.000Z", "lastUsedAt": null},
	"session": null, "secondFactors": {"totp": false, "passkeys": 0, "recoveryCodes": 0}, "secondFactorRequired": false, "signOn": false, "signOnOnly": false,
	"preferences": {"timeZone": "Europe/Berlin", "theme": "system", "density": "comfortable", "shortcuts": true}}}`

func (a api) profileOperations() []web.Operation {
	return []web.Operation{
		web.Declare(web.Operation{
			Method: "GET", Path: "/app/profile", ID: "getProfile", Tag: "users", Summary: "Get the caller's own profile", Status: 200,
			Example: web.Example{Response: profileExample},
		}, a.profile),
		web.Declare(web.Operation{
			Method: "PATCH", Path: "/app/profile", ID: "changeProfile", Tag: "users", Summary: "Change the caller's own profile",
			Description: "At least one member is required. A new email needs a recent sign-in. It identifies nobody at a sign-in before the member has used a link in a mail to it, or an admin has changed it.", Access: web.SignedIn, Status: 200,
			Example: web.Example{Request: `{"firstName": "Ada", "lastName": "Lovelace", "email": "ada@example.com", "preferences": {"timeZone": "Europe/Berlin", "theme": "dark", "density": "compact", "shortcuts": false}}`, Response: profileExample},
		}, web.WithBody(a.changeProfile)),
		web.Declare(web.Operation{
			Method: "PUT", Path: "/app/profile/password", ID: "changePassword", Tag: "users", Summary: "Set the caller's own password",
			Description: "Needs the current password, or a recent sign-in if there is none. The caller's other sessions end.", Access: web.SignedIn, Status: 204, Errors: []int{409, 429},
			Example: web.Example{Request: `{"current": "correct horse battery", "password": "another long password"}`},
		}, web.WithBody(a.changePassword)),
	}
}

type profileView struct {
	UserID               string                  `json:"userId" format:"uuid"`
	Username             string                  `json:"username"`
	Email                string                  `json:"email"`
	FirstName            string                  `json:"firstName"`
	LastName             string                  `json:"lastName"`
	Roles                []account.Role          `json:"roles" description:"Of the request: a session without a second factor has none if the organization requires one."`
	Organization         profileOrganizationView `json:"organization"`
	EnabledFeatures      featuresView            `json:"enabledFeatures"`
	Capabilities         capabilitiesView        `json:"capabilities"`
	AllowPasswordAuth    bool                    `json:"allowPasswordAuth" description:"The member has a password and may use it."`
	HasPassword          bool                    `json:"hasPassword"`
	CreatedAt            web.Time                `json:"createdAt"`
	LastLoginAt          *web.Time               `json:"lastLoginAt"`
	APIKey               *keyView                `json:"apiKey" description:"The key of this request; null for a session."`
	Session              *profileSessionView     `json:"session" description:"The session of this request; null for a key."`
	SecondFactors        ownFactorsView          `json:"secondFactors"`
	SecondFactorRequired bool                    `json:"secondFactorRequired" description:"The session has no roles until the member has set up a second factor."`
	SignOn               bool                    `json:"signOn" description:"The member has signed in by single sign-on."`
	SignOnOnly           bool                    `json:"signOnOnly" description:"Passwords and passkeys of the member are not accepted."`
	Preferences          preferencesView         `json:"preferences"`
}

type profileOrganizationView struct {
	ID               string `json:"id" format:"uuid"`
	Name             string `json:"name"`
	RequireTwoFactor bool   `json:"requireTwoFactor"`
}

type profileSessionView struct {
	ID         string   `json:"id" format:"uuid"`
	SignedInAt web.Time `json:"signedInAt"`
	ExpiresAt  web.Time `json:"expiresAt"`
}

type ownFactorsView struct {
	TOTP          bool `json:"totp"`
	Passkeys      int  `json:"passkeys"`
	RecoveryCodes int  `json:"recoveryCodes" description:"Number of codes that are not used."`
}

type preferencesView struct {
	TimeZone  string          `json:"timeZone"`
	Theme     account.Theme   `json:"theme" enum:"system,light,dark"`
	Density   account.Density `json:"density" enum:"comfortable,compact"`
	Shortcuts bool            `json:"shortcuts"`
}

func viewPreferences(p account.Preferences) preferencesView {
	return preferencesView{
		TimeZone: cmp.Or(p.TimeZone, "UTC"), Theme: cmp.Or(p.Theme, account.SystemTheme), Density: cmp.Or(p.Density, account.Comfortable), Shortcuts: !p.NoShortcuts,
	}
}

type oneProfileView struct {
	Profile profileView `json:"profile"`
}

func (a api) profile(c *web.Call[web.None, web.None]) (oneProfileView, error) {
	return a.profileOf(c, whoOf(c.Caller))
}

func (a api) changeProfile(c *web.Call[web.None, profilePatch], in profilePatch) (oneProfileView, error) {
	preferences := in.Preferences.Value
	if err := a.accounts.ChangeProfile(c, whoOf(c.Caller), account.ProfilePatch{
		FirstName: in.FirstName, LastName: in.LastName, Email: in.Email,
		TimeZone: preferences.TimeZone, Theme: preferences.Theme, Density: preferences.Density, Shortcuts: preferences.Shortcuts,
	}); err != nil {
		return oneProfileView{}, err
	}
	return a.profileOf(c, whoOf(c.Caller))
}

type passwordBody struct {
	Current  optional.Value[string] `json:"current" description:"The current password, if there is one."`
	Password optional.Value[string] `json:"password" required:"true" minLength:"12" maxLength:"128"`
}

func (a api) changePassword(c *web.Call[web.None, passwordBody], in passwordBody) (web.None, error) {
	return web.None{}, a.accounts.ChangePassword(c, whoOf(c.Caller), in.Current.Value, in.Password.Value)
}

type profilePatch struct {
	FirstName   optional.Value[string]           `json:"firstName" maxLength:"100"`
	LastName    optional.Value[string]           `json:"lastName" maxLength:"100"`
	Email       optional.Value[string]           `json:"email" format:"email" maxLength:"254"`
	Preferences optional.Value[preferencesPatch] `json:"preferences"`
}

type preferencesPatch struct {
	TimeZone  optional.Value[string]          `json:"timeZone" description:"Name in the IANA database."`
	Theme     optional.Value[account.Theme]   `json:"theme" enum:"system,light,dark"`
	Density   optional.Value[account.Density] `json:"density" enum:"comfortable,compact"`
	Shortcuts optional.Value[bool]            `json:"shortcuts"`
}

func (a api) profileOf(ctx context.Context, who account.Who) (oneProfileView, error) {
	user, err := a.accounts.Caller(ctx, who)
	if err != nil {
		return oneProfileView{}, err
	}
	organization, err := a.accounts.Organization(ctx, user.Organization)
	if err != nil {
		return oneProfileView{}, err
	}
	terms := a.accounts.Terms(organization)
	view := profileView{
		UserID: user.ID, Username: user.Username, Email: user.Email, FirstName: user.FirstName, LastName: user.LastName, Roles: user.Roles,
		Organization:    profileOrganizationView{organization.ID, organization.Name, organization.RequireTwoFactor},
		EnabledFeatures: viewFeatures(terms), Capabilities: capabilitiesView{terms.Features.UptimeReports},
		AllowPasswordAuth: user.AllowsPassword(organization), HasPassword: user.Password != "",
		CreatedAt: web.Time(user.CreatedAt), LastLoginAt: web.TimeOf(user.LastLoginAt),
		SecondFactors: ownFactorsView{user.HasTOTP(), len(user.Passkeys), len(user.RecoveryCodes)},
		SignOn:        user.Subject != "", SignOnOnly: user.SignOnOnly(organization), Preferences: viewPreferences(user.Preferences),
	}
	if key, is := user.ActiveKey(who.KeyID); is {
		shown := viewKey(key)
		view.APIKey = &shown
	}
	for _, s := range user.ActiveSessions(a.accounts.Now()) {
		if s.ID == who.Session {
			view.Session = &profileSessionView{s.ID, web.Time(s.SignedInAt), web.Time(s.ExpiresAt())}
			view.SecondFactorRequired = organization.RequireTwoFactor && !s.SecondFactor
		}
	}
	if view.SecondFactorRequired {
		view.Roles = []account.Role{}
	}
	return oneProfileView{view}, nil
}
