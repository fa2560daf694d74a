package document

import (
	"context"
	"errors"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// record is a document as the engines hold it.
type record struct {
	key     string
	version int64
	body    []byte
	fields  []any   // in the order of the shape's fields
	entries []entry // what this write appends to the outbox
}

// engine is what MongoDB and SQLite must provide; the rest of the package is the same for both.
type engine interface {
	ping(ctx context.Context) error
	close() error
	migrate(ctx context.Context, shapes []*shape) error
	next(ctx context.Context, counter string, n int64) (int64, error)

	load(ctx context.Context, s *shape, key string) (*record, error) // nil when there is none
	loadMany(ctx context.Context, s *shape, keys []string) ([]*record, error)
	insert(ctx context.Context, s *shape, r *record) error
	replace(ctx context.Context, s *shape, r *record, version int64) error
	remove(ctx context.Context, s *shape, key string, version int64, entries []entry) error

	putMany(ctx context.Context, s *shape, records []*record) error
	insertMany(ctx context.Context, s *shape, records []*record) ([]bool, error)
	deleteSome(ctx context.Context, p *plan, limit int) (int64, error)

	find(ctx context.Context, p *plan) ([]*record, error)
	count(ctx context.Context, p *plan) (int64, error)
	countDistinct(ctx context.Context, p *plan, field int) (int64, error)

	outboxes
}

// outboxes is the relay's side of an engine.
type outboxes interface {
	// claim takes up to limit documents with waiting messages that nobody else is relaying.
	claim(ctx context.Context, shapes []*shape, limit int, skip func(collection, key string) bool) ([]parcel, error)
	// settle removes what was published, and notes a doubt where there is one; release gives back what could not be.
	settle(ctx context.Context, parcels []parcel) error
	release(ctx context.Context, parcels []parcel) error
	// doubts are those noted before a time, cleared removes one unless it was noted again since.
	doubts(ctx context.Context, before time.Time, limit int) ([]doubt, error)
	cleared(ctx context.Context, d doubt) error
	// hold keeps the claims while work on them lasts, until ctx ends.
	hold(ctx context.Context, parcels []parcel)
	// idle waits until there may be something to claim.
	idle(ctx context.Context, wake <-chan struct{}, atMost time.Duration)
	// yield lets other processes relay.
	yield()
}

// errStale: the document is not there in the version that was to be replaced.
var errStale = errors.New("the document was changed meanwhile")

// conflictError: a key or a unique index is taken.
type conflictError struct {
	index string // empty for the key
	err   error
}

func (e *conflictError) Error() string {
	if e.index == "" {
		return "the key is taken"
	}
	return "unique index " + e.index + " is violated"
}

func (e *conflictError) Unwrap() error { return e.err }

// unavailableError: the engine could not be reached or did not answer in time.
type unavailableError struct{ err error }

func (e *unavailableError) Error() string { return e.err.Error() }
func (e *unavailableError) Unwrap() error { return e.err }

// unusableError: what the address names on this machine is no place for the database, and waiting does not make
// it one.
type unusableError struct {
	path string
	err  error
}

func (e *unusableError) Error() string { return e.path + " cannot be used: " + e.err.Error() }
func (e *unusableError) Unwrap() error { return e.err }

// ViolatedIndex names the unique index a Conflict of this package is about; it is empty for the key,
// and for any other error.
func ViolatedIndex(err error) string {
	if conflict, ok := errors.AsType[*conflictError](err); ok {
		return conflict.index
	}
	return ""
}

// opaque turns an engine's error into a fault. The message may reach a client, so it names nothing
// of the engine; the cause goes along for the log.
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
	cause := &operationError{doing: doing, err: err}
	_, unreachable := errors.AsType[*unavailableError](err)
	if unreachable || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return fault.Wrap(fault.Unavailable, cause, "The database cannot be reached at the moment.")
	}
	return fault.Wrap(fault.Internal, cause, "Something went wrong on our side.")
}

// operationError says in the log what was being done.
type operationError struct {
	doing string
	err   error
}

func (e *operationError) Error() string { return e.doing + ": " + e.err.Error() }
func (e *operationError) Unwrap() error { return e.err }
