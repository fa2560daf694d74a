// Package fault defines the error type of all layers, from the stores to the gateway, and also across calls between
// services. An error has a kind and a sentence for the client. Its cause appears only in the log. Package web writes
// errors in the form of the App interface, and package legacy in the form of the legacy interface.
package fault

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Kind classifies a failure. Services send the text of a Kind to each other.
type Kind string

const (
	Invalid     Kind = "invalid"     // the request is invalid, so a retry cannot succeed
	Denied      Kind = "denied"      // authentication or another check before the operation failed, for example the rate limit: 403 without a body
	Forbidden   Kind = "forbidden"   // the caller may not make the request, for example because of the role or the plan: 403 with a message
	NotFound    Kind = "not_found"   // the organization has no such record
	Gone        Kind = "gone"        // the link was valid, but no longer has an effect, for example because it is used or expired
	Method      Kind = "method"      // the path does not have this method
	Conflict    Kind = "conflict"    // a quota, a unique value, a version or the state of a record prevents the write
	TooLarge    Kind = "too_large"   // the body is larger than its limit
	MediaType   Kind = "media_type"  // the media type of the body is not supported
	TooMany     Kind = "too_many"    // a limit of requests or tries is reached; see Throttled
	Unavailable Kind = "unavailable" // a part of the platform cannot be reached, or the request took too long; a retry may succeed
	Internal    Kind = "internal"    // any other failure
)

// ErrUnchanged is returned by a change function to say that the stored record need not change. The store then writes
// nothing and returns the stored record without an error.
var ErrUnchanged = errors.New("unchanged")

// Error is a failure of a known kind.
type Error struct {
	Kind    Kind
	Message string // sentence for the client; never contains the cause
	Field   string // name of the invalid field in the request, if any
	Err     error  // cause, for the log
}

// unexpected is the message of the Internal fault that As returns for an error without a fault.
const unexpected = "Something went wrong on our side."

// Error returns the text for the log: the field, the message and the cause. It omits the message unexpected, which adds
// nothing to the cause.
func (e *Error) Error() string {
	if e.Message == unexpected && e.Err != nil {
		return e.Err.Error()
	}
	text := e.Message
	if e.Field != "" {
		text = e.Field + ": " + text
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// ErrSignInAgain is the error for a change that a session may make only shortly after its member signed in. Package web
// adds a header to the response. Because of the header, the console leads the member to the sign-in and back.
var ErrSignInAgain = New(Forbidden, "Sign in again: this needs a sign-in within the last 10 minutes.")

// Throttled is the error for a caller who has reached a limit of requests or tries. The caller may try again after Wait.
// Wrap a Throttled with the kind TooMany to set the sentence for the client.
type Throttled struct{ Wait time.Duration }

func (t Throttled) Error() string { return "too much was asked for; wait for " + t.Wait.String() }

// New returns an error of the kind.
func New(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Field returns an Invalid error about one field of the request.
func Field(field, format string, args ...any) *Error {
	return &Error{Kind: Invalid, Field: field, Message: fmt.Sprintf(format, args...)}
}

// Within returns err with member and a dot in front of its field. It returns an error without a field unchanged.
func Within(member string, err error) error {
	inner, ok := errors.AsType[*Error](err)
	if !ok || inner.Field == "" {
		return err
	}
	outer := *inner
	outer.Field = member + "." + inner.Field
	return &outer
}

// Wrap returns an error of the kind with the cause err.
func Wrap(kind Kind, err error, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...), Err: err}
}

// As returns the fault in the chain of err. If the chain has context.DeadlineExceeded, As returns an Unavailable fault
// instead, because a retry may succeed. For a Throttled without a fault it returns a TooMany fault, and for any other error
// an Internal fault with the cause err.
func As(err error) *Error {
	fault, ok := errors.AsType[*Error](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded) && (!ok || fault.Kind != Unavailable):
		return Wrap(Unavailable, err, "The request took too long. Try again shortly.")
	case ok:
		return fault
	}
	if _, late := errors.AsType[Throttled](err); late {
		return Wrap(TooMany, err, "There were too many tries. Try again later.")
	}
	return &Error{Kind: Internal, Message: unexpected, Err: err}
}

// Is reports whether the chain of err contains a fault of the kind.
func Is(err error, kind Kind) bool {
	fault, ok := errors.AsType[*Error](err)
	return ok && fault.Kind == kind
}

// UnlessMissing returns nil if err is a NotFound fault, else err.
func UnlessMissing(err error) error { return IfMissing(err, nil) }

// IfMissing returns instead if err is a NotFound fault, else err.
func IfMissing(err, instead error) error {
	if Is(err, NotFound) {
		return instead
	}
	return err
}

// Status returns the HTTP status code of the kind.
func (k Kind) Status() int {
	switch k {
	case Invalid:
		return http.StatusBadRequest
	case Denied, Forbidden:
		return http.StatusForbidden
	case NotFound:
		return http.StatusNotFound
	case Gone:
		return http.StatusGone
	case Method:
		return http.StatusMethodNotAllowed
	case Conflict:
		return http.StatusConflict
	case TooLarge:
		return http.StatusRequestEntityTooLarge
	case MediaType:
		return http.StatusUnsupportedMediaType
	case TooMany:
		return http.StatusTooManyRequests
	case Unavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}
