package passport_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/passport"
)

func TestOnlyAnUntouchedCurrentPassportForTheServicePasses(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := func() time.Time { return now }
	signer := passport.NewSigner(strings.Repeat("a", 32), clock)
	other := passport.NewSigner(strings.Repeat("b", 32), clock)
	token := signer.Sign(passport.Passport{Audience: "events", Surface: passport.App, Organization: "o-1", Roles: []string{"event"}})

	got, err := signer.Verify(token, "events")
	if err != nil || got.Organization != "o-1" || !got.Has("event") || got.Has("subscriber") {
		t.Fatalf("a good passport: %+v, %v", got, err)
	}
	text, mac, _ := strings.Cut(token, ".")
	for name, bad := range map[string]string{
		"empty":            "",
		"no signature":     text,
		"cut signature":    text + "." + mac[:10],
		"changed body":     "f" + text[1:] + "." + mac,
		"changed bit":      strings.Replace(text, text[5:6], "A", 1) + "x." + mac,
		"another platform": other.Sign(passport.Passport{Audience: "events", Organization: "o-1"}),
		"another service":  signer.Sign(passport.Passport{Audience: "identity", Organization: "o-1"}),
	} {
		if p, err := signer.Verify(bad, "events"); err == nil {
			t.Errorf("%s passed as %+v", name, p)
		}
	}
	now = now.Add(20 * time.Second)
	first, _ := signer.Verify(token, "events")
	first.Audience = "identity"
	second, err := signer.Verify(signer.Sign(first), "identity")
	if err != nil || second.Expires != got.Expires {
		t.Errorf("a passport made from another expires at %d, not with the other at %d: %v", second.Expires, got.Expires, err)
	}
	now = now.Add(passport.Life - 20*time.Second)
	if _, err := signer.Verify(token, "events"); err == nil {
		t.Error("a passport passed after its life")
	}
}
