// Package wire is an HTTP/1.1 client that reuses connections. A request runs on the caller's goroutine.
//
// The transport of net/http has two goroutines for each connection and wakes both for each request. The gateway and
// delivery mainly send small requests, and for them these goroutines cost more than all other work. This is the only
// reason for the package. All other parts use net/http. The client sends small bodies from memory and reads responses
// with http.ReadResponse. It supports no redirects, proxies or compression.
package wire

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	// MaxBody is the maximum size of a request's body, in bytes. Such a body fits into the buffer of a socket. So the
	// client can write all of it even if the server responds early and does not read the body.
	MaxBody    = 32 << 10
	readBuffer = 4 << 10
	// maxInterim is the number of 1xx responses after which read returns errInterim.
	maxInterim = 4
)

var (
	errHead    = errors.New("the head of the response is too long")
	errInterim = errors.New("only interim responses came")
)

// Options are the settings of a Client.
type Options struct {
	// Dial opens a connection to the host of a URL. It also does the TLS handshake.
	Dial    func(ctx context.Context, host string) (net.Conn, error)
	PerHost int           // maximum number of idle connections per host
	Total   int           // maximum number of idle connections
	Idle    time.Duration // time after which an idle connection is closed; must be shorter than the server's idle time, if that is known
	MaxHead int           // maximum size of a response's head, in bytes
	// Limit bounds the time of a request, from Do to the end of the response's body. 0 means that only the context
	// limits the time. Limit is cheaper than a context with a deadline, which needs a new timer for each request.
	Limit time.Duration
}

// Client sends requests over reused connections. It is safe for concurrent use.
type Client struct {
	Options
	pool pool
	// requests contains buffers for whole requests, so that each request is sent with one write.
	requests sync.Pool
}

// New returns a client.
func New(o Options) *Client {
	return &Client{Options: o, pool: pool{Options: o, hosts: make(map[string]int)}}
}

// Do sends the request with the body, which replaces the request's own body, and reads the head of the response. When
// the context ends, sending and reading stop, also the reading of the response's body. The caller must remove
// hop-by-hop headers. If a reused connection breaks before the first byte of a response, Do sends a repeatable
// request once more, on a new connection. It does not try other idle connections, because a server that closes each
// connection would then get the request many times. A request that is not repeatable fails, because the server may
// have processed it. The error is that of Dial, of the connection or of the response. If the context ends after
// Dial, the error is the cause of its end.
func (c *Client) Do(r *http.Request, body []byte, repeatable bool) (*http.Response, error) {
	var end time.Time
	if c.Limit > 0 {
		end = time.Now().Add(c.Limit)
	}
	if on := c.kept(r.URL.Host, end); on != nil {
		response, err := c.exchange(on, r, body)
		if err == nil {
			return response, nil
		}
		on.close()
		if !repeatable || on.started || r.Context().Err() != nil {
			return nil, err
		}
	}
	on, err := c.connect(r.Context(), r.URL.Host, end)
	if err != nil {
		return nil, err
	}
	response, err := c.exchange(on, r, body)
	if err != nil {
		on.close()
	}
	return response, err
}

// kept returns an idle connection to host that is still open, or nil. With a Limit, end is the deadline of the connection.
func (c *Client) kept(host string, end time.Time) *conn {
	for kept := c.pool.take(host); kept != nil; kept = c.pool.take(host) {
		if (c.Limit == 0 || kept.SetDeadline(end) == nil) && kept.open() {
			kept.started = false
			return kept
		}
		kept.close()
	}
	return nil
}

// connect returns a new connection to host. With a Limit, end is the deadline of the connection.
func (c *Client) connect(ctx context.Context, host string, end time.Time) (*conn, error) {
	if c.Limit > 0 {
		limited, cancel := context.WithDeadline(ctx, end)
		defer cancel()
		ctx = limited
	}
	fresh, err := c.Dial(ctx, host)
	if err == nil && c.Limit > 0 {
		if err = fresh.SetDeadline(end); err != nil {
			_ = fresh.Close()
		}
	}
	if err != nil {
		return nil, err
	}
	made := &conn{Conn: fresh, host: host}
	made.in = bufio.NewReaderSize(made, readBuffer)
	return made, nil
}

