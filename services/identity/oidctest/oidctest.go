// Package oidctest runs an OpenID Connect provider for tests: the example provider of zitadel/oidc. A test can change the
// ID tokens and the responses of the provider, as a wrong or hostile provider would.
package oidctest

import (
	"context"
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

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
)

// Issuer is the URL of the provider. Its host is the name in the certificate of package httptest.
const Issuer = "https://example.com"

// The client that the provider knows.
const (
	ClientID     = "bellbuoy"
	ClientSecret = "the secret of the client"
)

const host = "example.com:443"

// Provider is an OpenID Connect provider at Issuer.
type Provider struct {
	CAFile string // path of the file with the certificate of the provider

	t      testing.TB
	server *httptest.Server
	store  *storage.Storage
	oidc   http.Handler

	mu     sync.Mutex
	users  map[string]*storage.User
	tamper Tamper
	answer func(w http.ResponseWriter, r *http.Request) bool
}

// Tamper changes the claims of an ID token. If it returns a function, that function signs the token.
type Tamper func(claims map[string]any) (sign func(payload []byte) string)

// Start starts a provider. The provider stops at the end of the test.
func Start(t testing.TB) *Provider {
	t.Helper()
	p := &Provider{t: t, users: map[string]*storage.User{}}
	p.server = httptest.NewUnstartedServer(p)
	p.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	p.server.StartTLS()
	t.Cleanup(p.Close)
	p.CAFile = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(p.CAFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// Serve registers the client with the address to which the provider redirects people. The provider responds only after
// this call.
func (p *Provider) Serve(callback string) {
	p.store = storage.NewStorageWithClients(p, map[string]*storage.Client{ClientID: storage.WebClient(ClientID, ClientSecret, callback)})
	p.oidc = exampleop.SetupServer(Issuer, p.store, slog.New(slog.DiscardHandler), false)
}

// Close stops the provider.
func (p *Provider) Close() { p.server.Close() }

// Resolve returns the setting SSO_RESOLVE with which the platform reaches the provider.
func (p *Provider) Resolve() string { return host + "=" + p.server.Listener.Addr().String() }

// Transport returns the transport of a browser that reaches the provider.
func (p *Provider) Transport() *http.Transport {
	roots := x509.NewCertPool()
	roots.AddCert(p.server.Certificate())
	return &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address == host {
				address = p.server.Listener.Addr().String()
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}
}

// AddUser adds a person, who signs in with the id as the name.
func (p *Provider) AddUser(id, email string, verified bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users[id] = &storage.User{ID: id, Username: id, Password: "pass", FirstName: "Ann", LastName: "Lee", Email: email, EmailVerified: verified}
}

// Tamper sets the function that changes the ID tokens of the provider. With nil, they are not changed.
func (p *Provider) Tamper(change Tamper) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tamper = change
}

// Answer makes respond handle the requests to the paths. With nil, the provider handles them.
func (p *Provider) Answer(respond http.HandlerFunc, paths ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = nil
	if respond != nil {
		p.answer = func(w http.ResponseWriter, r *http.Request) bool {
			for _, path := range paths {
				if r.URL.Path == path {
					respond(w, r)
					return true
				}
			}
			return false
		}
	}
}

// The paths that the platform requests.
const (
	MetadataPath = "/.well-known/openid-configuration"
	TokenPath    = "/oauth/token"
)

// ServeHTTP implements http.Handler.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	answer := p.answer
	p.mu.Unlock()
	if answer != nil && answer(w, r) {
		return
	}
	if r.URL.Path != TokenPath {
		p.oidc.ServeHTTP(w, r)
		return
	}
	recorded := httptest.NewRecorder()
	p.oidc.ServeHTTP(recorded, r)
	maps.Copy(w.Header(), recorded.Header())
	w.Header().Del("Content-Length")
	w.WriteHeader(recorded.Code)
	_, _ = w.Write(p.tampered(recorded.Body.Bytes()))
}

// tampered returns the response to a token request with the changed ID token.
func (p *Provider) tampered(body []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	var response map[string]any
	if p.tamper == nil || json.Unmarshal(body, &response) != nil || response["id_token"] == nil {
		return body
	}
	parts := strings.Split(response["id_token"].(string), ".")
	claims := map[string]any{}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(payload, &claims)
	}
	if err != nil {
		p.t.Error(err)
	}
	sign := p.tamper(claims)
	if payload, err = json.Marshal(claims); err != nil {
		p.t.Error(err)
	}
	if sign == nil {
		key, err := p.store.SigningKey(context.Background())
		if err != nil {
			p.t.Error(err)
		}
		sign = p.signer(key.Key(), key.ID())
	}
	response["id_token"] = sign(payload)
	if body, err = json.Marshal(response); err != nil {
		p.t.Error(err)
	}
	return body
}

// SignedWith returns a function that signs tokens with another key under the id of the provider's key.
func (p *Provider) SignedWith(key any) func(payload []byte) string {
	own, err := p.store.SigningKey(context.Background())
	if err != nil {
		p.t.Error(err)
	}
	return p.signer(key, own.ID())
}

func (p *Provider) signer(key any, id string) func(payload []byte) string {
	return func(payload []byte) string {
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
		if err != nil {
			p.t.Error(err)
			return ""
		}
		signed, err := signer.Sign(payload)
		if err != nil {
			p.t.Error(err)
			return ""
		}
		text, err := signed.CompactSerialize()
		if err != nil {
			p.t.Error(err)
		}
		return text
	}
}

// Login opens the address in the browser, follows its redirects to the provider, and signs the user in. It returns the
// address of the callback, and does not open the callback.
func (p *Provider) Login(browser *http.Client, address, user string) (callback *url.URL) {
	p.t.Helper()
	stays := *browser
	stays.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Host != "example.com" {
			return http.ErrUseLastResponse
		}
		return nil
	}
	page, err := stays.Get(address)
	if err != nil {
		p.t.Fatal(err)
	}
	page.Body.Close()
	id := page.Request.URL.Query().Get("authRequestID")
	response, err := stays.PostForm(Issuer+"/login/username", url.Values{"username": {user}, "password": {"pass"}, "id": {id}})
	if err != nil {
		p.t.Fatal(err)
	}
	text, _ := io.ReadAll(response.Body)
	response.Body.Close()
	if callback, err = response.Location(); err != nil {
		p.t.Fatalf("%d %s: %s", response.StatusCode, response.Request.URL, text)
	}
	return callback
}

// GetUserByID implements storage.UserStore.
func (p *Provider) GetUserByID(id string) *storage.User {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.users[id]
}

// GetUserByUsername implements storage.UserStore. The user name is the id.
func (p *Provider) GetUserByUsername(name string) *storage.User { return p.GetUserByID(name) }

// ExampleClientID implements storage.UserStore.
func (p *Provider) ExampleClientID() string { return "service" }
