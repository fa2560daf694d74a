package main_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/bellbuoy/bellbuoy/services/identity/oidctest"
)

// signOns is a platform with an organization that signs in at a provider.
type signOns struct {
	t        *testing.T
	base     string
	provider *oidctest.Provider
	admin    *consoleUser
	of       credentials
}

// startSignOns starts a platform, whose admin sets up the provider in the console.
func startSignOns(t *testing.T) *signOns {
	t.Helper()
	provider := oidctest.Start(t)
	p, base := started(t, "SSO_RESOLVE="+provider.Resolve(), "SSO_CA_FILE="+provider.CAFile)
	admin, of := welcomed(t, p, base)
	provider.Serve(admin.origin + "/console/sign-in/sso-callback/" + of.OrganizationID)
	admin.open("/sign-on", http.StatusOK).fill("/sign-on", typed("name", "acme", "label", "Acme login", "issuer", oidctest.Issuer, "clientId", oidctest.ClientID,
		"clientSecret", oidctest.ClientSecret, "createMembers", "true", "defaultRoles", "event"), http.StatusOK).expect("/sign-on", "Saved")
	return &signOns{t, base, provider, admin, of}
}

// browser returns a person whose browser reaches the provider.
func (s *signOns) browser() *consoleUser {
	s.t.Helper()
	person := newConsoleUser(s.t, s.base)
	person.client.Transport = s.provider.Transport()
	return person
}

// login begins a sign-on and signs in at the provider. It returns the address of the callback, which it does not open.
func (s *signOns) login(person *consoleUser, user string) *url.URL {
	s.t.Helper()
	return s.provider.Login(person.client, person.origin+"/console/sign-in/sso/acme", user)
}

// An admin sets up single sign-on in the console, and somebody signs in at the provider and becomes a member. The
// callback works once, and only in the browser that began.
func TestAPersonSignsInToTheConsoleAtAProvider(t *testing.T) {
	t.Parallel()
	s := startSignOns(t)
	s.provider.AddUser("bob", "bob@example.com", true)
	bob := s.browser()
	bob.open("/sign-in", http.StatusOK).expect("/sign-in", "Acme login")
	callback := s.login(bob, "bob").String()
	s.browser().open(callback, http.StatusForbidden).expect("/sign-in/sso-callback/"+s.of.OrganizationID, "It has expired, or it began in another browser.")
	bob.open(callback, http.StatusOK).expect("/", "Ann Lee")
	bob.open(callback, http.StatusForbidden)
}
