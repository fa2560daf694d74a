package api

import (
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/web"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
)

const (
	signInExample = `{"session": {"token": "01890a5d-ac96-774b-bcce-b302099a8070:secret", "expiresAt": "2026-02-01T21:30:00.000Z", "keep": false},
		"browser": "ticket", "secondFactor": null, "next": ""}`
	secondFactorExample = `{"session": null, "browser": null, "secondFactor": {"ticket": "ticket", "methods": ["totp", "recoveryCode"]}, "next": ""}`
)

func (a api) signInOperations() []web.Operation {
	return []web.Operation{
		web.Declare(web.Operation{
			Method: "POST", Path: "/app/sign-in", ID: "signIn", Tag: "sign-in", Summary: "Sign in with a password",
			Description: "The name is the user name, or a mail address that only one user with a password has. A user with a proven address comes first: the operator has entered it, or the user has used a link in a mail to it. An address that the user has set does not count before it is proven. Every failure has the same text. After too many failures: 429 with Retry-After. A member with a second factor gets a ticket for it.",
			Access:      web.SignedOut, Status: 200, Errors: []int{429},
			Example: web.Example{Request: `{"username": "ada", "password": "correct horse battery", "keep": false}`, Response: secondFactorExample},
		}, web.WithBody(a.signIn)),
		web.Declare(web.Operation{
			Method: "POST", Path: "/app/sign-in/code", ID: "signInWithCode", Tag: "sign-in", Summary: "Complete a sign-in with a code",
			Description: "The code is that of the member's app, or a recovery code. Five wrong codes end the sign-in.",
			Access:      web.SignedOut, Status: 200, Errors: []int{429},
			Example: web.Example{Request: `{"ticket": "ticket", "code": "123456"}`, Response: signInExample},
		}, web.WithBody(a.signInCode)),
		web.Declare(web.Operation{
			Method: "POST", Path: "/app/sign-in/forgotten", ID: "forgotPassword", Tag: "sign-in", Summary: "Send a link to set a new password",
			Description: "The response is the same for every name, after the same time. A user gets at most 3 links an hour.",
			Access:      web.SignedOut, Status: 204, Errors: []int{429},
			Example: web.Example{Request: `{"username": "ada@example.com"}`},
		}, web.WithBody(a.forgotten)),
		web.Declare(web.Operation{
			Method: "POST", Path: "/app/invitations/read", ID: "readInvitation", Tag: "sign-in", Summary: "Get what a link to set a password is for",
			Description: "The link is not used up.",
			Access:      web.SignedOut, Status: 200, Errors: []int{404},
			Example: web.Example{Request: `{"token": "token"}`, Response: `{"invitation": {"kind": "invitation", "username": "ada", "email": "ada@example.com",
				"firstName": "Ada", "lastName": "Lovelace", "organization": {"name": "Acme"}, "expiresAt": "2026-02-03T09:30:00.000Z"}}`},
		}, web.WithBody(a.readInvitation)),
		web.Declare(web.Operation{
			Method: "POST", Path: "/app/invitations/accept", ID: "acceptInvitation", Tag: "sign-in", Summary: "Set a password with a link, and sign in",
			Description: "The link is used up. All other sessions of the member end.",
			Access:      web.SignedOut, Status: 200, Errors: []int{404, 409},
			Example: web.Example{Request: `{"token": "token", "password": "correct horse battery", "firstName": "Ada", "lastName": "Lovelace", "keep": true}`, Response: signInExample},
		}, web.WithBody(a.acceptInvitation)),
		web.Declare(web.Operation{
			Method: "POST", Path: "/app/sign-in/again", ID: "signInAgain", Tag: "sign-in", Summary: "Sign in again",
			Description: "Operations on keys, users and the member's own credentials need a sign-in of the last 10 minutes. The code is needed with an authenticator app. A passkey needs neither.",
			Access:      web.SignedIn, Status: 200, Errors: []int{429},
			Example: web.Example{Request: `{"password": "correct horse battery", "code": "123456"}`, Response: `{"session": {"id": "01890a5d-ac96-774b-bcce-b302099a8070", "signedInAt": "2026-02-01T09:30:00.000Z"}}`},
		}, web.WithBody(a.signInAgain)),
	}
}

// signInView is the result of a step of a sign-in.
type signInView struct {
	Session      *newSessionView   `json:"session" description:"Null: the second factor is missing."`
	Browser      *string           `json:"browser" description:"Ticket by which the browser is known at the next sign-in."`
	SecondFactor *secondFactorView `json:"secondFactor" description:"Null: the sign-in is complete."`
	Next         string            `json:"next"`
}

type newSessionView struct {
	Token     string   `json:"token" description:"<id>:<secret>, shown once."`
	ExpiresAt web.Time `json:"expiresAt" description:"If the session is not used."`
	Keep      bool     `json:"keep"`
}

type secondFactorView struct {
	Ticket  string   `json:"ticket"`
	Methods []string `json:"methods"`
}

func viewSignIn(s account.SignIn) signInView {
	if s.Token == "" {
		return signInView{SecondFactor: &secondFactorView{s.SecondFactor, s.Methods}, Next: s.Next}
	}
	return signInView{Session: &newSessionView{s.Token, web.Time(s.ExpiresAt), s.Keep}, Browser: &s.Browser, Next: s.Next}
}

