package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// edge is the public door. ServeHTTP holds the order of checks of each surface.
type edge struct {
	router     *router
	guard      *guard
	proxy      *proxy
	pages      *pages
	once       *once
	signer     *passport.Signer
	operator   *[sha256.Size]byte // digest of the token; nil: no operator surface
	discovery  []byte
	docs       map[string]*page // by path
	log        *slog.Logger
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator
	seconds    *prometheus.HistogramVec
}

// ServeHTTP implements http.Handler.
func (e *edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := e.open(w, r)
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

// serveLegacy checks in the order of the legacy interface: path, method override,
// OPTIONS, method, key, rate.
func (e *edge) serveLegacy(v *visit) {
	route, path := v.found.route, v.found.legacy
	if route == nil {
		e.refuse(v, nothingHere())
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
	caller, err := e.guard.admit(v.ctx, v.request.Header, route.Auth)
	if err != nil {
		e.refuse(v, err)
		return
	}
	v.organization = caller.credential.Organization
	e.forward(v, e.guard.passport(caller, route.Service, passport.Legacy))
}

// serveApp checks in the order of the App interface: key and rate before anything
// else, then path, then method.
func (e *edge) serveApp(v *visit) {
	caller, err := e.guard.admit(v.ctx, v.request.Header, AuthBearer)
	if err != nil {
		e.refuse(v, err)
		return
	}
	v.organization = caller.credential.Organization
	if v.found.pattern == "" {
		e.refuse(v, nothingHere())
		return
	}
	route := v.found.route
	if route == nil {
		e.refuseMethod(v)
		return
	}
	token := e.guard.passport(caller, route.Service, passport.App)
	if key, sent := idempotencyKey(v.request); sent {
		e.forwardOnce(v, caller, token, key)
		return
	}
	e.forward(v, token)
}

// serveOperator serves the installation's owner, when there is a token for it.
func (e *edge) serveOperator(v *visit) {
	if e.operator == nil {
		e.refuse(v, nothingHere())
		return
	}
	if !isOperator(v.request.Header, *e.operator) {
		e.refuse(v, fault.New(fault.Denied, "not the operator"))
		return
	}
	route := v.found.route
	if route == nil {
		e.refuse(v, nothingHere())
		return
	}
	e.forward(v, e.signer.Sign(passport.Passport{Audience: route.Service, Surface: passport.Operator}))
}

// servePublic serves what needs no key: the dashboards' lists, the interfaces'
// documents, and the pages behind links in mail, which no script is to read.
func (e *edge) servePublic(v *visit) {
	if v.found.pattern == "" {
		e.refuse(v, nothingHere())
		return
	}
	if route := v.found.route; route != nil && route.Service == subscribers {
		e.forward(v, e.signer.Sign(passport.Passport{Audience: route.Service, Surface: passport.Public}))
		return
	}
	v.Header().Set("Access-Control-Allow-Origin", "*")
	if v.found.route == nil {
		e.refuseMethod(v)
		return
	}
	if v.found.route.Service == "" {
		e.docs[v.found.pattern].write(v, v.request)
		return
	}
	e.servePage(v)
}

func (e *edge) refuseMethod(v *visit) {
	v.Header().Set("Allow", strings.Join(v.found.allow, ", "))
	e.refuse(v, fault.New(fault.Method, "The path does not have this method."))
}

func nothingHere() error { return fault.New(fault.NotFound, "There is nothing at this path.") }

// forward passes the request on to its route's service and the answer back.
func (e *edge) forward(v *visit, token string) {
	body, size, err := boundedBody(v.request)
	if err != nil {
		e.refuse(v, err)
		return
	}
	ctx, cancel := context.WithTimeout(v.ctx, upstreamTimeout)
	defer cancel()
	out := sending{method: v.request.Method, service: v.found.route.Service, passport: token, body: body, bodySize: size}
	if v.bare {
		out.method, out.body, out.bodySize = http.MethodHead, nil, 0
	}
	answer, err := e.proxy.send(ctx, v.request, v.id, out)
	if err != nil {
		e.refuse(v, err)
		return
	}
	e.proxy.relay(v, answer)
}

// boundedBody is the request's body within the bound. One of unknown length is read
// here, so that a service never gets the first part of one that is too large.
func boundedBody(r *http.Request) (io.ReadCloser, int64, error) {
	switch {
	case r.ContentLength > maxBody:
		return nil, 0, tooLarge()
	case r.ContentLength >= 0:
		return r.Body, r.ContentLength, nil
	}
	body, err := readBody(r)
	return io.NopCloser(bytes.NewReader(body)), int64(len(body)), err
}

// readBody reads the whole of a body within the bound.
func readBody(r *http.Request) ([]byte, error) {
	if r.ContentLength > maxBody {
		return nil, tooLarge()
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "The body broke off.")
	}
	if len(body) > maxBody {
		return nil, tooLarge()
	}
	return body, nil
}

// open begins a visit: its id, its row, its span. The span is made here and not by
// otelhttp, which knows no route until the handler has run and costs as much as all
// the checks together.
func (e *edge) open(w http.ResponseWriter, r *http.Request) *visit {
	v := &visit{ResponseWriter: w, request: r, start: time.Now(), found: e.router.find(r)}
	v.bare = v.found.surface == passport.Legacy && r.Method == http.MethodPost && legacy.Method(r) == http.MethodHead
	id, sent := requestID(r.Header)
	if !sent {
		id = rand.Text()
	}
	v.id = id
	w.Header()["X-Request-Id"] = []string{id}
	ctx := r.Context()
	if len(r.Header["Traceparent"]) > 0 {
		ctx = e.propagator.Extract(ctx, propagation.HeaderCarrier(r.Header))
	}
	v.ctx, v.span = e.tracer.Start(ctx, spanName(v), trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(v.start))
	return v
}

func spanName(v *visit) string {
	if v.found.pattern == "" {
		return knownMethod(v.request.Method)
	}
	return knownMethod(v.request.Method) + " " + v.found.pattern
}

// close ends a visit: its span, its line in the log, its measure. A panic is answered
// 500 and logged; http.ErrAbortHandler goes on to the server.
func (e *edge) close(v *visit) {
	failure := recover()
	if failure != nil && failure != http.ErrAbortHandler {
		e.log.ErrorContext(v.ctx, "panic", "cause", fmt.Sprint(failure), "stack", string(debug.Stack()))
		if v.status == 0 {
			e.refuse(v, fmt.Errorf("panic: %v", failure))
			failure = nil
		}
	}
	route, took := v.found.pattern, time.Since(v.start)
	if route == "" {
		route = "none"
	}
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
	e.log.LogAttrs(v.ctx, slog.LevelInfo, "request", slog.String("method", knownMethod(v.request.Method)), slog.String("route", route),
		slog.Int("status", v.status), slog.Int64("us", took.Microseconds()),
		slog.String("organization", v.organization), slog.String("request_id", v.id))
	if failure != nil || v.status == statusGone {
		panic(http.ErrAbortHandler) // an unwritten answer would be taken for an empty 200
	}
}

// knownMethod keeps invented method names out of metrics and traces.
func knownMethod(name string) string {
	switch name {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return name
	}
	return "other"
}
