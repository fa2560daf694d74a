package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/passport"
)

const memberPassword = "a lighthouse on the rocks"

// browser is the browser of a member with a session, or of somebody who is signed out. Its calls of the services are those
// of the console for this browser.
type browser struct {
	t       testing.TB
	cluster *cluster
	member  passport.Passport // zero: signed out
	token   string            // token of the session
}

// call calls an operation of the App interface at its service and returns the response.
func (v browser) call(service, method, path string, body any) answer {
	v.t.Helper()
	caller := v.member
	caller.Audience, caller.Surface, caller.Caller, caller.IP = service, passport.App, "console", "192.0.2.1"
	content, err := json.Marshal(body)
	if err != nil {
		v.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(context.Background(), method, "http://"+v.cluster.addresses[service]+path, strings.NewReader(string(content)))
	if err != nil {
		v.t.Fatal(err)
	}
	request.Header.Set(passport.Header, passport.NewSigner(secret, time.Now).Sign(caller))
	request.Header.Set("Content-Type", "application/json")
	return exchange(v.t, request)
}

// visit requests a page of the console from the gateway at base.
func (v browser) visit(ctx context.Context, base string) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/console/", nil)
	if err != nil {
		return answer{}, err
	}
	request.AddCookie(&http.Cookie{Name: passport.SessionCookie, Value: v.token})
	response, err := client.Do(request)
	if err != nil {
		return answer{}, err
	}
	return readAnswer(response)
}

// signedIn gives the member a password by an invitation of the operator, and signs the member in.
func (c *cluster) signedIn(t testing.TB, of credentials, roles ...string) browser {
	t.Helper()
	var invitation struct{ URL string }
	send(t, http.MethodPost, c.base+"/operator/v1/users/"+of.UserID+"/invitation", of.operator(), nil).expect(t, http.StatusCreated).into(t, &invitation)
	link, err := url.Parse(invitation.URL)
	if err != nil {
		t.Fatal(err)
	}
	var signIn struct{ Session struct{ Token string } }
	browser{t: t, cluster: c}.call("identity", http.MethodPost, "/app/invitations/accept",
		map[string]any{"token": link.Query().Get("token"), "password": memberPassword}).expect(t, http.StatusOK).into(t, &signIn)
	return c.session(t, of, signIn.Session.Token, roles)
}

// session returns the member of a session.
func (c *cluster) session(t testing.TB, of credentials, token string, roles []string) browser {
	id, _, _ := strings.Cut(token, ":")
	return browser{t, c, passport.Passport{Organization: of.OrganizationID, User: of.UserID, Username: of.Username, Session: id, Roles: roles}, token}
}

// signIn signs the member in once more, with the password.
func (c *cluster) signIn(t testing.TB, of credentials, roles ...string) browser {
	t.Helper()
	var signIn struct{ Session struct{ Token string } }
	browser{t: t, cluster: c}.call("identity", http.MethodPost, "/app/sign-in", map[string]any{"username": of.Username, "password": memberPassword}).
		expect(t, http.StatusOK).into(t, &signIn)
	return c.session(t, of, signIn.Session.Token, roles)
}

// consoleDouble starts a server that takes the place of the console. It responds with the passport of each request, so
// that a test sees for whom a page would be shown.
func consoleDouble(t testing.TB) string {
	signer := passport.NewSigner(secret, time.Now)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			return
		}
		p, err := signer.Verify(r.Header.Get(passport.Header), "console")
		if err != nil || p.Surface != passport.Console || r.Header.Get("Cookie") != "" {
			http.Error(w, "a request that is not for the console", http.StatusTeapot)
			return
		}
		_ = json.NewEncoder(w).Encode(p) // fails only if the client has left
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// Three gateways show pages to a member. When identity has responded to a change that ends the session or takes roles
// away, no gateway shows one more page to the former member.
func TestTheEndOfASessionHoldsForTheNextPageAtThreeGateways(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, "CONSOLE_URL="+consoleDouble(t))
	gateways := cluster.threeGateways(t)
	acme := provision(t, cluster.base, "Acme", "acme-admin", "admin")
	patch := func(member credentials, body map[string]any) {
		t.Helper()
		send(t, http.MethodPatch, cluster.base+"/operator/v1/users/"+member.UserID, member.operator(), body).expect(t, http.StatusOK)
	}
	for _, change := range []struct {
		name  string
		make  func(member credentials, v browser)
		stays bool // the session stays, with other roles
	}{
		{"sign-out", func(_ credentials, v browser) {
			v.call("identity", http.MethodDelete, "/app/sessions/"+v.member.Session, nil).expect(t, http.StatusNoContent)
		}, false},
		{"sign-out from another browser", func(member credentials, _ browser) {
			cluster.signIn(t, member, "event").call("identity", http.MethodDelete, "/app/sessions", nil).expect(t, http.StatusNoContent)
		}, false},
		{"a new password", func(member credentials, _ browser) {
			cluster.signIn(t, member, "event").call("identity", http.MethodPut, "/app/profile/password",
				map[string]any{"current": memberPassword, "password": "another lighthouse"}).expect(t, http.StatusNoContent)
		}, false},
		{"disabling", func(member credentials, _ browser) { patch(member, map[string]any{"disabled": true}) }, false},
		{"a change of roles", func(member credentials, _ browser) { patch(member, map[string]any{"roles": []string{"subscriber"}}) }, true},
		{"deletion", func(member credentials, _ browser) {
			send(t, http.MethodDelete, cluster.base+"/operator/v1/users/"+member.UserID, member.operator(), nil).expect(t, http.StatusNoContent)
		}, false},
	} {
		t.Run(change.name, func(t *testing.T) {
			member := addUser(t, acme, strings.ReplaceAll(change.name, " ", "-"), "event")
			v := cluster.signedIn(t, member, "event")
			var changed atomic.Bool
			var before, late, after atomic.Int64
			var group sync.WaitGroup
			for i := range 6 {
				group.Go(func() {
					for n := 0; n < 20; n++ {
						began := changed.Load()
						got, err := v.visit(t.Context(), gateways[i%3])
						var p passport.Passport
						switch {
						case err != nil:
							t.Error(err)
							return
						case got.status == http.StatusTooManyRequests: // the limit of the session
							n--
							continue
						case got.status != http.StatusOK:
							t.Errorf("%d %s", got.status, got.body)
							return
						}
						if err := json.Unmarshal(got.body, &p); err != nil {
							t.Error(err)
						}
						switch shown := p.Has("event"); {
						case shown && began:
							late.Add(1)
						case shown:
							before.Add(1)
							n = 0 // 20 requests of each client follow the change
						case change.stays == (p.Session == v.member.Session) && change.stays == p.Has("subscriber"):
							after.Add(1)
						default:
							t.Errorf("the member is %+v", p)
						}
					}
				})
			}
			eventually(t, 30*time.Second, "pages", func() error {
				if n := before.Load(); n < 30 {
					return fmt.Errorf("%d pages", n)
				}
				return nil
			})
			change.make(member, v)
			changed.Store(true)
			group.Wait()
			if late.Load() != 0 || after.Load() < 6*19 {
				t.Errorf("%d pages were shown afterwards; %d requests got none", late.Load(), after.Load())
			}
		})
	}
}

