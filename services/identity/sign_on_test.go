package identity_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/services/identity"
	"github.com/bellbuoy/bellbuoy/services/identity/oidctest"
)

const idpCallback = "https://console.example.com/console/sign-in/sso-callback/" // with the id of the organization

// idp is an OpenID Connect provider, with a browser at it.
type idp struct {
	*oidctest.Provider
	t       testing.TB
	browser *http.Client
}

func startIDP(t testing.TB) *idp {
	t.Helper()
	p := oidctest.Start(t)
	return &idp{p, t, &http.Client{Transport: p.Transport()}}
}

// settings are those of identity with the provider.
func (i *idp) settings(c *identity.Config) {
	c.ConsoleBaseURL = "https://console.example.com"
	c.SSOCAFile = i.CAFile
	if err := c.SSOResolve.UnmarshalText([]byte(i.Resolve())); err != nil {
		i.t.Fatal(err)
	}
}

// login lets the user sign in at the provider, and returns the organization and the query of the callback.
func (i *idp) login(address, user string) (organization, query string) {
	i.t.Helper()
	location := i.Login(i.browser, address, user)
	path, query, _ := strings.Cut(location.String(), "?")
	organization, found := strings.CutPrefix(path, idpCallback)
	if !found {
		i.t.Fatalf("the provider leads to %s", location)
	}
	return organization, query
}

func signOnBody(change map[string]any) string {
	body := map[string]any{
		"name": "acme", "label": "Acme login", "issuer": oidctest.Issuer, "clientId": oidctest.ClientID, "clientSecret": oidctest.ClientSecret, "createMembers": true, "defaultRoles": []string{"event"},
	}
	maps.Copy(body, change)
	return jsonOf(body)
}

// signOn is one flow up to the callback.
func (b *browser) signOn(i *idp, user string) (finish string) {
	b.t.Helper()
	started := b.call(200, "POST", "sign-in/sso", `{"name": "acme", "next": "/console/events"}`)
	organization, query := i.login(started.URL, user)
	return jsonOf(map[string]any{"state": started.State, "organizationId": organization, "query": query})
}

// acme returns a platform with an organization that uses the provider, and the browser of its admin.
func acme(t *testing.T, change map[string]any) (p *platform, i *idp, admin *browser, m member) {
	i = startIDP(t)
	p = start(t, i.settings)
	m = p.member("ann", `"admin"`)
	i.Serve(idpCallback + m.organization)
	admin = p.welcome(m.id)
	admin.call(200, "PUT", "organization/sign-on", signOnBody(change))
	return p, i, admin, m
}

func TestSingleSignOnSignsInMembersOfTheProvider(t *testing.T) {
	p, i, admin, _ := acme(t, nil)
	i.AddUser("1", "ann@example.com", true)
	i.AddUser("2", "new@example.com", true)
	b := p.browser()
	if r := b.call(200, "GET", "sign-in/providers", ""); r.Provider == nil || r.Provider.Name != "acme" || r.Provider.Label != "Acme login" {
		t.Errorf("the provider is %+v", r.Provider)
	}
	if r := b.call(200, "GET", "sign-in/providers?name=other", ""); r.Provider != nil {
		t.Errorf("the provider is %+v", r.Provider)
	}
	if r := admin.call(200, "POST", "organization/sign-on/test", ""); !r.OK {
		t.Errorf("the test is %+v", r)
	}
	finish := b.signOn(i, "1")
	in := b.call(200, "POST", "sign-in/sso/finish", finish)
	ann := b.as(in)
	if got := ann.call(200, "GET", "profile", "").Profile; got.Username != "ann" || !got.SignOn || strings.Join(got.Roles, " ") != "admin" || in.Next != "/console/events" {
		t.Errorf("the profile is %+v, next %s", got, in.Next)
	}
	b.call(403, "POST", "sign-in/sso/finish", finish) // replayed
	i.AddUser("1", "moved@example.com", false)        // the subject identifies the member from now on
	again := ann.as(ann.call(200, "POST", "sign-in/sso/finish", ann.signOn(i, "1")))
	ann.call(403, "GET", "profile", "") // the former session of the same browser
	if all := again.call(200, "GET", "sessions", "").Sessions; len(all) != 2 || all[1].Method != "signOn" {
		t.Errorf("the sessions are %+v", all)
	}
	created := b.as(b.call(200, "POST", "sign-in/sso/finish", b.signOn(i, "2")))
	if got := created.call(200, "GET", "profile", "").Profile; got.Username != "new" || got.Email != "new@example.com" || strings.Join(got.Roles, " ") != "event" {
		t.Errorf("the profile is %+v", got)
	}
	same := b.as(b.call(200, "POST", "sign-in/sso/finish", b.signOn(i, "2")))
	if got := same.call(200, "GET", "profile", "").Profile.UserID; got != created.call(200, "GET", "profile", "").Profile.UserID {
		t.Error("the second sign-on created another member")
	}
	admin.call(204, "DELETE", "organization/sign-on", "")
	b.call(404, "POST", "sign-in/sso", `{"name": "acme"}`)
}

