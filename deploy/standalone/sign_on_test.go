package main_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
)

// people are the accounts of an OpenID Connect provider, by their id.
type people map[string]*storage.User

// GetUserByID implements storage.UserStore.
func (p people) GetUserByID(id string) *storage.User { return p[id] }

// GetUserByUsername implements storage.UserStore. The user name is the id.
func (p people) GetUserByUsername(name string) *storage.User { return p[name] }

// ExampleClientID implements storage.UserStore.
func (p people) ExampleClientID() string { return "service" }

// An admin sets up single sign-on in the console, and somebody signs in at the provider and becomes a member. The
// callback works once, and only in the browser that began.
func TestAPersonSignsInToTheConsoleAtAProvider(t *testing.T) {
	t.Parallel()
	const issuer = "https://example.com" // the name in the certificate of package httptest
	users := people{"bob": {ID: "bob", Username: "bob", Password: "pass", FirstName: "Bob", LastName: "Ray", Email: "bob@example.com", EmailVerified: true}}
	var provider http.Handler
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { provider.ServeHTTP(w, r) }))
	server.StartTLS()
	t.Cleanup(server.Close)
	authority := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	p, base := started(t, "SSO_RESOLVE=example.com:443="+server.Listener.Addr().String(), "SSO_CA_FILE="+authority)
	ada, _ := welcomed(t, p, base)
	callback := ada.origin + "/console/sign-in/sso-callback"
	storage.RegisterClients(storage.WebClient("bellbuoy", "the secret", callback))
	provider = exampleop.SetupServer(issuer, storage.NewStorage(users), slog.New(slog.DiscardHandler), false)

	ada.open("/sign-on", http.StatusOK).fill("/sign-on", typed("name", "acme", "label", "Acme login", "issuer", issuer, "clientId", "bellbuoy",
		"clientSecret", "the secret", "createMembers", "true", "defaultRoles", "event"), http.StatusOK).expect("/sign-on", "Saved")

	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	browser := func() *consoleUser {
		person := newConsoleUser(t, base)
		dialer := &net.Dialer{}
		person.client.Transport = &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				if address == "example.com:443" {
					address = server.Listener.Addr().String()
				}
				return dialer.DialContext(ctx, network, address)
			},
		}
		return person
	}
	bob := browser()
	bob.open("/sign-in", http.StatusOK).expect("/sign-in", "Acme login")
	bob.open("/sign-in/sso/acme", http.StatusOK)
	id := bob.at.Query().Get("authRequestID")
	bob.load(http.MethodPost, issuer+"/login/username", typed("username", "bob", "password", "pass", "id", id), http.StatusOK).expect("/", "Bob Ray")

	// The callback of one browser has no effect in another one, and none a second time.
	eve := browser()
	eve.open("/sign-in/sso/acme", http.StatusOK)
	request := eve.at.Query().Get("authRequestID")
	eve.client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Host != "example.com" {
			return http.ErrUseLastResponse
		}
		return nil
	}
	response, err := eve.client.PostForm(issuer+"/login/username", typed("username", "bob", "password", "pass", "id", request))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	back := response.Header.Get("Location")
	browser().open(back, http.StatusForbidden)
	eve.client.CheckRedirect = nil
	eve.open(back, http.StatusOK).expect("/", "Bob Ray")
	eve.open(back, http.StatusForbidden)
}
