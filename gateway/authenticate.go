package gateway

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/seal"
)

const (
	// maxCallers is the number of credentials that a gateway keeps decoded.
	maxCallers = 16384
	// maxKeyID bounds a key id or user name, in bytes; it becomes part of a Redis key.
	maxKeyID = 512
	// maxLooks bounds the attempts of a request whose entry in Redis keeps changing.
	maxLooks = 4
	// lookupTimeout is less than peer.VoidTTL, so a lookup ends before the Void entry that
	// keeps its result out of the cache.
	lookupTimeout = 4 * time.Second
)

// presented is the key that a client sent: its id and the digest of its secret.
type presented struct {
	scheme peer.Scheme
	id     string
	digest string
}

// readKey reads the Authorization header: the scheme in any case, white space, and two
// parts separated by the first colon. It reports false for anything else, and for an id
// that is not UTF-8: identity would read another id than the one in the entry's name.
func readKey(header http.Header, want peer.Scheme) (presented, bool) {
	values := header["Authorization"]
	if len(values) != 1 {
		return presented{}, false
	}
	name, rest, spaced := cutSpace(values[0])
	if !spaced || !strings.EqualFold(name, string(want)) {
		return presented{}, false
	}
	id, secret, split := strings.Cut(rest, ":")
	if !split || id == "" || secret == "" || len(id) > maxKeyID || !utf8.ValidString(id) {
		return presented{}, false
	}
	return presented{scheme: want, id: id, digest: seal.Digest(secret)}, true
}

func cutSpace(value string) (scheme, rest string, found bool) {
	at := strings.IndexAny(value, " \t")
	if at < 0 {
		return value, "", false
	}
	return value[:at], strings.Trim(value[at:], " \t"), true
}

// caller is a credential and the entry in Redis from which it was read. It does not decide
// alone who may pass: every request asks Redis whether the entry is still this one.
type caller struct {
	entry      string
	credential peer.Credential
	quota      quota
	passports  map[string]*atomic.Pointer[issued] // by service
}

// issued is a passport that serves several requests. Signing a passport for each request
// of a busy caller costs as much as forwarding the request.
type issued struct {
	token string
	at    time.Time
}

// passportUse is the time for which a passport serves requests.
const passportUse = passport.Life / 3

// guard decides who the caller of a request is, and whether one more call is within the
// rate limit.
type guard struct {
	redis    *redisClient
	memory   *memory
	identity peer.Identity
	lookups  *sharedRuns[presented, *caller]
	callers  *lru[string, *caller]
	signer   *passport.Signer
	now      func() time.Time
	log      *slog.Logger
}

// errUnread is the refusal of a key whose entry has not been read yet.
var errUnread = errors.New("gateway: a credential's entry is empty")

// throttled is the refusal of a call that exceeds the rate limit.
type throttled struct{ retry time.Duration }

func (throttled) Error() string { return "gateway: the rate limit is exceeded" }

// admit returns the caller and counts the call. Its errors are Denied for every kind of
// wrong key, Forbidden for an organization without API access, throttled if the rate
// limit is exceeded, and Unavailable if neither Redis nor identity can check the key.
// Refused calls are not counted.
func (g *guard) admit(ctx context.Context, header http.Header, route Auth) (*caller, error) {
	key, ok := readKey(header, peer.Scheme(route))
	if !ok {
		return nil, fault.New(fault.Denied, "The request has no key.")
	}
	entryKey := peer.CredentialKey(key.scheme, key.id)
	known, _ := g.callers.get(entryKey)
	for range maxLooks {
		what := check{entryKey: entryKey}
		refusal := errUnread
		if known != nil {
			what.entry, refusal = known.entry, known.refuse(key)
			what.quota, what.counted = known.quota, refusal == nil
		}
		reply, granted, err := g.redis.ask(ctx, what)
		switch {
		case err == errDown:
			return g.admitWithoutRedis(ctx, key)
		case err != nil:
			return nil, err
		case reply.state == entrySame && refusal != nil:
			return nil, refusal
		case reply.state == entrySame && !granted:
			return nil, throttled{reply.retry}
		case reply.state == entrySame:
			return known, nil
		}
		if known, err = g.read(ctx, key, entryKey, reply); err != nil {
			return nil, err
		}
	}
	return nil, fault.New(fault.Unavailable, "The key is being changed. Try again shortly.")
}