// A sign-on ends after 10 minutes. (Wrong tokens, states and providers are tested through the gateway, in
// deploy/standalone.)
func TestASignOnEndsAfter10Minutes(t *testing.T) {
	p, i, admin, m := acme(t, nil)
	i.AddUser("1", "ann@example.com", true)
	b := p.browser()
	late := b.signOn(i, "1")
	p.later(10*time.Minute + time.Second)
	b.call(403, "POST", "sign-in/sso/finish", late)
	started := func() string { return b.call(200, "POST", "sign-in/sso", `{"name": "acme"}`).State }
	for name, wrong := range map[string]struct{ state, query string }{
		"no state":    {"", "code=1&state=2"},
		"no query":    {started(), ""},
		"half a code": {started(), "%"},
	} {
		finish := jsonOf(map[string]any{"state": wrong.state, "organizationId": m.organization, "query": wrong.query})
		if r, status := b.try("POST", "sign-in/sso/finish", finish); status != 403 || r.Session != nil {
			t.Errorf("%s: %d %+v", name, status, r)
		}
	}
	if got := admin.call(200, "GET", "profile", "").Profile; got.SignOn {
		t.Error("a refused sign-on is stored")
	}
	b.call(200, "POST", "sign-in/sso/finish", b.signOn(i, "1"))
}

// A provider leads a member on to the provider of another organization, with the values of a sign-on of that
// organization. The code of the other provider does not go to the first one (RFC 9700, 4.4).
func TestACodeOfAnotherOrganizationsProviderIsNotExchanged(t *testing.T) {
	p, i, _, m := acme(t, nil)
	i.AddUser("1", "ann@example.com", true)
	eve := p.member("eve", `"admin"`)
	p.welcome(eve.id).call(200, "PUT", "organization/sign-on", signOnBody(map[string]any{"name": "evil"}))
	b := p.browser()
	evil := b.call(200, "POST", "sign-in/sso", `{"name": "evil"}`)
	address, err := url.Parse(evil.URL)
	if err != nil || address.Query().Get("redirect_uri") != idpCallback+eve.organization {
		t.Fatalf("the sign-on leads to %s: %v", evil.URL, err)
	}
	organization, query := i.login(b.call(200, "POST", "sign-in/sso", `{"name": "acme"}`).URL, "1")
	back, err := url.ParseQuery(query)
	if err != nil || organization != m.organization {
		t.Fatalf("the provider leads to the organization %s with %s: %v", organization, query, err)
	}
	back.Set("state", address.Query().Get("state"))
	i.Answer(func(http.ResponseWriter, *http.Request) { t.Error("the code goes to a provider") }, oidctest.TokenPath)
	r := b.call(403, "POST", "sign-in/sso/finish", jsonOf(map[string]any{"state": evil.State, "organizationId": organization, "query": back.Encode()}))
	if r.Error != "This sign-in has ended. Start again." {
		t.Errorf("the error is %s", r.Error)
	}
}

func TestAnIssuerWithAPrivateAddressIsRefused(t *testing.T) {
	p := start(t, func(c *identity.Config) { c.ConsoleBaseURL = "https://console.example.com" })
	b := p.welcome(p.member("ann", `"admin"`).id)
	for _, issuer := range []string{"https://127.0.0.1", "https://localhost", "https://10.0.0.1", "https://[::1]", "https://idp.internal", "http://login.example.com", "https://login.example.com:8443", "https://user@login.example.com", "https://login.example.com?x"} {
		if r := b.call(400, "PUT", "organization/sign-on", signOnBody(map[string]any{"issuer": issuer})); !strings.HasPrefix(r.Error, "issuer: ") {
			t.Errorf("%s: %s", issuer, r.Error)
		}
	}
}

