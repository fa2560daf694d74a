package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/gateway/internal/message"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/redis/go-redis/v9"
)

const (
	idempotencyHeader = "Idempotency-Key"
	// idempotencyLife is the time for which the first request of a key is remembered.
	idempotencyLife = 24 * time.Hour
	// underWay is longer than any request takes. If a claim without an outcome is older, the gateway that stored the
	// claim was killed or could not store the outcome.
	underWay = time.Minute
	// maxIdempotencyKey is the maximum length of a key, in characters. maxStored bounds the body of a stored response,
	// in bytes. Events with many timeline entries have the largest responses.
	maxIdempotencyKey = 255
	maxStored         = 4 << 20
)

// idempotency stores the successful response to a write with an Idempotency-Key in Redis. It returns this response when
// a caller with the same authority repeats the write. Stored responses are sealed, because some contain a secret that
// is shown only once.
//
// If the service was reached but its response was lost, the outcome is unknown. The key then stays used, because a key
// promises at most one write: a repeated request gets 409 and is not forwarded. A client that still wants the write
// checks the record and uses another key.
type idempotency struct {
	redis *redisClient
	now   func() time.Time
	box   seal.Box
}

// firstWrite is the record of the first request with a key, stored in Redis.
type firstWrite struct {
	Request  string          `json:"request"`            // digest of method, path, query and body; for a form of the console, of path, query and content
	Begun    time.Time       `json:"begun"`              // zero if the response was lost
	Response *storedResponse `json:"response,omitempty"` // nil while the write is running, and if the response was lost
}

type storedResponse struct {
	message.Response
	Omitted bool `json:"omitted,omitempty"` // the body was too large to store
	Secret  bool `json:"secret,omitempty"`  // a page that shows a new secret
}

// claim is the right to forward the first request with a key. sealed is the stored text of the claim.
type claim struct {
	name, sealed string
	write        firstWrite
}

// forwardIdempotent forwards a write with an Idempotency-Key. If the owner has used the key before, forwardIdempotent
// returns the first response or refuses the request.
func (e *edge) forwardIdempotent(r *request, token string, owner []string, key string) {
	if utf8.RuneCountInString(key) > maxIdempotencyKey {
		r.Refuse(fault.New(fault.Invalid, "The header Idempotency-Key must be at most %d characters.", maxIdempotencyKey))
		return
	}
	body, err := message.Body(r.in)
	if err != nil {
		r.Refuse(err)
		return
	}
	request := digest(r.in.Method, r.in.URL.RequestURI(), string(body))
	name := e.idempotency.redis.tag + "idempotency:" + digest(slices.Concat([]string{"idempotency"}, owner, []string{key})...)
	mine, first, err := e.idempotency.claim(r.ctx, name, request)
	switch {
	case err != nil:
		r.Refuse(err)
	case mine != nil:
		e.forwardFirst(r, *mine, token, body)
	case first.Request != request:
		r.Refuse(fault.New(fault.Conflict, "This Idempotency-Key was used for another request. Use another key."))
	case first.Response == nil && e.idempotency.now().Sub(first.Begun) > underWay:
		r.Refuse(fault.New(fault.Conflict, "It is not known whether the first request with this Idempotency-Key was carried out. Check the record; to write again, use another key."))
	case first.Response == nil:
		r.Refuse(fault.New(fault.Conflict, "The first request with this Idempotency-Key is still under way. Try again shortly."))
	case first.Response.Omitted:
		r.Refuse(fault.New(fault.Conflict, "The first request with this Idempotency-Key was carried out, but its response was too large to be stored."))
	default:
		first.repeat(r)
	}
}

// repeat sends the first response again.
func (f firstWrite) repeat(r *request) {
	r.Header().Set("Idempotency-Replayed", "true")
	f.Response.WriteAs(r, r.in, f.Response.Status)
}

// owner returns the identity and the authority of the caller. A nil caller is the operator. The name of a stored response
// contains both, so a caller who has lost a role does not get a response from the time before.
func (c *caller) owner() []string {
	if c == nil {
		return []string{"operator"}
	}
	features, _ := json.Marshal(c.credential.Features) // cannot fail for booleans
	authority := append([]string{string(features)}, slices.Sorted(slices.Values(c.credential.Roles))...)
	return []string{c.credential.Organization, c.credential.User, digest(authority...)}
}

