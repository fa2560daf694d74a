package link

import (
	"encoding/base64"
	"testing"
)

func TestATokenIsOfOnePurposeRecordAndState(t *testing.T) {
	const id = "01890a5d-ac96-774b-bcce-b302099a8060"
	s, other := NewSigner([]byte("key"), "https://status.example.com/"), NewSigner([]byte("other"), "")
	token := s.Token("manage", id, "1", "a")
	claim, ok := s.Read("manage", token)
	if !ok || claim.ID != id || !claim.In("1", "a") || claim.In("1") || claim.In("2", "a") || claim.In() {
		t.Errorf("%t %+v", ok, claim)
	}
	raw, _ := base64.RawURLEncoding.DecodeString(token)
	for i := range raw {
		changed := append([]byte{}, raw...)
		changed[i] ^= 1
		if _, ok := s.Read("manage", base64.RawURLEncoding.EncodeToString(changed)); ok {
			t.Errorf("a token with another byte %d is read", i)
		}
	}
	for purpose, wrong := range map[string]string{"confirm": token, "manage": token + "=", "unsubscribe": "", "": "???"} {
		if _, ok := s.Read(purpose, wrong); ok {
			t.Errorf("%q is read as a token to %q", wrong, purpose)
		}
	}
	if _, ok := other.Read("manage", token); ok {
		t.Error("a token of another key is read")
	}
	if got := s.URL("/public/manage"); got != "https://status.example.com/public/manage" {
		t.Error(got)
	}
}

func TestACodeHasSixDigitsAndFollowsFromTheText(t *testing.T) {
	s := NewSigner([]byte("key"), "")
	if one, again, other := s.Code("a"), s.Code("a"), s.Code("b"); len(one) != 6 || one != again || one == other {
		t.Error(one, again, other)
	}
}
