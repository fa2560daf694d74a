package app

import (
	"context"
	"encoding/json"
	"net/url"
	"time"
)

const identity = "identity"

// SignIn is the result of a step of a sign-in. Session is nil until the second factor is given.
type SignIn struct {
	Session      *NewSession   `json:"session"`
	Browser      string        `json:"browser"` // ticket that identifies the browser at the next sign-in
	SecondFactor *SecondFactor `json:"secondFactor"`
	Next         string        `json:"next"` // path that the member wanted before a sign-on
}

// NewSession is a session that has just begun.
type NewSession struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expiresAt"`
	Keep      bool      `json:"keep"`
}

// SecondFactor is what a sign-in still needs.
type SecondFactor struct {
	Ticket  string   `json:"ticket"`
	Methods []string `json:"methods"`
}

// Password is a user name with its password.
type Password struct {
	Username string `json:"username"`
	Password string `json:"password"`
	Keep     bool   `json:"keep"`
	Browser  string `json:"browser,omitempty"`
}

// SignIn signs in with a password.
func (c *Caller) SignIn(ctx context.Context, in Password) (SignIn, error) {
	return call[SignIn](ctx, c, request{service: identity, method: "POST", path: "/app/sign-in", body: in})
}

// Code is a code of an authenticator app, or a recovery code.
type Code struct {
	Ticket  string `json:"ticket"`
	Code    string `json:"code"`
	Browser string `json:"browser,omitempty"`
}

// SignInCode completes a sign-in.
func (c *Caller) SignInCode(ctx context.Context, in Code) (SignIn, error) {
	return call[SignIn](ctx, c, request{service: identity, method: "POST", path: "/app/sign-in/code", body: in})
}

// Challenge has the options that a script passes to the browser for a passkey.
type Challenge struct {
	Ticket  string          `json:"ticket"`
	Options json.RawMessage `json:"options"`
}

// PasskeyChallenge starts a sign-in with a passkey.
func (c *Caller) PasskeyChallenge(ctx context.Context) (Challenge, error) {
	return call[Challenge](ctx, c, request{service: identity, method: "POST", path: "/app/sign-in/passkey/options", body: struct{}{}})
}

// Passkey is the browser's response to a Challenge.
type Passkey struct {
	Ticket     string          `json:"ticket"`
	Credential json.RawMessage `json:"credential"`
	Keep       bool            `json:"keep"`
	Browser    string          `json:"browser,omitempty"`
}

// SignInPasskey signs in with a passkey.
func (c *Caller) SignInPasskey(ctx context.Context, in Passkey) (SignIn, error) {
	return call[SignIn](ctx, c, request{service: identity, method: "POST", path: "/app/sign-in/passkey", body: in})
}

// Provider is a provider of single sign-on.
type Provider struct {
	Name  string `json:"name"`
	Label string `json:"label"`
}

// ProviderResult has a provider, or nil if there is none.
type ProviderResult struct {
	Provider *Provider `json:"provider"`
}

// Provider returns the provider with the name. Without a name, it returns the only provider of the installation.
func (c *Caller) Provider(ctx context.Context, name string) (ProviderResult, error) {
	query := url.Values{}
	if name != "" {
		query.Set("name", name)
	}
	return call[ProviderResult](ctx, c, request{service: identity, method: "GET", path: "/app/sign-in/providers", query: query})
}

// SignOnStart names the provider, and the page to show after the sign-in.
type SignOnStart struct {
	Name string `json:"name"`
	Next string `json:"next,omitempty"`
}

// SignOnStarted is the address at the provider, and the state for FinishSignOn.
type SignOnStarted struct {
	URL   string `json:"url"`
	State string `json:"state"`
}

// StartSignOn starts a single sign-on.
func (c *Caller) StartSignOn(ctx context.Context, in SignOnStart) (SignOnStarted, error) {
	return call[SignOnStarted](ctx, c, request{service: identity, method: "POST", path: "/app/sign-in/sso", body: in})
}

// SignOnFinish is the organization and the query of the callback, with the state from the browser's cookie.
type SignOnFinish struct {
	State          string `json:"state"`
	OrganizationID string `json:"organizationId"`
	Query          string `json:"query"`
	Browser        string `json:"browser,omitempty"`
}

// FinishSignOn completes a single sign-on.
func (c *Caller) FinishSignOn(ctx context.Context, in SignOnFinish) (SignIn, error) {
	return call[SignIn](ctx, c, request{service: identity, method: "POST", path: "/app/sign-in/sso/finish", body: in})
}

