package main_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/identity/oidctest"
)

// refused opens the callback and expects a page with the words. Nobody is signed in. It returns the time that the page took.
func (s *signOns) refused(name string, person *consoleUser, callback *url.URL, status int, words string) (took time.Duration) {
	s.t.Helper()
	begun := time.Now()
	person.open(callback.String(), status)
	took = time.Since(begun)
	if person.expect(strings.TrimPrefix(callback.Path, "/console"), "The sign-in did not work", words); person.signedIn() {
		s.t.Errorf("%s: the browser has a session", name)
	}
	person.open("/", http.StatusOK).expect("/sign-in")
	return took
}

// stored returns what the organization stores about its members.
func (s *signOns) stored() string {
	s.t.Helper()
	return string(send(s.t, http.MethodGet, s.base+"/app/users", s.of.app(), nil).expect(s.t, http.StatusOK).body)
}

// expectSignIns waits for an entry about each of the sign-ins by the method, and fails the test if there are others.
func (s *signOns) expectSignIns(method string, want int) {
	s.t.Helper()
	eventually(s.t, 30*time.Second, "the entries of the sign-ins", func() error {
		entries, err := auditLog(s.base, s.of.app(), "action=session.create")
		found := 0
		for _, entry := range entries {
			if strings.Contains(entry.text, `"method":"`+method+`"`) {
				found++
			}
		}
		if found > want {
			s.t.Fatalf("%d people signed in", found)
		}
		if err == nil && found < want {
			err = fmt.Errorf("there are %d", found)
		}
		return err
	})
}

// A sign-on that the provider does not prove shows a page with the reason. It signs nobody in and stores nothing: no
// member, no session, no account of the provider.
func TestAWrongSignOnSignsNobodyInToTheConsole(t *testing.T) {
	t.Parallel()
	s := startSignOns(t)
	addUser(t, s.of, "bob", "event")
	s.provider.AddUser("bob", "bob@example.com", true)
	s.provider.AddUser("new", "new@example.com", true)
	s.provider.AddUser("unverified", "bob@example.com", false)
	s.provider.AddUser("nameless", "", true)
	foreign, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	before := s.stored()
	claim := func(name string, value any) oidctest.Tamper {
		return func(claims map[string]any) func([]byte) string { claims[name] = value; return nil }
	}
	signed := func(sign func([]byte) string) oidctest.Tamper {
		return func(map[string]any) func([]byte) string { return sign }
	}
	const unconfirmed = "The sign-on provider did not confirm the sign-in."
	for name, tamper := range map[string]oidctest.Tamper{
		"nonce":    claim("nonce", "other"),
		"no nonce": func(c map[string]any) func([]byte) string { delete(c, "nonce"); return nil },
		"audience": claim("aud", "other"),
		"audiences": func(c map[string]any) func([]byte) string {
			c["aud"] = []string{oidctest.ClientID, "other"}
			delete(c, "azp")
			return nil
		},
		"party":      claim("azp", "other"),
		"issuer":     claim("iss", "https://evil.test"),
		"expired":    claim("exp", time.Now().Add(-time.Hour).Unix()),
		"no subject": claim("sub", ""),
		"subject":    claim("sub", "of another"), // not that of the user information
		"signature":  signed(s.provider.SignedWith(foreign)),
		"no token":   signed(func([]byte) string { return "" }),
		"none": signed(func(payload []byte) string {
			encode := base64.RawURLEncoding.EncodeToString
			return encode([]byte(`{"alg":"none"}`)) + "." + encode(payload) + "."
		}),
	} {
		for _, user := range []string{"bob", "new"} {
			person := s.browser()
			callback := s.login(person, user)
			s.provider.Tamper(tamper)
			s.refused(name, person, callback, http.StatusForbidden, unconfirmed)
			s.provider.Tamper(nil)
		}
	}
	for user, words := range map[string]string{"unverified": "has not verified your mail address", "nameless": "does not name your mail address"} {
		person := s.browser()
		s.refused(user, person, s.login(person, user), http.StatusForbidden, words)
	}
	for name, wrong := range map[string]struct {
		change func(query url.Values)
		words  string
	}{
		"state":          {func(q url.Values) { q.Set("state", "other") }, "This sign-in has ended."},
		"no state":       {func(q url.Values) { q.Del("state") }, "This sign-in has ended."},
		"another issuer": {func(q url.Values) { q.Set("iss", "https://evil.test") }, "This sign-in has ended."},
		"refusal":        {func(q url.Values) { q.Set("error", "access_denied") }, "The sign-on provider refused the sign-in."},
		"code":           {func(q url.Values) { q.Set("code", "x"+q.Get("code")) }, unconfirmed},
		"no code":        {func(q url.Values) { q.Del("code") }, unconfirmed},
	} {
		person := s.browser()
		callback := s.login(person, "bob")
		query := callback.Query()
		wrong.change(query)
		callback.RawQuery = query.Encode()
		s.refused(name, person, callback, http.StatusForbidden, wrong.words)
	}
	person := s.browser()
	elsewhere := s.login(person, "bob")
	elsewhere.Path = strings.TrimSuffix(elsewhere.Path, s.of.OrganizationID) + topic.NewID()
	s.refused("another organization", person, elsewhere, http.StatusForbidden, "This sign-in has ended.")
	other := s.browser()
	s.login(other, "bob") // the other browser has a state of its own
	eve := s.browser()
	stolen := s.login(eve, "bob")
	s.refused("state of another browser", other, stolen, http.StatusForbidden, "This sign-in has ended.")
	if after := s.stored(); after != before {
		t.Errorf("the members were %s, and are %s", before, after)
	}

	// What is right signs in, once: also the same code with a state of its own is refused.
	bob := s.browser()
	callback := s.login(bob, "bob")
	bob.open(callback.String(), http.StatusOK).expect("/")
	eve = s.browser()
	fresh := s.login(eve, "bob").Query()
	fresh.Set("code", callback.Query().Get("code"))
	callback.RawQuery = fresh.Encode()
	s.refused("replayed code", eve, callback, http.StatusForbidden, unconfirmed)
	s.expectSignIns("signOn", 1)
}