// The plan's feature API is about keys: without it, a member still uses the console.
func TestAnOrganizationWithoutTheAPIKeepsItsConsole(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, "CONSOLE_URL="+consoleDouble(t))
	acme := provision(t, cluster.base, "Acme", "acme-admin", "admin")
	v := cluster.signedIn(t, acme, "admin")
	send(t, http.MethodPatch, cluster.base+"/operator/v1/organizations/"+acme.OrganizationID, acme.operator(),
		map[string]any{"enabledFeatures": map[string]any{"api": false}}).expect(t, http.StatusOK)
	got, err := v.visit(t.Context(), cluster.base)
	var p passport.Passport
	if err != nil || json.Unmarshal(got.body, &p) != nil || p.Session != v.member.Session || p.Features.API {
		t.Errorf("%d %s %v", got.status, got.body, err)
	}
	v.call("events", http.MethodGet, "/app/components", nil).expect(t, http.StatusOK)
	if got := send(t, http.MethodGet, cluster.base+"/app/components", acme.app(), nil).expect(t, http.StatusForbidden); len(got.body) == 0 {
		t.Error("a key gets an empty 403")
	}
}

// A write of the console leaves an audit entry with the surface console, the member as its actor and no key. A sign-in
// is an entry of the member who signs in.
func TestWritesOfTheConsoleAreInTheAuditLog(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, "APP_RATE_PER_MINUTE=100000") // the test asks often until the entries are there
	acme := provision(t, cluster.base, "Acme", "acme-admin", "admin")
	v := cluster.signedIn(t, acme, "admin")
	v.member.Email = "acme-admin@example.com"
	var made struct{ Component struct{ ID string } }
	v.call("events", http.MethodPost, "/app/components", map[string]any{"name": "Checkout"}).expect(t, http.StatusCreated).into(t, &made)
	for _, of := range []struct{ action, entity string }{{"component.create", made.Component.ID}, {"session.create", v.member.Session}} {
		eventually(t, 30*time.Second, "the entry "+of.action, func() error {
			entries, err := auditLog(cluster.base, acme.app(), "action="+of.action)
			if err != nil || len(entries) != 1 {
				return fmt.Errorf("%d entries, %v", len(entries), err)
			}
			entry := entries[0]
			if entry.EntityID != of.entity || entry.Surface != "console" || entry.Actor.Type != "user" || entry.Actor.ID != acme.UserID || entry.Actor.KeyID != "" {
				t.Errorf("%+v", entry)
			}
			return nil
		})
	}
}

// make run gives the console the name localhost, because browsers refuse passkeys on an IP address. The address that
// the platform prints leads there.
func TestTheConsoleOfMakeRunIsOnLocalhost(t *testing.T) {
	t.Parallel()
	p, base := started(t)
	_, port, _ := strings.Cut(strings.TrimPrefix(base, "http://"), ":")
	want := "http://localhost:" + port + "/console/"
	link := seeded(t, p).ConsoleURL
	if !strings.HasPrefix(link, want+"welcome?token=") {
		t.Errorf("the link of the first start is %q", link)
	}
	eventually(t, 30*time.Second, "the printed link", func() error {
		if !strings.Contains(p.output(), link) {
			return errors.New("it is not there")
		}
		return nil
	})
	get := func(host, path string) answer {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		return stay(t, request)
	}
	if got := get("", "/console/sign-in?next=x").expect(t, http.StatusPermanentRedirect); got.header.Get("Location") != want+"sign-in?next=x" {
		t.Errorf("127.0.0.1 redirects to %q", got.header.Get("Location"))
	}
	if got := get("192.0.2.1", "/console/").expect(t, http.StatusMisdirectedRequest); !strings.Contains(string(got.body), want) {
		t.Errorf("%s", got.body)
	}
	get("status.example.com", "/console/").expect(t, http.StatusNotFound) // the host of a dashboard
	if got := get("localhost:"+port, "/console/"); got.status >= http.StatusInternalServerError {
		t.Errorf("%d %s", got.status, got.body)
	}
}
