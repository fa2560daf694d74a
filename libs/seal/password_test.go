package seal_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/seal"
	"golang.org/x/crypto/argon2"
)

func TestAPasswordHashIsArgon2idWithARandomSalt(t *testing.T) {
	const password = "correct horse battery staple"
	hash := seal.HashPassword(password)
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || strings.Join(parts[:4], "$") != "$argon2id$v=19$m=19456,t=2,p=1" {
		t.Fatalf("the hash is %q", hash)
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil || len(salt) != 16 {
		t.Fatalf("the salt is %q, %v", parts[4], err)
	}
	if want := argon2.IDKey([]byte(password), salt, 2, 19456, 1, 32); base64.RawStdEncoding.EncodeToString(want) != parts[5] {
		t.Errorf("the hash is not that of argon2id")
	}
	if seal.HashPassword(password) == hash {
		t.Error("two hashes of one password are equal: the salt is not random")
	}
}
