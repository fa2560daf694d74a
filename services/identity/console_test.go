package identity_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/web"
)

const password = "correct horse battery"

// signedOut returns the passport of a visitor of the console's sign-in pages.
func signedOut(ip string) passport.Passport {
	return passport.Passport{Surface: passport.App, Caller: "console", IP: ip}
}

// invited sets the password of the member with an invitation, and returns the token of the session.
func (p *platform) invited(m member) (token string) {
	p.t.Helper()
	link := p.operator(201, "POST", "users/"+m.id+"/invitation", "").URL
	_, token, _ = strings.Cut(link, "?token=")
	got := p.send(signedOut("192.0.2.1"), "POST", "/app/invitations/accept", `{"token": "`+token+`", "password": "`+password+`"}`)
	if got.status != 200 || got.Session == nil {
		p.t.Fatalf("accept: %d %s", got.status, got.text)
	}
	return got.Session.Token
}

// sendPassword sends a request with a password. It repeats the request while too many others hash, as a busy machine does.
func (p *platform) sendPassword(as passport.Passport, method, path, body string) (got answer) {
	p.t.Helper()
	apitest.Eventually(p.t, "a slot for the hash", func() bool {
		got = p.send(as, method, path, body)
		return got.status != http.StatusServiceUnavailable || !strings.Contains(got.text, "Too many people sign in")
	})
	return got
}

// signIn tries to sign in.
func (p *platform) signIn(ip, name, password, browser string) answer {
	p.t.Helper()
	body := `{"username": "` + name + `", "password": "` + password + `"`
	if browser != "" {
		body += `, "browser": "` + browser + `"`
	}
	return p.sendPassword(signedOut(ip), "POST", "/app/sign-in", body+"}")
}

// signedIn signs in and returns the token of the session.
func (p *platform) signedIn(name string) (token string) {
	p.t.Helper()
	got := p.signIn("192.0.2.1", name, password, "")
	if got.status != 200 || got.Session == nil {
		p.t.Fatalf("sign in: %d %s", got.status, got.text)
	}
	return got.Session.Token
}

// session returns the passport with which the console calls for the session, as a gateway finds it. Without a valid
// session it returns the error of the lookup.
func (p *platform) session(token string) (passport.Passport, error) {
	id, secret, _ := strings.Cut(token, ":")
	c, err := p.credential(p.t.Context(), peer.Session, id, secret)
	if err == nil && c.SecretDigest != digest(secret) {
		err = fault.New(fault.Denied, "wrong secret")
	}
	return passport.Passport{
		Surface: passport.App, Caller: "console", Organization: c.Organization, User: c.User, Email: c.Email, Session: c.Session, Roles: c.Roles, IP: "192.0.2.1",
	}, err
}

// as sends a request in the session, and fails the test if the response has another status.
func (p *platform) as(token string, status int, method, path, body string) answer {
	p.t.Helper()
	caller, err := p.session(token)
	if err != nil {
		p.t.Fatalf("%s %s: the session is not valid: %v", method, path, err)
	}
	got := p.send(caller, method, path, body)
	if got.status != status {
		p.t.Fatalf("%s %s: %d %s, want %d", method, path, got.status, got.text, status)
	}
	return got
}

// ended fails the test if the session is valid.
func (p *platform) ended(what, token string) {
	p.t.Helper()
	if _, err := p.session(token); !fault.Is(err, fault.NotFound) {
		p.t.Errorf("%s: the session is valid: %v", what, err)
	}
}

func (p *platform) valid(what, token string) {
	p.t.Helper()
	if _, err := p.session(token); err != nil {
		p.t.Errorf("%s: the session is not valid: %v", what, err)
	}
}

