package api

import (
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/web"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
)

const signOnExample = `{"signOn": {"name": "acme", "label": "Acme login", "issuer": "https://login.example.com", "clientId": "bellbuoy", "enforced": false,
	"createMembers": true, "defaultRoles": ["event"], "rolesClaim": "groups", "roleMap": {"ops": ["admin"]},
	"redirectUrl": "https://status.example.com/console/sign-in/sso-callback/01890a5d-ac96-774b-bcce-b302099a8058"}}`

func (a api) signOnOperations() []web.Operation {
	admin := []string{passport.RoleAdmin}
	return []web.Operation{
		web.Declare(web.Operation{
			Method: "GET", Path: "/app/sign-in/providers", ID: "getSignInProvider", Tag: "sign-in", Summary: "Get a provider of single sign-on by its name",
			Description: "Without a name: the only provider of the installation.", Access: web.SignedOut, Status: 200,
			Example: web.Example{Response: `{"provider": {"name": "acme", "label": "Acme login"}}`},
		}, a.signInProvider),
		web.Declare(web.Operation{
			Method: "POST", Path: "/app/sign-in/sso", ID: "startSignOn", Tag: "sign-in", Summary: "Start a single sign-on",
			Description: "The browser opens the URL. The state belongs into a cookie of this browser; it is valid for 10 minutes, once. The provider asks a signed-in member for the password again. The sign-in is recent if the login at the provider is, by its claim auth_time; also, if the provider never sends this claim, or if the member then enters a code.",
			Access:      web.SignedOut, Status: 200, Errors: []int{404},
			Example: web.Example{Request: `{"name": "acme", "next": "/console/events"}`, Response: `{"url": "https://login.example.com/authorize?client_id=bellbuoy", "state": "ticket"}`},
		}, web.WithBody(a.startSignOn)),
		web.Declare(web.Operation{
			Method: "POST", Path: "/app/sign-in/sso/finish", ID: "finishSignOn", Tag: "sign-in", Summary: "Finish a single sign-on",
			Description: "The query and the organization are those of the callback. The sign-on must have begun for the same organization. A member with an authenticator app needs a code, unless the provider says that it has checked several factors.",
			Access:      web.SignedOut, Status: 200, Errors: []int{409},
			Example: web.Example{Request: `{"state": "ticket", "organizationId": "01890a5d-ac96-774b-bcce-b302099a8058", "query": "code=abc&state=def"}`, Response: signInExample},
		}, web.WithBody(a.finishSignOn)),
		web.Declare(web.Operation{
			Method: "GET", Path: "/app/organization/sign-on", ID: "getSignOn", Tag: "sign-on", Summary: "Get the organization's single sign-on",
			Description: "Null if there is none. The client's secret is never shown.", Access: web.SignedIn, Roles: admin, Status: 200, Example: web.Example{Response: signOnExample},
		}, a.getSignOn),
		web.Declare(web.Operation{
			Method: "PUT", Path: "/app/organization/sign-on", ID: "setSignOn", Tag: "sign-on", Summary: "Set the organization's single sign-on",
			Description: "An OpenID Connect provider. Without clientSecret the former one stays. With enforced, members sign in with passwords and passkeys only if their allowPasswordAuth is true, and one admin with a password must have it. At the first sign-in, the verified address of the provider identifies a member, unless the member has set the own address without proof. A rolesClaim sets the roles at each sign-in; without a matching value the member gets defaultRoles." + needsRecent,
			Access:      web.SignedIn, Roles: admin, Status: 200, Errors: []int{409},
			Example: web.Example{
				Request: `{"name": "acme", "label": "Acme login", "issuer": "https://login.example.com", "clientId": "bellbuoy", "clientSecret": "secret",
					"enforced": false, "createMembers": true, "defaultRoles": ["event"], "rolesClaim": "groups", "roleMap": {"ops": ["admin"]}}`,
				Response: signOnExample,
			},
		}, web.WithBody(a.setSignOn)),
		web.Declare(web.Operation{
			Method: "DELETE", Path: "/app/organization/sign-on", ID: "removeSignOn", Tag: "sign-on", Summary: "Remove the organization's single sign-on",
			Description: "It needs a recent sign-in.", Access: web.SignedIn, Roles: admin, Status: 204, Errors: []int{404},
		}, a.removeSignOn),
		web.Declare(web.Operation{
			Method: "POST", Path: "/app/organization/sign-on/test", ID: "testSignOn", Tag: "sign-on", Summary: "Test whether the issuer of the single sign-on can be reached",
			Description: "It reads the metadata of the issuer.", Access: web.SignedIn, Roles: admin, Status: 200, Errors: []int{404},
			Example: web.Example{Response: `{"ok": false, "error": "The sign-on provider cannot be reached, or sends no valid response."}`},
		}, a.testSignOn),
	}
}

type providerParameters struct {
	Name *string `query:"name"`
}

type providerView struct {
	Name  string `json:"name"`
	Label string `json:"label"`
}

type oneProviderView struct {
	Provider *providerView `json:"provider"`
}

func (a api) signInProvider(c *web.Call[providerParameters, web.None]) (oneProviderView, error) {
	o, err := a.accounts.SignOnOf(c, optional.OrZero(c.Parameters.Name))
	if err != nil {
		return oneProviderView{}, fault.UnlessMissing(err)
	}
	return oneProviderView{&providerView{o.SignOn.Name, o.SignOn.Label}}, nil
}