func TestTheClaimSetsTheRolesAndTheLastAdminRemains(t *testing.T) {
	p, i, admin, m := acme(t, map[string]any{"rolesClaim": "realm.groups", "roleMap": map[string][]string{"ops": {"admin", "event"}, "web": {"event"}, "mail": {"subscriber"}}})
	i.AddUser("1", "ann@example.com", true)
	i.AddUser("2", "bob@example.com", true)
	b := p.browser()
	in := func(user string, groups any) []string {
		t.Helper()
		i.Tamper(func(claims map[string]any) func([]byte) string {
			claims["realm"] = map[string]any{"groups": groups}
			return nil
		})
		return b.as(b.call(200, "POST", "sign-in/sso/finish", b.signOn(i, user))).call(200, "GET", "profile", "").Profile.Roles
	}
	expect := func(got []string, want string) {
		t.Helper()
		if strings.Join(got, " ") != want {
			t.Errorf("the roles are %v, want %s", got, want)
		}
	}
	expect(in("1", []string{"web", "mail", "other"}), "admin event subscriber") // the last admin
	expect(in("2", "ops"), "admin event")
	expect(in("1", []string{"web"}), "event")
	admin.call(403, "GET", "users", "") // the other session, too
	expect(in("2", []string{"web"}), "admin event")
	expect(in("1", []string{"unknown"}), "event") // the default
	p.operator(200, "PATCH", "users/"+m.id, `{"disabled": true}`)
	if r := b.call(403, "POST", "sign-in/sso/finish", b.signOn(i, "1")); !strings.Contains(r.Error, "disabled") {
		t.Errorf("a disabled member: %s", r.Error)
	}
}

func TestEnforcedSignOnKeepsThePasswordOfOneAdmin(t *testing.T) {
	p, i, admin, m := acme(t, nil)
	i.AddUser("2", "bob@example.com", true)
	b := p.browser()
	bob := b.as(b.call(200, "POST", "sign-in/sso/finish", b.signOn(i, "2")))
	bobID := bob.call(200, "GET", "profile", "").Profile.UserID
	admin.call(200, "PATCH", "users/"+m.id, `{"allowPasswordAuth": false}`)
	admin.call(409, "PUT", "organization/sign-on", signOnBody(map[string]any{"enforced": true}))
	admin.call(200, "PATCH", "users/"+m.id, `{"allowPasswordAuth": true}`)
	admin.call(200, "PUT", "organization/sign-on", signOnBody(map[string]any{"enforced": true}))
	admin.call(200, "PATCH", "users/"+bobID, `{"roles": ["admin"]}`)
	for _, patch := range []string{`{"allowPasswordAuth": false}`, `{"roles": ["event"]}`, `{"disabled": true}`} {
		admin.call(409, "PATCH", "users/"+m.id, patch)
	}
	admin.call(409, "DELETE", "users/"+m.id, "")
	b.call(200, "POST", "sign-in", signIn("ann", password))
	var eve struct{ User struct{ ID string } }
	created := p.operator(201, "POST", "organizations/"+m.organization+"/users", `{"username": "eve", "email": "eve@example.com", "roles": ["event"]}`)
	eve.User.ID = created.User.ID
	with := p.welcome(eve.User.ID) // the operator's invitation allows the password
	laptop := p.device()
	laptop.party.Origin = "https://console.example.com"
	laptop.register(with, "Laptop")
	laptop.made.Counter = 1
	secret := with.call(200, "POST", "profile/totp", "").Secret
	codes := with.call(200, "PUT", "profile/totp", `{"code": "`+p.code(secret, 0)+`"}`).RecoveryCodes
	half := b.call(200, "POST", "sign-in", signIn("eve", password)).SecondFactor.Ticket
	if with.call(200, "GET", "profile", "").Profile.SignOnOnly {
		t.Error("eve may use the passkey")
	}
	admin.call(200, "PATCH", "users/"+eve.User.ID, `{"allowPasswordAuth": false}`)
	if !with.call(200, "GET", "profile", "").Profile.SignOnOnly {
		t.Error("eve may not use the passkey any more")
	}
	b.call(403, "POST", "sign-in", signIn("eve", password))
	b.call(403, "POST", "sign-in/code", codeOf(half, codes[0])) // the second step of a sign-in that began before
	if r := with.call(403, "POST", "sign-in/again", `{"passkey": `+laptop.show(with)+`}`); !strings.Contains(r.Error, "single sign-on only") {
		t.Errorf("a passkey again: %s", r.Error)
	}
	with.call(409, "POST", "profile/passkeys/options", "")
}

func TestTheNameOfASignOnIsUnique(t *testing.T) {
	p, _, _, _ := acme(t, nil)
	other := p.welcome(p.member("eve", `"admin"`).id)
	if r := other.call(409, "PUT", "organization/sign-on", signOnBody(nil)); r.Error != "name: is taken by another organization" {
		t.Errorf("the error is %s", r.Error)
	}
	other.call(200, "PUT", "organization/sign-on", signOnBody(map[string]any{"name": "other"}))
	if r := p.browser().call(200, "GET", "sign-in/providers", ""); r.Provider != nil {
		t.Errorf("one of two providers: %+v", r.Provider)
	}
}

