// Package document is how services keep their records: a typed collection with
// one gesture, load, change in Go, replace guarded by the version, and with messages
// that are saved by the very write that causes them.
//
// Decision. Two engines stand behind it: MongoDB by its official driver where a
// platform is deployed, and SQLite (pure Go, WAL, synced) where it runs on one machine. Both
// keep the record as BSON beside its declared fields, which are all that queries and
// indexes may name, so that both answer every query alike; one conformance suite
// holds both to it. FerretDB v1 embedded, which would have been one engine only, was tried
// and rejected: it loses concurrent updates (50 of 800 increments survived) and an
// update by id costs a scan, 20 ms at 10,000 documents, where SQLite needs 0.24 ms with
// fsync and 7 microseconds for a read.
//
// What a write gives: it is durable when the call returns, it is atomic with its messages
// (one document, no transaction), and it fails with a conflict instead of overwriting
// what another has written. What a query gives: it is served by a declared index on
// both engines, or it is refused; there is no way to write a slow one by accident.
package document

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// Options are what a Database uses of its surroundings. Each may be left out.
type Options struct {
	Log        *slog.Logger
	Tracer     trace.TracerProvider
	Propagator propagation.TextMapPropagator // how a message carries the trace of its write; W3C trace context
}

// Database is one service's collections on one engine.
type Database struct {
	name       string
	engine     engine
	log        *slog.Logger
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator
	wake       chan struct{}
	derived    derivedSet

	mu     sync.Mutex
	shapes []*shape
}

var databaseName = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

// Open prepares the database name at address: "sqlite:FOLDER" is the file
// FOLDER/name.db, "mongodb://host/prefix" (or mongodb+srv) is the database prefix_name, the prefix being
// "bellbuoy" when the address has none. Nothing is contacted yet; an address that
// cannot be understood is the only error.
func Open(address, name string, options Options) (*Database, error) {
	if !databaseName.MatchString(name) {
		return nil, fmt.Errorf("document: %q is no database name", name)
	}
	db := &Database{
		name: name, log: options.Log, propagator: options.Propagator,
		wake: make(chan struct{}, 1),
	}
	if db.log == nil {
		db.log = slog.New(slog.DiscardHandler)
	}
	if db.propagator == nil {
		db.propagator = propagation.TraceContext{}
	}
	if options.Tracer == nil {
		options.Tracer = noop.NewTracerProvider()
	}
	db.tracer = options.Tracer.Tracer("github.com/bellbuoy/bellbuoy/libs/document")
	scheme, rest, _ := strings.Cut(address, ":")
	var err error
	switch scheme {
	case "sqlite":
		db.engine, err = newSQLite(strings.TrimPrefix(rest, "//"), name)
	case "mongodb", "mongodb+srv":
		db.engine, err = newMongo(address, name)
	default:
		err = fmt.Errorf("document: an address starts with sqlite: or mongodb:, this one with %q", scheme)
	}
	if err != nil {
		return nil, err
	}
	return db, nil
}

// Ping reports whether the engine answers.
func (db *Database) Ping(ctx context.Context) error {
	return opaque(db.engine.ping(ctx), "reach the database")
}

// Close ends the connections; writes under way are finished first.
func (db *Database) Close() error { return db.engine.close() }

// Next counts the named counter up and returns its new value: 1, 2, 3, and so on,
// each once across all processes.
func (db *Database) Next(ctx context.Context, counter string) (int64, error) {
	return db.NextN(ctx, counter, 1)
}

// NextN takes a block of n numbers and returns the first of them.
func (db *Database) NextN(ctx context.Context, counter string, n int64) (int64, error) {
	if n < 1 {
		return 0, fault.New(fault.Internal, "a block of %d numbers was asked of counter %s", n, counter)
	}
	last, err := db.engine.next(ctx, counter, n)
	if err != nil {
		return 0, opaque(err, "count "+counter)
	}
	return last - n + 1, nil
}

// Migrate brings the engine in line with what is declared: collections, columns and
// indexes are created, changed indexes rebuilt and undeclared ones dropped, and fields
// whose declaration is new or has another Revision are filled in for the records that are
// there. It waits for an engine that does not answer, with a log line a try, until ctx
// ends; a local path that cannot hold the database is not waited for. Several processes
// may do it at once.
func (db *Database) Migrate(ctx context.Context) error {
	shapes := db.declared()
	pause := 100 * time.Millisecond
	for {
		err := opaque(db.engine.migrate(ctx, shapes), "migrate "+db.name)
		if unusable, ok := errors.AsType[*unusableError](err); ok {
			return unusable // and nothing around it: who started the process reads this line
		}
		if err == nil || !fault.Is(err, fault.Unavailable) {
			return err
		}
		db.log.LogAttrs(ctx, slog.LevelWarn, "waiting for the database",
			slog.String("database", db.name), slog.String("error", err.Error()), slog.String("again_in", pause.String()))
		if !sleep(ctx, pause) {
			return err
		}
		pause = min(2*pause, 5*time.Second)
	}
}

func (db *Database) declared() []*shape {
	db.mu.Lock()
	defer db.mu.Unlock()
	return slices.Clone(db.shapes)
}

// sleep waits for d and reports false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// notify wakes the relay of this process.
func (db *Database) notify() {
	select {
	case db.wake <- struct{}{}:
	default:
	}
}

// span times one operation when the caller is being traced.
func (db *Database) span(ctx context.Context, operation, collection string) (context.Context, func()) {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return ctx, func() {}
	}
	ctx, span := db.tracer.Start(ctx, operation+" "+collection, trace.WithSpanKind(trace.SpanKindClient))
	return ctx, func() { span.End() }
}
