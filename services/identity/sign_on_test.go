package identity_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"

	"github.com/bellbuoy/bellbuoy/services/identity"
)

const (
	idpIssuer   = "https://example.com" // the name in the certificate of package httptest
	idpClient   = "bellbuoy"
	idpSecret   = "the secret of the client"
	idpCallback = "https://console.example.com/console/sign-in/sso-callback"
)

// idp is an OpenID Connect provider.
type idp struct {
	t      testing.TB
	server *httptest.Server
	store  *storage.Storage
	ca     string
	client *http.Client

	mu    sync.Mutex
	users map[string]*storage.User
	// tamper changes the claims of ID tokens. If it returns a function, the function signs the token.
	tamper func(claims map[string]any) (sign func(payload []byte) string)
	// answer responds to some requests itself, and returns true then.
	answer func(w http.ResponseWriter, r *http.Request) bool
}

// GetUserByID implements storage.UserStore.
func (i *idp) GetUserByID(id string) *storage.User {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.users[id]
}

// GetUserByUsername implements storage.UserStore. The user name is the id.
func (i *idp) GetUserByUsername(name string) *storage.User { return i.GetUserByID(name) }

// ExampleClientID implements storage.UserStore.
func (i *idp) ExampleClientID() string { return "service" }

func startIDP(t testing.TB) *idp {
	t.Helper()
	i := &idp{t: t, users: map[string]*storage.User{}}
	storage.RegisterClients(storage.WebClient(idpClient, idpSecret, idpCallback))
	i.store = storage.NewStorage(i)
	provider := exampleop.SetupServer(idpIssuer, i.store, slog.New(slog.DiscardHandler), false)
	i.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		answer := i.answer
		i.mu.Unlock()
		if answer != nil && answer(w, r) {
			return
		}
		if r.URL.Path != "/oauth/token" {
			provider.ServeHTTP(w, r)
			return
		}
		recorded := httptest.NewRecorder()
		provider.ServeHTTP(recorded, r)
		maps.Copy(w.Header(), recorded.Header())
		w.Header().Del("Content-Length")
		w.WriteHeader(recorded.Code)
		_, _ = w.Write(i.tampered(recorded.Body.Bytes()))
	}))
	i.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	i.server.StartTLS()
	t.Cleanup(i.server.Close)
	i.ca = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(i.ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(i.server.Certificate())
	i.client = &http.Client{
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, i.server.Listener.Addr().String())
			},
		},
		CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			if r.URL.Host == "console.example.com" {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
	return i
}

// set changes the provider while it runs.
func (i *idp) set(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
}

func (i *idp) user(id, email string, verified bool) {
	i.set(func() {
		i.users[id] = &storage.User{ID: id, Username: id, Password: "pass", FirstName: "Ann", LastName: "Lee", Email: email, EmailVerified: verified}
	})
}

// tampered returns the response to a token request with the changed ID token.
func (i *idp) tampered(body []byte) []byte {
	i.mu.Lock()
	defer i.mu.Unlock()
	var response map[string]any
	if i.tamper == nil || json.Unmarshal(body, &response) != nil || response["id_token"] == nil {
		return body
	}
	parts := strings.Split(response["id_token"].(string), ".")
	claims := map[string]any{}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(payload, &claims)
	}
	if err != nil {
		i.t.Error(err)
	}
	sign := i.tamper(claims)
	if payload, err = json.Marshal(claims); err != nil {
		i.t.Error(err)
	}
	if sign == nil {
		key, err := i.store.SigningKey(context.Background())
		if err != nil {
			i.t.Error(err)
		}
		sign = signer(i.t, key.Key(), key.ID())
	}
	response["id_token"] = sign(payload)
	return []byte(jsonOf(response))
}

func signer(t testing.TB, key any, id string) func([]byte) string {
	return func(payload []byte) string {
		s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
		if err != nil {
			t.Error(err)
			return ""
		}
		signed, err := s.Sign(payload)
		if err != nil {
			t.Error(err)
			return ""
		}
		text, err := signed.CompactSerialize()
		if err != nil {
			t.Error(err)
		}
		return text
	}
}