// Whatever the provider sends, nobody is signed in, and a page names the reason in time. The admin's test of the
// provider names it, too.
func TestAProviderThatFailsShowsAPageInTime(t *testing.T) {
	t.Parallel()
	s := startSignOns(t)
	s.provider.AddUser("new", "new@example.com", true)
	before := s.stored()
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) }) // before the provider is closed
	large := bytes.Repeat([]byte("a"), 1<<20)
	const unreachable = "The sign-on provider cannot be reached, or sends no valid response."
	for name, answer := range map[string]http.HandlerFunc{
		"hangs": func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-ended:
			case <-r.Context().Done():
			}
		},
		"never ends": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"access_token": "`)
			for range 1 << 10 {
				if _, err := w.Write(large); err != nil {
					return
				}
			}
			t.Error("the platform reads 1 GB")
		},
		"redirects": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusTemporaryRedirect)
		},
		"fails":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"no JSON": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
	} {
		person := s.browser()
		callback := s.login(person, "new")
		s.provider.Answer(answer, oidctest.TokenPath, oidctest.MetadataPath)
		if took := s.refused(name, person, callback, http.StatusServiceUnavailable, unreachable); took > 9*time.Second {
			t.Errorf("%s: the page took %v", name, took)
		}
		s.admin.open("/sign-on", http.StatusOK).fill("/sign-on/test", nil, http.StatusOK).expect("/sign-on/test", "The test failed: "+unreachable)
		s.provider.Answer(nil)
	}
	if after := s.stored(); after != before {
		t.Errorf("the members were %s, and are %s", before, after)
	}
	person := s.browser()
	person.open(s.login(person, "new").String(), http.StatusOK).expect("/")
	s.expectSignIns("signOn", 1)
}
