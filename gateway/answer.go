package gateway

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"go.opentelemetry.io/otel/trace"
)

// statusGone is what the log and the metrics say of a request whose client did not
// wait for the answer.
const statusGone = 499

// visit is one request on its way through the gateway, and the writer of its answer.
type visit struct {
	http.ResponseWriter
	ctx          context.Context // with the request's span
	request      *http.Request
	start        time.Time
	span         trace.Span
	id           string // X-Request-Id
	found        found
	organization string
	status       int
	// bare is set for a POST that the legacy interface takes for a HEAD: its client
	// waits for a body as any POST's does, so it is told that there is none.
	bare bool
}

// WriteHeader notes the status for the log.
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

// Unwrap is for http.ResponseController.
func (v *visit) Unwrap() http.ResponseWriter { return v.ResponseWriter }

// refuse answers with an error in the form of the interface: a Denied or throttled
// one without a body on both, the others with {"error": "..."}.
func (e *edge) refuse(v *visit, err error) {
	if errors.Is(err, context.Canceled) && v.request.Context().Err() != nil {
		v.status = statusGone
		return
	}
	if late, ok := errors.AsType[throttled](err); ok {
		v.Header().Set("Retry-After", strconv.Itoa(seconds(late.retry)))
		err = fault.Wrap(fault.Denied, err, "beyond the rate")
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
		e.log.ErrorContext(v.ctx, "request failed", "route", v.found.pattern, "status", status, "error", err.Error())
	}
	body, failed := legacy.Encode(struct {
		Error string `json:"error"`
	}{f.Message})
	if failed != nil {
		panic(failed) // a string can be encoded
	}
	v.Header().Set("Content-Type", "application/json")
	v.Header().Set("Content-Length", strconv.Itoa(len(body)))
	v.WriteHeader(status)
	_, _ = v.Write(body) // the server drops a HEAD's; a client that is gone needs none
}

// requestID is the client's own, when it is one: at most 128 visible ASCII characters.
func requestID(header http.Header) (string, bool) {
	values := header["X-Request-Id"]
	if len(values) != 1 || values[0] == "" || len(values[0]) > 128 {
		return "", false
	}
	for _, c := range []byte(values[0]) {
		if c <= ' ' || c > '~' {
			return "", false
		}
	}
	return values[0], true
}
