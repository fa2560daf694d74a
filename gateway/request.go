package gateway

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/gateway/internal/dashboards"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"go.opentelemetry.io/otel/trace"
)

// statusGone is logged and counted as the status of a request whose client left before the response.
const statusGone = 499

var noStore = []string{"no-store"}

// request is a request to the gateway, and the writer of its response.
type request struct {
	http.ResponseWriter
	edge         *edge
	ctx          context.Context // with the request's span
	in           *http.Request   // the client's request
	start        time.Time
	span         trace.Span
	id           string // X-Request-Id
	ip, scheme   string // address of the client and scheme of its request, see proxies
	found        found
	organization string
	status       int
	// bare is set for a POST that the legacy interface treats as a HEAD. The response then has no body and a
	// Content-Length of 0, because the client expects a body after a POST.
	bare bool
}

// WriteHeader implements http.ResponseWriter. It keeps the status for the log. It sets no-store for a response without
// Cache-Control. Such a response may be for the owner of a key only, or may be an error with a status that caches store.
func (r *request) WriteHeader(status int) {
	if header := r.Header(); len(header["Cache-Control"]) == 0 {
		header["Cache-Control"] = noStore
	}
	if r.bare {
		r.Header().Set("Content-Length", "0")
	}
	if r.status == 0 || r.status < 200 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *request) Write(data []byte) (int, error) {
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	if r.bare {
		return len(data), nil
	}
	return r.ResponseWriter.Write(data)
}

// Unwrap returns the writer of the server to http.ResponseController.
func (r *request) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Refuse writes an error response. The legacy interface and the console have their own forms of errors. On the other surfaces, a
// Denied or Throttled error has no body, and other errors have the body {"error": "..."}. If the client has left, Refuse
// writes nothing.
func (r *request) Refuse(err error) {
	if errors.Is(err, context.Canceled) && r.in.Context().Err() != nil {
		r.status = statusGone
		return
	}
	if late, ok := errors.AsType[fault.Throttled](err); ok {
		r.Header().Set("Retry-After", strconv.Itoa(seconds(late.Wait)))
		err = fault.Wrap(fault.Denied, err, "The rate limit is exceeded.")
	}
	f := fault.As(err)
	if f.Kind == fault.Unavailable {
		r.Header().Set("Retry-After", "1")
	}
	switch {
	case r.found.surface == passport.Console:
		r.edge.refuseInConsole(r, err)
		return
	case r.found.surface == passport.Legacy:
		legacy.WriteError(r, r.in, r.edge.log, err)
		return
	case f.Kind == fault.Denied:
		r.Header().Set("Content-Length", "0")
		r.WriteHeader(http.StatusForbidden)
		return
	}
	status := f.Kind.Status()
	if status >= http.StatusInternalServerError {
		r.edge.log.ErrorContext(r.ctx, "request failed", "route", r.found.pattern(), "status", status, "error", err.Error())
	}
	body, _ := legacy.Encode(struct { // cannot fail for a string
		Error string `json:"error"`
	}{f.Message})
	r.Header().Set("Content-Type", "application/json")
	r.Header().Set("Content-Length", strconv.Itoa(len(body)))
	r.WriteHeader(status)
	_, _ = r.Write(body) // fails only if the client has left; the server drops the body of a HEAD
}

// RefuseMethod refuses a method that the path of the request does not allow.
func (r *request) RefuseMethod() {
	r.Header().Set("Allow", r.found.allow())
	r.Refuse(fault.New(fault.Method, "The path does not have this method."))
}

// visit returns the request as a visit to a dashboard. file is nil if dashboards have no such path.
func (r *request) visit(file *dashboards.File) dashboards.Visit {
	return dashboards.Visit{
		Visitor: r, Context: r.ctx, In: r.in, ID: r.id, IP: r.ip, OwnHost: r.found.ownHost, Route: r.found.pattern(), File: file,
	}
}

// Forward implements dashboards.Visitor. It sends the request with this body to the service of the route.
func (r *request) Forward(body []byte) { r.edge.forwardBody(r, r.edge.publicPassport(r), body) }

// Enter implements dashboards.Visitor. It posts a form to the events service.
func (r *request) Enter(path string, form []byte) (*http.Response, error) {
	in := r.in.Clone(r.ctx)
	in.URL.Path, in.URL.RawPath, in.URL.RawQuery = path, "", ""
	return r.edge.proxy.send(r.ctx, in, r.id, outgoing{
		method: http.MethodPost, service: events, passport: r.edge.publicPassport(r), body: form, ip: r.ip, scheme: r.scheme,
	})
}

// Relay implements dashboards.Visitor. It sends a response of a service to the client.
func (r *request) Relay(response *http.Response) { r.edge.proxy.relay(r, response) }

// requestID returns the X-Request-Id of the client if it has 1 to 128 visible ASCII characters, else a new id. An id need not
// be secret, so a new id costs no system call.
func requestID(header http.Header) string {
	values := header["X-Request-Id"]
	unusual := func(c rune) bool { return c <= ' ' || c > '~' }
	if len(values) != 1 || values[0] == "" || len(values[0]) > 128 || strings.ContainsFunc(values[0], unusual) {
		id := binary.LittleEndian.AppendUint64(make([]byte, 0, 16), rand.Uint64())
		return hex.EncodeToString(binary.LittleEndian.AppendUint64(id, rand.Uint64()))
	}
	return values[0]
}
