// Package readserver is the part of the gateway's HTTP/1.1 server that serves the reads of dashboards. net/http serves
// everything else.
//
// A Listener reads the head of each request. It serves a read without a body and with usual headers (parse) if the
// function take returns a handler. At the first other request, it hands the connection over to net/http, with all bytes
// that it has read, and net/http serves all further requests on the connection. So this package only has to understand the
// requests that it serves, and leaves unusual and wrong requests to net/http. There is one exception: if the headers
// contradict each other about the end of a request (hidesLength), the Listener refuses the request, because net/http
// would accept it.
//
// The package replaces net/http because net/http alone costs as much for a page as this package and the gateway together
// (about 25 us). For each response, net/http starts a goroutine that waits for the next request, and sets four deadlines.
// It writes the head and a body of more than 4 KB with separate system calls.
package readserver

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/boot"
)

// Listener is the listener for an http.Server. Accept returns only connections that the Listener hands over.
type Listener struct {
	net.Listener
	take    func(*http.Request) http.Handler
	handed  chan accepted
	closing atomic.Bool
	closed  chan struct{}
	running sync.WaitGroup
	mu      sync.Mutex
	open    map[*connection]struct{}
}

type accepted struct {
	conn net.Conn
	err  error
}

// Listen serves the reads on the connections of inner. take returns the handler of a read. It returns nil for a request
// that net/http must serve. A handler must set Content-Type, must not keep the request, and must respond soon even if
// the client has left, because the context of the request does not end.
func Listen(inner net.Listener, take func(*http.Request) http.Handler) *Listener {
	l := &Listener{Listener: inner, take: take, handed: make(chan accepted), closed: make(chan struct{}), open: map[*connection]struct{}{}}
	go l.acceptAll()
	return l
}

func (l *Listener) acceptAll() {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			// net/http waits before it accepts again, and hand returns only then. So this loop waits as long.
			if !l.hand(accepted{err: err}) || errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		c := &connection{Conn: conn, listener: l, in: bufio.NewReaderSize(conn, maxHead), out: response{conn: conn, header: http.Header{}}}
		if l.add(c) {
			go c.serve()
		}
	}
}

func (l *Listener) add(c *connection) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing.Load() {
		_ = c.Conn.Close() // nothing was read from the connection or written to it
		return false
	}
	l.open[c] = struct{}{}
	l.running.Add(1)
	return true
}

func (l *Listener) remove(c *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, c)
	l.running.Done()
}

// hand passes a connection or an error to Accept. It returns false after Close.
func (l *Listener) hand(a accepted) bool {
	select {
	case l.handed <- a:
		return true
	case <-l.closed:
		return false
	}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case a := <-l.handed:
		return a.conn, a.err
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. It closes the connections on which no response is being sent. The others end after
// their response, or after boot.StopTimeout. A new connection may still send its first request within
// boot.HeaderTimeout, as with net/http.
func (l *Listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing.Swap(true) {
		return nil
	}
	close(l.closed)
	err := l.Listener.Close() // first, so that a client whose connection ends here connects to another process
	for c := range l.open {
		if c.used.Load() {
			_ = c.Conn.SetReadDeadline(time.Unix(1, 0)) // fails only if the connection has ended
		}
	}
	time.AfterFunc(boot.StopTimeout, l.endAll)
	return err
}

// Wait waits, after Close, until each connection has ended or was handed over to net/http.
func (l *Listener) Wait() { l.running.Wait() }

func (l *Listener) endAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		_ = c.Conn.Close() // ends the goroutine of the connection
	}
}
