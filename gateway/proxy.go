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
	// maxBody bounds a request's body, in bytes; services have the same bound.
	maxBody = 1 << 20
	// upstreamTimeout bounds a service's answer; its own bound is a little less.
	upstreamTimeout = 25 * time.Second
	copyBuffer      = 32 << 10
)

// proxy forwards requests to services. It is not httputil.ReverseProxy because all
// it may pass on is decided here, header by header, and because that one copies every
// request deeply first: the key check and the rate are paid for with what this saves.
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
			return nil, fmt.Errorf("the address of %s: %w", name, err)
		}
		p.bases[name] = u
	}
	return p, nil
}

// sending is what is forwarded.
type sending struct {
	method   string
	service  string
	passport string
	body     io.ReadCloser
	bodySize int64
}

// send forwards the request and returns the service's answer, whose body must be
// closed. Path and query go unchanged.
func (p *proxy) send(ctx context.Context, r *http.Request, id string, s sending) (*http.Response, error) {
	base := p.bases[s.service]
	out := (&http.Request{
		Method: s.method,
		URL: &url.URL{Scheme: base.Scheme, Host: base.Host, Path: r.URL.Path, RawPath: r.URL.RawPath,
			RawQuery: r.URL.RawQuery, ForceQuery: r.URL.ForceQuery},
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header, len(r.Header)+8),
		Host:   base.Host,
	}).WithContext(ctx)
	if s.bodySize > 0 {
		out.Body, out.ContentLength = s.body, s.bodySize
	}
	copyRequestHeader(out.Header, r.Header)
	forwardedFor(out.Header, r)
	out.Header["X-Request-Id"] = []string{id}
	out.Header[passport.Header] = []string{s.passport}
	p.propagator.Inject(ctx, propagation.HeaderCarrier(out.Header))
	answer, err := p.transport.RoundTrip(out)
	if err != nil {
		return nil, sendFault(ctx, err)
	}
	return answer, nil
}

// sendFault names what went wrong between here and the service.
func sendFault(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return context.Canceled // the client is gone
	}
	if _, ok := errors.AsType[bodyFault](err); ok {
		return fault.Wrap(fault.Invalid, err, "The body broke off.")
	}
	return fault.Wrap(fault.Unavailable, err, "A part of the platform cannot be reached; try again shortly.")
}

func tooLarge() error { return fault.New(fault.TooLarge, "The body is larger than %d bytes.", maxBody) }

// copyRequestHeader passes on what services may see of a client's headers: nothing
// that speaks of the connection (RFC 9110, 7.6.1), no credential, no claim about who
// is calling, from where or with which trace.
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
		out["User-Agent"] = nil // else the transport would name itself
	}
}

// isInternal reports whether a header is one of those the platform's parts use among
// themselves, in whatever case it came.
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

// copyAnswerHeader passes on a service's headers, without those of its connection
// and the platform's own.
func copyAnswerHeader(out, in http.Header) {
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

// relay writes a service's answer to the client. A body that breaks off is broken
// off for the client too, so that it cannot be taken for a whole one.
func (p *proxy) relay(w http.ResponseWriter, answer *http.Response) {
	defer answer.Body.Close()
	copyAnswerHeader(w.Header(), answer.Header)
	w.WriteHeader(answer.StatusCode)
	if answer.ContentLength == 0 || answer.Body == http.NoBody {
		return
	}
	buffer := p.buffers.Get().(*[copyBuffer]byte)
	defer p.buffers.Put(buffer)
	for {
		n, err := answer.Body.Read(buffer[:])
		if n > 0 {
			if _, failed := w.Write(buffer[:n]); failed != nil {
				return // the client is gone
			}
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}