// These operations need a sign-in of the last 10 minutes, if a session calls them. The response says so.
func TestAChangeOfCredentialsNeedsARecentSignIn(t *testing.T) {
	p := start(t, nil)
	m, other := p.member("ann", `"admin"`), p.member("bob", `"admin"`)
	token := p.invited(m)
	colleague := p.operator(201, "POST", "organizations/"+m.organization+"/users", `{"username": "cid", "email": "cid@example.com", "roles": ["event"]}`).User.ID
	routes := []route{
		{"POST", "/app/api-keys", `{"name": "x"}`},
		{"PUT", "/app/legacy-key", ""},
		{"PATCH", "/app/profile", `{"email": "new@example.com"}`},
		{"POST", "/app/users", `{"username": "dee", "email": "dee@example.com", "roles": ["event"]}`},
		{"PATCH", "/app/users/" + colleague, `{"roles": ["subscriber"]}`},
		{"POST", "/app/users/" + colleague + "/invitation", ""},
		{"DELETE", "/app/users/" + colleague + "/second-factors", ""},
		{"DELETE", "/app/users/" + colleague, ""},
		{"PATCH", "/app/organization", `{"requireTwoFactor": true}`},
	}
	p.ahead.Add(int64(10*time.Minute + time.Second))
	for _, r := range routes {
		got := p.as(token, 403, r.method, r.path, r.body)
		if got.header.Get(web.SignInHeader) != web.SignInAgain || !strings.Contains(got.text, "Sign in again") {
			t.Errorf("%s %s: %v %s", r.method, r.path, got.header, got.text)
		}
	}
	p.as(token, 200, "PATCH", "/app/profile", `{"firstName": "Ann"}`) // needs none
	p.as(token, 403, "POST", "/app/sign-in/again", `{"password": "wrong"}`)
	p.as(token, 403, "POST", "/app/api-keys", `{"name": "x"}`)
	p.as(token, 200, "POST", "/app/sign-in/again", `{"password": "`+password+`"}`)
	for _, r := range routes {
		caller, err := p.session(token)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.send(caller, r.method, r.path, r.body); got.status >= 300 {
			t.Errorf("%s %s after signing in again: %d %s", r.method, r.path, got.status, got.text)
		}
	}
	// A key needs no sign-in.
	key := m.app()
	if got := p.send(key, "POST", "/app/users", `{"username": "eve", "email": "eve@example.com", "roles": ["event"]}`); got.status != 201 {
		t.Errorf("with a key: %d %s", got.status, got.text)
	}
	if got := p.send(key, "PATCH", "/app/users/"+other.id, `{"roles": ["event"]}`); got.status != 404 {
		t.Errorf("a user of another organization: %d %s", got.status, got.text)
	}
}

// Strangers cannot lock a member out of a browser in which the member has signed in before, and cannot guess without
// end in others.
func TestFailuresToSignInAreLimited(t *testing.T) {
	p := start(t, nil)
	p.invited(p.member("ann", `"admin"`))
	p.invited(p.member("bob", `"admin"`))
	known := p.signIn("192.0.2.1", "ann", password, "").Browser
	limited := func(what string, got answer) {
		t.Helper()
		if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", what, got.status, got.text)
		}
	}
	fail := func(n int, ip, name, browser string) {
		t.Helper()
		for i := range n {
			if got := p.signIn(ip, name, "a wrong password", browser); got.status != 403 || !strings.Contains(got.text, "The name or the password is wrong.") {
				t.Fatalf("failure %d of %s from %s: %d %s", i, name, ip, got.status, got.text)
			}
		}
	}
	fail(9, "198.51.100.1", "ann", "")
	if got := p.signIn("198.51.100.1", "ann", password, ""); got.status != 200 {
		t.Fatalf("after nine failures: %d %s", got.status, got.text)
	}
	fail(1, "198.51.100.1", "ann", "")
	limited("a right password after ten failures", p.signIn("198.51.100.1", "ann", password, ""))
	if got := p.signIn("198.51.100.1", "bob", password, ""); got.status != 200 {
		t.Errorf("another name from the address: %d %s", got.status, got.text)
	}
	for _, name := range []string{"x", "y"} {
		fail(10, "198.51.100.1", name, "")
	}
	limited("a third name after thirty failures of the address", p.signIn("198.51.100.1", "bob", password, ""))
	for i := range 9 {
		fail(10, fmt.Sprint("203.0.113.", i), "ann", "")
	}
	limited("any address after a hundred failures of the name", p.signIn("192.0.2.77", "ann", password, ""))
	if got := p.signIn("192.0.2.77", "ann", password, known); got.status != 200 {
		t.Errorf("the known browser: %d %s", got.status, got.text)
	}
	if got := p.signIn("192.0.2.77", "bob", password, known); got.status != 200 {
		t.Errorf("another name in the known browser: %d %s", got.status, got.text)
	}
	fail(10, "192.0.2.77", "ann", known)
	limited("the known browser after ten failures", p.signIn("192.0.2.77", "ann", password, known))
	limited("a browser with an altered ticket", p.signIn("192.0.2.77", "ann", password, "x"+known))
	p.ahead.Add(int64(181 * 24 * time.Hour))
	limited("a browser whose ticket has expired", p.signIn("192.0.2.78", "ann", password, known))
}

