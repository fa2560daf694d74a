package gateway

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/gateway/internal/dashboards"
	"github.com/bellbuoy/bellbuoy/gateway/internal/message"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	tries "github.com/bellbuoy/bellbuoy/libs/quota"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// edge handles all requests. Each serve method states the order of checks for one surface.
type edge struct {
	router      *router
	guard       *guard
	proxy       *proxy
	console     *consoleRules
	dashboards  *dashboards.Dashboards
	front       *front
	idempotency *idempotency
	signer      *passport.Signer
	proxies     proxies
	operator    string         // operator token; empty: there is no operator surface
	tries       *tries.Counter // counts wrong operator tokens
	discovery   []byte
	docs        map[string]*message.Response // by path
	log         *slog.Logger
	tracer      trace.Tracer
	traceRatio  float64 // share of the requests with a traceparent header that are traced
	propagator  propagation.TextMapPropagator
	seconds     *prometheus.HistogramVec
}

// ServeHTTP implements http.Handler. It serves the requests that package readserver does not serve.
func (e *edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.serve(w, r, e.router.find(r))
}

// read returns the handler of a request for a file of a dashboard. It returns nil for every other request, so net/http
// serves that request.
func (e *edge) read(r *http.Request) http.Handler {
	found := e.router.find(r)
	if found.route == nil || found.route.file == nil || found.route.file.IsForm() {
		return nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { e.serve(w, r, found) })
}

func (e *edge) serve(w http.ResponseWriter, r *http.Request, found found) {
	request := e.open(w, r, found)
	defer e.close(request)
	switch found.surface {
	case passport.Legacy:
		e.serveLegacy(request)
	case passport.App:
		e.serveApp(request)
	case passport.Operator:
		e.serveOperator(request)
	case passport.Console:
		e.serveConsole(request)
	default:
		e.servePublic(request)
	}
}

// serveLegacy serves the legacy interface. It checks in this order: path, method override, OPTIONS, method, key, rate.
func (e *edge) serveLegacy(r *request) {
	route, path := r.found.route, r.found.legacy
	if route == nil {
		r.Refuse(message.UnknownPath())
		return
	}
	if method := legacy.Method(r.in); method == http.MethodOptions || !path.Allows(method) {
		legacy.WriteNotAllowed(r, r.in, path)
		return
	}
	if route.Service == "" {
		r.Header().Set("Cache-Control", "no-cache")
		r.Header().Set("Vary", "Accept")
		legacy.WriteJSON(r, r.in, http.StatusOK, e.discovery)
		return
	}
	if caller := e.admit(r, peer.APIKey); caller != nil {
		e.forward(r, e.guard.passport(caller, route.Service, passport.Legacy, r.ip))
	}
}

// admit returns the caller of the request. If the guard refuses the request, admit writes the error response and
// returns nil.
func (e *edge) admit(r *request, scheme peer.Scheme) *caller {
	key, ok := readKey(r.in.Header, scheme)
	if !ok {
		r.Refuse(fault.New(fault.Denied, "The request has no key."))
		return nil
	}
	caller, err := e.guard.admit(r.ctx, key)
	if err != nil {
		r.Refuse(err)
		return nil
	}
	r.organization = caller.credential.Organization
	return caller
}

// serveApp serves the App interface. It checks in this order: key, rate, path, method.
func (e *edge) serveApp(r *request) {
	caller := e.admit(r, peer.Bearer)
	if caller == nil {
		return
	}
	if route := e.knownRoute(r); route != nil {
		e.forwardOperation(r, e.guard.passport(caller, route.Service, passport.App, r.ip), caller)
	}
}

// serveOperator serves the operator interface. It checks in this order: whether an operator token is set, the token of
// the request, path, method.
func (e *edge) serveOperator(r *request) {
	if e.operator == "" {
		r.Refuse(message.UnknownPath())
		return
	}
	if err := e.admitOperator(r.ctx, r.in.Header, r.ip); err != nil {
		r.Refuse(err)
		return
	}
	if route := e.knownRoute(r); route != nil {
		token := e.signer.Sign(passport.Passport{Audience: route.Service, Surface: passport.Operator, IP: r.ip})
		e.forwardOperation(r, token, nil)
	}
}

// servePublic serves every path that needs no key: dashboards, the page of the platform, the OpenAPI documents, the
// forms and pages for visitors, and inbound webhooks. Scripts of other sites may read the documents.
func (e *edge) servePublic(r *request) {
	switch rows := r.found.rows; {
	case len(rows) == 0 && (r.found.ownHost || firstSegment(r.in.URL.Path) == "d"):
		e.dashboards.Serve(r.visit(nil))
		return
	case len(rows) > 0 && r.found.route == nil && rows[0].file != nil:
		e.dashboards.RefuseMethod(r.visit(rows[0].file))
		return
	case len(rows) > 0 && e.docs[rows[0].Path] != nil:
		r.Header().Set("Access-Control-Allow-Origin", "*")
	}
	route := e.knownRoute(r)
	switch {
	case route == nil:
	case route.file != nil:
		e.dashboards.Serve(r.visit(route.file))
	case route.Service == "" && e.docs[route.Path] == nil:
		e.serveFront(r)
	case route.Service == "":
		e.docs[route.Path].Write(r, r.in)
	default:
		e.forward(r, e.publicPassport(r))
	}
}

// publicPassport returns a passport of an anonymous visitor for the service of the route.
func (e *edge) publicPassport(r *request) string {
	return e.signer.Sign(passport.Passport{Audience: r.found.route.Service, Surface: passport.Public, IP: r.ip})
}

// knownRoute returns the route of the request. If there is none, it refuses the request and returns nil.
func (e *edge) knownRoute(r *request) *Route {
	switch {
	case len(r.found.rows) == 0:
		r.Refuse(message.UnknownPath())
	case r.found.route == nil:
		r.RefuseMethod()
	}
	return r.found.route
}

