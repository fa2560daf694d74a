// Package wire is the client's side of HTTP/1.1 over kept connections, on the goroutine of
// whoever asks.
//
// net/http's transport has two goroutines for each connection and wakes both for each request. Where a
// process does nothing but pass small requests on, as the gateway and delivery do, that costs more than
// all that they add; this is the whole reason of the package, and whoever does not forward or send by
// the thousand takes net/http. It does the plain case only: a small body that is there as a whole, an answer read by
// http.ReadResponse. It follows no redirect, knows no proxy, and undoes no compression.
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
	// MaxBody is the largest body that may be sent: one that a socket's buffer takes whole, so that
	// writing it does not wait for an other end that already answers.
	MaxBody    = 32 << 10
	readBuffer = 4 << 10
	// maxInterim bounds the 1xx answers before an answer.
	maxInterim = 4
)

var (
	errHead    = errors.New("the head of the answer is too long")
	errInterim = errors.New("only interim answers came")
)

// Options are what a Client is made of.
type Options struct {
	// Dial opens a connection to a URL's host, ready for the first request: TLS is its affair.
	Dial    func(ctx context.Context, host string) (net.Conn, error)
	PerHost int           // connections kept for each host while they are idle
	Total   int           // and for all of them
	Idle    time.Duration // how long; less than the other end keeps them, where that is known
	MaxHead int           // bytes of an answer's head
}

// Client keeps connections. It may be used by many at the same time.
type Client struct {
	dial    func(ctx context.Context, host string) (net.Conn, error)
	maxHead int
	pool    *pool
	// requests are the buffers that requests are put together in, so that each leaves in one piece.
	requests sync.Pool
}

// New makes a client.
func New(o Options) *Client {
	return &Client{dial: o.Dial, maxHead: o.MaxHead, pool: newPool(o.PerHost, o.Total, o.Idle)}
}

// Do sends the request with the body, which is not the request's own, and reads the head of the answer; the context's end
// ends both, and the reading of the answer's body. Hop-by-hop headers are the caller's affair. A request that is
// repeatable is sent once more when the kept connection it was sent on turns out to be closed before anything of an
// answer came; for any other nobody knows then whether it arrived. Errors are those of the
// connection, or the context's cause.
func (c *Client) Do(r *http.Request, body []byte, repeatable bool) (*http.Response, error) {
	for {
		on, err := c.connect(r.Context(), r.URL.Host)
		if err != nil {
			return nil, err
		}
		answer, err := c.exchange(on, r, body)
		if err == nil {
			return answer, nil
		}
		on.close()
		if !repeatable || !on.reused || on.started || r.Context().Err() != nil {
			return nil, err
		}
	}
}

// connect takes a kept connection that is still open, or makes one.
func (c *Client) connect(ctx context.Context, host string) (*conn, error) {
	for {
		kept := c.pool.take(host)
		if kept == nil {
			break
		}
		if kept.open() {
			kept.reused, kept.started = true, false
			return kept, nil
		}
		kept.close()
	}
	fresh, err := c.dial(ctx, host)
	if err != nil {
		return nil, err
	}
	made := &conn{Conn: fresh, host: host}
	made.in = bufio.NewReaderSize(made, readBuffer)
	return made, nil
}

// exchange sends the request and reads the answer's head. The answer's body is read from the
// connection, which is kept when that has been read to its end.
func (c *Client) exchange(on *conn, r *http.Request, body []byte) (*http.Response, error) {
	ctx := r.Context()
	settle := context.AfterFunc(ctx, func() { _ = on.SetDeadline(time.Unix(1, 0)) }) // an error means it is closed
	on.left = c.maxHead
	answer, err := on.read(r, c.write(on, r, body))
	if err != nil {
		settle()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	on.left = math.MaxInt
	done := func(whole bool) {
		if undisturbed := settle(); whole && undisturbed && !answer.Close && !on.broken && on.in.Buffered() == 0 {
			c.pool.keep(on)
		} else {
			on.close()
		}
	}
	if answer.Body == http.NoBody || answer.ContentLength == 0 {
		answer.Body = http.NoBody
		done(true)
		return answer, nil
	}
	answer.Body = &answerBody{body: answer.Body, done: done}
	return answer, nil
}

// conn is a connection to a host, used by one request at a time.
type conn struct {
	net.Conn
	host    string
	in      *bufio.Reader // reads through the conn itself, for left
	left    int           // bytes that may still be read
	reused  bool
	started bool // something of an answer has come
	broken  bool // it could not be written to
}

// Read implements io.Reader within what is left to be read.
func (c *conn) Read(data []byte) (int, error) {
	if c.left <= 0 {
		return 0, errHead
	}
	n, err := c.Conn.Read(data[:min(len(data), c.left)])
	c.left -= n
	return n, err
}

// close ends the connection; that the other end was first is no error to anybody.
func (c *conn) close() { _ = c.Conn.Close() }

// open looks, without waiting, whether the other end has closed the connection or has
// said something unasked.
func (c *conn) open() bool {
	under := c.Conn
	if secured, ok := under.(interface{ NetConn() net.Conn }); ok { // as tls.Conn
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

// write sends the request.
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

// read reads the head of the answer to a request that was written, or was not: the other end may have
// answered without listening to the end.
func (c *conn) read(r *http.Request, unwritten error) (*http.Response, error) {
	if _, err := c.in.Peek(1); err != nil {
		if unwritten != nil {
			err = unwritten
		}
		return nil, err
	}
	c.started, c.broken = true, unwritten != nil
	for range maxInterim {
		answer, err := http.ReadResponse(c.in, r)
		if err != nil {
			return nil, err
		}
		if answer.StatusCode >= http.StatusOK {
			return answer, nil
		}
	}
	return nil, errInterim
}

// appendRequest appends the request. Names and values of its header came through net/http's server or
// are the platform's own, so none holds a line's end.
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

// answerBody is an answer's body on a connection that waits for its end.
type answerBody struct {
	body io.ReadCloser
	done func(whole bool) // nil once it was called
}

// Read implements io.Reader.
func (b *answerBody) Read(data []byte) (int, error) {
	if b.done == nil {
		return 0, io.EOF
	}
	n, err := b.body.Read(data)
	if err != nil {
		b.end(errors.Is(err, io.EOF))
	}
	return n, err
}

// Close implements io.Closer. A body that was not read to its end takes the
// connection with it.
func (b *answerBody) Close() error {
	if b.done != nil {
		b.end(false)
	}
	return nil
}

func (b *answerBody) end(whole bool) {
	done := b.done
	b.done = nil
	done(whole)
}