// whoOf returns the caller of a request.
func whoOf(p passport.Passport) account.Who {
	return account.Who{Organization: p.Organization, User: p.User, KeyID: p.KeyID, Session: p.Session}
}

func clientOf[P, B any](c *web.Call[P, B]) account.Client {
	return account.Client{IP: c.Caller.IP, UserAgent: c.UserAgent}
}

type signInBody struct {
	Username optional.Value[string] `json:"username" required:"true"`
	Password optional.Value[string] `json:"password" required:"true"`
	Keep     optional.Value[bool]   `json:"keep" default:"false"`
	Browser  optional.Value[string] `json:"browser" description:"Ticket of a former sign-in in this browser."`
}

func (a api) signIn(c *web.Call[web.None, signInBody], in signInBody) (signInView, error) {
	result, err := a.accounts.SignIn(c, account.PasswordSignIn{
		Username: in.Username.Value, Password: in.Password.Value, Keep: in.Keep.Value, Browser: in.Browser.Value,
	}, clientOf(c))
	return viewSignIn(result), err
}

type codeBody struct {
	Ticket  optional.Value[string] `json:"ticket" required:"true"`
	Code    optional.Value[string] `json:"code" required:"true"`
	Browser optional.Value[string] `json:"browser" description:"Ticket of a former sign-in in this browser."`
}

func (a api) signInCode(c *web.Call[web.None, codeBody], in codeBody) (signInView, error) {
	result, err := a.accounts.SignInCode(c, in.Ticket.Value, in.Code.Value, in.Browser.Value, clientOf(c))
	return viewSignIn(result), err
}

type forgottenBody struct {
	Username optional.Value[string] `json:"username" required:"true" description:"User name or mail address."`
}

func (a api) forgotten(c *web.Call[web.None, forgottenBody], in forgottenBody) (web.None, error) {
	return web.None{}, a.accounts.ForgottenPassword(c, in.Username.Value, clientOf(c))
}

type tokenBody struct {
	Token optional.Value[string] `json:"token" required:"true"`
}

type invitationView struct {
	Kind         account.LinkKind   `json:"kind" enum:"invitation,password"`
	Username     string             `json:"username"`
	Email        string             `json:"email"`
	FirstName    string             `json:"firstName"`
	LastName     string             `json:"lastName"`
	Organization invitationFromView `json:"organization"`
	ExpiresAt    web.Time           `json:"expiresAt"`
}

type invitationFromView struct {
	Name string `json:"name"`
}

type oneInvitationView struct {
	Invitation invitationView `json:"invitation"`
}

func (a api) readInvitation(c *web.Call[web.None, tokenBody], in tokenBody) (oneInvitationView, error) {
	opened, err := a.accounts.ReadLink(c, in.Token.Value)
	return oneInvitationView{invitationView{
		Kind: opened.Link.Kind, Username: opened.User.Username, Email: opened.User.Email,
		FirstName: opened.User.FirstName, LastName: opened.User.LastName,
		Organization: invitationFromView{opened.Organization.Name}, ExpiresAt: web.Time(opened.Link.ExpiresAt),
	}}, err
}

type acceptBody struct {
	Token     optional.Value[string] `json:"token" required:"true"`
	Password  optional.Value[string] `json:"password" required:"true" minLength:"12" maxLength:"128"`
	FirstName optional.Value[string] `json:"firstName" maxLength:"100"`
	LastName  optional.Value[string] `json:"lastName" maxLength:"100"`
	Keep      optional.Value[bool]   `json:"keep" default:"false"`
	Browser   optional.Value[string] `json:"browser" description:"Ticket of a former sign-in in this browser."`
}

func (a api) acceptInvitation(c *web.Call[web.None, acceptBody], in acceptBody) (signInView, error) {
	result, err := a.accounts.AcceptLink(c, account.Acceptance{
		Token: in.Token.Value, Password: in.Password.Value, FirstName: in.FirstName, LastName: in.LastName, Keep: in.Keep.Value, Browser: in.Browser.Value,
	}, clientOf(c))
	return viewSignIn(result), err
}

type againBody struct {
	Password optional.Value[string]           `json:"password"`
	Code     optional.Value[string]           `json:"code" description:"Of the app, or a recovery code."`
	Passkey  optional.Value[passkeyProofBody] `json:"passkey" description:"Instead of the password and the code."`
}

type passkeyProofBody struct {
	Ticket     optional.Value[string]         `json:"ticket" required:"true"`
	Credential optional.Value[map[string]any] `json:"credential" required:"true" description:"toJSON() of the credential."`
}

type againView struct {
	Session againSessionView `json:"session"`
}

type againSessionView struct {
	ID         string   `json:"id" format:"uuid"`
	SignedInAt web.Time `json:"signedInAt"`
}

func (a api) signInAgain(c *web.Call[web.None, againBody], in againBody) (againView, error) {
	evidence := account.Evidence{Password: in.Password.Value, Code: in.Code.Value}
	if in.Passkey.Sent {
		evidence.Passkey = &account.PasskeyProof{Ticket: in.Passkey.Value.Ticket.Value, Credential: credentialOf(in.Passkey.Value.Credential.Value)}
	}
	session, err := a.accounts.SignInAgain(c, whoOf(c.Caller), evidence, clientOf(c))
	return againView{againSessionView{session.ID, web.Time(session.SignedInAt)}}, err
}
