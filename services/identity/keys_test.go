package identity_test

import (
	"strings"
	"testing"
)

// A user has at most 50 keys for the App interface. member has created the first key.
func TestAUserHasAtMost50Keys(t *testing.T) {
	p := start(t, nil)
	m := p.member("ann", `"admin"`)
	for range 49 {
		p.operator(201, "POST", "users/"+m.id+"/api-keys", "")
	}
	if got := p.operator(409, "POST", "users/"+m.id+"/api-keys", ""); !strings.Contains(got.text, "The user already has 50 API keys. Revoke one first.") {
		t.Errorf("the 51st key: %s", got.text)
	}
}
