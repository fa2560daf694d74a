package identity_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
)

type route struct{ method, path, body string }

// routes are all routes of the service, by the surface that may use them.
func routes(m member) map[passport.Surface][]route {
	return map[passport.Surface][]route{
		passport.Operator: {
			{"POST", "/operator/v1/organizations", `{"name": "Intruder"}`},
			{"GET", "/operator/v1/organizations", ""},
			{"GET", "/operator/v1/organizations/" + m.organization, ""},
			{"PATCH", "/operator/v1/organizations/" + m.organization, `{"name": "Intruder"}`},
			{"POST", "/operator/v1/organizations/" + m.organization + "/users", `{"username": "i", "email": "i@example.com", "roles": ["admin"]}`},
			{"PATCH", "/operator/v1/users/" + m.id, `{"disabled": true}`},
			{"DELETE", "/operator/v1/users/" + m.id, ""},
			{"POST", "/operator/v1/users/" + m.id + "/api-keys", ""},
			{"POST", "/operator/v1/users/" + m.id + "/legacy-key", ""},
			{"POST", "/operator/v1/users/" + m.id + "/invitation", ""},
		},
		passport.App: {
			{"GET", "/app/users", ""},
			{"GET", "/app/profile", ""},
			{"GET", "/app/api-keys", ""},
			{"DELETE", "/app/api-keys/" + m.keyID, ""},
			{"POST", "/app/users", `{"username": "i", "email": "i@example.com", "roles": ["admin"]}`},
			{"GET", "/app/users/" + m.id, ""},
			{"PATCH", "/app/users/" + m.id, `{"firstName": "Intruder"}`},
			{"DELETE", "/app/users/" + m.id, ""},
			{"POST", "/app/users/" + m.id + "/invitation", ""},
			{"GET", "/app/organization", ""},
			{"PATCH", "/app/organization", `{"name": "Intruder"}`},
			{"POST", "/app/sign-in", `{"username": "ann", "password": "x"}`},
			{"GET", "/app/sessions", ""},
			{"DELETE", "/app/sessions", ""},
		},
		passport.Legacy: {
			{"GET", "/api/v1/user/", ""},
			{"GET", "/api/v1/user/1/", ""},
			{"GET", "/api/v1/user/schema/", ""},
			{"GET", "/api/v1/user/set/1/", ""},
		},
		passport.Peer: {
			{"POST", peer.Prefix + "/keys/lookup", `{"scheme": "bearer", "id": "` + m.keyID + `"}`},
			{"GET", peer.Prefix + "/organizations/" + m.organization + "/limits", ""},
			{"GET", peer.Prefix + "/organizations/" + m.organization + "/features", ""},
		},
	}
}

func TestARouteRefusesPassportsOfOtherSurfaces(t *testing.T) {
	p := start(t, nil)
	m := p.member("ann", `"admin"`)
	for surface, all := range routes(m) {
		good := m.app()
		good.Surface, good.Audience = surface, "identity"
		other := good
		other.Audience = "events"
		expired := p.signer.Sign(good)
		p.ahead.Add(int64(passport.Life))
		valid := p.signer.Sign(good)
		text, mac, _ := strings.Cut(valid, ".")
		forged := passport.NewSigner(strings.Repeat("another secret ", 4), p.now).Sign(good)
		tokens := map[string]string{
			"none": "", "garbage": "x.y", "without signature": text + ".", "of another secret": forged,
			"altered": text[:len(text)-2] + "A." + mac, "expired": expired, "for another service": p.signer.Sign(other),
		}
		for wrong := range routes(m) {
			if wrong != surface {
				as := good
				as.Surface = wrong
				tokens["of the surface "+string(wrong)] = p.signer.Sign(as)
			}
		}
		public := good
		public.Surface = passport.Public
		tokens["of a visitor"] = p.signer.Sign(public)
		for _, r := range all {
			for name, token := range tokens {
				a := p.sendToken(token, r.method, r.path, r.body)
				peers := strings.Contains(name, string(passport.Peer)) // who are answered in their own form
				if a.status != 403 || !peers && a.text != "" {
					t.Errorf("%s %s with a passport %s: %d %q, want 403 and no body", r.method, r.path, name, a.status, a.text)
				}
			}
		}
	}
	if a := p.send(m.app(), "GET", "/app/users", ""); a.status != 200 || strings.Count(a.text, "email") != 1 {
		t.Errorf("the refused requests left a trace: %d %s", a.status, a.text)
	}
}