// A guesser who sends many requests at once gets no more tries.
func TestFailuresAtOnceAreLimitedToo(t *testing.T) {
	p := start(t, nil)
	p.invited(p.member("ann", `"admin"`))
	var wrong, limited atomic.Int64
	var group sync.WaitGroup
	for range 24 {
		group.Go(func() {
			switch got := p.signIn("198.51.100.1", "ann", "a wrong password", ""); got.status {
			case 403:
				wrong.Add(1)
			case 429:
				limited.Add(1)
			default:
				t.Errorf("%d %s", got.status, got.text)
			}
		})
	}
	group.Wait()
	if wrong.Load() != 10 || limited.Load() != 14 {
		t.Errorf("%d wrong, %d limited", wrong.Load(), limited.Load())
	}
}

func TestSigningInAgainIsLimitedAndSoIsTheCurrentPassword(t *testing.T) {
	p := start(t, nil)
	token := p.invited(p.member("ann", `"admin"`))
	for range 5 {
		p.as(token, 403, "POST", "/app/sign-in/again", `{"password": "wrong"}`)
		p.as(token, 400, "PUT", "/app/profile/password", `{"current": "wrong", "password": "another long password"}`)
	}
	p.as(token, 429, "POST", "/app/sign-in/again", `{"password": "`+password+`"}`)
	p.as(token, 429, "PUT", "/app/profile/password", `{"current": "`+password+`", "password": "another long password"}`)
}

// A link for a forgotten password is sent three times an hour. The response is the same for every name and takes as
// long.
func TestAForgottenPasswordLooksTheSameForEveryName(t *testing.T) {
	p := start(t, nil)
	p.invited(p.member("ann", `"admin"`))
	p.member("bob", `"admin"`) // has no password
	for i := range 4 {
		for _, name := range []string{"ann", "ann@example.com", "bob", "nobody"} {
			began := time.Now()
			got := p.send(signedOut(fmt.Sprint("192.0.2.", i)), "POST", "/app/sign-in/forgotten", `{"username": "`+name+`"}`)
			took := time.Since(began)
			if got.status != 204 || got.text != "" || took < 100*time.Millisecond {
				t.Errorf("%s: %d %s after %s", name, got.status, got.text, took)
			}
		}
	}
	limited := 0
	for range 31 {
		if got := p.send(signedOut("192.0.2.99"), "POST", "/app/sign-in/forgotten", `{"username": "nobody"}`); got.status == 429 {
			limited++
		}
	}
	if limited != 1 {
		t.Errorf("%d of 31 requests from an address were limited", limited)
	}
}

// A link ends after its time, after a use, and with a new mail address.
func TestALinkEnds(t *testing.T) {
	p := start(t, nil)
	m := p.member("ann", `"admin"`)
	link := func() string {
		_, token, _ := strings.Cut(p.operator(201, "POST", "users/"+m.id+"/invitation", "").URL, "?token=")
		return token
	}
	read := func(token string) int {
		return p.send(signedOut("192.0.2.1"), "POST", "/app/invitations/read", `{"token": "`+token+`"}`).status
	}
	p.stopClock()
	token := link()
	p.ahead.Add(int64(72*time.Hour - time.Second))
	if got := read(token); got != 200 {
		t.Errorf("before its end: %d", got)
	}
	p.ahead.Add(int64(time.Second))
	if got := read(token); got != 404 {
		t.Errorf("after its end: %d", got)
	}
	session := p.invited(m)
	token = link()
	p.as(session, 200, "PATCH", "/app/profile", `{"email": "new@example.com"}`)
	if got := read(token); got != 404 {
		t.Errorf("after a new mail address: %d", got)
	}
	token = link()
	p.as(session, 200, "PATCH", "/app/users/"+m.id, `{"email": "newer@example.com"}`)
	if got := read(token); got != 404 {
		t.Errorf("after a new mail address from an admin: %d", got)
	}
}

