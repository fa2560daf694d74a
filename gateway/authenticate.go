package gateway

import (
	"context"
	"crypto/sha256"
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
	// maxCallers is how many credentials a gateway keeps decoded.
	maxCallers = 16384
	// maxKeyID bounds a key id or user name, in bytes; it becomes part of a Redis key.
	maxKeyID = 512
	// maxLooks bounds how often a request follows an entry that changes under it.
	maxLooks = 4
	// lookupTimeout is less than peer.VoidTTL: a lookup cannot outlive the Void that
	// keeps its result out of the cache.
	lookupTimeout = 4 * time.Second
)

// presented is what a client says it is: a key's id and the digest of its secret.
type presented struct {
	scheme peer.Scheme
	id     string
	digest string
}

// readKey reads an Authorization header: the scheme in any case, white space, and
// two parts split at the first colon. Anything else is no key; nor is an id that is no
// UTF-8, which identity would read as another one than its entry is named by.
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

// caller is a credential as its entry in Redis said when it was last read. It is no
// cache of who may pass: every request asks Redis whether the entry is still this one.
type caller struct {
	entry      string
	credential peer.Credential
	quota      quota
	passports  map[string]*atomic.Pointer[issued] // by service
}

// issued is a passport that is used for some of its life, because signing one for
// each request of a busy caller costs as much as forwarding it.
type issued struct {
	token string
	at    time.Time
}

const passportUse = passport.Life / 3

// guard decides who a request's caller is and whether one more call is within its rate.
type guard struct {
	ledger   *ledger
	memory   *memory
	identity peer.Identity
	lookups  *rounds[presented, *caller]
	callers  *lru[string, *caller]
	signer   *passport.Signer
	now      func() time.Time
	log      *slog.Logger
}

// errUnread stands for the refusal while the entry has not been read.
var errUnread = errors.New("gateway: a credential's entry is empty")

// throttled is the refusal of a call beyond the rate.
type throttled struct{ retry time.Duration }

func (throttled) Error() string { return "gateway: beyond the rate" }

// admit finds the caller and counts the call. Its errors: Denied for every kind of
// wrong key, Forbidden for an organization without API access, throttled beyond the
// rate, Unavailable when nobody can be asked. Refused calls are not counted.
func (g *guard) admit(ctx context.Context, header http.Header, route Auth) (*caller, error) {
	key, ok := readKey(header, peer.Scheme(route))
	if !ok {
		return nil, fault.New(fault.Denied, "no key")
	}
	entryKey := peer.CredentialKey(key.scheme, key.id)
	known, _ := g.callers.get(entryKey)
	for range maxLooks {
		q := question{entryKey: entryKey}
		refusal := errUnread
		if known != nil {
			q.entry, refusal = known.entry, known.refuse(key)
			q.quota, q.counted = known.quota, refusal == nil
		}
		told, granted, err := g.ledger.ask(ctx, q)
		switch {
		case err == errDown:
			return g.admitWithoutRedis(ctx, key)
		case err != nil:
			return nil, err
		case told.state == entrySame && refusal != nil:
			return nil, refusal
		case told.state == entrySame && !granted:
			return nil, throttled{told.retry}
		case told.state == entrySame:
			return known, nil
		}
		if known, err = g.read(ctx, key, entryKey, told); err != nil {
			return nil, err
		}
	}
	return nil, fault.New(fault.Unavailable, "The key is being changed; try again shortly.")
}

// read makes the caller of an entry that is not as it was known: from the entry
// itself, or from identity when there is none or a Void one.
func (g *guard) read(ctx context.Context, key presented, entryKey string, told told) (*caller, error) {
	if told.state == entryChanged && told.entry != peer.Void {
		known := &caller{entry: told.entry}
		if err := json.Unmarshal([]byte(told.entry), &known.credential); err == nil {
			known.prepare(key.scheme)
			g.callers.put(entryKey, known, 1)
			return known, nil
		}
		g.log.ErrorContext(ctx, "a credential's entry in Redis cannot be read; asking identity")
	}
	known, err := g.lookup(ctx, key)
	if err != nil {
		return nil, err
	}
	if told.state == entryMissing {
		if err := g.ledger.fill(ctx, entryKey, known.entry); err == nil {
			g.callers.put(entryKey, known, 1)
		}
		return known, nil
	}
	// Counted against the entry that is there: the answer was made after it was written.
	voided := &caller{entry: told.entry, credential: known.credential}
	voided.prepare(key.scheme)
	return voided, nil
}

// admitWithoutRedis asks identity about every call and counts in memory.
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

// lookup asks identity, after lookup was called.
func (g *guard) lookup(ctx context.Context, key presented) (*caller, error) {
	work := context.WithoutCancel(ctx)
	return g.lookups.do(ctx, key, func() (*caller, error) {
		ctx, cancel := context.WithTimeout(work, lookupTimeout)
		defer cancel()
		credential, err := g.identity.Credential(ctx, peer.KeyLookup{Scheme: key.scheme, ID: key.id, SecretDigest: key.digest})
		switch {
		case fault.Is(err, fault.NotFound), fault.Is(err, fault.Invalid):
			return nil, fault.Wrap(fault.Denied, err, "no such key")
		case err != nil:
			return nil, fault.Wrap(fault.Unavailable, err, "Keys cannot be checked at the moment; try again shortly.")
		}
		entry, err := json.Marshal(credential)
		if err != nil {
			return nil, fault.Wrap(fault.Internal, err, "a credential could not be written")
		}
		known := &caller{entry: string(entry), credential: credential}
		known.prepare(key.scheme)
		return known, nil
	})
}

// prepare derives what each request of the caller needs.
func (c *caller) prepare(scheme peer.Scheme) {
	if scheme == peer.APIKey {
		c.quota = quota{"rate:user:" + c.credential.User, c.credential.Limits.LegacyPerHour, time.Hour}
	} else {
		c.quota = quota{"rate:organization:" + c.credential.Organization, c.credential.Limits.AppPerMinute, time.Minute}
	}
	c.passports = map[string]*atomic.Pointer[issued]{}
	for _, service := range []string{identity, events, subscribers, integrations} {
		c.passports[service] = &atomic.Pointer[issued]{}
	}
}

// refuse says why the key may not pass, whatever the rate; nil when it may.
func (c *caller) refuse(key presented) error {
	if subtle.ConstantTimeCompare([]byte(c.credential.SecretDigest), []byte(key.digest)) != 1 {
		return fault.New(fault.Denied, "wrong secret")
	}
	if !c.credential.Features.API {
		return fault.New(fault.Forbidden, "The plan of your organization does not include API access.")
	}
	return nil
}

// passport is the signed statement of who the caller is, for a service.
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

// isOperator checks the Authorization of the operator surface in constant time.
func isOperator(header http.Header, token [sha256.Size]byte) bool {
	values := header["Authorization"]
	if len(values) != 1 {
		return false
	}
	name, given, _ := cutSpace(values[0])
	sum := sha256.Sum256([]byte(given))
	return subtle.ConstantTimeCompare(sum[:], token[:]) == 1 && strings.EqualFold(name, "operator")
}
