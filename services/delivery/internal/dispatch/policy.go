package dispatch

import (
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

const (
	maxRetryAfter  = 15 * time.Minute
	clientAttempts = 2 // maximum number of attempts if repeatsStatus returns true for the status
)

// Policy holds the waits between the attempts of one delivery: the setting DELIVERY_RETRY_SCHEDULE, whose default is in
// libs/boot/settings.go.
type Policy []time.Duration

// attempts returns the maximum number of attempts.
func (p Policy) attempts() int { return len(p) + 1 }

// next returns the wait after the count-th attempt, and false if there is no further attempt.
func (p Policy) next(count int, result Result) (time.Duration, bool) {
	if count >= p.granted(count, result) {
		return 0, false
	}
	wait := p[count-1]
	if asksForPause(result) {
		wait = max(result.RetryAfter, p[0])
		return min(wait+jitter(wait), maxRetryAfter), true
	}
	return wait + jitter(wait), true
}

// granted returns the maximum number of attempts of the delivery that the policy grants after the result of the count-th
// attempt.
func (p Policy) granted(count int, result Result) int {
	switch {
	case result.Code == deliverylog.CodeBlocked || result.Code == deliverylog.CodeGone || result.Final:
		return count
	case repeatsStatus(result.HTTPStatus):
		return max(count, min(clientAttempts, p.attempts()))
	}
	return max(count, p.attempts())
}

// asksForPause reports whether the receiver asked for a pause, with the status 429 or 503.
func asksForPause(result Result) bool {
	return result.RetryAfter > 0 &&
		(result.HTTPStatus == http.StatusTooManyRequests || result.HTTPStatus == http.StatusServiceUnavailable)
}

// repeatsStatus reports whether a repetition of the request would probably get the same status.
func repeatsStatus(status int) bool {
	return status >= 400 && status < 500 && status != http.StatusTooManyRequests
}

// jitter returns a random time of at most a tenth of the wait. It spreads the retries of deliveries that
// failed at the same time.
func jitter(wait time.Duration) time.Duration { return rand.N(wait/10 + 1) }

// CodeOf returns the code of an HTTP status, and "" for success.
func CodeOf(status int) deliverylog.Code {
	switch {
	case status >= 200 && status < 300:
		return ""
	case status == http.StatusGone:
		return deliverylog.CodeGone
	case status == http.StatusTooManyRequests:
		return deliverylog.CodeRateLimited
	case status >= 500:
		return deliverylog.CodeServerError
	case status >= 400:
		return deliverylog.CodeClientError
	default:
		return deliverylog.CodeRedirect
	}
}
