package gateway

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/coalesce"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	// maxCallers bounds the callers in the memory of a gateway.
	maxCallers = 16384
	// maxKeyID bounds a key id or user name, in bytes, because it becomes part of a Redis key.
	maxKeyID = 512
	// maxAttempts bounds how often admit compares an entry in Redis that changes all the time.
	maxAttempts = 4
	// lookupTimeout is shorter than peer.VoidTTL. So a Void entry that is stored during a lookup still exists when the
	// lookup ends, and fill does not store the result of the lookup.
	lookupTimeout = 4 * time.Second
)

// readKey returns the key in the Authorization header. It returns false if the header does not contain a key of the
// scheme, or if the id of the key is longer than maxKeyID or not valid UTF-8. An invalid id must not be used: JSON
// replaces its invalid bytes, so identity would look up another id than the one in the Redis key.
func readKey(header http.Header, scheme peer.Scheme) (peer.KeyLookup, bool) {
	name, key := authorization(header)
	lookup, ok := keyOf(scheme, key)
	return lookup, ok && strings.EqualFold(name, string(scheme))
}

// keyOf returns the key or session in the text "<id>:<secret>". It returns false if the id or the secret is empty, or if
// the id is longer than maxKeyID or not valid UTF-8.
func keyOf(scheme peer.Scheme, text string) (peer.KeyLookup, bool) {
	id, secret, _ := strings.Cut(text, ":")
	ok := id != "" && secret != "" && len(id) <= maxKeyID && utf8.ValidString(id)
	return peer.KeyLookup{Scheme: scheme, ID: id, SecretDigest: seal.Digest(secret)}, ok
}

// authorization returns the two parts of the Authorization header, which are separated by white space. Without white space,
// scheme is empty. Both parts are empty unless there is exactly one such header.
func authorization(header http.Header) (scheme, rest string) {
	values := header["Authorization"]
	if len(values) != 1 {
		return "", ""
	}
	at := max(0, strings.IndexAny(values[0], " \t"))
	return values[0][:at], strings.Trim(values[0][at:], " \t")
}

// caller is a decoded credential with the text of the Redis entry from which it was decoded. A caller in memory does
// not admit a request: for every request, Redis compares the text with the present entry.
type caller struct {
	entry      string
	credential peer.Credential
	quota      quota
	passports  sync.Map // name of a service -> *issued
}

func newCaller(scheme peer.Scheme, entry string, c peer.Credential) *caller {
	q := quota{"rate:organization:" + c.Organization, c.Limits.AppPerMinute, time.Minute}
	switch scheme {
	case peer.APIKey:
		q = quota{"rate:user:" + c.User, c.Limits.LegacyPerHour, time.Hour}
	case peer.Session:
		q = quota{"rate:session:" + c.Session, sessionRate, time.Minute}
	}
	return &caller{entry: entry, credential: c, quota: q}
}

// issued is a passport that is reused for several requests from one address. Signing a new passport for each request
// costs as much as forwarding the request.
type issued struct {
	token string
	at    time.Time
	ip    string
}

const passportUse = passport.Life / 3

// guard finds the caller of a request and checks that one more call is within the rate limit.
type guard struct {
	redis    *redisClient
	memory   *memory
	identity peer.Identity
	lookups  coalesce.Group[struct{}, peer.Credential]
	callers  *lru.Cache[string, *caller] // by the Redis key of the entry
	signer   *passport.Signer
	now      func() time.Time
}

// admit returns the caller and counts the call. It returns a Denied error for a wrong key or session, Forbidden for the
// key of an organization without API access, Throttled if the rate limit is exceeded, and Unavailable if neither Redis
// nor identity can check the key, or if its entry changes all the time. It does not count refused calls.
func (g *guard) admit(ctx context.Context, key peer.KeyLookup) (*caller, error) {
	entryKey := peer.CredentialKey(key.Scheme, key.ID)
	known, _ := g.callers.Get(entryKey)
	for range maxAttempts {
		what := check{entryKey: entryKey}
		var refusal error
		if known != nil {
			refusal = known.refuse(key)
			what.entry, what.quota, what.counted = known.entry, known.quota, refusal == nil
		}
		reply, granted, err := g.redis.ask(ctx, what)
		switch {
		case err == errDown:
			return g.admitWithoutRedis(ctx, key)
		case err != nil:
			return nil, err
		case reply.state != entrySame || known == nil:
			if known, err = g.read(ctx, key, entryKey, reply); err != nil {
				return nil, err
			}
		case refusal != nil:
			return nil, refusal
		case !granted:
			return nil, fault.Throttled{Wait: reply.retry}
		default:
			return known, nil
		}
	}
	return nil, fault.New(fault.Unavailable, "The key is being changed. Try again shortly.")
}

