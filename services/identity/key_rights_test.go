package identity_test

import "testing"

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
