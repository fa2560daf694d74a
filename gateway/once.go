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

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/redis/go-redis/v9"
)

const (
	idempotencyHeader = "Idempotency-Key"
	// onceLife is the time for which a key stands for its first request.
	onceLife = 24 * time.Hour
	// underWay is longer than any first request takes. The gateway of an older claim was
	// killed or could not store the outcome.
	underWay = time.Minute
	// maxIdempotencyKey is in characters. maxOnce bounds the body of a stored response, in
	// bytes. The largest responses are events with many timeline entries.
	maxIdempotencyKey = 255
	maxOnce           = 4 << 20
)

// once stores the successful response to a write with an Idempotency-Key, and returns it
// when a caller with the same authority repeats the write. Responses are sealed in Redis,
// because a response may hold a secret that is shown only once.
//
// If the service was reached but its response was lost, nobody knows the outcome. The key
// then stays taken, and a repeat gets 409 and is not forwarded, because a key promises at
// most one write. A client that still wants the write checks first and uses another key.
type once struct {
	redis *redisClient
	now   func() time.Time
	box   seal.Box
}

// firstWrite is the stored record of a key.
type firstWrite struct {
	Request  string          `json:"request"`          // digest of method, path, query and body
	Begun    time.Time       `json:"begun"`            // zero if the response was lost
	Response *storedResponse `json:"answer,omitempty"` // nil while the write is under way, and if the response was lost
}

type storedResponse struct {
	Status  int               `json:"status"`
	Header  map[string]string `json:"header"`
	Body    []byte            `json:"body,omitempty"`
	Omitted bool              `json:"omitted,omitempty"` // the body was too large to store
}

// claim is the right to send the first request of a key. sealed is the text in Redis.
type claim struct {
	name, sealed string
	write        firstWrite
}

// forwardOnce forwards a write with an Idempotency-Key. If the owner has used the key
// before, forwardOnce returns the first response or refuses the request.
func (e *edge) forwardOnce(v *visit, token string, owner []string, key string) {
	if utf8.RuneCountInString(key) > maxIdempotencyKey {
		e.refuse(v, fault.New(fault.Invalid, "The header Idempotency-Key must be at most %d characters.", maxIdempotencyKey))
		return
	}
	body, err := readBody(v.request)
	if err != nil {
		e.refuse(v, err)
		return
	}
	request := digest(v.request.Method, v.request.URL.RequestURI(), string(body))
	name := "idempotency:" + digest(slices.Concat([]string{"idempotency"}, owner, []string{key})...)
	mine, first, err := e.once.claim(v.ctx, name, request)
	switch {
	case err != nil:
		e.refuse(v, err)
	case mine != nil:
		e.forwardFirst(v, *mine, token, body)
	case first.Request != request:
		e.refuse(v, fault.New(fault.Conflict, "This Idempotency-Key was used for another request. Use another key."))
	case first.Response == nil && e.once.now().Sub(first.Begun) > underWay:
		e.refuse(v, fault.New(fault.Conflict, "It is not known whether the first request with this Idempotency-Key was carried out. Check the record; to write again, use another key."))
	case first.Response == nil:
		e.refuse(v, fault.New(fault.Conflict, "The first request with this Idempotency-Key is still under way. Try again shortly."))
	case first.Response.Omitted:
		e.refuse(v, fault.New(fault.Conflict, "The first request with this Idempotency-Key was carried out, but its response was too large to be stored."))
	default:
		first.Response.write(v)
	}
}

// owner returns the identity and the authority of the caller; a nil caller is the
// operator. Both are part of the key of a stored response. So a caller who lost a role
// does not get a response from before.
func (c *caller) owner() []string {
	if c == nil {
		return []string{"operator"}
	}
	features, _ := json.Marshal(c.credential.Features) // booleans: cannot fail
	authority := append([]string{string(features)}, slices.Sorted(slices.Values(c.credential.Roles))...)
	return []string{c.credential.Organization, c.credential.User, digest(authority...)}
}

