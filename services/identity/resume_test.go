package identity_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"

	"github.com/bellbuoy/bellbuoy/services/identity"
)

// An organization whose dashboard cannot be created is completed later, by the same process or by the next process. A list
// of organizations fails until then: an operator who did not find the organization would create it again.
func TestAPendingOrganizationIsCompletedLater(t *testing.T) {
	for _, name := range []string{"by the same process", "after a restart", "for who looks for it"} {
		t.Run(name, func(t *testing.T) {
			p := start(t, nil)
			p.events.down.Store(true)
			if a := p.operator(503, "POST", "organizations", `{"name": "Acme"}`); !strings.Contains(a.text, "dashboard") {
				t.Errorf("the answer does not tell: %s", a.text)
			}
			p.operator(503, "GET", "organizations", "")
			p.events.mu.Lock()
			id := p.events.lastOrganization
			p.events.mu.Unlock()
			switch name {
			case "by the same process":
				p.events.down.Store(false)
				p.ahead.Add(int64(time.Minute)) // past the time the request had for it
			case "after a restart":
				p.stop()
				p.events.down.Store(false)
				p.run(nil)
			default:
				p.events.down.Store(false)
				if list := p.operator(200, "GET", "organizations", "").Organizations; len(list) != 1 || list[0].ID != id {
					t.Fatalf("instead of the organization there are %v", list)
				}
			}
			apitest.Eventually(p.t, "the organization is ready", func() bool {
				return p.send(passport.Passport{Surface: passport.Operator}, "GET", "/operator/v1/organizations/"+id, "").status == 200
			})
			a := p.operator(200, "GET", "organizations/"+id, "")
			p.events.mu.Lock()
			defer p.events.mu.Unlock()
			if len(p.events.dashboards) != 1 {
				t.Fatalf("%d dashboards were made", len(p.events.dashboards))
			}
			for _, dashboard := range p.events.dashboards {
				if !strings.Contains(a.text, `"dashboard":{"id":"`+dashboard.ID+`","slug":"`+dashboard.Slug+`"}`) {
					t.Errorf("the organization has another dashboard than %s: %s", dashboard.ID, a.text)
				}
			}
		})
	}
}

// No operation reads or changes an organization while it is pending.
func TestNoOperationFindsAPendingOrganization(t *testing.T) {
	p := start(t, nil)
	p.events.down.Store(true)
	p.operator(503, "POST", "organizations", `{"name": "Acme"}`)
	p.events.mu.Lock()
	id := p.events.lastOrganization
	p.events.mu.Unlock()
	p.operator(404, "GET", "organizations/"+id, "")
	p.operator(404, "PATCH", "organizations/"+id, `{"name": "Other"}`)
	p.operator(404, "POST", "organizations/"+id+"/users", `{"username": "ann", "email": "ann@example.com", "roles": ["admin"]}`)
	limits := p.send(passport.Passport{Surface: passport.Peer, Organization: id}, "GET", peer.Prefix+"/organizations/"+id+"/limits", "")
	if limits.status != 404 {
		t.Errorf("limits of a pending organization: %d", limits.status)
	}
}

// The next process returns all records of the process before.
func TestTheNextProcessFindsAllRecords(t *testing.T) {
	p := start(t, nil)
	m := p.member("ann", `"admin"`)
	p.stop()
	p.run(func(c *identity.Config) { c.LegacyRatePerHour, c.AppRatePerMinute = 7, 8 })
	for _, l := range []peer.KeyLookup{m.bearer(), m.apikey()} {
		c, err := p.identity().Credential(t.Context(), l)
		if err != nil || c.User != m.id || c.SecretDigest != l.SecretDigest {
			t.Errorf("%s: %+v %v", l.Scheme, c, err)
		}
		if want := (peer.Limits{LegacyPerHour: 7, AppPerMinute: 8, UniqueEndpoints: 25, MaxDashboards: 50}); c.Limits != want {
			t.Errorf("limits are %v; the default plan's rates are settings", c.Limits)
		}
	}
}

// Many requests create a user with the same name at once. One request succeeds.
func TestOnlyOneUserGetsAUsername(t *testing.T) {
	p := start(t, nil)
	m := p.member("first", `"admin"`)
	var made, taken atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			a := p.send(passport.Passport{Surface: passport.Operator}, "POST", "/operator/v1/organizations/"+m.organization+"/users",
				`{"username": "ann", "email": "ann@example.com", "roles": ["admin"]}`)
			switch a.status {
			case 201:
				made.Add(1)
			case 409:
				taken.Add(1)
			default:
				t.Errorf("%d %s", a.status, a.text)
			}
		})
	}
	group.Wait()
	if made.Load() != 1 || taken.Load() != 7 {
		t.Errorf("%d made, %d refused", made.Load(), taken.Load())
	}
}

// The limit applies to active keys: a user may revoke and create keys any number of times.
func TestAUserMayReplaceKeysWithoutEnd(t *testing.T) {
	p := start(t, nil)
	m := p.member("ann", `"admin"`)
	for range 49 {
		p.operator(201, "POST", "users/"+m.id+"/api-keys", "")
	}
	p.operator(409, "POST", "users/"+m.id+"/api-keys", "")
	if a := p.send(m.app(), "DELETE", "/app/api-keys/"+m.keyID, ""); a.status != 204 {
		t.Fatalf("revoke: %d", a.status)
	}
	p.operator(201, "POST", "users/"+m.id+"/api-keys", "")
}