// read returns the caller of an entry that is not the known one. It reads the entry
// itself. If there is no entry, or a Void one, it asks identity.
func (g *guard) read(ctx context.Context, key presented, entryKey string, reply reply) (*caller, error) {
	if reply.state == entryChanged && reply.entry != peer.Void {
		known := &caller{entry: reply.entry}
		if err := json.Unmarshal([]byte(reply.entry), &known.credential); err == nil {
			known.prepare(key.scheme)
			g.callers.put(entryKey, known, 1)
			return known, nil
		}
		g.log.ErrorContext(ctx, "an entry of a credential in Redis cannot be read; identity is asked instead")
	}
	known, err := g.lookup(ctx, key)
	if err != nil {
		return nil, err
	}
	if reply.state == entryMissing {
		if err := g.redis.fill(ctx, entryKey, known.entry); err == nil {
			g.callers.put(entryKey, known, 1)
		}
		return known, nil
	}
	// The next check compares with the Void entry, which is older than identity's response.
	voided := &caller{entry: reply.entry, credential: known.credential}
	voided.prepare(key.scheme)
	return voided, nil
}

// admitWithoutRedis asks identity about the key and counts the call in memory.
func (g *guard) admitWithoutRedis(ctx context.Context, key presented) (*caller, error) {
	known, err := g.lookup(ctx, key)
	if err != nil {
		return nil, err
	}
	if err := known.refuse(key); err != nil {
		return nil, err
	}
	if granted, retry := g.memory.take(known.quota, 1); granted == 0 {
		return nil, throttled{retry}
	}
	return known, nil
}

// lookup asks identity. The request to identity begins after the call of lookup.
func (g *guard) lookup(ctx context.Context, key presented) (*caller, error) {
	work := context.WithoutCancel(ctx)
	return g.lookups.do(ctx, key, func() (*caller, error) {
		ctx, cancel := context.WithTimeout(work, lookupTimeout)
		defer cancel()
		credential, err := g.identity.Credential(ctx, peer.KeyLookup{Scheme: key.scheme, ID: key.id, SecretDigest: key.digest})
		switch {
		case fault.Is(err, fault.NotFound), fault.Is(err, fault.Invalid):
			return nil, fault.Wrap(fault.Denied, err, "There is no such key.")
		case err != nil:
			return nil, fault.Wrap(fault.Unavailable, err, "Keys cannot be checked at the moment. Try again shortly.")
		}
		entry, err := json.Marshal(credential)
		if err != nil {
			return nil, fault.Wrap(fault.Internal, err, "A credential cannot be encoded.")
		}
		known := &caller{entry: string(entry), credential: credential}
		known.prepare(key.scheme)
		return known, nil
	})
}

// prepare sets the quota and makes room for the passports.
func (c *caller) prepare(scheme peer.Scheme) {
	if scheme == peer.APIKey {
		c.quota = quota{"rate:user:" + c.credential.User, c.credential.Limits.LegacyPerHour, time.Hour}
	} else {
		c.quota = quota{"rate:organization:" + c.credential.Organization, c.credential.Limits.AppPerMinute, time.Minute}
	}
	c.passports = map[string]*atomic.Pointer[issued]{}
	for _, service := range services() {
		c.passports[service] = &atomic.Pointer[issued]{}
	}
}

// refuse returns the error for a wrong secret or an organization without API access, else
// nil.
func (c *caller) refuse(key presented) error {
	if subtle.ConstantTimeCompare([]byte(c.credential.SecretDigest), []byte(key.digest)) != 1 {
		return fault.New(fault.Denied, "The secret is wrong.")
	}
	if !c.credential.Features.API {
		return fault.New(fault.Forbidden, "The plan of your organization does not include API access.")
	}
	return nil
}

// passport returns a passport of the caller for a service.
func (g *guard) passport(c *caller, service string, surface passport.Surface) string {
	now := g.now()
	slot := c.passports[service]
	if last := slot.Load(); last != nil && now.Sub(last.at) < passportUse {
		return last.token
	}
	token := g.signer.Sign(passport.Passport{
		Audience: service, Surface: surface,
		Organization: c.credential.Organization, User: c.credential.User, Username: c.credential.Username,
		Email: c.credential.Email, LegacyUser: c.credential.LegacyUser, KeyID: c.credential.KeyID,
		Roles: c.credential.Roles, Features: c.credential.Features,
	})
	slot.Store(&issued{token, now})
	return token
}

// isOperator reports whether the Authorization header has the operator token. It compares
// in constant time.
func isOperator(header http.Header, token string) bool {
	values := header["Authorization"]
	if len(values) != 1 {
		return false
	}
	name, given, _ := cutSpace(values[0])
	same := subtle.ConstantTimeCompare([]byte(seal.Digest(given)), []byte(seal.Digest(token)))
	return same == 1 && strings.EqualFold(name, "operator")
}
