package document

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// record is a document in the form of the engines.
type record struct {
	key     string
	version int64
	body    []byte
	fields  []any   // in the order of the shape's fields
	entries []entry // that this write appends to the outbox
}

// engine is implemented by MongoDB and SQLite. The rest of the package is common to both.
type engine interface {
	ping(ctx context.Context) error
	close() error
	migrate(ctx context.Context, shapes []*shape) error
	next(ctx context.Context, counter string, n int64) (int64, error)
	last(ctx context.Context, counter string) (int64, error)

	load(ctx context.Context, s *shape, key string) (*record, error) // nil if there is none
	loadMany(ctx context.Context, s *shape, keys []string) ([]*record, error)
	insert(ctx context.Context, s *shape, r *record) error
	replace(ctx context.Context, s *shape, r *record, version int64) error
	remove(ctx context.Context, s *shape, key string, version int64, entries []entry) error

	// replaceMany replaces records whose stored version is one less than their own, with their entries. It returns
	// errStale if another version of one of them is stored. Then it may have replaced some of them.
	replaceMany(ctx context.Context, s *shape, records []*record) error
	putMany(ctx context.Context, s *shape, records []*record) error
	insertMany(ctx context.Context, s *shape, records []*record) ([]bool, error)
	deleteSome(ctx context.Context, p *plan, limit int) (int64, error)

	find(ctx context.Context, p *plan) ([]*record, error)
	// keys returns the key of each record with the values of fields. A time is an int64 or a bson.DateTime.
	keys(ctx context.Context, p *plan, fields []int) ([][]any, error)
	// count returns the number of records, or of the different values of a field, unless that is keyField.
	count(ctx context.Context, p *plan, distinct int) (int64, error)
	// sum returns the sum of the whole numbers in a field.
	sum(ctx context.Context, p *plan, field int) (int64, error)

	// claim returns up to limit documents of shapes with waiting messages. Only this process may publish them.
	claim(ctx context.Context, shapes []*shape, limit int, skip func(collection, key string) bool) ([]claim, error)
	// clear deletes the messages of claims from the outboxes. It returns true if other messages are left in them.
	clear(ctx context.Context, claims []claim) (bool, error)
}

// sharedEngine is implemented by an engine that several processes use at once.
type sharedEngine interface {
	// release lets any process claim the documents again, from their notBefore on.
	release(ctx context.Context, claims []claim) error
	// renew keeps the claims until ctx ends.
	renew(ctx context.Context, claims []claim)
	// doubts returns doubts that are older than before and reserves them for this process.
	doubts(ctx context.Context, before time.Time, limit int) ([]doubt, error)
	// dispel deletes a doubt unless it was noted again meanwhile.
	dispel(ctx context.Context, d doubt) error
}

// errStale means that the stored document has another version than the one to be replaced.
var errStale = errors.New("the stored document has another version")

// conflictError means that a key or a value of a unique index exists already.
type conflictError struct {
	index string // empty for the key
	err   error
}

func (e *conflictError) Error() string {
	if e.index == "" {
		return "the key exists already"
	}
	return "unique index " + e.index + " is violated"
}

func (e *conflictError) Unwrap() error { return e.err }

// unavailableError means that the engine could not be reached or did not respond in time.
type unavailableError struct{ error }

func (e *unavailableError) Unwrap() error { return e.error }

// unusableError means that the local path cannot hold the database, now or after a retry.
type unusableError struct {
	path string
	err  error
}

func (e *unusableError) Error() string { return e.path + " cannot be used: " + e.err.Error() }
func (e *unusableError) Unwrap() error { return e.err }

// ViolatedIndex returns the name of the unique index that a Conflict of this package violates.
// It returns "" if the key exists already, and for any other error.
func ViolatedIndex(err error) string {
	if conflict, ok := errors.AsType[*conflictError](err); ok {
		return conflict.index
	}
	return ""
}

// opaque turns an engine's error into a fault. A client may see the message, so the message
// names nothing of the engine. The log gets the cause.
func opaque(err error, doing string) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	if _, ok := errors.AsType[*conflictError](err); ok {
		return fault.Wrap(fault.Conflict, err, "A record with these values exists already.")
	}
	cause := fmt.Errorf("%s: %w", doing, err)
	_, unreachable := errors.AsType[*unavailableError](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Wrap(fault.Unavailable, cause, "The database did not respond in time.")
	case unreachable || errors.Is(err, context.Canceled):
		return fault.Wrap(fault.Unavailable, cause, "The database cannot be reached at the moment.")
	}
	return fault.Wrap(fault.Internal, cause, "Something went wrong on our side.")
}
