package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"go.opentelemetry.io/otel/trace"
)

// statusGone is the status in the log and the metrics of a request whose client left
// before the response.
const statusGone = 499

// visit is one request in the gateway, and the writer of its response.
type visit struct {
	http.ResponseWriter
	ctx          context.Context // with the request's span
	request      *http.Request
	start        time.Time
	span         trace.Span
	id           string // X-Request-Id
	ip, scheme   string // of the client's request, see proxies
	found        found
	organization string
	status       int
	// bare is set for a POST that the legacy interface treats as a HEAD. Its client reads a
	// body as after any POST, so the response states a length of 0.
	bare bool
}

// WriteHeader implements http.ResponseWriter. It keeps the status for the log.
func (v *visit) WriteHeader(status int) {
	if v.bare {
		v.Header().Set("Content-Length", "0")
	}
	if v.status == 0 || v.status < 200 {
		v.status = status
	}
	v.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (v *visit) Write(data []byte) (int, error) {
	if v.status == 0 {
		v.WriteHeader(http.StatusOK)
	}
	if v.bare {
		return len(data), nil
	}
	return v.ResponseWriter.Write(data)
}

// Unwrap lets http.ResponseController find the server's writer.
func (v *visit) Unwrap() http.ResponseWriter { return v.ResponseWriter }

// refuse writes an error in the form of the interface. A Denied or throttled error has no
// body. Any other error is {"error": "..."}.
func (e *edge) refuse(v *visit, err error) {
	if errors.Is(err, context.Canceled) && v.request.Context().Err() != nil {
		v.status = statusGone
		return
	}
	if late, ok := errors.AsType[throttled](err); ok {
		v.Header().Set("Retry-After", strconv.Itoa(seconds(late.retry)))
		err = fault.Wrap(fault.Denied, err, "The rate limit is exceeded.")
	}
	f := fault.As(err)
	if f.Kind == fault.Unavailable {
		v.Header().Set("Retry-After", "1")
	}
	switch {
	case v.found.surface == passport.Legacy:
		legacy.WriteError(v, v.request, e.log, err)
		return
	case f.Kind == fault.Denied:
		v.Header().Set("Content-Length", "0")
		v.WriteHeader(http.StatusForbidden)
		return
	}
	status := f.Kind.Status()
	if status >= http.StatusInternalServerError {
		e.log.ErrorContext(v.ctx, "request failed", "route", v.found.pattern(), "status", status, "error", err.Error())
	}
	body, _ := legacy.Encode(struct { // a string can be encoded
		Error string `json:"error"`
	}{f.Message})
	v.Header().Set("Content-Type", "application/json")
	v.Header().Set("Content-Length", strconv.Itoa(len(body)))
	v.WriteHeader(status)
	_, _ = v.Write(body) // fails only if the client has left; the server drops the body of a HEAD
}

// requestID returns the X-Request-Id of the client if it is 1 to 128 visible ASCII
// characters, else a new one.
func requestID(header http.Header) string {
	values := header["X-Request-Id"]
	unusual := func(c rune) bool { return c <= ' ' || c > '~' }
	if len(values) != 1 || values[0] == "" || len(values[0]) > 128 || strings.ContainsFunc(values[0], unusual) {
		return rand.Text()
	}
	return values[0]
}
