package dispatch

import (
	"math/rand/v2"
	"net/http"
	"time"
)

const (
	maxRetryAfter  = 15 * time.Minute
	clientAttempts = 2 // after an answer that says the request itself is wrong
)

// Policy is the waits between the attempts of one delivery; there is one attempt
// more than waits.
type Policy []time.Duration

// attempts is how many there are at the most.
func (p Policy) attempts() int { return len(p) + 1 }

// next says how long to wait after the attempt that was the count-th; false means
// that the delivery has failed.
func (p Policy) next(count int, result Result) (time.Duration, bool) {
	switch {
	case result.Code == CodeBlocked || result.Code == CodeGone || result.Again == Never:
		return 0, false
	case count >= p.attempts():
		return 0, false
	case result.Again != AsPlanned && wrong(result.HTTPStatus) && count >= clientAttempts:
		return 0, false
	}
	wait := p[count-1]
	if asked(result) {
		wait = min(max(result.RetryAfter, p[0]), maxRetryAfter)
	}
	return wait + jitter(wait), true
}

// asked reports an answer that names a time to come again.
func asked(result Result) bool {
	return result.RetryAfter > 0 &&
		(result.HTTPStatus == http.StatusTooManyRequests || result.HTTPStatus == http.StatusServiceUnavailable)
}

// wrong reports a status that says the same request will hardly be accepted later.
func wrong(status int) bool {
	return status >= 400 && status < 500 && status != http.StatusTooManyRequests
}

// jitter spreads those who failed together: up to a tenth more, never less.
func jitter(wait time.Duration) time.Duration { return rand.N(wait/10 + 1) }

// CodeOf is the code of an HTTP status; empty for success.
func CodeOf(status int) Code {
	switch {
	case status >= 200 && status < 300:
		return ""
	case status == http.StatusGone:
		return CodeGone
	case status == http.StatusTooManyRequests:
		return CodeRateLimited
	case status >= 500:
		return CodeServerError
	case status >= 400:
		return CodeClientError
	default:
		return CodeRedirect
	}
}
