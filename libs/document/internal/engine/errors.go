package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// ErrStale means that the stored document has another version than the caller has read, or does not exist any more.
var ErrStale = errors.New("the stored document has another version")

// ConflictError means that a key or a value of a unique index exists already.
type ConflictError struct {
	Index string // empty for the key
	Err   error
}

func (e *ConflictError) Error() string {
	if e.Index == "" {
		return "the key exists already"
	}
	return "unique index " + e.Index + " is violated"
}

func (e *ConflictError) Unwrap() error { return e.Err }

// UnavailableError means that the engine cannot serve an operation at the moment: it cannot be reached, does not
// respond in time, has no space, is closed or is not migrated yet.
type UnavailableError struct{ Err error }

func (e *UnavailableError) Error() string { return e.Err.Error() }
func (e *UnavailableError) Unwrap() error { return e.Err }

// UnusableError means that the local path cannot hold the database, and that a retry cannot help.
type UnusableError struct {
	Path string
	Err  error
}

func (e *UnusableError) Error() string { return e.Path + " cannot be used: " + e.Err.Error() }
func (e *UnusableError) Unwrap() error { return e.Err }

// Opaque turns an engine's error into a fault. A client may see the message, so the message
// names nothing of the engine. The log gets the cause.
func Opaque(err error, doing string) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	if _, ok := errors.AsType[*ConflictError](err); ok {
		return fault.Wrap(fault.Conflict, err, "A record with these values exists already.")
	}
	cause := fmt.Errorf("%s: %w", doing, err)
	_, unreachable := errors.AsType[*UnavailableError](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Wrap(fault.Unavailable, cause, "The database did not respond in time.")
	case unreachable || errors.Is(err, context.Canceled):
		return fault.Wrap(fault.Unavailable, cause, "The database cannot be reached at the moment.")
	}
	return fault.As(cause)
}
