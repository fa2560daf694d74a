package identity_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// entry is what a gateway finds in Redis.
func (p *platform) entry(scheme peer.Scheme, id string) string {
	p.t.Helper()
	return p.client.Get(p.t.Context(), peer.CredentialKey(scheme, id)).Val()
}

// cache stores the entries of both of the member's keys, as a gateway does.
func (p *platform) cache(m member) {
	p.t.Helper()
	for _, l := range []peer.KeyLookup{m.bearer(), m.apikey()} {
		p.client.Del(p.t.Context(), peer.CredentialKey(l.Scheme, l.ID))
		secret := m.secret
		if l.Scheme == peer.APIKey {
			secret = m.legacy
		}
		if _, err := p.credential(p.t.Context(), l.Scheme, l.ID, secret); err != nil {
			p.t.Fatal(err)
		}
		if e := p.entry(l.Scheme, l.ID); e == "" || e == peer.Void {
			p.t.Fatalf("the entry of %s is %q", l.ID, e)
		}
	}
}

// Each change of a credential voids the entries before the response.
func TestAChangeVoidsEntriesBeforeItsResponse(t *testing.T) {
	p := start(t, nil)
	users, organizations := "/operator/v1/users/", "/operator/v1/organizations/"
	for i, change := range []struct {
		name   string
		status int
		route  func(m member) route
	}{
		{"revoke", 204, func(m member) route { return route{"DELETE", "/app/api-keys/" + m.keyID, ""} }},
		{"disable", 200, func(m member) route { return route{"PATCH", users + m.id, `{"disabled": true}`} }},
		{"roles", 200, func(m member) route { return route{"PATCH", users + m.id, `{"roles": ["event"]}`} }},
		{"delete", 204, func(m member) route { return route{"DELETE", users + m.id, ""} }},
		{"new legacy key", 201, func(m member) route { return route{"POST", users + m.id + "/legacy-key", ""} }},
		{"limits", 200, func(m member) route {
			return route{"PATCH", organizations + m.organization, `{"limits": {"appPerMinute": 1}}`}
		}},
		{"features", 200, func(m member) route {
			return route{"PATCH", organizations + m.organization, `{"enabledFeatures": {"api": false}}`}
		}},
		{"capabilities", 200, func(m member) route {
			return route{"PATCH", organizations + m.organization, `{"capabilities": {"uptimeReports": false}}`}
		}},
		{"plan", 200, func(m member) route { return route{"PATCH", organizations + m.organization, `{"plan": "free"}`} }},
	} {
		t.Run(change.name, func(t *testing.T) {
			m := p.member(fmt.Sprintf("user%d", i), `"admin"`)
			bystander := p.member(fmt.Sprintf("bystander%d", i), `"admin"`)
			p.cache(m)
			p.cache(bystander)
			as := passport.Passport{Surface: passport.Operator}
			r, before := change.route(m), time.Now()
			if strings.HasPrefix(r.path, "/app/") {
				as = m.app()
			}
			if a := p.send(as, r.method, r.path, r.body); a.status != change.status {
				t.Fatalf("%s %s: %d %s", r.method, r.path, a.status, a.text)
			}
			for _, l := range []peer.KeyLookup{m.bearer(), m.apikey()} {
				if e := p.entry(l.Scheme, l.ID); e != peer.Void {
					t.Errorf("the entry of %s %s is %q after the answer", l.Scheme, l.ID, e)
				}
				left := p.client.TTL(t.Context(), peer.CredentialKey(l.Scheme, l.ID)).Val()
				if left < peer.VoidTTL-time.Since(before)-time.Second || left > peer.VoidTTL {
					t.Errorf("the void entry of %s lives %s", l.ID, left)
				}
			}
			if e := p.entry(peer.Bearer, bystander.keyID); e == peer.Void {
				t.Error("another organization's key was voided")
			}
		})
	}
	m := p.member("renamed", `"admin"`)
	p.cache(m)
	p.operator(200, "PATCH", "organizations/"+m.organization, `{"name": "Renamed"}`)
	if e := p.entry(peer.Bearer, m.keyID); e == peer.Void {
		t.Error("a new name of the organization voids keys")
	}
}

