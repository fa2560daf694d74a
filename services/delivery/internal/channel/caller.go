package channel

import (
	"context"
	"crypto/tls"
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

	"github.com/bellbuoy/bellbuoy/libs/egress"
	"github.com/bellbuoy/bellbuoy/libs/wire"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

const (
	userAgent   = "Bellbuoy-Delivery/1"
	maxResponse = 16 << 10 // maximum size of a response's body, in bytes; one more byte is read
	maxHeader   = 16 << 10
	idlePerHost = 256
	idleTotal   = 1024
	// Times after which an idle connection is closed. A server that closes its idle connections does so after seconds.
	// If a request is on its way then, it fails. A message to an endpoint is sent again, but a text is not, so texts need
	// a time that is shorter than that of every server.
	idleTimeout     = 30 * time.Second
	idleTextTimeout = time.Second
	codeUnsendable  = deliverylog.Code("unsendable") // the message or request could not be composed
)

// errBlocked is the error of a connection to a forbidden address.
var errBlocked = errors.New("the address is forbidden")

// tracing traces attempts.
type tracing struct {
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator
}

func newTracing(o Options) tracing {
	return tracing{o.Tracer.Tracer("github.com/bellbuoy/bellbuoy/services/delivery/internal/channel"), o.Propagator}
}

// traced runs an attempt in a span. The span contains the host and the result. It contains no other part of the URL and
// nothing about the recipient.
func (t tracing) traced(ctx context.Context, method, host string, attempt func(context.Context) dispatch.Result) dispatch.Result {
	ctx, span := t.tracer.Start(ctx, method, trace.WithSpanKind(trace.SpanKindClient))
	defer span.End()
	result := attempt(ctx)
	if !span.IsRecording() {
		return result
	}
	span.SetAttributes(semconv.ServerAddress(host))
	switch method {
	case http.MethodPost:
		span.SetAttributes(semconv.HTTPRequestMethodPost)
	case http.MethodPut:
		span.SetAttributes(semconv.HTTPRequestMethodPut)
	}
	if result.HTTPStatus > 0 {
		span.SetAttributes(semconv.HTTPResponseStatusCode(result.HTTPStatus))
	}
	if result.Code != "" {
		span.SetAttributes(attribute.String("error.type", string(result.Code)))
		span.SetStatus(codes.Error, string(result.Code))
	}
	return result
}

// caller sends requests over reused connections.
type caller struct {
	tracing
	wire *wire.Client
}

func newCaller(o Options, idle time.Duration, dial func(ctx context.Context, host string) (net.Conn, error)) *caller {
	return &caller{newTracing(o), wire.New(wire.Options{Dial: dial, PerHost: idlePerHost, Total: idleTotal, Idle: idle, MaxHead: maxHeader, Limit: o.Timeout})}
}

// dialEndpoint returns a function that connects to a URL's host and verifies its certificate. It connects to the
// address that DELIVERY_RESOLVE sets for the host, or to a public address.
func dialEndpoint(o Options) func(ctx context.Context, host string) (net.Conn, error) {
	secure := &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(idleTotal)}
	return func(ctx context.Context, host string) (net.Conn, error) {
		name := strings.TrimSuffix(host, ":443")
		dialer := tls.Dialer{NetDialer: &net.Dialer{Control: guard}, Config: secure.Clone()}
		dialer.Config.ServerName = strings.Trim(name, "[]")
		address := name + ":443"
		if target, placed := o.Resolve.Lookup(address); placed {
			address, dialer.NetDialer = target, &net.Dialer{}
		}
		return dialer.DialContext(ctx, "tcp", address)
	}
}

// guard returns errBlocked if a socket must not connect to the address. The dialer calls it after the name was
// resolved, with the address that the kernel then connects to.
func guard(_, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil || target.Port() != 443 || egress.Forbidden(target.Addr()) {
		return errBlocked
	}
	return nil
}

// post makes one attempt to reach an endpoint. The result contains no part of the URL, unless the receiver's response does.
func (c *caller) post(ctx context.Context, address string, header http.Header, body []byte) dispatch.Result {
	return c.send(ctx, http.MethodPost, address, header, body)
}

// send does the same as post, with another method.
func (c *caller) send(ctx context.Context, method, address string, header http.Header, body []byte) dispatch.Result {
	if address == "" {
		return dispatch.Result{Code: codeUnsendable}
	}
	target, err := url.Parse(address)
	if err != nil || !reachable(target) {
		return dispatch.Result{Code: deliverylog.CodeBlocked}
	}
	return c.traced(ctx, method, target.Hostname(), func(ctx context.Context) dispatch.Result {
		// If a reused connection breaks before a response, Do may send the request twice, as a retry would. The
		// receiver detects the repetition by the delivery's id.
		result, _, _ := c.exchange(ctx, method, target, header, body, true)
		return result
	})
}

// exchange sends the body. It returns the result, the beginning of the response's body, and an error if there was no
// response. If repeatable is true, the wire client may send the request again when a reused connection breaks.
func (c *caller) exchange(
	ctx context.Context, method string, target *url.URL, header http.Header, body []byte, repeatable bool,
) (dispatch.Result, []byte, error) {
	header["User-Agent"] = []string{userAgent}
	c.propagator.Inject(ctx, propagation.HeaderCarrier(header))
	request := (&http.Request{Method: method, URL: target, Host: target.Host, Header: header}).WithContext(ctx)
	sent := deliverylog.Sent{Method: method, Header: header, Body: body}
	response, err := c.wire.Do(request, body, repeatable)
	if err != nil {
		return dispatch.Result{Code: codeOf(ctx, err), Sent: sent}, nil, err
	}
	defer response.Body.Close()
	var content []byte
	if response.Body != http.NoBody { // a buffer for nothing would be a tenth of all memory that a fan-out uses
		content, _ = io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	}
	return dispatch.Result{
		HTTPStatus: response.StatusCode,
		Code:       dispatch.CodeOf(response.StatusCode),
		RetryAfter: retryAfter(response.Header.Get("Retry-After"), time.Now()),
		Sent:       sent,
		Received:   deliverylog.Received{Header: response.Header, Body: content},
	}, content, nil
}

// reachable reports whether requests to the URL are allowed: https, port 443 and no user.
func reachable(target *url.URL) bool {
	port := target.Port()
	return target.Scheme == "https" && target.Host != "" && target.User == nil && (port == "" || port == "443")
}

// retryAfter parses the header Retry-After: seconds, or a date (RFC 9110, 10.2.3).
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if value == "" { // most responses have no such header, and parsing "" would be slow
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

// codeOf returns the code of an attempt without a response. If the response was not HTTP, the code is CodeConnect,
// because the API defines no other code for this.
func codeOf(ctx context.Context, err error) deliverylog.Code {
	var lookup *net.DNSError
	var network net.Error
	switch {
	case errors.Is(err, errBlocked):
		return deliverylog.CodeBlocked
	case errors.As(err, &lookup) && !lookup.IsTimeout:
		return deliverylog.CodeDNS
	case ctx.Err() != nil, errors.As(err, &network) && network.Timeout():
		return deliverylog.CodeTimeout
	case secure(err):
		return deliverylog.CodeTLS
	default:
		return deliverylog.CodeConnect
	}
}

// secure reports whether the error came from TLS.
func secure(err error) bool {
	var verification *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	return errors.As(err, &verification) || errors.As(err, &record) || errors.As(err, &alert) ||
		strings.HasPrefix(err.Error(), "tls: ") || strings.HasPrefix(err.Error(), "remote error: tls: ")
}
