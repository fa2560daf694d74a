// Package seal derives all keys of the platform from one setting, BELLBUOY_SECRET. Each purpose has its own key (HKDF,
// RFC 5869), so for example a page token is never a valid passport. Secrets that the platform needs again, such as the
// URL and the signing key of a webhook, are sealed (AES-256-GCM). Secrets that are only compared are hashed with
// Digest.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
)

// MinSecret is the minimum length of the platform secret, in bytes.
const MinSecret = 32

// Box seals and opens texts for one purpose.
type Box struct{ aead cipher.AEAD }

// Key returns the 32-byte key for a purpose. The key is derived from the platform secret.
func Key(secret, purpose string) []byte {
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "bellbuoy/"+purpose, 32)
	if err != nil {
		panic(err) // happens only for a key length that is too large for the hash
	}
	return key
}

// NewBox returns the Box for a purpose.
func NewBox(secret, purpose string) Box {
	block, err := aes.NewCipher(Key(secret, purpose))
	if err != nil {
		panic(err) // happens only for a key that is not 16, 24 or 32 bytes long
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // happens only for a block cipher that is not AES
	}
	return Box{aead}
}

// Seal returns plain in encrypted form, bound to owner, for example the id of a record. Open fails for any other owner.
// So a sealed text that is copied to another record cannot be opened.
func (b Box) Seal(plain, owner string) string {
	return base64.RawStdEncoding.EncodeToString(b.aead.Seal(nil, nil, []byte(plain), []byte(owner)))
}

// Open decrypts a text that Seal returned for the same owner. It returns an error for any other text or owner.
func (b Box) Open(sealed, owner string) (string, error) {
	raw, err := base64.RawStdEncoding.DecodeString(sealed)
	if err != nil {
		return "", errors.New("seal: the value is not sealed")
	}
	plain, err := b.aead.Open(nil, nil, raw, []byte(owner))
	if err != nil {
		return "", errors.New("seal: the value was sealed with another secret or for another owner")
	}
	return string(plain), nil
}

// Digest returns the form in which a random secret, such as an API key, is stored and looked up: SHA-256 in lower-case
// hex. Compare digests with crypto/subtle.
func Digest(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Sign returns a signature of a text: HMAC-SHA-256 in URL-safe base64. Nobody can compute the signature without
// the platform secret.
func Sign(secret, purpose, text string) string {
	mac := hmac.New(sha256.New, Key(secret, purpose))
	mac.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Random returns a new secret: 32 random bytes in URL-safe base64.
func Random() string {
	raw := make([]byte, 32)
	rand.Read(raw)
	return base64.RawURLEncoding.EncodeToString(raw)
}

// SigningPrefix begins a signing secret (Standard Webhooks).
const SigningPrefix = "whsec_"

// SigningSecret returns a new signing secret: SigningPrefix and 32 random bytes in base64.
func SigningSecret() string {
	raw := make([]byte, 32)
	rand.Read(raw)
	return SigningPrefix + base64.StdEncoding.EncodeToString(raw)
}