// settings are those of identity with the provider.
func (i *idp) settings(c *identity.Config) {
	c.ConsoleBaseURL = "https://console.example.com"
	c.SSOCAFile = i.ca
	if err := c.SSOResolve.UnmarshalText([]byte("example.com:443=" + i.server.Listener.Addr().String())); err != nil {
		i.t.Fatal(err)
	}
}

// login lets the user sign in at the provider, and returns the query of the callback.
func (i *idp) login(address, user string) (query string) {
	i.t.Helper()
	page, err := i.client.Get(address)
	if err != nil {
		i.t.Fatal(err)
	}
	page.Body.Close()
	id := page.Request.URL.Query().Get("authRequestID")
	answer, err := i.client.PostForm(idpIssuer+"/login/username", url.Values{"username": {user}, "password": {"pass"}, "id": {id}})
	if err != nil {
		i.t.Fatal(err)
	}
	text, _ := io.ReadAll(answer.Body)
	answer.Body.Close()
	location, err := answer.Location()
	if err != nil {
		i.t.Fatalf("%d %s: %s", answer.StatusCode, answer.Request.URL, text)
	}
	if !strings.HasPrefix(location.String(), idpCallback+"?") {
		i.t.Fatalf("the provider leads to %s", location)
	}
	return location.RawQuery
}

func signOnBody(change map[string]any) string {
	body := map[string]any{
		"name": "acme", "label": "Acme login", "issuer": idpIssuer, "clientId": idpClient, "clientSecret": idpSecret, "createMembers": true, "defaultRoles": []string{"event"},
	}
	maps.Copy(body, change)
	return jsonOf(body)
}

// signOn is one flow up to the callback.
func (b *browser) signOn(i *idp, user string) (finish string) {
	b.t.Helper()
	started := b.call(200, "POST", "sign-in/sso", `{"name": "acme", "next": "/console/events"}`)
	return jsonOf(map[string]any{"state": started.State, "query": i.login(started.URL, user)})
}

// acme returns a platform with an organization that uses the provider, and the browser of its admin.
func acme(t *testing.T, change map[string]any) (p *platform, i *idp, admin *browser, m member) {
	i = startIDP(t)
	p = start(t, i.settings)
	m = p.member("ann", `"admin"`)
	admin = p.welcome(m.id)
	admin.call(200, "PUT", "organization/sign-on", signOnBody(change))
	return p, i, admin, m
}

func TestSingleSignOnSignsInMembersOfTheProvider(t *testing.T) {
	p, i, admin, _ := acme(t, nil)
	i.user("1", "ann@example.com", true)
	i.user("2", "new@example.com", true)
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
	i.user("1", "moved@example.com", false)           // the subject identifies the member from now on
	again := ann.as(ann.call(200, "POST", "sign-in/sso/finish", ann.signOn(i, "1")))
	ann.call(403, "GET", "profile", "") // the former session of the same browser
	if all := again.call(200, "GET", "sessions", "").Sessions; len(all) != 2 || all[1].Method != "signOn" {
		t.Errorf("the sessions are %+v", all)
	}
	created := b.as(b.call(200, "POST", "sign-in/sso/finish", b.signOn(i, "2")))
	if got := created.call(200, "GET", "profile", "").Profile; got.Username != "new@example.com" || got.Email != "new@example.com" || strings.Join(got.Roles, " ") != "event" {
		t.Errorf("the profile is %+v", got)
	}
	same := b.as(b.call(200, "POST", "sign-in/sso/finish", b.signOn(i, "2")))
	if got := same.call(200, "GET", "profile", "").Profile.UserID; got != created.call(200, "GET", "profile", "").Profile.UserID {
		t.Error("the second sign-on created another member")
	}
	admin.call(204, "DELETE", "organization/sign-on", "")
	b.call(404, "POST", "sign-in/sso", `{"name": "acme"}`)
}

