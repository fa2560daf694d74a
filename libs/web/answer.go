package web

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Handle makes a handler of a function that returns its error.
func Handle(handler func(c *gin.Context) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := handler(c); err != nil {
			Fail(c, err)
		}
	}
}

// Fail ends the request with the response for err: in the peer form for a peer, else in the App
// form {"error": "..."}. A Denied fault has no body. The span and the log get the cause of a 5xx.
func Fail(c *gin.Context, err error) {
	f := fault.As(err)
	if f.Kind.Status() >= http.StatusInternalServerError {
		_ = c.Error(err) // logged by observe and put on the span; Error only returns what it is given
	}
	c.Abort()
	if Caller(c).Surface == passport.Peer {
		c.PureJSON(f.Kind.Status(), peer.Refusal{Kind: f.Kind, Message: f.Message, Field: f.Field})
		return
	}
	if f.Kind == fault.Denied {
		c.Status(f.Kind.Status())
		c.Writer.WriteHeaderNow()
		return
	}
	if f.Kind == fault.Unavailable {
		c.Header("Retry-After", "1")
	}
	message := f.Message
	if f.Field != "" {
		message = f.Field + ": " + message
	}
	c.PureJSON(f.Kind.Status(), gin.H{"error": message})
}

// Time is a time in a view of the App interface.
type Time = topic.Time

// TimeOf converts an optional time.
func TimeOf(t *time.Time) *Time { return topic.TimeOf(t) }
