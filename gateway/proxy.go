package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"go.opentelemetry.io/otel/propagation"
)

const (
	// maxBody bounds the body of a request, in bytes. Services have the same bound.
	maxBody = 1 << 20
	// upstreamTimeout bounds the time of a request to a service. The bound inside a service
	// is a little lower.
	upstreamTimeout = 25 * time.Second
	copyBuffer      = 32 << 10
)

// proxy forwards requests to services. It does not use httputil.ReverseProxy: the gateway
// decides for each header whether to forward it, and ReverseProxy first makes a deep copy
// of every request, which costs as much as the key check and the rate limit.
type proxy struct {
	bases      map[string]*url.URL
	transport  *upstream
	propagator propagation.TextMapPropagator
	buffers    sync.Pool
}

func newProxy(services map[string]string, propagator propagation.TextMapPropagator) (*proxy, error) {
	p := &proxy{
		bases: map[string]*url.URL{}, propagator: propagator, transport: newUpstream(),
		buffers: sync.Pool{New: func() any { return new([copyBuffer]byte) }},
	}
	for name, base := range services {
		u, err := url.Parse(base)
		if err != nil {
			return nil, fmt.Errorf("address of %s: %w", name, err)
		}
		p.bases[name] = u
	}
	return p, nil
}

// outgoing describes a request to a service.
type outgoing struct {
	method   string
	service  string
	passport string
	body     []byte
}

// send forwards the request with the same path and query. The caller must close the body
// of the response.
func (p *proxy) send(ctx context.Context, r *http.Request, id string, s outgoing) (*http.Response, error) {
	base := p.bases[s.service]
	out := (&http.Request{
		Method: s.method,
		URL: &url.URL{Scheme: base.Scheme, Host: base.Host, Path: r.URL.Path, RawPath: r.URL.RawPath,
			RawQuery: r.URL.RawQuery, ForceQuery: r.URL.ForceQuery},
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header, len(r.Header)+8),
		Host:   base.Host,
	}).WithContext(ctx)
	copyRequestHeader(out.Header, r.Header)
	forwardedFor(out.Header, r)
	out.Header["X-Request-Id"] = []string{id}
	out.Header[passport.Header] = []string{s.passport}
	p.propagator.Inject(ctx, propagation.HeaderCarrier(out.Header))
	response, err := p.transport.do(out, s.body)
	if err != nil {
		return nil, sendFault(ctx, err)
	}
	return response, nil
}

// sendFault returns the fault of a failed exchange with a service.
func sendFault(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return context.Canceled // the client has left
	}
	return fault.Wrap(fault.Unavailable, err, "A part of the platform cannot be reached. Try again shortly.")
}

// copyRequestHeader copies the headers that a service may see. It omits the headers of the
// connection (RFC 9110, 7.6.1), credentials, and all claims about the caller, the address
// of the caller and the trace.
func copyRequestHeader(out, in http.Header) {
	listed := listedInConnection(in)
	for name, values := range in {
		switch name {
		case "Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
			"Transfer-Encoding", "Upgrade", "Expect", "Content-Length",
			"Authorization", "Idempotency-Key", "Forwarded", "X-Real-Ip", "X-Request-Id", "Traceparent", "Tracestate", "Baggage":
			continue
		}
		if isInternal(name) || strings.HasPrefix(name, "X-Forwarded-") || listed[name] {
			continue
		}
		out[name] = values
	}
	if _, sent := out["User-Agent"]; !sent {
		out["User-Agent"] = nil // otherwise the transport sets its own
	}
}

// isInternal reports whether only the parts of the platform may send the header. It
// ignores case.
func isInternal(name string) bool {
	return len(name) >= len(passport.HeaderPrefix) && strings.EqualFold(name[:len(passport.HeaderPrefix)], passport.HeaderPrefix)
}

func listedInConnection(header http.Header) map[string]bool {
	values := header["Connection"]
	if len(values) == 0 {
		return nil
	}
	listed := map[string]bool{}
	for _, value := range values {
		for name := range strings.SplitSeq(value, ",") {
			listed[textproto.CanonicalMIMEHeaderKey(textproto.TrimString(name))] = true
		}
	}
	return listed
}

func forwardedFor(out http.Header, r *http.Request) {
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		address = r.RemoteAddr
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	out["X-Forwarded-For"] = []string{address}
	out["X-Forwarded-Host"] = []string{r.Host}
	out["X-Forwarded-Proto"] = []string{scheme}
}

// copyResponseHeader copies the headers of a service, without the headers of the
// connection and the internal ones.
func copyResponseHeader(out, in http.Header) {
	listed := listedInConnection(in)
	for name, values := range in {
		switch name {
		case "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Connection", "Trailer", "Transfer-Encoding", "Upgrade", "X-Request-Id":
			continue
		}
		if !isInternal(name) && !listed[name] {
			out[name] = values
		}
	}
}

// relay writes the response of a service to the client. If the body breaks off, relay
// closes the connection to the client, so that the client does not take it for complete.
func (p *proxy) relay(w http.ResponseWriter, response *http.Response) {
	defer response.Body.Close()
	copyResponseHeader(w.Header(), response.Header)
	w.WriteHeader(response.StatusCode)
	if response.ContentLength == 0 || response.Body == http.NoBody {
		return
	}
	buffer := p.buffers.Get().(*[copyBuffer]byte)
	defer p.buffers.Put(buffer)
	if _, err := io.CopyBuffer(w, response.Body, buffer[:]); err != nil {
		panic(http.ErrAbortHandler)
	}
}