func TestASignOnThatTheProviderDoesNotProveSignsNobodyIn(t *testing.T) {
	p, i, admin, _ := acme(t, map[string]any{"createMembers": false})
	i.user("1", "ann@example.com", true)
	i.user("2", "ann@example.com", false)
	i.user("3", "nobody@example.com", true)
	b := p.browser()
	foreign, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	own, err := i.store.SigningKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, tamper := range map[string]func(map[string]any) func([]byte) string{
		"nonce":    func(c map[string]any) func([]byte) string { c["nonce"] = "other"; return nil },
		"no nonce": func(c map[string]any) func([]byte) string { delete(c, "nonce"); return nil },
		"audience": func(c map[string]any) func([]byte) string { c["aud"] = "other"; return nil },
		"audiences": func(c map[string]any) func([]byte) string {
			c["aud"] = []string{idpClient, "other"}
			delete(c, "azp")
			return nil
		},
		"party":      func(c map[string]any) func([]byte) string { c["azp"] = "other"; return nil },
		"issuer":     func(c map[string]any) func([]byte) string { c["iss"] = "https://evil.test"; return nil },
		"expired":    func(c map[string]any) func([]byte) string { c["exp"] = time.Now().Add(-time.Hour).Unix(); return nil },
		"no subject": func(c map[string]any) func([]byte) string { c["sub"] = ""; return nil },
		"subject":    func(c map[string]any) func([]byte) string { c["sub"] = "of another"; return nil }, // not that of the user information
		"signature":  func(map[string]any) func([]byte) string { return signer(t, foreign, own.ID()) },
		"none": func(map[string]any) func([]byte) string {
			return func(payload []byte) string {
				encode := base64.RawURLEncoding.EncodeToString
				return encode([]byte(`{"alg":"none"}`)) + "." + encode(payload) + "."
			}
		},
		"no token": func(map[string]any) func([]byte) string { return func([]byte) string { return "" } },
	} {
		finish := b.signOn(i, "1")
		i.set(func() { i.tamper = tamper })
		if r, status := b.try("POST", "sign-in/sso/finish", finish); status != 403 || r.Session != nil {
			t.Errorf("%s: %d %+v", name, status, r)
		}
		i.set(func() { i.tamper = nil })
	}
	for user, want := range map[string]string{"2": "has not verified", "3": "Ask an admin to invite you"} {
		if r := b.call(403, "POST", "sign-in/sso/finish", b.signOn(i, user)); !strings.Contains(r.Error, want) {
			t.Errorf("user %s: %s", user, r.Error)
		}
	}
	started := b.call(200, "POST", "sign-in/sso", `{"name": "acme"}`)
	query := i.login(started.URL, "1")
	other := b.call(200, "POST", "sign-in/sso", `{"name": "acme"}`)
	for name, body := range map[string]map[string]any{
		"state of another browser": {"state": other.State, "query": query},
		"no state":                 {"state": "", "query": query},
		"no query":                 {"state": started.State, "query": ""},
		"query":                    {"state": started.State, "query": "%"},
		"refusal":                  {"state": started.State, "query": strings.Replace(query, "code=", "error=access_denied&code=", 1)},
		"wrong code":               {"state": started.State, "query": strings.Replace(query, "code=", "code=x", 1)},
		"another issuer":           {"state": started.State, "query": query + "&iss=https%3A%2F%2Fevil.test"},
	} {
		if r, status := b.try("POST", "sign-in/sso/finish", jsonOf(body)); status != 403 || r.Session != nil {
			t.Errorf("%s: %d %+v", name, status, r)
		}
	}
	late := b.signOn(i, "1")
	p.later(10*time.Minute + time.Second)
	b.call(403, "POST", "sign-in/sso/finish", late)
	if got := admin.call(200, "GET", "profile", "").Profile; got.SignOn {
		t.Error("a refused sign-on is stored")
	}
}

