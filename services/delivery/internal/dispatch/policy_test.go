package dispatch

import (
	"testing"
	"time"
)

func TestPolicy_next(t *testing.T) {
	p := Policy{5 * time.Second, 30 * time.Second, 2 * time.Minute}
	for _, c := range []struct {
		name   string
		count  int
		result Result
		wait   time.Duration // 0: no more
	}{
		{"first failure", 1, Result{HTTPStatus: 500, Code: CodeServerError}, 5 * time.Second},
		{"third failure", 3, Result{HTTPStatus: 500, Code: CodeServerError}, 2 * time.Minute},
		{"the last", 4, Result{HTTPStatus: 500, Code: CodeServerError}, 0},
		{"no answer", 2, Result{Code: CodeTimeout}, 30 * time.Second},
		{"redirect", 2, Result{HTTPStatus: 302, Code: CodeRedirect}, 30 * time.Second},
		{"wrong once", 1, Result{HTTPStatus: 404, Code: CodeClientError}, 5 * time.Second},
		{"wrong twice", 2, Result{HTTPStatus: 400, Code: CodeClientError}, 0},
		{"408 twice", 2, Result{HTTPStatus: 408, Code: CodeClientError}, 0},
		{"425 twice", 2, Result{HTTPStatus: 425, Code: CodeClientError}, 0},
		{"429 twice", 2, Result{HTTPStatus: 429, Code: CodeRateLimited}, 30 * time.Second},
		{"gone", 1, Result{HTTPStatus: 410, Code: CodeGone}, 0},
		{"blocked", 1, Result{Code: CodeBlocked}, 0},
		{"timed out, and never again", 1, Result{Code: CodeTimeout, Again: Never}, 0},
		{"wrong, and never again", 1, Result{HTTPStatus: 400, Code: CodeClientError, Again: Never}, 0},
		{"refused, and again as planned", 3, Result{HTTPStatus: 401, Code: CodeClientError, Again: AsPlanned}, 2 * time.Minute},
		{"refused at the end", 4, Result{HTTPStatus: 401, Code: CodeClientError, Again: AsPlanned}, 0},
		{"asked to rest", 1, Result{HTTPStatus: 429, Code: CodeRateLimited, RetryAfter: time.Minute}, time.Minute},
		{"asked to rest shortly", 2, Result{HTTPStatus: 503, Code: CodeServerError, RetryAfter: time.Second}, 5 * time.Second},
		{"asked to rest too long", 1, Result{HTTPStatus: 503, Code: CodeServerError, RetryAfter: time.Hour}, 15 * time.Minute},
		{"asks without right", 1, Result{HTTPStatus: 500, Code: CodeServerError, RetryAfter: time.Hour}, 5 * time.Second},
		{"asks at the end", 4, Result{HTTPStatus: 429, Code: CodeRateLimited, RetryAfter: time.Minute}, 0},
	} {
		wait, again := p.next(c.count, c.result)
		if again != (c.wait > 0) || wait < c.wait || wait > min(c.wait+c.wait/10, maxRetryAfter) {
			t.Errorf("%s: %v, %v; want %v", c.name, wait, again, c.wait)
		}
	}
}

func TestCodeOf(t *testing.T) {
	for status, want := range map[int]Code{200: "", 202: "", 204: "", 299: "", 301: CodeRedirect, 304: CodeRedirect, 400: CodeClientError,
		404: CodeClientError, 408: CodeClientError, 410: CodeGone, 429: CodeRateLimited, 500: CodeServerError, 503: CodeServerError, 599: CodeServerError} {
		if got := CodeOf(status); got != want {
			t.Errorf("%d: %q, want %q", status, got, want)
		}
	}
}
