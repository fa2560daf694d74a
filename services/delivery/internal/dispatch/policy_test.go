package dispatch

import (
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

func TestThePolicyDecidesTheWaitAfterEachAttempt(t *testing.T) {
	p := Policy{5 * time.Second, 30 * time.Second, 2 * time.Minute}
	for _, c := range []struct {
		name   string
		count  int
		result Result
		wait   time.Duration // 0: no more
	}{
		{"first failure", 1, Result{HTTPStatus: 500, Code: deliverylog.CodeServerError}, 5 * time.Second},
		{"third failure", 3, Result{HTTPStatus: 500, Code: deliverylog.CodeServerError}, 2 * time.Minute},
		{"the last", 4, Result{HTTPStatus: 500, Code: deliverylog.CodeServerError}, 0},
		{"no answer", 2, Result{Code: deliverylog.CodeTimeout}, 30 * time.Second},
		{"redirect", 2, Result{HTTPStatus: 302, Code: deliverylog.CodeRedirect}, 30 * time.Second},
		{"wrong once", 1, Result{HTTPStatus: 404, Code: deliverylog.CodeClientError}, 5 * time.Second},
		{"wrong twice", 2, Result{HTTPStatus: 400, Code: deliverylog.CodeClientError}, 0},
		{"408 twice", 2, Result{HTTPStatus: 408, Code: deliverylog.CodeClientError}, 0},
		{"425 twice", 2, Result{HTTPStatus: 425, Code: deliverylog.CodeClientError}, 0},
		{"429 twice", 2, Result{HTTPStatus: 429, Code: deliverylog.CodeRateLimited}, 30 * time.Second},
		{"gone", 1, Result{HTTPStatus: 410, Code: deliverylog.CodeGone}, 0},
		{"blocked", 1, Result{Code: deliverylog.CodeBlocked}, 0},
		{"timed out, and never again", 1, Result{Code: deliverylog.CodeTimeout, Final: true}, 0},
		{"wrong, and never again", 1, Result{HTTPStatus: 400, Code: deliverylog.CodeClientError, Final: true}, 0},
		{"asked to rest", 1, Result{HTTPStatus: 429, Code: deliverylog.CodeRateLimited, RetryAfter: time.Minute}, time.Minute},
		{"asked to rest shortly", 2, Result{HTTPStatus: 503, Code: deliverylog.CodeServerError, RetryAfter: time.Second}, 5 * time.Second},
		{"asked to rest too long", 1, Result{HTTPStatus: 503, Code: deliverylog.CodeServerError, RetryAfter: time.Hour}, 15 * time.Minute},
		{"asks without right", 1, Result{HTTPStatus: 500, Code: deliverylog.CodeServerError, RetryAfter: time.Hour}, 5 * time.Second},
		{"asks at the end", 4, Result{HTTPStatus: 429, Code: deliverylog.CodeRateLimited, RetryAfter: time.Minute}, 0},
	} {
		wait, again := p.next(c.count, c.result)
		if again != (c.wait > 0) || wait < c.wait || wait > min(c.wait+c.wait/10, maxRetryAfter) {
			t.Errorf("%s: %v, %v; want %v", c.name, wait, again, c.wait)
		}
	}
}

func TestEachHTTPStatusHasItsCode(t *testing.T) {
	for status, want := range map[int]deliverylog.Code{200: "", 202: "", 204: "", 299: "", 301: deliverylog.CodeRedirect, 304: deliverylog.CodeRedirect, 400: deliverylog.CodeClientError,
		404: deliverylog.CodeClientError, 408: deliverylog.CodeClientError, 410: deliverylog.CodeGone, 429: deliverylog.CodeRateLimited, 500: deliverylog.CodeServerError, 503: deliverylog.CodeServerError, 599: deliverylog.CodeServerError} {
		if got := CodeOf(status); got != want {
			t.Errorf("%d: %q, want %q", status, got, want)
		}
	}
}
