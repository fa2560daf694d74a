package account

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/egress"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// SignOn is the single sign-on of an organization: its OpenID Connect provider.
type SignOn struct {
	Name         string `json:"name" audit:"name"` // unique in the installation
	Label        string `json:"label" audit:"label"`
	Issuer       string `json:"issuer" audit:"issuer"`
	ClientID     string `json:"clientId" audit:"clientId"`
	ClientSecret string `json:"clientSecret"` // sealed
	// Enforced: members may use a password or a passkey only if PasswordAuth of the member is true.
	Enforced      bool              `json:"enforced" audit:"enforced"`
	CreateMembers bool              `json:"createMembers" audit:"createMembers"` // an unknown person becomes a member
	DefaultRoles  []Role            `json:"defaultRoles" audit:"defaultRoles"`
	RolesClaim    string            `json:"rolesClaim" audit:"rolesClaim"` // empty: sign-ins change no roles
	RoleMap       map[string][]Role `json:"roleMap" audit:"roleMap"`       // roles by the value of the claim
	// SendsAuthTime: the provider has sent the time of a login before. A sign-on without this time is then not recent,
	// because the person at the browser may have removed the request for the time.
	SendsAuthTime bool `json:"sendsAuthTime"`
}

// Provider is what a client of an issuer needs.
type Provider struct {
	Issuer, ClientID, ClientSecret, RedirectURL string
	RolesClaim                                  string
}

// SignOnStart contains the secrets and the conditions of one sign-on.
type SignOnStart struct {
	State, Nonce, Verifier string
	Again                  bool          // the provider must ask for the password again
	MaxAge                 time.Duration // the provider must ask for the password if the login is older, and return the time of the login
}

// Issuers calls OpenID Connect providers. An error is a fault with a text for the member.
type Issuers interface {
	// Check returns an error if the issuer sends no usable metadata.
	Check(ctx context.Context, issuer string) error
	// Start returns the URL at which the member signs in.
	Start(ctx context.Context, p Provider, s SignOnStart) (url string, err error)
	// Finish exchanges a code, and returns the verified claims about the member.
	Finish(ctx context.Context, p Provider, s SignOnStart, code string) (claims map[string]any, err error)
}

const (
	maxLabel        = 80
	maxIssuer       = 500
	maxClientID     = 300
	maxClientSecret = 1000
	maxClaim        = 100
	maxRoleMap      = 50
	signOnFor       = 10 * time.Minute
	ticketSignOn    = "sign-on"
	signOnPath      = "/console/sign-in/sso-callback/"
)

