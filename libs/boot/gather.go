package boot

import (
	"bytes"
	"context"
	"net"
	"sync"
)

// maxGathered bounds the body of a gathered response, in bytes.
const maxGathered = 64 << 10

type gatherKey struct{}

// Gather makes the response to the request with the context go out in one write. The body has exactly size bytes. The
// server of net/http writes at least twice if the head and the body are larger than its buffer of 4 KB, and a write
// costs more than a copy.
func Gather(ctx context.Context, size int) {
	if c, ok := ctx.Value(gatherKey{}).(*gatherConn); ok && size > 0 && size <= maxGathered {
		c.missing = size
	}
}

// gatherListener accepts connections that can gather.
type gatherListener struct{ net.Listener }

// Accept implements net.Listener.
func (l gatherListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &gatherConn{Conn: c}, nil
}

// gatherConn is a connection of a server. The goroutine that calls the handler makes all writes.
type gatherConn struct {
	net.Conn
	missing int           // size of the body of a response that is gathered; 0: writes pass
	held    *bytes.Buffer // the beginning of that response; nil before the first write
}

var gatherBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// Write implements net.Conn. It holds the data back until a gathered response is whole.
func (c *gatherConn) Write(data []byte) (int, error) {
	if c.missing == 0 {
		return c.Conn.Write(data)
	}
	if c.held == nil {
		c.held = gatherBuffers.Get().(*bytes.Buffer)
		c.held.Reset()
	}
	c.held.Write(data)
	if head := bytes.Index(c.held.Bytes(), []byte("\r\n\r\n")); head < 0 || c.held.Len() < head+4+c.missing {
		return len(data), nil
	}
	_, err := c.Conn.Write(c.held.Bytes())
	gatherBuffers.Put(c.held)
	c.missing, c.held = 0, nil
	if err != nil {
		return 0, err
	}
	return len(data), nil
}