// forwardFirst forwards the write, stores a successful response and then sends it to the
// client. Any other response, and a request that reached no service, frees the key. The
// write continues if the client leaves: the client may repeat the request to get the
// response.
func (e *edge) forwardFirst(v *visit, mine claim, token string, body []byte) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.ctx), upstreamTimeout)
	defer cancel()
	response, err := e.proxy.send(ctx, v.request, v.id, outgoing{
		method: v.request.Method, service: v.found.route.Service, passport: token, body: body,
		ip: v.ip, scheme: v.scheme,
	})
	failed, ok := errors.AsType[*net.OpError](err)
	free := ok && failed.Op == "dial" // no part of the request was sent
	var start []byte
	if err == nil {
		defer response.Body.Close()
		free = response.StatusCode < http.StatusOK || response.StatusCode >= http.StatusMultipleChoices
		if start, err = io.ReadAll(io.LimitReader(response.Body, maxOnce+1)); err != nil {
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
		outcome.Response = newStoredResponse(response, start)
	}
	e.once.replace(ctx, mine, outcome)
	if err != nil {
		e.refuse(v, err)
		return
	}
	response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(start), response.Body))
	e.proxy.relay(v, response)
}

func newStoredResponse(response *http.Response, body []byte) *storedResponse {
	stored := &storedResponse{Status: response.StatusCode, Header: map[string]string{}, Body: body}
	for _, name := range []string{"Content-Type", "Etag", "Location"} {
		if value := response.Header.Get(name); value != "" {
			stored.Header[name] = value
		}
	}
	if len(body) > maxOnce {
		stored.Omitted, stored.Body = true, nil
	}
	return stored
}

func (s *storedResponse) write(w http.ResponseWriter) {
	for name, value := range s.Header {
		w.Header().Set(name, value)
	}
	w.Header().Set("Idempotency-Replayed", "true")
	w.WriteHeader(s.Status)
	if len(s.Body) > 0 {
		_, _ = w.Write(s.Body) // fails only if the client has left
	}
}

// claim stores a record for the key and returns the claim. If the key has a record,
// claim returns that record instead. SET with NX and GET requires Redis 7.
func (o *once) claim(ctx context.Context, name, request string) (*claim, firstWrite, error) {
	if o.redis.down.Load() {
		return nil, firstWrite{}, uncheckable(errDown)
	}
	write := firstWrite{Request: request, Begun: o.now()}
	mine := &claim{name, o.seal(name, write), write}
	text, err := o.redis.client.SetArgs(ctx, name, mine.sealed, redis.SetArgs{Mode: "NX", Get: true, TTL: onceLife}).Result()
	switch {
	case errors.Is(err, redis.Nil): // there was no record
		return mine, firstWrite{}, nil
	case ctx.Err() != nil:
		return nil, firstWrite{}, context.Cause(ctx)
	case err != nil:
		o.redis.fail(err)
		return nil, firstWrite{}, uncheckable(err)
	}
	first, err := o.open(name, text)
	return nil, first, err
}

func uncheckable(err error) error {
	return fault.Wrap(fault.Unavailable, err, "The Idempotency-Key cannot be checked at the moment. Try again shortly.")
}

// replaceScript stores ARGV[2] for ARGV[3] ms in the place of the claim ARGV[1]. Without
// ARGV[2] it deletes the claim. It also replaces a claim that Redis has lost meanwhile, but
// not a claim of another request.
const replaceScript = `
local claim = redis.call('GET', KEYS[1])
if claim and claim ~= ARGV[1] then return 0 end
if ARGV[2] then redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) else redis.call('DEL', KEYS[1]) end
return 1`

// replace stores the outcome in the place of the claim, or deletes the claim if write is
// nil. If Redis fails, the outcome counts as unknown.
func (o *once) replace(ctx context.Context, mine claim, write *firstWrite) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.redis.timeout)
	defer cancel()
	arguments := []any{mine.sealed}
	if write != nil {
		arguments = append(arguments, o.seal(mine.name, *write), onceLife.Milliseconds())
	}
	if err := o.redis.client.Eval(ctx, replaceScript, []string{mine.name}, arguments...).Err(); err != nil {
		o.redis.fail(err)
	}
}

func (o *once) seal(name string, write firstWrite) string {
	plain, _ := json.Marshal(write) // strings, numbers and bytes: cannot fail
	return o.box.Seal(string(plain), name)
}

func (o *once) open(name, text string) (firstWrite, error) {
	var write firstWrite
	plain, err := o.box.Open(text, name)
	if err == nil {
		err = json.Unmarshal([]byte(plain), &write)
	}
	if err != nil {
		return firstWrite{}, fault.Wrap(fault.Internal, err, "A stored response cannot be read.")
	}
	return write, nil
}

// digest returns a digest of the parts. Different lists of parts have different digests,
// because each part is preceded by its length.
func digest(parts ...string) string {
	var all []byte
	for _, part := range parts {
		all = binary.BigEndian.AppendUint64(all, uint64(len(part)))
		all = append(all, part...)
	}
	sum := sha256.Sum256(all)
	return hex.EncodeToString(sum[:])
}