var signOnName = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$`)

// RedirectURL returns the address to which the provider of the organization redirects members. Each organization has its
// own address. Otherwise a provider that redirects a member to the provider of another organization would get the code
// that the other provider issues (RFC 9700, 4.4).
func (a *Accounts) RedirectURL(organization string) string {
	return strings.TrimSuffix(a.ConsoleBaseURL, "/") + signOnPath + organization
}

func (a *Accounts) signOnBox() seal.Box { return seal.NewBox(a.Secret, "identity/sign-on") }

// provider returns the provider of the organization. The organization must have one.
func (a *Accounts) provider(o Organization) (Provider, error) {
	secret, err := a.signOnBox().Open(o.SignOn.ClientSecret, o.ID)
	if err != nil {
		return Provider{}, fault.Wrap(fault.Internal, err, "The secret of the sign-on provider cannot be read.")
	}
	return Provider{o.SignOn.Issuer, o.SignOn.ClientID, secret, a.RedirectURL(o.ID), o.SignOn.RolesClaim}, nil
}

// SignOnInput is the input of SetSignOn. Without a ClientSecret, the stored one is kept if the issuer is the same.
type SignOnInput struct {
	SignOn
	ClientSecret optional.Value[string]
}

func (in *SignOnInput) check(resolve egress.Resolve) (err error) {
	if !signOnName.MatchString(in.Name) {
		return fault.Field("name", "must be 1 to 63 small letters, digits and hyphens, with a letter or digit at both ends")
	}
	for _, line := range []struct {
		field, text string
		most        int
		required    bool
	}{
		{"label", in.Label, maxLabel, true}, {"issuer", in.Issuer, maxIssuer, true}, {"clientId", in.ClientID, maxClientID, true},
		{"clientSecret", in.ClientSecret.Value, maxClientSecret, in.ClientSecret.Sent}, {"rolesClaim", in.RolesClaim, maxClaim, false},
	} {
		if err := checkLine(line.field, line.text, line.required, line.most); err != nil {
			return err
		}
	}
	if err := checkIssuer(in.Issuer, resolve); err != nil {
		return err
	}
	if len(in.DefaultRoles) > 0 {
		if in.DefaultRoles, err = checkRoles(in.DefaultRoles); err != nil {
			return fault.Field("defaultRoles", "must be a list of %s, %s, %s and %s", Admin, Event, Subscriber, API)
		}
	}
	switch {
	case in.CreateMembers && len(in.DefaultRoles) == 0 && in.RolesClaim == "":
		return fault.Field("defaultRoles", "must name at least one role, because new members get it")
	case (in.RolesClaim == "") != (len(in.RoleMap) == 0):
		return fault.Field("roleMap", "must name roles for values of rolesClaim, and be empty without rolesClaim")
	case len(in.RoleMap) > maxRoleMap:
		return fault.Field("roleMap", "must have at most %d values", maxRoleMap)
	}
	for value, roles := range in.RoleMap {
		if in.RoleMap[value], err = checkRoles(roles); err != nil || value == "" {
			return fault.Field("roleMap", "must name for each value a list of %s, %s, %s and %s", Admin, Event, Subscriber, API)
		}
	}
	return nil
}

// checkIssuer returns an error unless the issuer is an https URL without user, query and fragment, with port 443 of a
// public name, or with a host and port of SSO_RESOLVE.
func checkIssuer(issuer string, resolve egress.Resolve) error {
	parsed, err := url.Parse(issuer)
	if err != nil || parsed.Scheme != "https" || parsed.Host == "" || parsed.User != nil || strings.ContainsAny(issuer, "?#") {
		return fault.Field("issuer", "must be an https URL without user, query and fragment")
	}
	if port := parsed.Port(); port != "" {
		if _, exempt := resolve.Lookup(parsed.Host); exempt {
			return nil
		}
		if port != "443" {
			return fault.Field("issuer", "must not have another port than 443")
		}
	}
	if _, err := resolve.Host(parsed.Hostname()); err != nil {
		return fault.Field("issuer", "%s", err)
	}
	return nil
}

func noSignOn() error {
	return fault.New(fault.NotFound, "The organization has no single sign-on.")
}

// OwnSignOn returns the caller's organization, with its single sign-on if it has one.
func (a *Accounts) OwnSignOn(ctx context.Context, who Who) (Organization, error) {
	if _, err := a.Caller(ctx, who); err != nil {
		return Organization{}, err
	}
	return a.Organization(ctx, who.Organization)
}

// SetSignOn sets the single sign-on of the caller's organization. If it is enforced, an enabled admin must have a
// password and the permission to use it, so that the admin can sign in if the provider fails.
func (a *Accounts) SetSignOn(ctx context.Context, who Who, in SignOnInput) (Organization, error) {
	if _, err := a.Recent(ctx, who); err != nil {
		return Organization{}, err
	}
	if err := in.check(a.SignOnResolve); err != nil {
		return Organization{}, err
	}
	o, err := a.Store.Organizations.Update(ctx, who.Organization, func(o *Organization) ([]topic.Message, error) {
		before, now := *o, a.Now()
		if in.Enforced {
			if err := a.checkWayIn(ctx, o, now); err != nil {
				return nil, err
			}
		}
		next := in.SignOn
		next.SendsAuthTime = o.SignOn != nil && o.SignOn.Issuer == in.Issuer && o.SignOn.SendsAuthTime
		switch {
		case in.ClientSecret.Sent:
			next.ClientSecret = a.signOnBox().Seal(in.ClientSecret.Value, o.ID)
		case o.SignOn == nil:
			return nil, fault.Field("clientSecret", "is required")
		case o.SignOn.Issuer != in.Issuer:
			return nil, fault.Field("clientSecret", "is required, because the issuer changes")
		default:
			next.ClientSecret = o.SignOn.ClientSecret
		}
		o.SignOn = &next
		return editedOrganization(ctx, now, &before, o), nil
	})
	if fault.Is(err, fault.Conflict) && fault.As(err).Field == "" && !errors.Is(err, errNoWayIn) {
		err = &fault.Error{Kind: fault.Conflict, Field: "name", Message: "is taken by another organization", Err: err}
	}
	return o, fault.IfMissing(err, noOrganization())
}

// RemoveSignOn removes the single sign-on of the caller's organization. Members use their passwords again.
func (a *Accounts) RemoveSignOn(ctx context.Context, who Who) error {
	if _, err := a.Recent(ctx, who); err != nil {
		return err
	}
	_, err := a.Store.Organizations.Update(ctx, who.Organization, func(o *Organization) ([]topic.Message, error) {
		if o.SignOn == nil {
			return nil, noSignOn()
		}
		before := *o
		o.SignOn = nil
		return editedOrganization(ctx, a.Now(), &before, o), nil
	})
	return err
}

// CheckSignOn returns an error if the provider of the caller's organization sends no usable metadata.
func (a *Accounts) CheckSignOn(ctx context.Context, who Who) error {
	o, err := a.OwnSignOn(ctx, who)
	if err == nil && o.SignOn == nil {
		err = noSignOn()
	}
	if err != nil {
		return err
	}
	return a.Issuers.Check(ctx, o.SignOn.Issuer)
}

var errNoWayIn = fault.New(fault.Conflict, "Single sign-on is enforced, so an admin must keep a password. Allow one admin who has a password to use it.")

// hasWayIn reports whether the user is an admin who can sign in without the provider.
func (u User) hasWayIn() bool {
	return u.isAdmin() && u.Password != "" && u.PasswordAuth != nil && *u.PasswordAuth
}

// checkWayIn returns errNoWayIn unless an admin who does not leave can sign in without the provider.
func (a *Accounts) checkWayIn(ctx context.Context, o *Organization, now time.Time) error {
	members, _, err := a.Members(ctx, o.ID, find.Query{})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(members, func(u User) bool {
		leaves := slices.ContainsFunc(o.Leaving, func(l Leaving) bool { return l.User == u.ID && now.Before(l.Until) })
		return u.hasWayIn() && !leaves
	}) {
		return errNoWayIn
	}
	return nil
}
