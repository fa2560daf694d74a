// Package seal derives everything the platform keeps secret from one setting,
// BELLBUOY_SECRET: a key per purpose (HKDF, RFC 5869), so that a page token can
// never pass for a passport, and sealed values (AES-256-GCM) for the secrets that
// must be used again, such as a webhook's URL and signing key. Secrets that need
// only be recognised are hashed with Digest and never sealed.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
)

// MinSecret is the least number of characters a platform secret may have.
const MinSecret = 32

// Box seals and opens values for one purpose.
type Box struct{ aead cipher.AEAD }

// Key derives the 32-byte key of a purpose from the platform's secret.
func Key(secret, purpose string) []byte {
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "bellbuoy/"+purpose, 32)
	if err != nil {
		panic(err) // only for a key length no hash can give; 32 always can
	}
	return key
}

// NewBox makes the box of a purpose.
func NewBox(secret, purpose string) Box {
	block, err := aes.NewCipher(Key(secret, purpose))
	if err != nil {
		panic(err) // only for a key that is not 16, 24 or 32 bytes
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // only for a block cipher that is not AES
	}
	return Box{aead}
}

// Seal encrypts plain. The owner (for example a record's id) is bound to it: the
// same text copied into another record does not open there.
func (b Box) Seal(plain, owner string) string {
	return base64.RawStdEncoding.EncodeToString(b.aead.Seal(nil, nil, []byte(plain), []byte(owner)))
}

// Open decrypts what Seal gave for the same owner.
func (b Box) Open(sealed, owner string) (string, error) {
	raw, err := base64.RawStdEncoding.DecodeString(sealed)
	if err != nil {
		return "", errors.New("seal: not a sealed value")
	}
	plain, err := b.aead.Open(nil, nil, raw, []byte(owner))
	if err != nil {
		return "", errors.New("seal: the value was sealed with another secret or for another owner")
	}
	return string(plain), nil
}

// Digest is the form in which a high-entropy secret (an API key's) is stored and
// looked up: lower-case hex SHA-256. Compare digests with crypto/subtle.
func Digest(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Random is a new secret of 32 random bytes in URL-safe base64.
func Random() string {
	raw := make([]byte, 32)
	rand.Read(raw)
	return base64.RawURLEncoding.EncodeToString(raw)
}
