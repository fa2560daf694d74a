package seal

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"

	"golang.org/x/crypto/argon2"
)

// The cost of a password hash: 19 MiB of memory and about 30 ms of one processor core. OWASP recommends at least
// these parameters for argon2id.
const (
	argonMemory  = 19 * 1024 // in KiB
	argonPasses  = 2
	argonThreads = 1
	saltBytes    = 16
	hashBytes    = 32
)

// HashPassword returns a hash of a password that a person chose, for storage: argon2id with a random salt, as
// $argon2id$v=19$m=...,t=...,p=...$salt$hash. The result contains the cost parameters, so that a later version can
// raise them.
func HashPassword(password string) string {
	salt := make([]byte, saltBytes)
	rand.Read(salt)
	hash := argon2.IDKey([]byte(password), salt, argonPasses, argonMemory, argonThreads, hashBytes)
	encode := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonPasses, argonThreads, encode(salt), encode(hash))
}
