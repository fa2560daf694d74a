package gateway

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/gateway/internal/dashboards"
	"github.com/bellbuoy/bellbuoy/gateway/internal/message"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/wire"
	"go.opentelemetry.io/otel/propagation"
)

const (
	// upstreamTimeout bounds the time of a request to a service. The services have a slightly lower limit.
	upstreamTimeout = 25 * time.Second
	// streamPause bounds the time in which a stream makes no progress, because the service or the client is too slow.
	streamPause = 60 * time.Second
	copyBuffer  = 32 << 10
	idleConns   = 256 // number of idle connections that are kept to each service
	idleTotal   = 1024
	// idleTime is shorter than the idle time of the services, so that no request is sent on a connection that the
	// service is just closing.
	idleTime = 60 * time.Second
	dialTime = 2 * time.Second
	maxHead  = 1 << 20 // maximum size of a response's head in bytes, as in net/http
)

// proxy forwards requests to services. It does not use httputil.ReverseProxy, which first makes a deep copy of every
// request. That copy costs as much as the key check and the rate limit. The gateway also decides for each header
// whether to forward it.
type proxy struct {
	bases      map[string]string // URLs of the services
	direct     *wire.Client      // for small bodies over http; faster than the transport usual
	usual      *http.Transport   // for large bodies and for https
	propagator propagation.TextMapPropagator
	buffers    sync.Pool
}

func newProxy(bases map[string]string, propagator propagation.TextMapPropagator) *proxy {
	dialer := net.Dialer{Timeout: dialTime, KeepAlive: 30 * time.Second}
	return &proxy{
		bases: bases, propagator: propagator,
		buffers: sync.Pool{New: func() any { return new([copyBuffer]byte) }},
		direct: wire.New(wire.Options{
			Dial: func(ctx context.Context, host string) (net.Conn, error) {
				u := url.URL{Host: host}
				return dialer.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "80")))
			},
			PerHost: idleConns, Total: idleTotal, Idle: idleTime, MaxHead: maxHead,
		}),
		usual: &http.Transport{
			DialContext:         dialer.DialContext,
			MaxIdleConns:        idleTotal,
			MaxIdleConnsPerHost: idleConns,
			IdleConnTimeout:     idleTime,
			DisableCompression:  true,
		},
	}
}

// outgoing describes a request to a service.
type outgoing struct {
	method   string
	service  string
	passport string
	body     []byte
	// ip is the address of the client, and scheme the scheme of the client's request.
	ip, scheme string
	authorized bool              // the service gets the header Authorization
	arrival    *passport.Arrival // nil except for the page Setup of the console
}

// send forwards the request with the same path and query. The caller must close the body of the response.
func (p *proxy) send(ctx context.Context, r *http.Request, id string, s outgoing) (*http.Response, error) {
	scheme, host, _ := strings.Cut(p.bases[s.service], "://")
	out := (&http.Request{
		Method: s.method,
		URL: &url.URL{Scheme: scheme, Host: host, Path: r.URL.Path, RawPath: r.URL.RawPath,
			RawQuery: r.URL.RawQuery, ForceQuery: r.URL.ForceQuery},
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        make(http.Header, len(r.Header)+8),
		Host:          host,
		ContentLength: int64(len(s.body)),
	}).WithContext(ctx)
	message.CopyRequestHeader(out.Header, r.Header)
	out.Header["X-Forwarded-For"] = []string{s.ip}
	out.Header["X-Forwarded-Host"] = []string{r.Host}
	out.Header["X-Forwarded-Proto"] = []string{s.scheme}
	out.Header["X-Request-Id"] = []string{id}
	out.Header[passport.Header] = []string{s.passport}
	if sent := r.Header["Authorization"]; s.authorized && len(sent) > 0 {
		out.Header["Authorization"] = sent
	}
	if s.arrival != nil {
		s.arrival.Set(out.Header)
	}
	p.propagator.Inject(ctx, propagation.HeaderCarrier(out.Header))
	response, err := p.roundTrip(out, s.body)
	if err != nil {
		return nil, sendFault(ctx, err)
	}
	return response, nil
}

// fetchPublic returns a function that sends requests of the gateway itself to the public surface of the events service.
func (p *proxy) fetchPublic(signer *passport.Signer) dashboards.Fetch {
	return func(ctx context.Context, r *http.Request, id string) (*http.Response, error) {
		return p.send(ctx, r, id, outgoing{
			method: http.MethodGet, service: events,
			passport: signer.Sign(passport.Passport{Audience: events, Surface: passport.Public}),
		})
	}
}

// roundTrip sends the request with the body. If the service has closed a kept connection, only a GET or HEAD is sent
// again.
func (p *proxy) roundTrip(r *http.Request, body []byte) (*http.Response, error) {
	if r.URL.Scheme == "http" && len(body) <= wire.MaxBody {
		return p.direct.Do(r, body, r.Method == http.MethodGet || r.Method == http.MethodHead)
	}
	if len(body) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return p.usual.RoundTrip(r)
}

// sendFault converts the error of a failed request to a service into an Unavailable fault, or into context.Canceled if the
// client has left.
func sendFault(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return context.Canceled // the client has left
	}
	return fault.Wrap(fault.Unavailable, err, "A part of the platform cannot be reached. Try again shortly.")
}

// relay sends the response of a service to the client. If the body ends too early, relay closes the connection to the
// client, so that the client does not take the body for complete.
func (p *proxy) relay(w http.ResponseWriter, response *http.Response) {
	defer response.Body.Close()
	message.CopyResponseHeader(w.Header(), response.Header)
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

// stream is relay for a response that may last longer than upstreamTimeout: a download of many records. It sends each part at
// once. It resets late, which ends the request to the service when nothing has arrived for streamPause.
func (p *proxy) stream(w http.ResponseWriter, response *http.Response, late *time.Timer) {
	defer response.Body.Close()
	message.CopyResponseHeader(w.Header(), response.Header)
	w.WriteHeader(response.StatusCode)
	buffer := p.buffers.Get().(*[copyBuffer]byte)
	defer p.buffers.Put(buffer)
	client := http.NewResponseController(w)
	for {
		late.Reset(streamPause)
		n, err := response.Body.Read(buffer[:])
		if n > 0 {
			late.Reset(2 * streamPause) // the deadline of the client ends the stream first
			failed := client.SetWriteDeadline(time.Now().Add(streamPause))
			if failed == nil {
				_, failed = w.Write(buffer[:n])
			}
			if failed == nil {
				failed = client.Flush()
			}
			if failed != nil {
				panic(http.ErrAbortHandler)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			panic(http.ErrAbortHandler)
		}
	}
}
