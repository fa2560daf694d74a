package web

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// SignInHeader has the value SignInAgain in the response to fault.ErrSignInAgain. The console sets SecretHeader in a
// response that shows a new secret. The gateway then repeats this response only for a short time.
const (
	SignInHeader = "Bellbuoy-Sign-In"
	SignInAgain  = "again"
	SecretHeader = "Bellbuoy-Secret"
)

// Handle converts a function that returns an error into a gin handler, which responds with the error.
func Handle(handler func(c *gin.Context) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := handler(c); err != nil {
			Fail(c, err)
		}
	}
}

// Fail ends the request with the response for err. A peer gets a peer.Refusal as JSON. Another caller gets the App form
// {"error": "..."}, or no body for a Denied fault, and a header for an Unavailable fault, a Throttled error and
// fault.ErrSignInAgain. The span and the log get the cause of a 5xx, unless the caller has disconnected, because a
// disconnect cancels the work on the request.
func Fail(c *gin.Context, err error) {
	f := fault.As(err)
	left := errors.Is(c.Request.Context().Err(), context.Canceled)
	if f.Kind.Status() >= http.StatusInternalServerError && !left {
		_ = c.Error(err) // observe logs the error and the span records it; the result of Error is only its argument
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
	if late, is := errors.AsType[fault.Throttled](err); is {
		c.Header("Retry-After", strconv.Itoa(max(1, int(math.Ceil(late.Wait.Seconds())))))
	}
	if errors.Is(err, fault.ErrSignInAgain) {
		c.Header(SignInHeader, SignInAgain)
	}
	message := f.Message
	if f.Field != "" {
		message = f.Field + ": " + message
	}
	c.PureJSON(f.Kind.Status(), gin.H{"error": message})
}

// Time is a time in a view of the App interface.
type Time = topic.Time

// TimeOf converts an optional time. It returns nil for nil.
func TimeOf(t *time.Time) *Time { return topic.TimeOf(t) }
