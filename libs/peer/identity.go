package peer

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// Scheme is one of the ways to authenticate.
type Scheme string

const (
	Bearer Scheme = "bearer" // /app: the key's id and its secret
	APIKey Scheme = "apikey" // /api/v1: the user's name and the legacy key
	// Session is the scheme of /console: the session's id and its secret, in a cookie.
	Session Scheme = "session"
)

// KeyLookup selects a credential by the id of a key (Bearer), the name of a user (APIKey) or the id of a session.
type KeyLookup struct {
	Scheme Scheme `json:"scheme"`
	ID     string `json:"id"`
	// SecretDigest is seal.Digest of the client's secret. If the secret is correct, identity records the use of the
	// key or session.
	SecretDigest string `json:"secretDigest"`
}

// Credential contains the data of a key or session that the gateway needs. The gateway caches it in Redis.
type Credential struct {
	SecretDigest string            `json:"secretDigest"` // compare in constant time
	Organization string            `json:"organization"`
	User         string            `json:"user"`
	LegacyUser   int64             `json:"legacyUser"`
	Username     string            `json:"username"`
	Email        string            `json:"email"`
	KeyID        string            `json:"keyId"`              // empty for a session
	Session      string            `json:"session,omitempty"`  // id of the session, for the scheme Session
	ExpiresAt    time.Time         `json:"expiresAt,omitzero"` // end of the session if it is not used any more; zero for a key
	Roles        []string          `json:"roles"`
	Features     passport.Features `json:"features"`
	Limits       Limits            `json:"limits"`
}

// Limits are the limits of an organization, from its plan or its own settings.
type Limits struct {
	LegacyPerHour   int `json:"legacyPerHour"`   // accepted calls of one user in any 3600 s
	AppPerMinute    int `json:"appPerMinute"`    // calls of the whole organization
	UniqueEndpoints int `json:"uniqueEndpoints"` // unique URLs of each kind
	MaxDashboards   int `json:"maxDashboards"`
}

// UnmarshalJSON reads limits. A limit that is missing becomes the highest number, because the limit 0 forbids everything. During
// an upgrade, a process of the former version does not send a new limit.
func (l *Limits) UnmarshalJSON(text []byte) error {
	type plain Limits
	read := plain{math.MaxInt, math.MaxInt, math.MaxInt, math.MaxInt}
	err := json.Unmarshal(text, &read)
	*l = Limits(read)
	return err
}

// Identity is the client of the identity service.
type Identity struct{ *Client }

// Credential returns the credential of an active key or session of an enabled user, or fault.NotFound.
func (i Identity) Credential(ctx context.Context, lookup KeyLookup) (Credential, error) {
	return call[Credential](ctx, i.Client, "", http.MethodPost, Prefix+"/keys/lookup", lookup)
}

// Limits returns the limits of an organization.
func (i Identity) Limits(ctx context.Context, organization string) (Limits, error) {
	return get[Limits](ctx, i.Client, organization, "/limits")
}

// Features returns the features of an organization.
func (i Identity) Features(ctx context.Context, organization string) (passport.Features, error) {
	return get[passport.Features](ctx, i.Client, organization, "/features")
}

// The gateway stores the Credential of a key as JSON in a Redis entry. After identity has stored a change of a
// credential, and before it responds, it writes Void into the entry. While the entry is Void, every gateway calls
// identity. A gateway stores a Credential with SET NX, so a lookup that began before the change cannot overwrite
// Void.
const (
	Void          = "void"
	CredentialTTL = 60 * time.Second // lifetime of a cached credential; for a session at most until the session ends
	VoidTTL       = 60 * time.Second // longer than any lookup may take
)

// GatewayTag is the hash tag of the keys of the gateway in a Redis cluster (boot.Redis.Tag). One script compares a credential
// and counts the call. The credentials of an organization share a count. The gateway regards Redis as down for all keys or
// for none. So all keys are in one slot.
const GatewayTag = "gateway"

// CredentialKey names the Redis entry of a key or session. In a cluster, the tag of GatewayTag precedes it.
func CredentialKey(scheme Scheme, id string) string {
	return "credential:" + string(scheme) + ":" + id
}
