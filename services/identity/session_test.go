package identity_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// use looks the session up until its use is stored. The service gives a write up after a second.
func (p *platform) use(token string) {
	p.t.Helper()
	apitest.Eventually(p.t, "the use of the session is stored", func() bool {
		p.client.FlushAll(p.t.Context()) // a gateway would not look it up again
		shown := apitest.Between(p.t, p.as(token, 200, "GET", "/app/sessions", "").text, `"current":true,`, `}`)
		at, err := time.Parse(time.RFC3339, apitest.Between(p.t, shown, `"lastUsedAt":"`, `"`))
		return err == nil && p.now().Sub(at) < time.Minute
	})
}

// A session ends if it is not used for 12 hours, and after 30 days in any case. With "Keep me signed in" these are 30
// and 180 days.
func TestASessionEndsWhenItIsNotUsed(t *testing.T) {
	p := start(t, nil)
	m := p.member("ann", `"admin"`)
	p.invited(m)
	p.stopClock()
	const day = 24 * time.Hour
	for _, row := range []struct {
		keep      string
		idle, end time.Duration
	}{{"false", 12 * time.Hour, 30 * day}, {"true", 30 * day, 180 * day}} {
		sign := func() string {
			got := p.send(signedOut("192.0.2.1"), "POST", "/app/sign-in", `{"username": "ann", "password": "`+password+`", "keep": `+row.keep+`}`)
			return got.Session.Token
		}
		idle, used := sign(), sign()
		forward := func(by time.Duration) {
			p.ahead.Add(int64(by))
			p.client.FlushAll(t.Context()) // the entries of a gateway live for a minute
		}
		began := p.now()
		forward(row.idle - time.Minute)
		p.valid("before it is idle", used)
		p.use(used)
		forward(2 * time.Minute)
		p.ended("keep "+row.keep+" after it was idle", idle)
		for p.now().Sub(began) < row.end-row.idle {
			p.valid("while it is used", used)
			p.use(used)
			forward(row.idle - time.Minute)
		}
		p.valid("after its last hours began", used)
		p.use(used)
		forward(row.end - p.now().Sub(began) - 2*time.Second)
		p.valid("just before its end", used)
		forward(5 * time.Second)
		p.ended("keep "+row.keep+" after its end", used)
	}
}

// A gateway caches a session until it ends: the lookup names the end.
func TestALookupNamesTheEndOfTheSession(t *testing.T) {
	p := start(t, nil)
	token := p.invited(p.member("ann", `"admin"`))
	id, secret, _ := strings.Cut(token, ":")
	lookup := func() time.Time {
		t.Helper()
		c, err := p.identity().Credential(t.Context(), peer.KeyLookup{Scheme: peer.Session, ID: id, SecretDigest: digest(secret)})
		if err != nil {
			t.Fatal(err)
		}
		return c.ExpiresAt
	}
	began := p.now()
	near := func(want time.Time) {
		t.Helper()
		if got := lookup(); got.Sub(want).Abs() > time.Minute {
			t.Errorf("the end is %v, want %v", got, want)
		}
	}
	near(began.Add(12 * time.Hour))
	const day = 24 * time.Hour
	for p.now().Sub(began) < 29*day+13*time.Hour {
		p.use(token)
		p.later(11 * time.Hour)
	}
	p.use(token)
	near(began.Add(30 * day))
}

// A member has at most 20 sessions. One more ends the oldest, also at the gateways.
func TestAMemberHasAtMost20Sessions(t *testing.T) {
	p := start(t, nil)
	m := p.member("ann", `"admin"`)
	tokens := []string{p.invited(m)}
	for range 20 {
		p.valid("the oldest of 20", tokens[0]) // now a gateway caches it
		tokens = append(tokens, p.signedIn("ann"))
	}
	p.ended("the oldest of 21", tokens[0])
	for _, token := range tokens[1:] {
		p.valid("one of the newest 20", token)
	}
}