type signOnStartBody struct {
	Name optional.Value[string] `json:"name" required:"true"`
	Next optional.Value[string] `json:"next" description:"Path of the console that the member wants."`
}

type signOnStartView struct {
	URL   string `json:"url"`
	State string `json:"state"`
}

func (a api) startSignOn(c *web.Call[web.None, signOnStartBody], in signOnStartBody) (signOnStartView, error) {
	url, state, err := a.accounts.StartSignOn(c, whoOf(c.Caller), in.Name.Value, in.Next.Value)
	return signOnStartView{url, state}, err
}

type signOnFinishBody struct {
	State          optional.Value[string] `json:"state" required:"true"`
	OrganizationID optional.Value[string] `json:"organizationId" required:"true" description:"Last part of the path of the callback."`
	Query          optional.Value[string] `json:"query" required:"true" description:"Raw query of the callback."`
	Browser        optional.Value[string] `json:"browser" description:"Ticket of a former sign-in in this browser."`
}

func (a api) finishSignOn(c *web.Call[web.None, signOnFinishBody], in signOnFinishBody) (signInView, error) {
	result, err := a.accounts.FinishSignOn(c, whoOf(c.Caller), in.State.Value, account.Callback{Organization: in.OrganizationID.Value, Query: in.Query.Value}, in.Browser.Value, clientOf(c))
	return viewSignIn(result), err
}

type signOnView struct {
	Name          string                    `json:"name" description:"Part of the link /console/sign-in/sso/{name}."`
	Label         string                    `json:"label" description:"Text of the button."`
	Issuer        string                    `json:"issuer"`
	ClientID      string                    `json:"clientId"`
	Enforced      bool                      `json:"enforced"`
	CreateMembers bool                      `json:"createMembers"`
	DefaultRoles  []account.Role            `json:"defaultRoles"`
	RolesClaim    string                    `json:"rolesClaim"`
	RoleMap       map[string][]account.Role `json:"roleMap"`
	RedirectURL   string                    `json:"redirectUrl" description:"To be registered at the provider. Each organization has its own."`
}

type oneSignOnView struct {
	SignOn *signOnView `json:"signOn"`
}

func (a api) viewSignOn(o account.Organization) oneSignOnView {
	s := o.SignOn
	if s == nil {
		return oneSignOnView{}
	}
	view := signOnView{
		Name: s.Name, Label: s.Label, Issuer: s.Issuer, ClientID: s.ClientID, Enforced: s.Enforced, CreateMembers: s.CreateMembers,
		DefaultRoles: append([]account.Role{}, s.DefaultRoles...), RolesClaim: s.RolesClaim, RoleMap: s.RoleMap, RedirectURL: a.accounts.RedirectURL(o.ID),
	}
	if view.RoleMap == nil {
		view.RoleMap = map[string][]account.Role{}
	}
	return oneSignOnView{&view}
}

func (a api) getSignOn(c *web.Call[web.None, web.None]) (oneSignOnView, error) {
	o, err := a.accounts.OwnSignOn(c, whoOf(c.Caller))
	return a.viewSignOn(o), err
}

type signOnBody struct {
	Name          optional.Value[string]                    `json:"name" required:"true" minLength:"1" maxLength:"63"`
	Label         optional.Value[string]                    `json:"label" required:"true" minLength:"1" maxLength:"80"`
	Issuer        optional.Value[string]                    `json:"issuer" required:"true" maxLength:"500"`
	ClientID      optional.Value[string]                    `json:"clientId" required:"true" minLength:"1" maxLength:"300"`
	ClientSecret  optional.Value[string]                    `json:"clientSecret" minLength:"1" maxLength:"1000"`
	Enforced      optional.Value[bool]                      `json:"enforced" default:"false"`
	CreateMembers optional.Value[bool]                      `json:"createMembers" default:"false"`
	DefaultRoles  optional.Value[[]account.Role]            `json:"defaultRoles"`
	RolesClaim    optional.Value[string]                    `json:"rolesClaim" maxLength:"100"`
	RoleMap       optional.Value[map[string][]account.Role] `json:"roleMap"`
}

func (a api) setSignOn(c *web.Call[web.None, signOnBody], in signOnBody) (oneSignOnView, error) {
	o, err := a.accounts.SetSignOn(c, whoOf(c.Caller), account.SignOnInput{ClientSecret: in.ClientSecret, SignOn: account.SignOn{
		Name: in.Name.Value, Label: in.Label.Value, Issuer: in.Issuer.Value, ClientID: in.ClientID.Value, Enforced: in.Enforced.Value,
		CreateMembers: in.CreateMembers.Value, DefaultRoles: in.DefaultRoles.Value, RolesClaim: in.RolesClaim.Value, RoleMap: in.RoleMap.Value,
	}})
	return a.viewSignOn(o), err
}

func (a api) removeSignOn(c *web.Call[web.None, web.None]) (web.None, error) {
	return web.None{}, a.accounts.RemoveSignOn(c, whoOf(c.Caller))
}

type signOnTestView struct {
	OK    bool    `json:"ok"`
	Error *string `json:"error"`
}

func (a api) testSignOn(c *web.Call[web.None, web.None]) (signOnTestView, error) {
	err := a.accounts.CheckSignOn(c, whoOf(c.Caller))
	if fault.Is(err, fault.Unavailable) {
		message := fault.As(err).Message
		return signOnTestView{Error: &message}, nil
	}
	return signOnTestView{OK: err == nil}, err
}
