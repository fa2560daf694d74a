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
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/redis/go-redis/v9"
)

const (
	// onceLife is how long a key stands for its first request.
	onceLife = 24 * time.Hour
	// underWay is how long a first request may be under way: longer than any is. A claim
	// that is older is of a gateway that was killed, or could not tell the outcome.
	underWay = time.Minute
	// maxIdempotencyKey is in characters; maxOnce bounds a kept answer's body, in bytes.
	maxIdempotencyKey = 255
	maxOnce           = 256 << 10
)

// once gives the first answer of success to a write again when the write is repeated
// with the same Idempotency-Key by a caller who may do the same. Answers rest in Redis sealed, since one may hold a secret
// that is shown only once.
//
// A write whose fate nobody knows, because the service was reached and its answer was not
// had, keeps its key: a repeat is told so and is not carried out, for a key promises at
// most once. Whoever wants the write after all looks first and takes another key.
type once struct {
	ledger  *ledger
	now     func() time.Time
	box     seal.Box
	replace *redis.Script
}

// replaceScript puts ARGV[2] in the place of the claim ARGV[1] for ARGV[3] ms, or
// removes the claim when there is no ARGV[2]. One that Redis forgot meanwhile is
// replaced too; somebody else's stays.
const replaceScript = `
local claim = redis.call('GET', KEYS[1])
if claim and claim ~= ARGV[1] then return 0 end
if ARGV[2] then redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) else redis.call('DEL', KEYS[1]) end
return 1`

func newOnce(ledger *ledger, secret string, now func() time.Time) *once {
	return &once{ledger: ledger, now: now, box: seal.NewBox(secret, "idempotency"), replace: redis.NewScript(replaceScript)}
}

// record is what a key stands for.
type record struct {
	Request string      `json:"request"`          // digest of method, path, query and body
	Begun   time.Time   `json:"begun"`            // when the first request came
	Lost    bool        `json:"lost,omitempty"`   // whether it was carried out is not known
	Answer  *keptAnswer `json:"answer,omitempty"` // none while it is under way, or was lost
}

// keptAnswer is a first answer.
type keptAnswer struct {
	Status  int               `json:"status"`
	Header  map[string]string `json:"header"`
	Body    []byte            `json:"body,omitempty"`
	Omitted bool              `json:"omitted,omitempty"` // the body was too large to keep
}

// claim is the right to be the first request of a key.
type claim struct {
	name, text string
	record     record
}

// idempotencyKey is the key that a write carries.
func idempotencyKey(r *http.Request) (string, bool) {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		key := r.Header.Get("Idempotency-Key")
		return key, key != ""
	}
	return "", false
}

// forwardOnce forwards a write that carries an Idempotency-Key, or answers as the
// first one with that key was answered.
func (e *edge) forwardOnce(v *visit, caller *caller, token, key string) {
	if utf8.RuneCountInString(key) > maxIdempotencyKey {
		e.refuse(v, fault.New(fault.Invalid, "The header Idempotency-Key must have at most %d characters.", maxIdempotencyKey))
		return
	}
	body, err := readBody(v.request)
	if err != nil {
		e.refuse(v, err)
		return
	}
	name := digest("idempotency", caller.credential.Organization, caller.credential.User, authority(caller.credential), key)
	request := digest(v.request.Method, v.request.URL.RequestURI(), string(body))
	mine, first, err := e.once.claim(v.ctx, "idempotency:"+name, request)
	switch {
	case err != nil:
		e.refuse(v, err)
	case mine != nil:
		e.forwardFirst(v, *mine, token, body)
	case first.Request != request:
		e.refuse(v, fault.New(fault.Conflict, "This Idempotency-Key was used for another request."))
	case first.Answer == nil && (first.Lost || e.once.now().Sub(first.Begun) > underWay):
		e.refuse(v, fault.New(fault.Conflict, "It is not known whether the first request with this Idempotency-Key was carried out. See whether it was; to write again, use another key."))
	case first.Answer == nil:
		e.refuse(v, fault.New(fault.Conflict, "The first request with this Idempotency-Key is still under way."))
	case first.Answer.Omitted:
		e.refuse(v, fault.New(fault.Conflict, "The request was carried out; its answer was too large to be given again."))
	default:
		first.Answer.write(v)
	}
}

// authority names what the caller may do now. It is part of what a key stands for: an
// answer is given again only to who may still ask for it.
func authority(c peer.Credential) string {
	features, err := json.Marshal(c.Features)
	if err != nil {
		panic(err) // booleans: cannot fail
	}
	return digest(append([]string{string(features)}, slices.Sorted(slices.Values(c.Roles))...)...)
}

