package web

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// streamPause is the time after which a write to a Stream fails if the gateway reads nothing. It is longer than the time for
// which the gateway waits for its client.
const streamPause = 2 * time.Minute

// clientContext is the key, in the context of gin, of the context of the request without the time limit.
const clientContext = "web.client"

// Stream is a response that may last longer than the time limit of a request, such as a download of many records. Its
// context ends when the client has disconnected, or when the limit of NewStream is over.
type Stream struct {
	context.Context
	writer  gin.ResponseWriter
	control *http.ResponseController
}

// NewStream begins a response that may last for at most limit. The response has the header passport.Stream, so that the
// gateway limits the time without progress only. The caller must call the returned function at the end.
func NewStream(c *gin.Context, limit time.Duration) (Stream, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), limit)
	stop := func() bool { return true }
	if client, is := c.MustGet(clientContext).(context.Context); is {
		stop = context.AfterFunc(client, cancel)
	}
	c.Header(passport.Stream, "1")
	return Stream{ctx, c.Writer, http.NewResponseController(c.Writer)}, func() {
		stop()
		cancel()
	}
}

// Write implements io.Writer. The data is sent at once.
func (s Stream) Write(data []byte) (int, error) {
	if err := s.Err(); err != nil {
		return 0, err
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(streamPause)) // fails only for a writer of a test, which has no connection
	n, err := s.writer.Write(data)
	s.writer.Flush()
	return n, err
}

// Break ends a response that has begun, so that the client does not take it for complete. It does not return.
func (s Stream) Break() { panic(http.ErrAbortHandler) }
