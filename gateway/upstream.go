package gateway

import (
	"bytes"
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

// upstream sends requests to the services: with package wire, which is faster, or, for a
// large body and for https, with net/http.
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

// do sends the request with the body. The caller removes hop-by-hop headers. If a kept
// connection turns out to be closed, only GET and HEAD are sent again.
func (u *upstream) do(r *http.Request, body []byte) (*http.Response, error) {
	r.ContentLength = int64(len(body))
	if r.URL.Scheme == "http" && len(body) <= wire.MaxBody {
		return u.direct.Do(r, body, r.Method == http.MethodGet || r.Method == http.MethodHead)
	}
	if len(body) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return u.usual.RoundTrip(r)
}