// forwardFirst forwards the write, stores a successful response and then sends the response to the client. After any
// other response, and if the request reached no service, it frees the key. If the response is lost, the key stays used. For
// a form of the console, a redirect is a success. If the client leaves, the write continues, because the client may repeat
// the request to get the response.
func (e *edge) forwardFirst(r *request, mine claim, token string, body []byte) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), upstreamTimeout)
	defer cancel()
	response, err := e.proxy.send(ctx, r.in, r.id, outgoing{
		method: r.in.Method, service: r.found.route.Service, passport: token, body: body,
		ip: r.ip, scheme: r.scheme, arrival: e.arrival(r),
	})
	failed, ok := errors.AsType[*net.OpError](err)
	free := ok && failed.Op == "dial" // no part of the request was sent
	isForm, refused := r.found.surface == passport.Console, http.StatusMultipleChoices
	if isForm {
		refused = http.StatusBadRequest
	}
	var start []byte
	if err == nil {
		defer response.Body.Close()
		free = response.StatusCode < http.StatusOK || response.StatusCode >= refused
		if start, err = io.ReadAll(io.LimitReader(response.Body, maxStored+1)); err != nil {
			err = sendFault(ctx, err)
		}
	}
	outcome := &mine.write
	switch {
	case free:
		outcome = nil
	case err != nil:
		err = fault.Wrap(fault.Unavailable, err, "The response was lost: it is not known whether the request was carried out.")
		outcome.Begun = time.Time{}
	default:
		outcome.Response = newStoredResponse(response, start, isForm)
	}
	e.idempotency.replace(ctx, mine, outcome)
	if err != nil {
		r.Refuse(err)
		return
	}
	response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(start), response.Body))
	e.proxy.relay(r, response)
}

// newStoredResponse returns the response with the headers that a repetition needs. A page of the console needs all headers
// including cookies, because the first response may never have reached the browser.
func newStoredResponse(response *http.Response, body []byte, isPage bool) *storedResponse {
	stored := &storedResponse{Response: message.Response{Status: response.StatusCode, Header: http.Header{}, Body: body}}
	if isPage {
		message.CopyResponseHeader(stored.Header, response.Header)
		stored.Secret = response.Header.Get(web.SecretHeader) != ""
		stored.Header.Del("Content-Length")
		stored.Header.Del("Date")
	}
	for _, name := range []string{"Content-Type", "Etag", "Location"} {
		if value := response.Header.Get(name); value != "" {
			stored.Header.Set(name, value)
		}
	}
	if len(body) > maxStored {
		stored.Omitted, stored.Body = true, nil
	}
	return stored
}

// claim stores a record for the key and returns the claim. If the key already has a record, claim returns nil and this
// record. SET with both NX and GET requires Redis 7.
func (i *idempotency) claim(ctx context.Context, name, request string) (*claim, firstWrite, error) {
	if i.redis.IsDown() {
		return nil, firstWrite{}, uncheckable(errDown)
	}
	write := firstWrite{Request: request, Begun: i.now()}
	mine := &claim{name, i.seal(name, write), write}
	text, err := i.redis.client.SetArgs(ctx, name, mine.sealed, redis.SetArgs{Mode: "NX", Get: true, TTL: idempotencyLife}).Result()
	switch {
	case errors.Is(err, redis.Nil): // there was no record
		return mine, firstWrite{}, nil
	case ctx.Err() != nil:
		return nil, firstWrite{}, context.Cause(ctx)
	case err != nil:
		i.redis.Fail(err)
		return nil, firstWrite{}, uncheckable(err)
	}
	first, err := i.open(name, text)
	return nil, first, err
}

func uncheckable(err error) error {
	return fault.Wrap(fault.Unavailable, err, "The Idempotency-Key cannot be checked at the moment. Try again shortly.")
}

// replaceScript replaces the claim ARGV[1] by ARGV[2], which lives ARGV[3] ms. Without ARGV[2] it deletes the claim. It
// also stores ARGV[2] if Redis has lost the claim. It never replaces the claim of another request.
const replaceScript = `
local claim = redis.call('GET', KEYS[1])
if claim and claim ~= ARGV[1] then return 0 end
if ARGV[2] then redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) else redis.call('DEL', KEYS[1]) end
return 1`

// replace replaces the claim by the outcome, or deletes the claim if write is nil. If Redis fails, the claim stays, and
// the outcome is treated as unknown.
func (i *idempotency) replace(ctx context.Context, mine claim, write *firstWrite) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), i.redis.timeout)
	defer cancel()
	arguments := []any{mine.sealed}
	if write != nil {
		arguments = append(arguments, i.seal(mine.name, *write), idempotencyLife.Milliseconds())
	}
	if err := i.redis.client.Eval(ctx, replaceScript, []string{mine.name}, arguments...).Err(); err != nil {
		i.redis.Fail(err)
	}
}

func (i *idempotency) seal(name string, write firstWrite) string {
	plain, _ := json.Marshal(write) // cannot fail for strings, numbers and bytes
	return i.box.Seal(string(plain), name)
}

func (i *idempotency) open(name, text string) (firstWrite, error) {
	var write firstWrite
	plain, err := i.box.Open(text, name)
	if err == nil {
		err = json.Unmarshal([]byte(plain), &write)
	}
	if err != nil {
		return firstWrite{}, fault.Wrap(fault.Internal, err, "A stored response cannot be read.")
	}
	return write, nil
}

// digest returns a digest of the parts. Each part is preceded by its length, so different lists of parts have different
// digests.
func digest(parts ...string) string {
	var all []byte
	for _, part := range parts {
		all = binary.BigEndian.AppendUint64(all, uint64(len(part)))
		all = append(all, part...)
	}
	sum := sha256.Sum256(all)
	return hex.EncodeToString(sum[:])
}