// forwardOperation forwards the request. If the operation accepts an Idempotency-Key and the request has such a key,
// requests with the key are forwarded at most once. caller is nil on the operator surface.
func (e *edge) forwardOperation(r *request, token string, caller *caller) {
	if r.found.route.Idempotent {
		if key := r.in.Header.Get(idempotencyHeader); key != "" {
			e.forwardIdempotent(r, token, caller.owner(), key)
			return
		}
	}
	e.forward(r, token)
}

// forward sends the request to the service of its route, and sends the response of the service to the client.
func (e *edge) forward(r *request, token string) {
	e.forwardWithin(r, token, cmp.Or(r.found.route.MaxBody, message.MaxBody))
}

// forwardWithin is forward with the limit most for the body, in bytes.
func (e *edge) forwardWithin(r *request, token string, most int64) {
	body, err := message.BodyWithin(r.in, most)
	if err != nil {
		r.Refuse(err)
		return
	}
	e.forwardBody(r, token, body)
}

// forwardBody is forward with a body that was already read.
func (e *edge) forwardBody(r *request, token string, body []byte) {
	ctx, cancel := context.WithCancelCause(r.ctx)
	defer cancel(nil)
	late := time.AfterFunc(upstreamTimeout, func() { cancel(context.DeadlineExceeded) })
	defer late.Stop()
	out := outgoing{method: r.in.Method, service: r.found.route.Service, passport: token, body: body, ip: r.ip, scheme: r.scheme, authorized: r.found.route.Authorized, arrival: e.arrival(r)}
	if r.bare {
		out.method, out.body = http.MethodHead, nil
	}
	response, err := e.proxy.send(ctx, r.in, r.id, out)
	if err != nil {
		r.Refuse(err)
		return
	}
	if response.Header.Get(passport.Stream) != "" {
		e.proxy.stream(r, response, late)
		return
	}
	e.proxy.relay(r, response)
}

// open begins a request: it sets the request id and starts the span. It does not use otelhttp, which knows no route
// before the handler returns and costs as much as all checks together.
func (e *edge) open(w http.ResponseWriter, in *http.Request, found found) *request {
	r := &request{ResponseWriter: w, edge: e, in: in, start: time.Now(), found: found}
	r.bare = found.surface == passport.Legacy && in.Method == http.MethodPost && legacy.Method(in) == http.MethodHead
	r.id = requestID(in.Header)
	r.ip, r.scheme = e.proxies.client(in)
	w.Header()["X-Request-Id"] = []string{r.id}
	ctx := in.Context()
	if len(in.Header["Traceparent"]) > 0 {
		ctx = e.traceOf(ctx, in.Header)
	}
	name := strings.TrimSpace(knownMethod(in.Method) + " " + found.pattern())
	r.ctx, r.span = e.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(r.start))
	return r
}

// traceOf returns ctx with the trace id that the client sent (W3C Trace Context), so client and platform find the
// request by the same id. It ignores the client's sampled flag and tracestate. Whether the trace is sampled is decided
// at random and not by the id, because the client chooses the id and could select ids that are always sampled.
func (e *edge) traceOf(ctx context.Context, header http.Header) context.Context {
	client := trace.SpanContextFromContext(e.propagator.Extract(ctx, propagation.HeaderCarrier(header)))
	return trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: client.TraceID(), SpanID: client.SpanID(), TraceFlags: trace.TraceFlags(0).WithSampled(rand.Float64() < e.traceRatio),
	}))
}

// close ends a request: it ends the span, writes a log line and observes the duration. After a panic it responds 500
// and logs the panic. If no response can be sent any more, it panics with http.ErrAbortHandler, so the server closes the
// connection.
func (e *edge) close(r *request) {
	failure := recover()
	if failure != nil && failure != http.ErrAbortHandler {
		e.log.ErrorContext(r.ctx, "panic", "cause", fmt.Sprint(failure), "stack", string(debug.Stack()))
		if r.status == 0 {
			r.Refuse(fmt.Errorf("panic: %v", failure))
			failure = nil
		}
	}
	route, took := cmp.Or(r.found.pattern(), "none"), time.Since(r.start)
	if r.span.IsRecording() {
		r.span.SetAttributes(
			attribute.String("http.request.method", knownMethod(r.in.Method)), attribute.String("http.route", route),
			attribute.Int("http.response.status_code", r.status), attribute.String("bellbuoy.organization", r.organization),
			attribute.String("bellbuoy.request_id", r.id))
		if r.status >= http.StatusInternalServerError {
			r.span.SetStatus(codes.Error, http.StatusText(r.status))
		}
	}
	r.span.End()
	e.seconds.WithLabelValues(knownMethod(r.in.Method), route, strconv.Itoa(r.status)).Observe(took.Seconds())
	level := slog.LevelInfo
	if r.found.route != nil && r.found.route.file != nil && r.status < http.StatusBadRequest {
		level = slog.LevelDebug // the metric counts visits; a log line for each would be most of the log and take a tenth of the time
	}
	e.log.LogAttrs(r.ctx, level, "request", slog.String("method", knownMethod(r.in.Method)), slog.String("route", route),
		slog.Int("status", r.status), slog.Int64("us", took.Microseconds()),
		slog.String("organization", r.organization), slog.String("request_id", r.id))
	if failure != nil || r.status == statusGone {
		panic(http.ErrAbortHandler) // without a panic, the server would send an empty 200
	}
}

// knownMethod returns the method, or "other" for an unknown method, so that clients cannot add values to metrics and
// traces.
func knownMethod(name string) string {
	switch name {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return name
	}
	return "other"
}
