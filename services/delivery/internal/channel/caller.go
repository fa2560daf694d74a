package channel

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/outward"
	"github.com/bellbuoy/bellbuoy/libs/wire"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

const (
	userAgent      = "Bellbuoy-Delivery/1"
	maxAnswer      = 16 << 10 // bytes read of an answer's body
	maxHeader      = 16 << 10
	idlePerHost    = 256
	idleTotal      = 1024
	idleTimeout    = 30 * time.Second
	codeUnsendable = dispatch.Code("unsendable") // the destination lacks what a request is made of
)

// errBlocked is a connection that must not be made.
var errBlocked = errors.New("the address is not one to connect to")

// caller posts to receivers.
type caller struct {
	timeout    time.Duration
	wire       *wire.Client
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator
}

func newCaller(o Options) *caller {
	d := dialler{
		resolve: o.Resolve,
		exempt:  &net.Dialer{},
		guarded: &net.Dialer{Control: guard},
		secure:  &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(idleTotal)},
	}
	return &caller{
		timeout: o.Timeout, propagator: o.Propagator,
		tracer: o.Tracer.Tracer("github.com/bellbuoy/bellbuoy/services/delivery/internal/channel"),
		wire:   wire.New(wire.Options{Dial: d.dial, PerHost: idlePerHost, Total: idleTotal, Idle: idleTimeout, MaxHead: maxHeader}),
	}
}

// dialler connects to where the operator has placed a host, or to a public address.
type dialler struct {
	resolve         outward.Resolve
	exempt, guarded *net.Dialer
	secure          *tls.Config
}

// dial connects to a URL's host, and is sure of whom it has found there.
func (d dialler) dial(ctx context.Context, host string) (net.Conn, error) {
	name := strings.TrimSuffix(host, ":443")
	plain, err := d.connect(ctx, name+":443")
	if err != nil {
		return nil, err
	}
	config := d.secure.Clone()
	config.ServerName = strings.Trim(name, "[]")
	secured := tls.Client(plain, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = plain.Close() // it is of no use
		return nil, err
	}
	return secured, nil
}

func (d dialler) connect(ctx context.Context, address string) (net.Conn, error) {
	if target, placed := d.resolve.Lookup(address); placed {
		return d.exempt.DialContext(ctx, "tcp", target)
	}
	return d.guarded.DialContext(ctx, "tcp", address)
}

// guard is asked about the very address a socket is about to connect to.
func guard(_, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil || target.Port() != 443 || outward.Forbidden(target.Addr()) {
		return errBlocked
	}
	return nil
}

// post makes one attempt. No part of the URL but its host leaves this function: not in
// the result, not in the span.
func (c *caller) post(ctx context.Context, address string, header http.Header, body []byte) dispatch.Result {
	if address == "" {
		return dispatch.Result{Code: codeUnsendable}
	}
	target, err := url.Parse(address)
	if err != nil || !reachable(target) {
		return dispatch.Result{Code: dispatch.CodeBlocked}
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	ctx, span := c.tracer.Start(ctx, http.MethodPost, trace.WithSpanKind(trace.SpanKindClient))
	if span.IsRecording() {
		span.SetAttributes(semconv.HTTPRequestMethodPost, semconv.ServerAddress(target.Hostname()))
	}
	defer span.End()
	c.propagator.Inject(ctx, propagation.HeaderCarrier(header))
	result := c.send((&http.Request{Method: http.MethodPost, URL: target, Host: target.Host, Header: header}).WithContext(ctx), body)
	if span.IsRecording() {
		describe(span, result)
	}
	return result
}

// describe writes an answer into the attempt's span.
func describe(span trace.Span, result dispatch.Result) {
	if result.HTTPStatus > 0 {
		span.SetAttributes(semconv.HTTPResponseStatusCode(result.HTTPStatus))
	}
	if result.Code != "" {
		span.SetAttributes(attribute.String("error.type", string(result.Code)))
		span.SetStatus(codes.Error, string(result.Code))
	}
}

// reachable reports a URL of the only kind that endpoints may have.
func reachable(target *url.URL) bool {
	port := target.Port()
	return target.Scheme == "https" && target.Host != "" && target.User == nil && (port == "" || port == "443")
}

// send may send the request twice, when a kept connection breaks before an answer: as often as a later
// attempt would, and receivers tell it by its id.
func (c *caller) send(request *http.Request, body []byte) dispatch.Result {
	response, err := c.wire.Do(request, body, true)
	if err != nil {
		return dispatch.Result{Code: codeOf(request.Context(), err)}
	}
	defer response.Body.Close()
	// The status is the answer; the body is read only so that the connection can be used again.
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswer+1)
	return dispatch.Result{
		HTTPStatus: response.StatusCode,
		Code:       dispatch.CodeOf(response.StatusCode),
		RetryAfter: retryAfter(response.Header.Get("Retry-After"), time.Now()),
	}
}

// retryAfter reads the header: seconds, or a date (RFC 9110, 10.2.3).
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0
	}
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(0, date.Sub(now))
	}
	return 0
}

// codeOf says what kept a request from being answered.
func codeOf(ctx context.Context, err error) dispatch.Code {
	var lookup *net.DNSError
	var network net.Error
	switch {
	case errors.Is(err, errBlocked):
		return dispatch.CodeBlocked
	case errors.As(err, &lookup) && !lookup.IsTimeout:
		return dispatch.CodeDNS
	case ctx.Err() != nil, errors.As(err, &network) && network.Timeout():
		return dispatch.CodeTimeout
	case secure(err):
		return dispatch.CodeTLS
	default:
		return dispatch.CodeConnect
	}
}

// secure reports a failure of TLS.
func secure(err error) bool {
	var verification *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var certificate x509.CertificateInvalidError
	return errors.As(err, &verification) || errors.As(err, &record) || errors.As(err, &alert) ||
		errors.As(err, &authority) || errors.As(err, &name) || errors.As(err, &certificate) ||
		strings.HasPrefix(err.Error(), "tls: ") || strings.HasPrefix(err.Error(), "remote error: tls: ")
}