// Each of these changes takes effect for the next request of a session, although a gateway has cached it.
func TestAChangeVoidsSessionsBeforeItsResponse(t *testing.T) {
	p := start(t, nil)
	for i, change := range []struct {
		name  string
		do    func(m member, token, other string)
		valid bool     // the other session after the change
		roles []string // roles of the other session
	}{
		{"end one", func(m member, token, other string) {
			id, _, _ := strings.Cut(other, ":")
			p.as(token, 204, "DELETE", "/app/sessions/"+id, "")
		}, false, nil},
		{"sign out", func(m member, token, other string) {
			id, _, _ := strings.Cut(other, ":")
			p.as(other, 204, "DELETE", "/app/sessions/"+id, "")
		}, false, nil},
		{"end all others", func(m member, token, other string) { p.as(token, 204, "DELETE", "/app/sessions", "") }, false, nil},
		{"new password", func(m member, token, other string) {
			p.as(token, 204, "PUT", "/app/profile/password", `{"current": "`+password+`", "password": "another long password"}`)
		}, false, nil},
		{"disable", func(m member, token, other string) { p.operator(200, "PATCH", "users/"+m.id, `{"disabled": true}`) }, false, nil},
		{"delete", func(m member, token, other string) { p.operator(204, "DELETE", "users/"+m.id, "") }, false, nil},
		{"roles", func(m member, token, other string) { p.operator(200, "PATCH", "users/"+m.id, `{"roles": ["event"]}`) }, true, []string{"event"}},
		{"required second factor", func(m member, token, other string) {
			p.as(token, 200, "PATCH", "/app/organization", `{"requireTwoFactor": true}`)
		}, true, []string{}},
		{"an invitation that is accepted", func(m member, token, other string) { p.invited(m) }, false, nil},
	} {
		t.Run(change.name, func(t *testing.T) {
			m := p.member(fmt.Sprintf("user%d", i), `"admin"`)
			token := p.invited(m)
			other := p.signedIn(m.username)
			p.valid("before", other)
			change.do(m, token, other)
			if !change.valid {
				p.ended("after", other)
				return
			}
			caller, err := p.session(other)
			if err != nil || fmt.Sprint(caller.Roles) != fmt.Sprint(change.roles) {
				t.Errorf("%v %v", caller.Roles, err)
			}
		})
	}
}

// The time of a session's use is stored to the minute. A lookup with a wrong secret is no use.
func TestTheUseOfASessionIsStoredToTheMinute(t *testing.T) {
	p := start(t, nil)
	p.stopClock()
	token := p.invited(p.member("ann", `"admin"`))
	id, secret, _ := strings.Cut(token, ":")
	used := func() string {
		t.Helper()
		return apitest.Between(t, p.as(token, 200, "GET", "/app/sessions", "").text, `"lastUsedAt":`, `,`)
	}
	lookup := func(secret string) {
		t.Helper()
		if _, err := p.identity().Credential(t.Context(), peer.KeyLookup{Scheme: peer.Session, ID: id, SecretDigest: digest(secret)}); err != nil {
			t.Fatal(err)
		}
	}
	first := used()
	p.ahead.Add(int64(61 * time.Second))
	lookup("wrong")
	if got := used(); got != first {
		t.Errorf("a wrong secret was noted: %s", got)
	}
	second := first
	apitest.Eventually(t, "the use is noted", func() bool { // the service gives a write up after a second
		lookup(secret)
		second = used()
		return second != first
	})
	p.ahead.Add(int64(30 * time.Second))
	lookup(secret)
	if got := used(); got != second {
		t.Errorf("noted again within the minute: %s", got)
	}
}

// While Redis is down, the end of a session is stored, but not confirmed. When Redis is up again, also after a restart
// of the service, the entry from before the outage is voided.
func TestAnEndWithoutRedisIsStoredButNotConfirmed(t *testing.T) {
	for name, restart := range map[string]bool{"the service goes on": false, "the service is restarted": true} {
		t.Run(name, func(t *testing.T) {
			p := start(t, nil)
			m := p.member("ann", `"admin"`)
			token := p.invited(m)
			caller, err := p.session(token)
			if err != nil {
				t.Fatal(err)
			}
			addr := p.stopRedis()
			p.refused(caller, "DELETE", "/app/sessions/"+caller.Session, "")
			_, secret, _ := strings.Cut(token, ":")
			if _, err := p.identity().Credential(t.Context(), peer.KeyLookup{Scheme: peer.Session, ID: caller.Session, SecretDigest: digest(secret)}); !fault.Is(err, fault.NotFound) {
				t.Errorf("the session is still valid: %v", err)
			}
			if restart {
				p.stop()
			}
			p.startRedis(addr)
			stale := peer.CredentialKey(peer.Session, caller.Session)
			p.client.Set(t.Context(), stale, `{"stale": true}`, peer.CredentialTTL)
			if restart {
				p.run(nil)
			}
			apitest.Eventually(p.t, "the session is void", func() bool { return p.client.Get(t.Context(), stale).Val() == peer.Void })
		})
	}
}
