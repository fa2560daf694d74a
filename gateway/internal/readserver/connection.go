package readserver

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/boot"
)

const (
	// maxHead bounds the head of a request that this package serves, in bytes. net/http serves requests with longer
	// heads.
	maxHead = 4 << 10
	// slack is how much too early a deadline may end. If the deadline of an earlier request ends at most slack too early,
	// it is used again. Otherwise each request would set two deadlines.
	slack = time.Second
)

// refusal is the response to a request for net/http that arrives while the process stops.
const refusal = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

// unclear is the response to a request whose head does not define exactly where the body ends.
const unclear = "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: 116\r\nConnection: close\r\n\r\n" +
	`{"error": "Send either Content-Length or Transfer-Encoding. HTTP/1.0 has no Transfer-Encoding: use Content-Length."}`

// drainTime is the time for which the client may continue to send after the server has sent the response unclear. If the
// server closed the connection at once, the client could lose this response.
const drainTime = 500 * time.Millisecond

type connection struct {
	net.Conn
	listener *Listener
	in       *bufio.Reader // nil when the connection is handed over and all bytes in it are read
	out      response
	used     atomic.Bool // a whole head of a request was read
	// readLimit and writeLimit are the present deadlines of the connection.
	readLimit, writeLimit time.Time
}

// serve serves reads until the connection ends or is handed over to net/http. If a handler panics, serve closes the
// connection. The handler has logged the panic.
func (c *connection) serve() {
	defer c.listener.remove(c)
	ended := true
	defer func() {
		if recover() != nil || ended {
			_ = c.Conn.Close() // closes both directions
		}
	}()
	memory := &http.Request{Header: http.Header{}, RemoteAddr: c.RemoteAddr().String()}
	for !c.used.Load() || !c.listener.closing.Load() {
		head, err := c.readHead()
		if err != nil {
			return // the client has left or was silent for too long
		}
		request, handler := parse(head, memory), http.Handler(nil)
		if request != nil {
			handler = c.listener.take(request)
		}
		if request == nil && hidesLength(head) {
			c.refuse()
			return
		}
		if handler == nil {
			ended = !c.handOver()
			return
		}
		_, _ = c.in.Discard(len(head)) // the head is in the buffer
		if err := extend(&c.writeLimit, boot.WriteTimeout, c.SetWriteDeadline); err != nil {
			return
		}
		if err := c.out.serve(handler, request, c.listener.closing.Load()); err != nil {
			return
		}
	}
}

// readHead returns the head of the next request, up to and including the empty line. If the beginning cannot be the
// head of a read, or if the client sends no more, it returns the bytes that have arrived so far. The returned bytes stay in
// the buffer.
func (c *connection) readHead() ([]byte, error) {
	if err := c.awaitRequest(); err != nil {
		return nil, err
	}
	for limited := false; ; limited = true {
		seen, _ := c.in.Peek(c.in.Buffered()) // cannot fail for buffered bytes
		if end := bytes.Index(seen, []byte("\n\r\n")); end >= 0 {
			c.used.Store(true)
			return seen[:end+3], nil
		}
		if len(seen) == maxHead || bytes.Contains(seen, []byte("\n\n")) {
			return seen, nil
		}
		if !limited { // one deadline for the rest of the head, however slowly it arrives
			c.readLimit = time.Now().Add(boot.HeaderTimeout)
			if err := c.SetReadDeadline(c.readLimit); err != nil {
				return nil, err
			}
		}
		if _, err := c.in.Peek(len(seen) + 1); errors.Is(err, io.EOF) {
			return seen, nil
		} else if err != nil {
			return nil, err
		}
	}
}

func (c *connection) awaitRequest() error {
	if c.in.Buffered() > 0 {
		return nil
	}
	patience := boot.IdleTimeout
	if !c.used.Load() {
		patience = boot.HeaderTimeout
	}
	if err := extend(&c.readLimit, patience, c.SetReadDeadline); err != nil {
		return err
	}
	if c.used.Load() && c.listener.closing.Load() { // Close may have set its deadline just before extend replaced it
		return net.ErrClosed
	}
	_, err := c.in.Peek(1)
	return err
}

// extend sets a deadline that ends after the duration by, unless the present deadline limit ends at most slack earlier.
func extend(limit *time.Time, by time.Duration, set func(time.Time) error) error {
	until := time.Now().Add(by)
	if until.Sub(*limit) <= slack {
		return nil
	}
	*limit = until
	return set(until)
}

// refuse responds to a request whose end is not certain. It then discards the bytes that the client still sends, for at most
// drainTime.
func (c *connection) refuse() {
	until := time.Now().Add(drainTime)
	if c.SetDeadline(until) != nil {
		return
	}
	if _, err := c.Conn.Write([]byte(unclear)); err == nil && c.CloseWrite() == nil {
		_, _ = io.Copy(io.Discard, c.Conn) // until the client closes the connection or drainTime is over
	}
}

// handOver gives the connection to net/http, which sets its own deadlines. If net/http accepts no more connections, handOver
// sends refusal and returns false. It also returns false if the connection has ended.
func (c *connection) handOver() bool {
	if err := c.SetDeadline(time.Time{}); err != nil {
		return false
	}
	if c.listener.hand(accepted{conn: c}) {
		return true
	}
	_ = c.SetWriteDeadline(time.Now().Add(boot.HeaderTimeout)) // fails only if the connection has ended
	_, _ = c.Conn.Write([]byte(refusal))
	return false
}

// Read implements net.Conn for net/http. It first returns the bytes that this package has buffered.
func (c *connection) Read(to []byte) (int, error) {
	if c.in != nil && c.in.Buffered() > 0 {
		return c.in.Read(to)
	}
	c.in = nil
	return c.Conn.Read(to)
}

// CloseWrite closes the direction to the client. net/http calls it before Close, so that the client can read the last
// response.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