// A sign-in is as recent as the login at the provider. A sign-on without the time of the login is not recent, if the
// provider has ever named it: the person at the browser has removed the request for it.
func TestASignOnIsAsRecentAsTheLoginAtTheProvider(t *testing.T) {
	p, i, _, _ := acme(t, nil)
	i.AddUser("1", "ann@example.com", true)
	b := p.browser()
	login := func(b *browser, age time.Duration) *browser {
		t.Helper()
		i.Tamper(func(claims map[string]any) func([]byte) string {
			if claims["auth_time"] = p.now().Add(-age).Unix(); age < 0 {
				delete(claims, "auth_time")
			}
			return nil
		})
		return b.as(b.call(200, "POST", "sign-in/sso/finish", b.signOn(i, "1")))
	}
	const never = -1
	login(b, never).call(200, "POST", "profile/totp", "") // no login of the provider has had a time
	old := login(b, 11*time.Minute)
	old.call(403, "POST", "profile/totp", "")
	login(b, never).call(403, "POST", "profile/totp", "")
	address, err := url.Parse(old.call(200, "POST", "sign-in/sso", `{"name": "acme"}`).URL)
	if q := address.Query(); err != nil || q.Get("prompt") != "login" || q.Get("max_age") != "600" {
		t.Errorf("the sign-on again leads to %s: %v", address, err)
	}
	again := login(old, never)
	again.call(403, "POST", "profile/totp", "")
	login(again, 9*time.Minute).call(200, "POST", "profile/totp", "")
}

// A member with an authenticator app needs a code also after a sign-on, unless the provider has checked several factors.
func TestASignOnNeedsTheSecondFactorOfTheMember(t *testing.T) {
	p, i, admin, _ := acme(t, nil)
	i.AddUser("1", "ann@example.com", true)
	secret := admin.call(200, "POST", "profile/totp", "").Secret
	p.midStep()
	codes := admin.call(200, "PUT", "profile/totp", `{"code": "`+p.code(secret, 0)+`"}`).RecoveryCodes
	b := p.browser()
	r := b.call(200, "POST", "sign-in/sso/finish", b.signOn(i, "1"))
	if r.Session != nil || r.SecondFactor == nil || r.Next != "/console/events" {
		t.Fatalf("the sign-on is %+v", r)
	}
	if in := b.call(200, "POST", "sign-in/code", codeOf(r.SecondFactor.Ticket, codes[0])); in.Session == nil || in.Next != "/console/events" {
		t.Errorf("the sign-in is %+v", in)
	}
	i.Tamper(func(claims map[string]any) func([]byte) string { claims["amr"] = []string{"pwd", "mfa"}; return nil })
	b.as(b.call(200, "POST", "sign-in/sso/finish", b.signOn(i, "1")))
}

// The user name of another organization's member does not prevent a sign-on.
func TestATakenUserNameGetsAnAddition(t *testing.T) {
	p, i, _, _ := acme(t, nil)
	other := p.operator(201, "POST", "organizations", `{"name": "Other"}`).Organization.ID
	p.operator(201, "POST", "organizations/"+other+"/users", `{"username": "taken", "email": "x@example.com", "roles": ["admin"]}`)
	i.AddUser("9", "taken@example.com", true)
	b := p.browser()
	got := b.as(b.call(200, "POST", "sign-in/sso/finish", b.signOn(i, "9"))).call(200, "GET", "profile", "").Profile
	if !strings.HasPrefix(got.Username, "taken-") || got.Email != "taken@example.com" {
		t.Errorf("the profile is %+v", got)
	}
}

// A person finishes the first sign-on in three tabs at once. All lead to the same member, who is new or was invited.
func TestTwoFirstSignOnsAtOnceMakeOneMember(t *testing.T) {
	p, i, admin, _ := acme(t, nil)
	b := p.browser()
	for n := range 10 {
		user := fmt.Sprint("new", n)
		i.AddUser(user, user+"@example.com", true)
		if n%2 == 0 {
			admin.call(201, "POST", "users", fmt.Sprintf(`{"username": %q, "email": "%[1]s@example.com", "roles": ["event"]}`, user))
		}
		var group sync.WaitGroup
		for range 3 {
			finish := b.signOn(i, user)
			group.Go(func() {
				if r, status := b.try("POST", "sign-in/sso/finish", finish); status != 200 {
					t.Errorf("%s: %d %s", user, status, r.Error)
				}
			})
		}
		group.Wait()
	}
	if all := admin.call(200, "GET", "users", "").Users; len(all) != 11 {
		t.Errorf("the members are %+v", all)
	}
}
