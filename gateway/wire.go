package gateway

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	// maxDirect is the largest body sent directly: one that a socket's buffer takes
	// whole, so that writing it can never wait for a service that already answers.
	maxDirect = 32 << 10
	// idleConns are kept for each service; idleTime is less than the services keep
	// theirs, so that no request is sent on a connection that is being closed.
	idleConns  = 256
	idleTime   = 60 * time.Second
	dialTime   = 2 * time.Second
	wireBuffer = 8 << 10
	// maxInterim bounds the 1xx answers before an answer.
	maxInterim = 4
)

// wire speaks HTTP/1.1 to the services over kept connections, on the goroutine that
// serves the client. net/http's transport has two goroutines for each connection and
// wakes both for each request, which on a machine whose cores are busy costs more than
// the key check, the rate and the passport together; that is its whole reason. It does
// the plain case only: a request of known, small size, forwarded as it stands, and an
// answer read by http.ReadResponse. Everything else goes the usual way.
type wire struct {
	usual  *http.Transport
	dialer net.Dialer
	mu     sync.Mutex
	idle   map[string][]*wireConn // by host; the last used last
}

// wireConn is a connection to a service.
type wireConn struct {
	net.Conn
	in      *bufio.Reader
	out     *bufio.Writer
	since   time.Time // idle
	reused  bool
	started bool // something of an answer has come
}

func newWire() *wire {
	dialer := net.Dialer{Timeout: dialTime, KeepAlive: 30 * time.Second}
	return &wire{
		dialer: dialer,
		idle:   map[string][]*wireConn{},
		usual: &http.Transport{
			DialContext:         dialer.DialContext,
			MaxIdleConns:        1024,
			MaxIdleConnsPerHost: idleConns,
			IdleConnTimeout:     idleTime,
			DisableCompression:  true,
		},
	}
}

// RoundTrip implements http.RoundTripper. Hop-by-hop headers are the caller's affair.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "http" || r.ContentLength < 0 || r.ContentLength > maxDirect {
		return w.usual.RoundTrip(r)
	}
	body, err := wholeBody(r)
	if err != nil {
		return nil, err
	}
	for {
		conn, err := w.connect(r.Context(), r.URL.Host)
		if err != nil {
			return nil, err
		}
		answer, err := w.exchange(conn, r, body)
		if err == nil {
			return answer, nil
		}
		conn.Close()
		// A kept connection may have been closed under the request. What changes
		// nothing is sent again; for the rest nobody knows whether it arrived.
		if again := conn.reused && !conn.started && (r.Method == http.MethodGet || r.Method == http.MethodHead); !again || r.Context().Err() != nil {
			return nil, err
		}
	}
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

// connect takes a kept connection that is still open, or makes one.
func (w *wire) connect(ctx context.Context, host string) (*wireConn, error) {
	for {
		conn := w.take(host)
		if conn == nil {
			break
		}
		if time.Since(conn.since) < idleTime && conn.open() {
			conn.reused, conn.started = true, false
			return conn, nil
		}
		conn.Close()
	}
	fresh, err := w.dialer.DialContext(ctx, "tcp", address(host))
	if err != nil {
		return nil, err
	}
	return &wireConn{Conn: fresh, in: bufio.NewReaderSize(fresh, wireBuffer), out: bufio.NewWriterSize(fresh, wireBuffer)}, nil
}

func address(host string) string {
	if _, _, err := net.SplitHostPort(host); err != nil {
		return net.JoinHostPort(host, "80")
	}
	return host
}

func (w *wire) take(host string) *wireConn {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.idle[host]
	if len(all) == 0 {
		return nil
	}
	conn := all[len(all)-1]
	all[len(all)-1] = nil
	w.idle[host] = all[:len(all)-1]
	return conn
}

// keep gives a connection back, and closes the one that has been idle longest when
// there are too many or it is too old.
func (w *wire) keep(host string, conn *wireConn) {
	conn.since = time.Now()
	w.mu.Lock()
	all := append(w.idle[host], conn)
	var old *wireConn
	if len(all) > idleConns || conn.since.Sub(all[0].since) > idleTime {
		old, all = all[0], all[1:]
	}
	w.idle[host] = all
	w.mu.Unlock()
	if old != nil {
		old.Close()
	}
}

// open looks, without waiting, whether the other end has closed the connection or has
// said something unasked.
func (c *wireConn) open() bool {
	raw, ok := c.Conn.(syscall.Conn)
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

// exchange sends the request and reads the answer's head; its body is read from the
// connection, which is kept when the body has been read to its end.
func (w *wire) exchange(conn *wireConn, r *http.Request, body []byte) (*http.Response, error) {
	ctx := r.Context()
	settle := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // an error means it is closed
	answer, err := conn.ask(r, body)
	if err != nil {
		settle()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	done := func(whole bool) {
		if undisturbed := settle(); whole && undisturbed && !answer.Close && conn.in.Buffered() == 0 {
			w.keep(r.URL.Host, conn)
		} else {
			conn.Close()
		}
	}
	if answer.Body == http.NoBody || answer.ContentLength == 0 {
		answer.Body = http.NoBody
		done(true)
		return answer, nil
	}
	answer.Body = &wireBody{body: answer.Body, done: done}
	return answer, nil
}

func (c *wireConn) ask(r *http.Request, body []byte) (*http.Response, error) {
	writeRequest(c.out, r, body)
	if err := c.out.Flush(); err != nil {
		return nil, err
	}
	if _, err := c.in.Peek(1); err != nil {
		return nil, err
	}
	c.started = true
	for range maxInterim {
		answer, err := http.ReadResponse(c.in, r)
		if err != nil {
			return nil, err
		}
		if answer.StatusCode >= http.StatusOK {
			return answer, nil
		}
	}
	return nil, errors.New("only interim answers")
}

// writeRequest writes the request; that a writer failed is told by its Flush. The
// header's names and values came through net/http's server or are our own, so none
// holds a line's end.
func writeRequest(out *bufio.Writer, r *http.Request, body []byte) {
	for _, text := range []string{r.Method, " ", r.URL.RequestURI(), " HTTP/1.1\r\nHost: ", r.Host, "\r\n"} {
		_, _ = out.WriteString(text)
	}
	for name, values := range r.Header {
		for _, value := range values {
			_, _ = out.WriteString(name)
			_, _ = out.WriteString(": ")
			_, _ = out.WriteString(value)
			_, _ = out.WriteString("\r\n")
		}
	}
	if len(body) > 0 || r.Method != http.MethodGet && r.Method != http.MethodHead {
		_, _ = out.WriteString("Content-Length: ")
		_, _ = out.Write(strconv.AppendInt(out.AvailableBuffer(), int64(len(body)), 10))
		_, _ = out.WriteString("\r\n")
	}
	_, _ = out.WriteString("\r\n")
	_, _ = out.Write(body)
}

// wireBody is an answer's body on a connection that waits for its end.
type wireBody struct {
	body io.ReadCloser
	done func(whole bool) // nil once it was called
}

// Read implements io.Reader.
func (b *wireBody) Read(data []byte) (int, error) {
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
func (b *wireBody) Close() error {
	if b.done != nil {
		b.end(false)
	}
	return nil
}

func (b *wireBody) end(whole bool) {
	done := b.done
	b.done = nil
	done(whole)
}