// exchange sends the request and reads the head of the response. When the caller has read the response's body to its
// end, the connection returns to the pool if it can be used again.
func (c *Client) exchange(on *conn, r *http.Request, body []byte) (*http.Response, error) {
	ctx := r.Context()
	stop := context.AfterFunc(ctx, func() { _ = on.SetDeadline(time.Unix(1, 0)) }) // fails only if the connection is closed
	on.left = c.MaxHead
	response, err := on.read(r, c.write(on, r, body))
	if err != nil {
		stop()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	on.left = math.MaxInt
	done := func(whole bool) {
		if undisturbed := stop(); whole && undisturbed && !response.Close && !on.broken && on.in.Buffered() == 0 {
			c.pool.keep(on)
		} else {
			on.close()
		}
	}
	if response.Body == http.NoBody || response.ContentLength == 0 {
		response.Body = http.NoBody
		done(true)
		return response, nil
	}
	response.Body = &responseBody{body: response.Body, done: done}
	return response, nil
}

// conn is a connection to a host. It serves one request at a time.
type conn struct {
	net.Conn
	host    string
	since   time.Time     // time at which the connection became idle
	in      *bufio.Reader // reads from the conn, so that Read can check left
	left    int           // number of bytes that may still be read
	started bool          // a part of the response has arrived
	broken  bool          // a write failed
}

// Read implements io.Reader. It returns errHead if left is 0.
func (c *conn) Read(data []byte) (int, error) {
	if c.left <= 0 {
		return 0, errHead
	}
	n, err := c.Conn.Read(data[:min(len(data), c.left)])
	c.left -= n
	return n, err
}

// close closes the connection. An error only means that the connection is closed already.
func (c *conn) close() { _ = c.Conn.Close() }

// open reports whether the connection can be used: the server has neither closed it nor sent anything. It does not
// wait.
func (c *conn) open() bool {
	under := c.Conn
	if secured, ok := under.(interface{ NetConn() net.Conn }); ok { // such as tls.Conn
		under = secured.NetConn()
	}
	raw, ok := under.(syscall.Conn)
	if !ok {
		return true
	}
	socket, err := raw.SyscallConn()
	if err != nil {
		return false
	}
	var one [1]byte
	quiet := false
	err = socket.Read(func(fd uintptr) bool {
		_, err := syscall.Read(int(fd), one[:])
		quiet = errors.Is(err, syscall.EAGAIN)
		return true
	})
	return err == nil && quiet
}

func (c *Client) write(on *conn, r *http.Request, body []byte) error {
	buffer, ok := c.requests.Get().(*[]byte)
	if !ok {
		buffer = new([]byte)
	}
	defer c.requests.Put(buffer)
	*buffer = appendRequest((*buffer)[:0], r, body)
	_, err := on.Conn.Write(*buffer)
	return err
}

// read reads the head of the response. It reads even if unwritten, the error of the write, is not nil, because a server may
// respond before it has read the whole request.
func (c *conn) read(r *http.Request, unwritten error) (*http.Response, error) {
	if _, err := c.in.Peek(1); err != nil {
		if unwritten != nil {
			err = unwritten
		}
		return nil, err
	}
	c.started, c.broken = true, unwritten != nil
	for range maxInterim {
		response, err := http.ReadResponse(c.in, r)
		if err != nil {
			return nil, err
		}
		if response.StatusCode >= http.StatusOK {
			return response, nil
		}
	}
	return nil, errInterim
}

// appendRequest appends the request to out. The headers come from net/http's server or from the platform, so they
// contain no line breaks.
func appendRequest(out []byte, r *http.Request, body []byte) []byte {
	for _, text := range [...]string{r.Method, " ", r.URL.RequestURI(), " HTTP/1.1\r\nHost: ", r.Host, "\r\n"} {
		out = append(out, text...)
	}
	for name, values := range r.Header {
		for _, value := range values {
			out = append(out, name...)
			out = append(out, ": "...)
			out = append(out, value...)
			out = append(out, "\r\n"...)
		}
	}
	if len(body) > 0 || r.Method != http.MethodGet && r.Method != http.MethodHead {
		out = append(out, "Content-Length: "...)
		out = strconv.AppendInt(out, int64(len(body)), 10)
		out = append(out, "\r\n"...)
	}
	out = append(out, "\r\n"...)
	return append(out, body...)
}

// responseBody is the body of a response. When it is read to its end or closed, it calls done.
type responseBody struct {
	body io.ReadCloser
	done func(whole bool) // nil after it was called
}

// Read implements io.Reader.
func (b *responseBody) Read(data []byte) (int, error) {
	if b.done == nil {
		return 0, io.EOF
	}
	n, err := b.body.Read(data)
	if err != nil {
		b.end(errors.Is(err, io.EOF))
	}
	return n, err
}

// Close implements io.Closer. It closes the connection unless the body was read to its end.
func (b *responseBody) Close() error {
	if b.done != nil {
		b.end(false)
	}
	return nil
}

func (b *responseBody) end(whole bool) {
	done := b.done
	b.done = nil
	done(whole)
}