// read returns the caller after a reply of Redis that the entry differs from the known text, or after a check without a
// known caller. If the entry is missing or Void, read asks identity.
func (g *guard) read(ctx context.Context, key peer.KeyLookup, entryKey string, reply reply) (*caller, error) {
	var credential peer.Credential
	if reply.state == entryChanged && reply.entry != peer.Void && json.Unmarshal([]byte(reply.entry), &credential) == nil {
		known := newCaller(key.Scheme, reply.entry, credential)
		g.callers.Add(entryKey, known)
		return known, nil
	}
	credential, err := g.lookup(ctx, key)
	if err != nil {
		return nil, err
	}
	if reply.state != entryMissing {
		// The caller is not stored in memory, and its text is the Void entry. While that entry exists, each call of
		// read asks identity.
		return newCaller(key.Scheme, reply.entry, credential), nil
	}
	life := peer.CredentialTTL
	if !credential.ExpiresAt.IsZero() {
		life = min(life, credential.ExpiresAt.Sub(g.now()))
	}
	if life <= 0 {
		return nil, fault.New(fault.Denied, "The session has ended.")
	}
	entry, _ := json.Marshal(credential) // cannot fail for strings, numbers, booleans and times
	g.redis.fill(ctx, entryKey, string(entry), life)
	known := newCaller(key.Scheme, string(entry), credential)
	g.callers.Add(entryKey, known)
	return known, nil
}

// admitWithoutRedis asks identity about the key and counts the call in the memory of this gateway.
func (g *guard) admitWithoutRedis(ctx context.Context, key peer.KeyLookup) (*caller, error) {
	credential, err := g.lookup(ctx, key)
	if err != nil {
		return nil, err
	}
	known := newCaller(key.Scheme, "", credential)
	if err := known.refuse(key); err != nil {
		return nil, err
	}
	if granted, retry := g.memory.take(known.quota, 1); granted == 0 {
		return nil, fault.Throttled{Wait: retry}
	}
	return known, nil
}

// lookup asks identity about the key. Concurrent calls share a request to identity that begins after their call.
func (g *guard) lookup(ctx context.Context, key peer.KeyLookup) (peer.Credential, error) {
	run := key.SecretDigest + peer.CredentialKey(key.Scheme, key.ID)
	return g.lookups.Do(ctx, run, nil, func(ctx context.Context, _ []struct{}) (peer.Credential, error) {
		ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
		credential, err := g.identity.Credential(ctx, key)
		switch {
		case fault.Is(err, fault.NotFound), fault.Is(err, fault.Invalid):
			err = fault.Wrap(fault.Denied, err, "There is no such key.")
		case err != nil:
			err = fault.Wrap(fault.Unavailable, err, "Keys cannot be checked at the moment. Try again shortly.")
		}
		return credential, err
	})
}

// refuse returns Denied if the secret of the key or session is wrong. It returns Forbidden for a key, but not for a session,
// if the organization has no API access. Otherwise it returns nil.
func (c *caller) refuse(key peer.KeyLookup) error {
	if subtle.ConstantTimeCompare([]byte(c.credential.SecretDigest), []byte(key.SecretDigest)) != 1 {
		return fault.New(fault.Denied, "The secret is wrong.")
	}
	if key.Scheme != peer.Session && !c.credential.Features.API {
		return passport.ErrNoAPI
	}
	return nil
}

// passport returns a passport that the service accepts, for the caller at the address ip. It reuses the last passport for
// the service and the address for passportUse.
func (g *guard) passport(c *caller, service string, surface passport.Surface, ip string) string {
	now := g.now()
	if found, _ := c.passports.Load(service); found != nil {
		if last := found.(*issued); last.ip == ip && now.Sub(last.at) < passportUse {
			return last.token
		}
	}
	token := g.signer.Sign(passport.Passport{
		Audience: service, Surface: surface,
		Organization: c.credential.Organization, User: c.credential.User, Username: c.credential.Username,
		Email: c.credential.Email, LegacyUser: c.credential.LegacyUser, KeyID: c.credential.KeyID, Session: c.credential.Session,
		Roles: c.credential.Roles, Features: c.credential.Features, IP: ip,
	})
	c.passports.Store(service, &issued{token, now, ip})
	return token
}

// admitOperator returns nil if the Authorization header has the operator token. It compares in constant time. After
// several wrong tokens from an address, it returns Throttled for all tokens from this address for some time, also for the
// right token, because otherwise an attacker could continue to guess. A request without a token is refused, but does not
// count as a wrong token.
func (e *edge) admitOperator(ctx context.Context, header http.Header, ip string) error {
	scheme, given := authorization(header)
	if given == "" || !strings.EqualFold(scheme, "operator") {
		return fault.New(fault.Denied, "The operator token is missing.")
	}
	count := e.tries.OperatorWasWrong
	right := subtle.ConstantTimeCompare([]byte(seal.Digest(given)), []byte(seal.Digest(e.operator))) == 1
	if right {
		count = e.tries.OperatorWait
	}
	switch wait := count(ctx, ip); {
	case wait > 0:
		return fault.Throttled{Wait: wait}
	case !right:
		return fault.New(fault.Denied, "The operator token is wrong.")
	}
	return nil
}
