package identity_test

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"

	"github.com/bellbuoy/bellbuoy/services/identity/oidctest"
)

// names resolves the host names of this process's tests.
var names apitest.Names

func TestMain(m *testing.M) {
	names.Install()
	os.Exit(m.Run())
}

// privateNames are records of names that any admin can register. The name of an issuer looks public. Its address is
// known only when it is dialled.
func privateNames() map[string]string {
	return map[string]string{
		"loopback.example.": "127.0.0.1", "unspecified.example.": "0.0.0.0", "private.example.": "10.0.0.1", "metadata.example.": "169.254.169.254",
		"carrier.example.": "100.64.0.1", "loopback6.example.": "::1", "mapped.example.": "::ffff:127.0.0.1", "nat64.example.": "64:ff9b::7f00:1",
		"unique-local.example.": "fd00:ec2::254", "later.example.": "127.0.0.1",
	}
}

// An issuer with a public name and a forbidden address is refused when it is dialled: with the address itself, with an
// alias (CNAME), and with the address from the second query on. Nobody is connected to.
func TestNoIssuerWithAForbiddenAddressIsConnectedTo(t *testing.T) {
	names.Serve(t, privateNames(), "later.example.")
	connections := apitest.Connections(t)
	_, _, admin, _ := acme(t, nil)
	blocked := 0
	for name := range privateNames() {
		for _, host := range []string{strings.TrimSuffix(name, "."), "alias-" + strings.TrimSuffix(name, ".")} {
			admin.call(200, "PUT", "organization/sign-on", signOnBody(map[string]any{"issuer": "https://" + host}))
			for range 2 { // later.example has an address the second time
				r := admin.call(200, "POST", "organization/sign-on/test", "")
				if r.OK {
					t.Errorf("%s is reached", host)
				}
				if strings.Contains(r.Error, "an address that is not public") {
					blocked++
				}
			}
		}
	}
	if least := 2*2*len(privateNames()) - 2; connections.Load() != 0 || blocked < least {
		t.Errorf("%d connections were made, and %d of %d were blocked where they were dialled", connections.Load(), blocked, least)
	}
}

// An issuer cannot lead the platform to a forbidden address: neither by a redirect of its metadata or of an exchange of a
// code, nor by the endpoints that its metadata name. Nobody is connected to, and nobody is signed in.
func TestAnIssuerDoesNotLeadToAForbiddenAddress(t *testing.T) {
	names.Serve(t, privateNames())
	connections := apitest.Connections(t)
	p, i, admin, _ := acme(t, nil)
	i.AddUser("1", "ann@example.com", true)
	b := p.browser()
	finish := func(name string, answer http.HandlerFunc, path string) {
		t.Helper()
		flow := b.signOn(i, "1")
		i.Answer(answer, path)
		if path == oidctest.MetadataPath { // the metadata are read again
			if r := admin.call(200, "POST", "organization/sign-on/test", ""); !r.OK {
				t.Errorf("%s: the test is %+v", name, r)
			}
		}
		if r, status := b.try("POST", "sign-in/sso/finish", flow); status != 503 && status != 403 || r.Session != nil {
			t.Errorf("%s: %d %+v", name, status, r)
		}
		i.Answer(nil)
		if r := admin.call(200, "POST", "organization/sign-on/test", ""); !r.OK {
			t.Errorf("%s: the test is %+v", name, r)
		}
	}
	for _, target := range []string{"https://127.0.0.1", "https://localhost", "https://[::1]", "https://loopback.example", "https://loopback6.example", "http://127.0.0.1:443"} {
		redirect := func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, target+"/", http.StatusTemporaryRedirect)
		}
		finish(target+" by a redirect", redirect, oidctest.TokenPath)
		i.Answer(redirect, oidctest.MetadataPath)
		if r := admin.call(200, "POST", "organization/sign-on/test", ""); r.OK {
			t.Errorf("the metadata at %s are read", target)
		}
		i.Answer(nil)
		for _, endpoint := range []string{"token_endpoint", "jwks_uri", "userinfo_endpoint"} {
			metadata := map[string]any{
				"issuer": oidctest.Issuer, "authorization_endpoint": oidctest.Issuer + "/authorize", "token_endpoint": oidctest.Issuer + oidctest.TokenPath,
				"jwks_uri": oidctest.Issuer + "/keys", "userinfo_endpoint": oidctest.Issuer + "/userinfo", "id_token_signing_alg_values_supported": []string{"RS256"},
			}
			if metadata[endpoint] = target + "/"; endpoint == "token_endpoint" && strings.HasPrefix(target, "http:") {
				continue // refused with the metadata
			}
			finish(target+" by "+endpoint, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, jsonOf(metadata))
			}, oidctest.MetadataPath)
		}
	}
	if connections.Load() != 0 {
		t.Errorf("%d connections were made", connections.Load())
	}
	if got := admin.call(200, "GET", "profile", "").Profile; got.SignOn {
		t.Error("a refused sign-on is stored")
	}
	b.call(200, "POST", "sign-in/sso/finish", b.signOn(i, "1"))
}
