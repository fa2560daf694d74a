package identity_test

import (
	"strings"
	"sync"
	"testing"
)

// Whoever found a key must not get an admin who can sign in: also not a former one who is disabled.
func TestAKeyDoesNotEnableAnAdmin(t *testing.T) {
	p := start(t, nil)
	ann := p.member("ann", `"admin"`)
	session := p.invited(ann)
	bob := p.operator(201, "POST", "organizations/"+ann.organization+"/users", `{"username": "bob", "email": "bob@example.com", "roles": ["admin"]}`).User.ID
	key := func(status int, body string) {
		t.Helper()
		if got := p.send(ann.app(), "PATCH", "/app/users/"+bob, body); got.status != status {
			t.Errorf("%s with a key: %d %s, want %d", body, got.status, got.text, status)
		}
	}
	key(200, `{"disabled": true}`)
	key(403, `{"disabled": false}`)
	key(200, `{"firstName": "Bob", "roles": ["admin"], "disabled": true}`)
	p.as(session, 200, "PATCH", "/app/users/"+bob, `{"disabled": false}`)
	key(200, `{"disabled": false}`)
	key(200, `{"roles": ["event"], "disabled": true}`)
	key(403, `{"roles": ["admin"]}`)
	key(200, `{"disabled": false}`)
}

// A key that repeats the present value does not undo the change of a session.
func TestAKeyDoesNotUndoTheRequiredSecondFactor(t *testing.T) {
	p := start(t, nil)
	ann := p.member("ann", `"admin"`)
	b := p.welcome(ann.id)
	secret := b.call(200, "POST", "profile/totp", "").Secret
	b.call(200, "PUT", "profile/totp", `{"code": "`+p.code(secret, 0)+`"}`)
	for range 15 {
		b.call(200, "PATCH", "organization", `{"requireTwoFactor": false}`)
		var group sync.WaitGroup
		group.Go(func() { b.try("PATCH", "organization", `{"requireTwoFactor": true}`) })
		for range 3 {
			group.Go(func() {
				if got := p.send(ann.app(), "PATCH", "/app/organization", `{"requireTwoFactor": false}`); got.status != 200 && got.status != 403 {
					t.Errorf("%d %s", got.status, got.text)
				}
			})
		}
		group.Wait()
		if got := p.send(ann.app(), "GET", "/app/organization", ""); !strings.Contains(got.text, `"requireTwoFactor":true`) {
			t.Fatalf("the key has changed it: %s", got.text)
		}
	}
}
