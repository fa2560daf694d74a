package peer

import (
	"context"
	"net/http"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// Scheme is one of the two ways to authenticate.
type Scheme string

const (
	Bearer Scheme = "bearer" // /app: the key's id and its secret
	APIKey Scheme = "apikey" // /api/v1: the user's name and the legacy key
)

// KeyLookup asks for the credential behind a key id (Bearer) or a user name (APIKey).
type KeyLookup struct {
	Scheme Scheme `json:"scheme"`
	ID     string `json:"id"`
	// SecretDigest is seal.Digest of what the client presented; when it is right,
	// identity notes the key as used.
	SecretDigest string `json:"secretDigest"`
}

// Credential is what the gateway needs to know of a key. It is what Redis caches.
type Credential struct {
	SecretDigest string            `json:"secretDigest"` // compare in constant time
	Organization string            `json:"organization"`
	User         string            `json:"user"`
	LegacyUser   int64             `json:"legacyUser"`
	Username     string            `json:"username"`
	Email        string            `json:"email"`
	KeyID        string            `json:"keyId"`
	Roles        []string          `json:"roles"`
	Features     passport.Features `json:"features"`
	Limits       Limits            `json:"limits"`
}

// Limits are an organization's, from its plan or set for it alone.
type Limits struct {
	LegacyPerHour   int `json:"legacyPerHour"`   // let-through calls of one user in any 3600 s
	AppPerMinute    int `json:"appPerMinute"`    // calls of the whole organization
	UniqueEndpoints int `json:"uniqueEndpoints"` // unique URLs of each kind
}

// Identity is the client of the identity service.
type Identity struct{ *Client }

// Credential finds the credential of an active key of an enabled user; NotFound
// for every other.
func (i Identity) Credential(ctx context.Context, lookup KeyLookup) (Credential, error) {
	var out Credential
	err := i.call(ctx, "", http.MethodPost, Prefix+"/keys/lookup", lookup, &out)
	return out, err
}

// Limits are those of an organization, for services that hold a quota.
func (i Identity) Limits(ctx context.Context, organization string) (Limits, error) {
	var out Limits
	err := i.call(ctx, organization, http.MethodGet, organizationPath(organization, "/limits"), nil, &out)
	return out, err
}

// The Redis entries that the gateway fills and identity voids. An entry holds a
// Credential as JSON; a Void one makes every gateway ask identity, and since
// gateways fill with SET NX, a fill that was already under way cannot undo it.
// Identity writes Void after it stores a change of a credential and before it responds.
const (
	Void          = "void"
	CredentialTTL = 60 * time.Second // of a filled entry
	VoidTTL       = 60 * time.Second // longer than any lookup may take
)

// CredentialKey names the Redis entry of a key.
func CredentialKey(scheme Scheme, id string) string {
	return "credential:" + string(scheme) + ":" + id
}