// Many requests accept an invitation at once. One request succeeds.
func TestAnInvitationIsAcceptedOnce(t *testing.T) {
	p := start(t, nil)
	m := p.member("ann", `"admin"`)
	_, token, _ := strings.Cut(p.operator(201, "POST", "users/"+m.id+"/invitation", "").URL, "?token=")
	var accepted, refused atomic.Int64
	var group sync.WaitGroup
	for i := range 6 {
		group.Go(func() {
			got := p.sendPassword(signedOut("192.0.2.1"), "POST", "/app/invitations/accept", fmt.Sprintf(`{"token": "%s", "password": "%s %d"}`, token, password, i))
			switch got.status {
			case 200:
				accepted.Add(1)
			case 404:
				refused.Add(1)
			default:
				t.Errorf("%d %s", got.status, got.text)
			}
		})
	}
	group.Wait()
	if accepted.Load() != 1 || refused.Load() != 5 {
		t.Errorf("%d accepted, %d refused", accepted.Load(), refused.Load())
	}
}

// Two admins demote, disable or delete each other at once. One of them stays an admin.
func TestTheLastAdminStaysWhenTwoLeaveAtOnce(t *testing.T) {
	p := start(t, nil)
	for i, change := range []struct{ method, body string }{{"PATCH", `{"roles": ["event"]}`}, {"PATCH", `{"disabled": true}`}, {"DELETE", ""}} {
		ann := p.member(fmt.Sprint("ann", i), `"admin"`)
		bob := p.operator(201, "POST", "organizations/"+ann.organization+"/users", fmt.Sprintf(`{"username": "bob%d", "email": "bob@example.com", "roles": ["admin"]}`, i)).User.ID
		var refused atomic.Int64
		var group sync.WaitGroup
		for _, id := range []string{ann.id, bob} {
			group.Go(func() {
				switch got := p.send(ann.app(), change.method, "/app/users/"+id, change.body); got.status {
				case 409, 403: // 403: the caller was deleted first
					refused.Add(1)
				case 200, 204:
				default:
					t.Errorf("%d %s", got.status, got.text)
				}
			})
		}
		group.Wait()
		if refused.Load() == 0 {
			t.Errorf("%s %s: both have left", change.method, change.body)
		}
	}

	// A key keeps the role of an admin while a session takes it away. The key does not give it back.
	ann := p.member("ann", `"admin"`)
	session := p.invited(ann)
	bob := p.operator(201, "POST", "organizations/"+ann.organization+"/users", `{"username": "bob", "email": "bob@example.com", "roles": ["admin"]}`).User.ID
	for range 10 {
		p.as(session, 200, "PATCH", "/app/users/"+bob, `{"roles": ["admin"]}`)
		var group sync.WaitGroup
		group.Go(func() { p.as(session, 200, "PATCH", "/app/users/"+bob, `{"roles": ["event"]}`) })
		group.Go(func() {
			if got := p.send(ann.app(), "PATCH", "/app/users/"+bob, `{"roles": ["admin"]}`); got.status != 200 && got.status != 403 {
				t.Errorf("%d %s", got.status, got.text)
			}
		})
		group.Wait()
		if got := p.as(session, 200, "GET", "/app/users/"+bob, "").text; !strings.Contains(got, `"roles":["event"]`) {
			t.Fatalf("the key has made an admin: %s", got)
		}
	}
}

// A sign-in works without Redis: the failures are counted in memory, and gateways ask identity.
func TestASignInNeedsNoRedis(t *testing.T) {
	p := start(t, nil)
	p.invited(p.member("ann", `"admin"`))
	p.stopRedis()
	token := p.signedIn("ann")
	id, secret, _ := strings.Cut(token, ":")
	if c, err := p.identity().Credential(t.Context(), peer.KeyLookup{Scheme: peer.Session, ID: id, SecretDigest: digest(secret)}); err != nil || c.Session != id || c.KeyID != "" {
		t.Errorf("%+v %v", c, err)
	}
	for range 10 {
		p.signIn("198.51.100.1", "ann", "a wrong password", "")
	}
	if got := p.signIn("198.51.100.1", "ann", password, ""); got.status != 429 {
		t.Errorf("after ten failures: %d %s", got.status, got.text)
	}
}