// Forgotten asks for a mail with a link to set a password.
func (c *Caller) Forgotten(ctx context.Context, in ForgottenName) (struct{}, error) {
	return call[struct{}](ctx, c, request{service: identity, method: "POST", path: "/app/sign-in/forgotten", body: in})
}

// ForgottenName is a user name or a mail address.
type ForgottenName struct {
	Username string `json:"username"`
}

// Token is the token of a link.
type Token struct {
	Token string `json:"token"`
}

// LinkResult has the description of a link to set a password.
type LinkResult struct {
	Invitation Link `json:"invitation"`
}

// Link describes a link to set a password.
type Link struct {
	Kind         string    `json:"kind"` // invitation or password
	Username     string    `json:"username"`
	Email        string    `json:"email"`
	FirstName    string    `json:"firstName"`
	LastName     string    `json:"lastName"`
	Organization LinkFrom  `json:"organization"`
	ExpiresAt    time.Time `json:"expiresAt"`
}

// LinkFrom is the organization of a link's member.
type LinkFrom struct {
	Name string `json:"name"`
}

// ReadLink returns the description of a link. It does not use up the link.
func (c *Caller) ReadLink(ctx context.Context, in Token) (LinkResult, error) {
	return call[LinkResult](ctx, c, request{service: identity, method: "POST", path: "/app/invitations/read", body: in})
}

// Acceptance is the input of AcceptLink.
type Acceptance struct {
	Token     string  `json:"token"`
	Password  string  `json:"password"`
	FirstName *string `json:"firstName,omitempty"`
	LastName  *string `json:"lastName,omitempty"`
	Keep      bool    `json:"keep"`
	Browser   string  `json:"browser,omitempty"`
}

// AcceptLink sets a password by a link, and signs in.
func (c *Caller) AcceptLink(ctx context.Context, in Acceptance) (SignIn, error) {
	return call[SignIn](ctx, c, request{service: identity, method: "POST", path: "/app/invitations/accept", body: in})
}

// Evidence shows that the member is still at the device.
type Evidence struct {
	Password string         `json:"password,omitempty"`
	Code     string         `json:"code,omitempty"`
	Passkey  *PasskeyAnswer `json:"passkey,omitempty"`
}

// PasskeyAnswer is the browser's response to a Challenge.
type PasskeyAnswer struct {
	Ticket     string          `json:"ticket"`
	Credential json.RawMessage `json:"credential"`
}

// AgainResult is the session after SignInAgain.
type AgainResult struct {
	Session AgainSession `json:"session"`
}

// AgainSession says when the member last signed in.
type AgainSession struct {
	ID         string    `json:"id"`
	SignedInAt time.Time `json:"signedInAt"`
}

// SignInAgain checks the evidence, and sets the time of the session's sign-in to now.
func (c *Caller) SignInAgain(ctx context.Context, in Evidence) (AgainResult, error) {
	return call[AgainResult](ctx, c, request{service: identity, method: "POST", path: "/app/sign-in/again", body: in})
}

// Sessions are the sessions of a member.
type Sessions struct {
	Sessions []Session `json:"sessions"`
}

// Session is a session of a member.
type Session struct {
	ID         string    `json:"id"`
	Current    bool      `json:"current"`
	CreatedAt  time.Time `json:"createdAt"`
	LastUsedAt time.Time `json:"lastUsedAt"`
	ExpiresAt  time.Time `json:"expiresAt"`
	Keep       bool      `json:"keep"`
	IP         string    `json:"ip"`
	UserAgent  string    `json:"userAgent"`
	Method     string    `json:"method"`
}

// Sessions lists the member's own sessions.
func (c *Caller) Sessions(ctx context.Context) (Sessions, error) {
	return call[Sessions](ctx, c, request{service: identity, method: "GET", path: "/app/sessions"})
}

// EndSession ends a session of the member.
func (c *Caller) EndSession(ctx context.Context, id string) (struct{}, error) {
	return call[struct{}](ctx, c, request{service: identity, method: "DELETE", path: "/app/sessions/" + url.PathEscape(id)})
}

// EndOtherSessions ends all sessions of the member except the current one.
func (c *Caller) EndOtherSessions(ctx context.Context) (struct{}, error) {
	return call[struct{}](ctx, c, request{service: identity, method: "DELETE", path: "/app/sessions"})
}
