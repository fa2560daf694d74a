package gateway

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	tries "github.com/bellbuoy/bellbuoy/libs/quota"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// edge handles all requests. The serve functions contain the order of checks of each
// surface.
type edge struct {
	router     *router
	guard      *guard
	proxy      *proxy
	pages      *pages
	front      *front
	entries    seal.Tickets // of visitors who have entered the password of a dashboard
	once       *once
	signer     *passport.Signer
	proxies    proxies
	operator   string         // the token; empty: there is no operator surface
	tries      *tries.Counter // of wrong operator tokens
	discovery  []byte
	docs       map[string]*page // by path
	log        *slog.Logger
	tracer     trace.Tracer
	traceRatio float64 // of the requests with a traceparent
	propagator propagation.TextMapPropagator
	seconds    *prometheus.HistogramVec
}

// ServeHTTP implements http.Handler. net/http calls it.
func (e *edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.serve(w, r, e.router.find(r))
}

// read returns the handler of a request that package reads can serve: one for a file of a dashboard. Else it returns nil.
func (e *edge) read(r *http.Request) http.Handler {
	found := e.router.find(r)
	if found.route == nil || found.route.file == nil || found.route.file.kind == fileEnter || found.route.file.kind == fileForm {
		return nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { e.serve(w, r, found) })
}

func (e *edge) serve(w http.ResponseWriter, r *http.Request, found found) {
	v := e.open(w, r, found)
	defer e.close(v)
	switch v.found.surface {
	case passport.Legacy:
		e.serveLegacy(v)
	case passport.App:
		e.serveApp(v)
	case passport.Operator:
		e.serveOperator(v)
	default:
		e.servePublic(v)
	}
}

// serveLegacy checks in this order: path, method override, OPTIONS, method, key, rate.
func (e *edge) serveLegacy(v *visit) {
	route, path := v.found.route, v.found.legacy
	if route == nil {
		e.refuse(v, unknownPath())
		return
	}
	if method := legacy.Method(v.request); method == http.MethodOptions || !path.Allows(method) {
		legacy.WriteNotAllowed(v, v.request, path)
		return
	}
	if route.Service == "" {
		v.Header().Set("Cache-Control", "no-cache")
		v.Header().Set("Vary", "Accept")
		legacy.WriteJSON(v, v.request, http.StatusOK, e.discovery)
		return
	}
	if caller := e.admit(v, peer.APIKey); caller != nil {
		e.forward(v, e.guard.passport(caller, route.Service, passport.Legacy, v.ip))
	}
}

// admit returns the caller of the request. If the guard refuses the request, admit writes
// the error and returns nil.
func (e *edge) admit(v *visit, scheme peer.Scheme) *caller {
	caller, err := e.guard.admit(v.ctx, v.request.Header, scheme)
	if err != nil {
		e.refuse(v, err)
		return nil
	}
	v.organization = caller.credential.Organization
	return caller
}

// serveApp checks in this order: key, rate, path, method.
func (e *edge) serveApp(v *visit) {
	caller := e.admit(v, peer.Bearer)
	if caller == nil {
		return
	}
	if route := e.knownRoute(v); route != nil {
		e.forwardOperation(v, e.guard.passport(caller, route.Service, passport.App, v.ip), caller)
	}
}

// serveOperator checks in this order: whether there is a token, token, path, method.
func (e *edge) serveOperator(v *visit) {
	if e.operator == "" {
		e.refuse(v, unknownPath())
		return
	}
	if err := e.admitOperator(v.ctx, v.request.Header, v.ip); err != nil {
		e.refuse(v, err)
		return
	}
	if route := e.knownRoute(v); route != nil {
		token := e.signer.Sign(passport.Passport{Audience: route.Service, Surface: passport.Operator, IP: v.ip})
		e.forwardOperation(v, token, nil)
	}
}

// servePublic serves everything that needs no key: the paths of dashboards, the page of the
// platform, the documents of the interfaces, the forms and pages of visitors, and inbound webhooks. Scripts of other
// sites may read the documents.
func (e *edge) servePublic(v *visit) {
	switch rows := v.found.rows; {
	case len(rows) == 0 && (v.found.ownHost || firstSegment(v.request.URL.Path) == "d"):
		e.serveUnknown(v)
		return
	case len(rows) > 0 && v.found.route == nil && rows[0].file != nil:
		e.serveWrongMethod(v)
		return
	case len(rows) > 0 && e.docs[rows[0].Path] != nil:
		v.Header()["Access-Control-Allow-Origin"] = everyOrigin
	}
	route := e.knownRoute(v)
	switch {
	case route == nil:
	case route.file != nil:
		e.serveDashboard(v, route.file)
	case route.Service == "" && e.docs[route.Path] == nil:
		e.serveFront(v)
	case route.Service == "":
		e.docs[route.Path].write(v, v.request)
	default:
		e.forward(v, e.publicPassport(v))
	}
}

// publicPassport returns the passport of a visitor for the service of the route.
func (e *edge) publicPassport(v *visit) string {
	return e.signer.Sign(passport.Passport{Audience: v.found.route.Service, Surface: passport.Public, IP: v.ip})
}

// knownRoute returns the row of the request. If there is none, it refuses the request and
// returns nil.
func (e *edge) knownRoute(v *visit) *Route {
	switch {
	case len(v.found.rows) == 0:
		e.refuse(v, unknownPath())
	case v.found.route == nil:
		e.refuseMethod(v)
	}
	return v.found.route
}

func (e *edge) refuseMethod(v *visit) {
	v.Header().Set("Allow", v.found.allow())
	e.refuse(v, fault.New(fault.Method, "The path does not have this method."))
}