// forwardFirst forwards the write and keeps its answer before giving it, when it is of
// success: a refusal changed nothing and is judged anew, like a request that reached no
// service. It goes on
// when the client leaves: the client may come back for the answer.
func (e *edge) forwardFirst(v *visit, mine claim, token string, body []byte) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.ctx), upstreamTimeout)
	defer cancel()
	answer, err := e.proxy.send(ctx, v.request, v.id, sending{
		method: v.request.Method, service: v.found.route.Service, passport: token, body: io.NopCloser(bytes.NewReader(body)), bodySize: int64(len(body)),
	})
	if err != nil {
		if unsent(err) {
			e.once.free(ctx, mine)
		} else {
			e.once.lose(ctx, mine)
			err = lost(err)
		}
		e.refuse(v, err)
		return
	}
	success := answer.StatusCode >= http.StatusOK && answer.StatusCode < http.StatusMultipleChoices
	start, err := io.ReadAll(io.LimitReader(answer.Body, maxOnce+1))
	switch {
	case !success:
		e.once.free(ctx, mine)
	case err != nil:
		e.once.lose(ctx, mine)
	default:
		e.once.keep(ctx, mine, keep(answer, start))
	}
	if err != nil {
		answer.Body.Close()
		if err = sendFault(ctx, err); success {
			err = lost(err)
		}
		e.refuse(v, err)
		return
	}
	answer.Body = readCloser{io.MultiReader(bytes.NewReader(start), answer.Body), answer.Body}
	e.proxy.relay(v, answer)
}

// unsent reports whether a request failed before any of it was sent.
func unsent(err error) bool {
	failed, ok := errors.AsType[*net.OpError](err)
	return ok && failed.Op == "dial"
}

// lost tells the first request's client that nobody knows.
func lost(err error) error {
	return fault.Wrap(fault.Unavailable, err, "The answer was lost: it is not known whether the request was carried out.")
}

type readCloser struct {
	io.Reader
	io.Closer
}

func keep(answer *http.Response, body []byte) *keptAnswer {
	kept := &keptAnswer{Status: answer.StatusCode, Header: map[string]string{}, Body: body}
	for _, name := range []string{"Content-Type", "Etag", "Location"} {
		if value := answer.Header.Get(name); value != "" {
			kept.Header[name] = value
		}
	}
	if len(body) > maxOnce {
		kept.Omitted, kept.Body = true, nil
	}
	return kept
}

func (k *keptAnswer) write(w http.ResponseWriter) {
	for name, value := range k.Header {
		w.Header().Set(name, value)
	}
	w.Header().Set("Idempotency-Replayed", "true")
	w.WriteHeader(k.Status)
	if len(k.Body) > 0 {
		_, _ = w.Write(k.Body) // the client is gone: nobody is left to tell
	}
}

// claim takes the key for a request, or answers with what the key already stands for.
func (o *once) claim(ctx context.Context, name, request string) (*claim, record, error) {
	if o.ledger.down.Load() {
		return nil, record{}, unavailableOnce(errDown)
	}
	first := record{Request: request, Begun: o.now()}
	mine := &claim{name, o.seal(name, first), first}
	for range maxLooks {
		err := o.ledger.client.SetArgs(ctx, name, mine.text, redis.SetArgs{Mode: "NX", TTL: onceLife}).Err()
		if err == nil {
			return mine, record{}, nil
		}
		var text string
		if errors.Is(err, redis.Nil) {
			text, err = o.ledger.client.Get(ctx, name).Result()
		}
		switch {
		case errors.Is(err, redis.Nil):
			continue // it ran out between the two
		case ctx.Err() != nil:
			return nil, record{}, context.Cause(ctx)
		case err != nil:
			o.ledger.fail(err)
			return nil, record{}, unavailableOnce(err)
		}
		first, err := o.open(name, text)
		return nil, first, err
	}
	return nil, record{}, unavailableOnce(errors.New("the key keeps running out"))
}

func unavailableOnce(err error) error {
	return fault.Wrap(fault.Unavailable, err, "The Idempotency-Key cannot be checked at the moment; try again shortly.")
}

// keep keeps the answer for the claim's key.
func (o *once) keep(ctx context.Context, mine claim, answer *keptAnswer) {
	mine.record.Answer = answer
	o.settle(ctx, mine, o.seal(mine.name, mine.record), onceLife.Milliseconds())
}

// lose keeps that nobody knows the outcome.
func (o *once) lose(ctx context.Context, mine claim) {
	mine.record.Lost = true
	o.settle(ctx, mine, o.seal(mine.name, mine.record), onceLife.Milliseconds())
}

// free gives the claim back.
func (o *once) free(ctx context.Context, mine claim) { o.settle(ctx, mine) }

// settle replaces the claim. When it cannot, the outcome counts as not known.
func (o *once) settle(ctx context.Context, mine claim, instead ...any) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.ledger.timeout)
	defer cancel()
	if err := o.replace.Run(ctx, o.ledger.client, []string{mine.name}, append([]any{mine.text}, instead...)...).Err(); err != nil {
		o.ledger.fail(err)
	}
}

func (o *once) seal(name string, r record) string {
	plain, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings, numbers and bytes: cannot fail
	}
	return o.box.Seal(string(plain), name)
}

func (o *once) open(name, text string) (record, error) {
	var r record
	plain, err := o.box.Open(text, name)
	if err == nil {
		err = json.Unmarshal([]byte(plain), &r)
	}
	if err != nil {
		return record{}, fault.Wrap(fault.Internal, err, "a kept answer cannot be read")
	}
	return r, nil
}

// digest names its parts together, unambiguously, whatever their bytes are.
func digest(parts ...string) string {
	var all []byte
	for _, part := range parts {
		all = binary.BigEndian.AppendUint64(all, uint64(len(part)))
		all = append(all, part...)
	}
	sum := sha256.Sum256(all)
	return hex.EncodeToString(sum[:])
}