// Whatever the issuer sends, nobody is signed in, and the response comes in time.
func TestAnIssuerThatFailsDelaysNobody(t *testing.T) {
	p, i, admin, _ := acme(t, nil)
	i.user("1", "ann@example.com", true)
	b := p.browser()
	ended := make(chan struct{})
	end := sync.OnceFunc(func() { close(ended) })
	t.Cleanup(end)
	large := bytes.Repeat([]byte("a"), 1<<20)
	for name, answer := range map[string]http.HandlerFunc{
		"hangs": func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-ended:
			case <-r.Context().Done():
			}
		},
		"never ends": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"access_token": "`)
			for range 1 << 10 {
				if _, err := w.Write(large); err != nil {
					return
				}
			}
		},
		"redirects": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusTemporaryRedirect)
		},
		"fails":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"no JSON": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
	} {
		finish := b.signOn(i, "1")
		i.set(func() {
			i.answer = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != "/oauth/token" && r.URL.Path != "/.well-known/openid-configuration" {
					return false
				}
				answer(w, r)
				return true
			}
		})
		begun := time.Now()
		if r, status := b.try("POST", "sign-in/sso/finish", finish); status != 503 && status != 403 || r.Session != nil || time.Since(begun) > 9*time.Second {
			t.Errorf("%s: %d %+v after %v", name, status, r, time.Since(begun))
		}
		if r := admin.call(200, "POST", "organization/sign-on/test", ""); r.OK || r.Error == "" {
			t.Errorf("%s: the test is %+v", name, r)
		}
		i.set(func() { i.answer = nil })
	}
	b.call(200, "POST", "sign-in/sso/finish", b.signOn(i, "1"))
	end()
	i.server.Close()
	if r := admin.call(200, "POST", "organization/sign-on/test", ""); r.OK || !strings.Contains(r.Error, "cannot be reached") {
		t.Errorf("the test is %+v", r)
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
	// A public name can have a private address. The guard sees the address.
	b.call(200, "PUT", "organization/sign-on", signOnBody(map[string]any{"issuer": "https://localtest.example.com"}))
	if r := b.call(200, "POST", "organization/sign-on/test", ""); r.OK {
		t.Errorf("the test is %+v", r)
	}
}

func TestTheClaimSetsTheRolesAndTheLastAdminRemains(t *testing.T) {
	p, i, admin, m := acme(t, map[string]any{"rolesClaim": "realm.groups", "roleMap": map[string][]string{"ops": {"admin", "event"}, "web": {"event"}, "mail": {"subscriber"}}})
	i.user("1", "ann@example.com", true)
	i.user("2", "bob@example.com", true)
	b := p.browser()
	in := func(user string, groups any) []string {
		t.Helper()
		i.set(func() {
			i.tamper = func(claims map[string]any) func([]byte) string {
				claims["realm"] = map[string]any{"groups": groups}
				return nil
			}
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
	i.user("2", "bob@example.com", true)
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
	admin.call(200, "PATCH", "users/"+eve.User.ID, `{"allowPasswordAuth": false}`)
	b.call(403, "POST", "sign-in", signIn("eve", password))
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

// A member with an authenticator app needs a code also after a sign-on, unless the provider has checked several factors.
func TestASignOnNeedsTheSecondFactorOfTheMember(t *testing.T) {
	p, i, admin, _ := acme(t, nil)
	i.user("1", "ann@example.com", true)
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
	i.set(func() {
		i.tamper = func(claims map[string]any) func([]byte) string { claims["amr"] = []string{"pwd", "mfa"}; return nil }
	})
	b.as(b.call(200, "POST", "sign-in/sso/finish", b.signOn(i, "1")))
}

// The user name of another organization's member does not prevent a sign-on.
func TestATakenUserNameGetsAnAddition(t *testing.T) {
	p, i, _, _ := acme(t, nil)
	other := p.operator(201, "POST", "organizations", `{"name": "Other"}`).Organization.ID
	p.operator(201, "POST", "organizations/"+other+"/users", `{"username": "taken@example.com", "email": "x@example.com", "roles": ["admin"]}`)
	i.user("9", "taken@example.com", true)
	b := p.browser()
	got := b.as(b.call(200, "POST", "sign-in/sso/finish", b.signOn(i, "9"))).call(200, "GET", "profile", "").Profile
	if !strings.HasPrefix(got.Username, "taken@example.com-") || got.Email != "taken@example.com" {
		t.Errorf("the profile is %+v", got)
	}
}