func unknownPath() error { return fault.New(fault.NotFound, "There is nothing at this path.") }

// forwardOperation forwards the request, at most once if the operation takes an
// Idempotency-Key and the request has one. The caller is nil on the operator surface.
func (e *edge) forwardOperation(v *visit, token string, caller *caller) {
	if v.found.route.Once {
		if key := v.request.Header.Get(idempotencyHeader); key != "" {
			e.forwardOnce(v, token, caller.owner(), key)
			return
		}
	}
	e.forward(v, token)
}

// forward forwards the request to the service of its route, and the response to the client.
func (e *edge) forward(v *visit, token string) {
	body, err := readBody(v.request)
	if err != nil {
		e.refuse(v, err)
		return
	}
	e.forwardBody(v, token, body)
}

// forwardBody forwards the request with a body that was read.
func (e *edge) forwardBody(v *visit, token string, body []byte) {
	ctx, cancel := context.WithTimeout(v.ctx, upstreamTimeout)
	defer cancel()
	out := outgoing{method: v.request.Method, service: v.found.route.Service, passport: token, body: body, ip: v.ip, scheme: v.scheme}
	if v.bare {
		out.method, out.body = http.MethodHead, nil
	}
	response, err := e.proxy.send(ctx, v.request, v.id, out)
	if err != nil {
		e.refuse(v, err)
		return
	}
	e.proxy.relay(v, response)
}

// readBody returns the whole body, or an error if it is too large. The gateway reads a body
// before it connects to a service, so a client that sends slowly or breaks off does not
// occupy a service.
func readBody(r *http.Request) ([]byte, error) {
	if r.ContentLength == 0 {
		return nil, nil
	}
	var body []byte
	var err error
	if r.ContentLength <= maxBody {
		body, err = io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	}
	switch {
	case err != nil:
		return nil, fault.Wrap(fault.Invalid, err, "The body is shorter than its Content-Length.")
	case r.ContentLength > maxBody || len(body) > maxBody:
		return nil, fault.New(fault.TooLarge, "The body must be at most %d bytes.", maxBody)
	}
	return body, nil
}

// open begins a visit: it sets the id and starts the span. It does not use
// otelhttp, which has no route until the handler returns, and costs as much as all the
// checks together.
func (e *edge) open(w http.ResponseWriter, r *http.Request, found found) *visit {
	v := &visit{ResponseWriter: w, request: r, start: time.Now(), found: found}
	v.bare = v.found.surface == passport.Legacy && r.Method == http.MethodPost && legacy.Method(r) == http.MethodHead
	v.id = requestID(r.Header)
	v.ip, v.scheme = e.proxies.client(r)
	w.Header()["X-Request-Id"] = []string{v.id}
	ctx := r.Context()
	if len(r.Header["Traceparent"]) > 0 {
		ctx = e.traceOf(ctx, r.Header)
	}
	name := strings.TrimSpace(knownMethod(r.Method) + " " + v.found.pattern())
	v.ctx, v.span = e.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(v.start))
	return v
}

// traceOf returns ctx in the trace of the client (W3C Trace Context), so that both sides find the request by one trace id.
// The client's sampled flag and tracestate are ignored. The decision is random: the client selects the trace id, so a
// decision by the id would let any client have all its traces sent.
func (e *edge) traceOf(ctx context.Context, header http.Header) context.Context {
	client := trace.SpanContextFromContext(e.propagator.Extract(ctx, propagation.HeaderCarrier(header)))
	return trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: client.TraceID(), SpanID: client.SpanID(), TraceFlags: trace.TraceFlags(0).WithSampled(rand.Float64() < e.traceRatio),
	}))
}

// close ends a visit: it ends the span, writes the line of the log and observes the time.
// A panic gets 500 and is logged. http.ErrAbortHandler is passed to the server.
func (e *edge) close(v *visit) {
	failure := recover()
	if failure != nil && failure != http.ErrAbortHandler {
		e.log.ErrorContext(v.ctx, "panic", "cause", fmt.Sprint(failure), "stack", string(debug.Stack()))
		if v.status == 0 {
			e.refuse(v, fmt.Errorf("panic: %v", failure))
			failure = nil
		}
	}
	route, took := cmp.Or(v.found.pattern(), "none"), time.Since(v.start)
	if v.span.IsRecording() {
		v.span.SetAttributes(
			attribute.String("http.request.method", knownMethod(v.request.Method)), attribute.String("http.route", route),
			attribute.Int("http.response.status_code", v.status), attribute.String("bellbuoy.organization", v.organization),
			attribute.String("bellbuoy.request_id", v.id))
		if v.status >= http.StatusInternalServerError {
			v.span.SetStatus(codes.Error, http.StatusText(v.status))
		}
	}
	v.span.End()
	e.seconds.WithLabelValues(knownMethod(v.request.Method), route, strconv.Itoa(v.status)).Observe(took.Seconds())
	level := slog.LevelInfo
	if v.found.route != nil && v.found.route.file != nil && v.status < http.StatusBadRequest {
		level = slog.LevelDebug // the metric counts them. A line for each visitor would be most of the log, and a tenth of the time
	}
	e.log.LogAttrs(v.ctx, level, "request", slog.String("method", knownMethod(v.request.Method)), slog.String("route", route),
		slog.Int("status", v.status), slog.Int64("us", took.Microseconds()),
		slog.String("organization", v.organization), slog.String("request_id", v.id))
	if failure != nil || v.status == statusGone {
		panic(http.ErrAbortHandler) // without a panic, the server would send an empty 200
	}
}

// knownMethod returns the method, or "other" for an unknown one, so that clients cannot
// add values to metrics and traces.
func knownMethod(name string) string {
	switch name {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return name
	}
	return "other"
}
