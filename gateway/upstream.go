package gateway

import (
	"context"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/wire"
)

const (
	idleConns = 256 // for each service
	idleTotal = 1024
	// idleTime is shorter than in the services, so that no request is sent on a connection
	// that the service is closing.
	idleTime = 60 * time.Second
	dialTime = 2 * time.Second
	maxHead  = 1 << 20 // of a response, as in net/http
)

// upstream sends requests to the services. It sends a small body of known length with
// package wire, which is faster, and any other body with net/http.
type upstream struct {
	direct *wire.Client
	usual  *http.Transport
}

func newUpstream() *upstream {
	dialer := net.Dialer{Timeout: dialTime, KeepAlive: 30 * time.Second}
	return &upstream{
		direct: wire.New(wire.Options{
			Dial: func(ctx context.Context, host string) (net.Conn, error) {
				return dialer.DialContext(ctx, "tcp", address(host))
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

func address(host string) string {
	if _, _, err := net.SplitHostPort(host); err != nil {
		return net.JoinHostPort(host, "80")
	}
	return host
}

// RoundTrip implements http.RoundTripper. The caller removes hop-by-hop headers. If a kept
// connection turns out to be closed, only GET and HEAD are sent again.
func (u *upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "http" || r.ContentLength < 0 || r.ContentLength > wire.MaxBody {
		return u.usual.RoundTrip(r)
	}
	body, err := wholeBody(r)
	if err != nil {
		return nil, err
	}
	return u.direct.Do(r, body, r.Method == http.MethodGet || r.Method == http.MethodHead)
}

// bodyFault means that the client did not send the whole body.
type bodyFault struct{ error }

func (f bodyFault) Unwrap() error { return f.error }

// wholeBody reads the body before a connection is used for it, so that a client that sends
// slowly or breaks off does not occupy a service.
func wholeBody(r *http.Request) ([]byte, error) {
	if r.Body == nil || r.ContentLength == 0 {
		return nil, nil
	}
	defer r.Body.Close()
	body := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, body); err != nil {
		return nil, bodyFault{err}
	}
	return body, nil
}
