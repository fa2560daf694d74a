package seal_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/seal"
)

func TestSealedValueOpensOnlyForItsOwnerAndPurpose(t *testing.T) {
	secret := strings.Repeat("s", seal.MinSecret)
	box := seal.NewBox(secret, "endpoint")
	sealed := box.Seal("https://example.com/hook", "endpoint-1")
	if again := box.Seal("https://example.com/hook", "endpoint-1"); again == sealed {
		t.Fatal("two seals of one value are equal: the nonce is not random")
	}
	plain, err := box.Open(sealed, "endpoint-1")
	if err != nil || plain != "https://example.com/hook" {
		t.Fatalf("got %q, %v", plain, err)
	}
	for name, open := range map[string]func() (string, error){
		"another owner":   func() (string, error) { return box.Open(sealed, "endpoint-2") },
		"another purpose": func() (string, error) { return seal.NewBox(secret, "page").Open(sealed, "endpoint-1") },
		"another secret":  func() (string, error) { return seal.NewBox(secret+"x", "endpoint").Open(sealed, "endpoint-1") },
		"damaged":         func() (string, error) { return box.Open(sealed[:len(sealed)-2], "endpoint-1") },
		"not base64":      func() (string, error) { return box.Open("!", "endpoint-1") },
		"empty":           func() (string, error) { return box.Open("", "endpoint-1") },
	} {
		if plain, err := open(); err == nil {
			t.Errorf("%s: opened to %q", name, plain)
		}
	}
}

func TestASigningSecretIsAStandardWebhooksKeyOf32Bytes(t *testing.T) {
	text, found := strings.CutPrefix(seal.SigningSecret(), "whsec_")
	raw, err := base64.StdEncoding.DecodeString(text)
	if !found || err != nil || len(raw) != 32 || seal.SigningSecret() == seal.SigningSecret() {
		t.Fatalf("%q: %v", text, err)
	}
}