// A passport allows only requests for the organization and surface that it names, even if the path names others.
func TestAPassportAdmitsToItsOrganizationOnly(t *testing.T) {
	p := start(t, nil)
	ann, bob := p.member("ann", `"admin"`), p.member("bob", `"admin"`)
	limits := peer.Prefix + "/organizations/" + ann.organization + "/limits"
	if a := p.send(passport.Passport{Surface: passport.Peer, Organization: bob.organization}, "GET", limits, ""); a.status != 403 {
		t.Errorf("limits with another organization's passport: %d", a.status)
	}
	mixed := bob.app()
	mixed.User, mixed.KeyID = ann.id, ann.keyID
	for _, r := range []route{{"GET", "/app/profile", ""}, {"GET", "/app/api-keys", ""}} {
		if a := p.send(mixed, r.method, r.path, r.body); a.status != 403 || a.text != "" {
			t.Errorf("%s with a user of another organization: %d %q", r.path, a.status, a.text)
		}
	}
	if a := p.send(mixed, "DELETE", "/app/api-keys/"+ann.keyID, ""); a.status != 404 {
		t.Errorf("revoking with a user of another organization: %d", a.status)
	}
	if a := p.send(passport.Passport{Surface: passport.Legacy}, "GET", "/api/v1/user/", ""); a.status != 403 {
		t.Errorf("legacy without an organization: %d", a.status)
	}
	if _, err := p.identity().Credential(t.Context(), ann.bearer()); err != nil {
		t.Errorf("Ann's key suffered: %v", err)
	}
}

// bearer and apikey are the lookups that gateways send for the member's keys.
func (m member) bearer() peer.KeyLookup {
	return peer.KeyLookup{Scheme: peer.Bearer, ID: m.keyID, SecretDigest: digest(m.secret)}
}

func (m member) apikey() peer.KeyLookup {
	return peer.KeyLookup{Scheme: peer.APIKey, ID: m.username, SecretDigest: digest(m.legacy)}
}

// The time of a key's use is stored to the minute. A request with a wrong secret is no use.
func TestTheUseOfAKeyIsStoredToTheMinute(t *testing.T) {
	p := start(t, nil)
	p.stopClock()
	m := p.member("ann", `"admin"`)
	lookup := func(l peer.KeyLookup) {
		t.Helper()
		if _, err := p.identity().Credential(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	profile := func() (used, login string) {
		t.Helper()
		a := p.send(m.app(), "GET", "/app/profile", "")
		return apitest.Between(t, a.text, `"lastUsedAt":`, `}`), apitest.Between(t, a.text, `"lastLoginAt":`, `,`)
	}
	// noted repeats the lookup until its use is stored. The service gives a write up after a second.
	noted := func(what string, l peer.KeyLookup, is func(used, login string) bool) (used, login string) {
		t.Helper()
		apitest.Eventually(t, what, func() bool {
			lookup(l)
			used, login = profile()
			return is(used, login)
		})
		return used, login
	}
	wrong := m.bearer()
	wrong.SecretDigest = digest("wrong")
	lookup(wrong)
	if used, login := profile(); used != "null" || login != "null" {
		t.Fatalf("a wrong secret was noted: %s %s", used, login)
	}
	first, login := noted("the use of an App key is noted", m.bearer(), func(used, _ string) bool { return used != "null" })
	if login != "null" {
		t.Fatalf("an App key's use: lastUsedAt %s, lastLoginAt %s", first, login)
	}
	p.ahead.Add(int64(30 * time.Second))
	lookup(m.bearer())
	if used, _ := profile(); used != first {
		t.Errorf("noted again within the minute: %s, before %s", used, first)
	}
	p.ahead.Add(int64(31 * time.Second))
	noted("it is noted again after a minute", m.bearer(), func(used, _ string) bool { return used != first })
	noted("the use of the legacy key is a login", m.apikey(), func(_, login string) bool { return login != "null" })
}
