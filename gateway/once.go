package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
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
	// onceLife is how long a first answer is given again.
	onceLife = 24 * time.Hour
	// claimLife is how long a first request may be under way: longer than any is. Behind
	// a gateway that was killed the key is free again after it.
	claimLife = time.Minute
	// maxIdempotencyKey is in characters; maxOnce bounds a kept answer's body, in bytes.
	maxIdempotencyKey = 255
	maxOnce           = 256 << 10
)

// once gives the first answer of success to a write again when the write is repeated
// with the same Idempotency-Key by a caller who may do the same. Answers rest in Redis sealed, since one may hold a secret
// that is shown only once.
type once struct {
	ledger  *ledger
	box     seal.Box
	replace *redis.Script
}

// replaceScript puts ARGV[2] in the place of the claim ARGV[1] for ARGV[3] ms, or
// removes the claim when there is no ARGV[2]. One that ran out meanwhile and is
// somebody else's stays.
const replaceScript = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] then redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) else redis.call('DEL', KEYS[1]) end
return 1`

func newOnce(ledger *ledger, secret string) *once {
	return &once{ledger: ledger, box: seal.NewBox(secret, "idempotency"), replace: redis.NewScript(replaceScript)}
}

// record is what a key stands for.
type record struct {
	Request string      `json:"request"`          // digest of method, path, query and body
	Answer  *keptAnswer `json:"answer,omitempty"` // none while the first request is under way
}

// keptAnswer is a first answer.
type keptAnswer struct {
	Status  int               `json:"status"`
	Header  map[string]string `json:"header"`
	Body    []byte            `json:"body,omitempty"`
	Omitted bool              `json:"omitted,omitempty"` // the body was too large to keep
}

// claim is the right to be the first request of a key.
type claim struct{ name, text, request string }

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
// success: a refusal changed nothing and is judged anew. It goes on
// when the client leaves: the client may come back for the answer.
func (e *edge) forwardFirst(v *visit, mine claim, token string, body []byte) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.ctx), upstreamTimeout)
	defer cancel()
	answer, err := e.proxy.send(ctx, v.request, v.id, sending{
		method: v.request.Method, service: v.found.route.Service, passport: token, body: io.NopCloser(bytes.NewReader(body)), bodySize: int64(len(body)),
	})
	if err != nil {
		e.once.settle(ctx, mine, nil)
		e.refuse(v, err)
		return
	}
	start, err := io.ReadAll(io.LimitReader(answer.Body, maxOnce+1))
	if err != nil || answer.StatusCode < http.StatusOK || answer.StatusCode >= http.StatusMultipleChoices {
		e.once.settle(ctx, mine, nil)
	} else {
		e.once.settle(ctx, mine, keep(answer, start))
	}
	if err != nil {
		answer.Body.Close()
		e.refuse(v, sendFault(ctx, err))
		return
	}
	answer.Body = readCloser{io.MultiReader(bytes.NewReader(start), answer.Body), answer.Body}
	e.proxy.relay(v, answer)
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
	mine := &claim{name, o.seal(name, record{Request: request}), request}
	for range maxLooks {
		err := o.ledger.client.SetArgs(ctx, name, mine.text, redis.SetArgs{Mode: "NX", TTL: claimLife}).Err()
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

// settle keeps the answer for the claim's key, or gives the claim back without one.
// When it cannot, the claim runs out by itself.
func (o *once) settle(ctx context.Context, mine claim, answer *keptAnswer) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), redisTimeout)
	defer cancel()
	arguments := []any{mine.text}
	if answer != nil {
		text := o.seal(mine.name, record{Request: mine.request, Answer: answer})
		arguments = append(arguments, text, onceLife.Milliseconds())
	}
	if err := o.replace.Run(ctx, o.ledger.client, []string{mine.name}, arguments...).Err(); err != nil {
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

// digest names its parts together, unambiguously.
func digest(parts ...string) string {
	all, err := json.Marshal(parts)
	if err != nil {
		panic(err) // strings: cannot fail
	}
	sum := sha256.Sum256(all)
	return hex.EncodeToString(sum[:])
}
