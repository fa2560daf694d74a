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
	// idleConns are kept for each service; idleTime is less than the services keep
	// theirs, so that no request is sent on a connection that is being closed.
	idleConns = 256
	idleTotal = 1024
	idleTime  = 60 * time.Second
	dialTime  = 2 * time.Second
	maxHead   = 1 << 20 // of a service's answer, as net/http has it
)

// upstream sends requests to the services: those of known, small size over package
// wire, everything else the usual way.
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

// RoundTrip implements http.RoundTripper. Hop-by-hop headers are the caller's affair.
// Only what changes nothing is sent again on a connection that was closed under it.
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

// bodyFault is the failure of the client to send the body it announced.
type bodyFault struct{ error }

func (f bodyFault) Unwrap() error { return f.error }

// wholeBody reads the body before a connection is taken for it: a client that sends
// slowly or breaks off costs no service anything.
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
