// Package fault is the one vocabulary of errors from a store to the edge, and
// across the calls between services. An error says what kind of failure it is and
// a sentence the client may read; the cause stays inside and goes to the log only.
// Renderers (package web for the App form, package legacy for the other) turn a
// kind into a status; nobody else chooses one.
package fault

import (
	"errors"
	"fmt"
	"net/http"
)

// Kind classifies a failure. Its text travels between services.
type Kind string

const (
	Invalid     Kind = "invalid"     // the request is wrong and stays wrong
	Denied      Kind = "denied"      // authentication or a tenant-level check failed: 403 without a body
	Forbidden   Kind = "forbidden"   // authenticated, but role or plan do not allow it: 403 with a sentence
	NotFound    Kind = "not_found"   // no such record for this organization
	Method      Kind = "method"      // the path exists, the method does not
	Conflict    Kind = "conflict"    // quota, uniqueness or version
	TooLarge    Kind = "too_large"   // the body exceeds its bound
	MediaType   Kind = "media_type"  // the body is of a type not understood
	Unavailable Kind = "unavailable" // a part of the platform cannot be reached; trying again may help
	Internal    Kind = "internal"    // everything unforeseen
)

// ErrUnchanged is returned by a function that was given a stored record to change and has
// nothing to write. The store then returns the current record and no error.
var ErrUnchanged = errors.New("unchanged")

// Error is a failure of a known kind.
type Error struct {
	Kind    Kind
	Message string // for the client: a sentence, never a cause
	Field   string // the input field at fault, when there is one
	Err     error  // the cause, for the log
}

func (e *Error) Error() string {
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

// New makes an error of a kind.
func New(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Field makes an Invalid error about one input field.
func Field(field, format string, args ...any) *Error {
	return &Error{Kind: Invalid, Field: field, Message: fmt.Sprintf(format, args...)}
}

// Wrap keeps the cause err under a sentence of a kind.
func Wrap(kind Kind, err error, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...), Err: err}
}

// As finds the fault in err's chain. Any other error is an Internal one.
func As(err error) *Error {
	if fault, ok := errors.AsType[*Error](err); ok {
		return fault
	}
	return &Error{Kind: Internal, Message: "Something went wrong on our side.", Err: err}
}

// Is reports whether err is a fault of the kind.
func Is(err error, kind Kind) bool {
	fault, ok := errors.AsType[*Error](err)
	return ok && fault.Kind == kind
}

// Status is the one table from kinds to HTTP statuses.
func (k Kind) Status() int {
	switch k {
	case Invalid:
		return http.StatusBadRequest
	case Denied, Forbidden:
		return http.StatusForbidden
	case NotFound:
		return http.StatusNotFound
	case Method:
		return http.StatusMethodNotAllowed
	case Conflict:
		return http.StatusConflict
	case TooLarge:
		return http.StatusRequestEntityTooLarge
	case MediaType:
		return http.StatusUnsupportedMediaType
	case Unavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}