// A change of a user or of its organization also concerns the keys that are created meanwhile.
func TestAChangeReachesKeysThatAreCreatedMeanwhile(t *testing.T) {
	p := start(t, nil)
	m := p.member("ann", `"admin"`)
	door := httptest.NewServer(p.door())
	defer door.Close()
	var mu sync.Mutex
	keys := []member{m}
	done := make(chan struct{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 8 {
				key := p.send(passport.Passport{Surface: passport.Operator}, "POST", "/operator/v1/users/"+m.id+"/api-keys", "")
				if key.status != 201 {
					t.Errorf("a key: %d %s", key.status, key.text)
					return
				}
				another := m
				another.keyID = key.KeyID
				_, another.secret, _ = strings.Cut(key.APIKey, ":")
				if _, err := p.credential(t.Context(), peer.Bearer, another.keyID, another.secret); err != nil {
					t.Errorf("a fresh key: %v", err)
				}
				mu.Lock()
				keys = append(keys, another)
				mu.Unlock()
			}
		})
	}
	go func() { group.Wait(); close(done) }()
	for i := 1; ; i++ {
		role, limit := []string{"event", "subscriber"}[i%2], i
		p.operator(200, "PATCH", "users/"+m.id, `{"roles": ["`+role+`"]}`)
		p.operator(200, "PATCH", "organizations/"+m.organization, fmt.Sprintf(`{"limits": {"appPerMinute": %d}}`, limit))
		mu.Lock()
		known := append([]member(nil), keys...)
		mu.Unlock()
		for _, key := range known {
			credential, err := p.credential(t.Context(), peer.Bearer, key.keyID, key.secret)
			if err != nil {
				t.Fatal(err)
			}
			if len(credential.Roles) != 1 || credential.Roles[0] != role || credential.Limits.AppPerMinute != limit {
				t.Fatalf("round %d: key %s of %d says %v and %d a minute, after the change to %s and %d",
					i, key.keyID, len(known), credential.Roles, credential.Limits.AppPerMinute, role, limit)
			}
		}
		select {
		case <-done:
			if len(known) < 33 {
				continue // one more round with all of them
			}
			return
		default:
		}
	}
}

// While Redis is down a change is stored, but not confirmed. When Redis is up again, the entries from before
// the outage are voided.
func TestARevocationWithoutRedisIsStoredButNotConfirmed(t *testing.T) {
	for name, restart := range map[string]bool{"the service goes on": false, "the service is restarted": true} {
		t.Run(name, func(t *testing.T) {
			p := start(t, nil)
			revoked, deleted, limited := p.member("ann", `"admin"`), p.member("bob", `"admin"`), p.member("cid", `"admin"`)
			for _, m := range []member{revoked, deleted, limited} {
				p.cache(m)
			}
			addr := p.stopRedis()
			p.refused(revoked.app(), "DELETE", "/app/api-keys/"+revoked.keyID, "")
			operator := passport.Passport{Surface: passport.Operator}
			p.refused(operator, "DELETE", "/operator/v1/users/"+deleted.id, "")
			p.refused(operator, "PATCH", "/operator/v1/organizations/"+limited.organization, `{"limits": {"appPerMinute": 5}}`)

			for _, l := range []peer.KeyLookup{revoked.bearer(), deleted.bearer(), deleted.apikey()} {
				if _, err := p.identity().Credential(t.Context(), l); !fault.Is(err, fault.NotFound) {
					t.Errorf("%s %s is still a key: %v", l.Scheme, l.ID, err)
				}
			}
			if c, err := p.identity().Credential(t.Context(), limited.bearer()); err != nil || c.Limits.AppPerMinute != 5 {
				t.Errorf("the limit is %d, %v", c.Limits.AppPerMinute, err)
			}
			p.operator(201, "POST", "organizations/"+deleted.organization+"/users",
				`{"username": "bob", "email": "bob@example.com", "roles": ["admin"]}`) // the name is free at once

			if restart {
				p.stop()
			}
			p.startRedis(addr)
			stale := []string{peer.CredentialKey(peer.Bearer, revoked.keyID), peer.CredentialKey(peer.Bearer, deleted.keyID),
				peer.CredentialKey(peer.APIKey, "bob"), peer.CredentialKey(peer.Bearer, limited.keyID)}
			for _, key := range stale {
				p.client.Set(t.Context(), key, `{"stale": true}`, peer.CredentialTTL)
			}
			if restart {
				p.run(nil)
			}
			for _, key := range stale {
				apitest.Eventually(p.t, key+" is void", func() bool { return p.client.Get(t.Context(), key).Val() == peer.Void })
			}
			apitest.Eventually(p.t, "the deleted user is gone", func() bool {
				return p.send(operator, "DELETE", "/operator/v1/users/"+deleted.id, "").status == 404
			})
			p.operator(200, "PATCH", "users/"+revoked.id, `{"disabled": false}`) // and all is as ever
		})
	}
}

func (p *platform) refused(as passport.Passport, method, path, body string) {
	p.t.Helper()
	a := p.send(as, method, path, body)
	if a.status != 503 || !strings.Contains(a.text, "The change is stored") {
		p.t.Errorf("%s %s without Redis: %d %s", method, path, a.status, a.text)
	}
}

// A write that changes no rights of a key in a gateway's cache succeeds without Redis.
func TestProvisioningNeedsNoRedis(t *testing.T) {
	p := start(t, nil)
	p.stopRedis()
	m := p.member("ann", `"admin"`)
	p.operator(200, "PATCH", "organizations/"+m.organization, `{"name": "Renamed"}`)
	for _, l := range []peer.KeyLookup{m.bearer(), m.apikey()} {
		if _, err := p.identity().Credential(t.Context(), l); err != nil {
			t.Errorf("%s: %v", l.Scheme, err)
		}
	}
	p.refused(passport.Passport{Surface: passport.Operator}, "POST", "/operator/v1/users/"+m.id+"/legacy-key", "")
	if c, err := p.identity().Credential(t.Context(), m.apikey()); err != nil || c.SecretDigest == digest(m.legacy) {
		t.Errorf("the former legacy key is still the key: %v", err)
	}
}
