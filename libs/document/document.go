// Package document stores the records of a service in typed collections. A write loads a record, changes it in Go and
// replaces it guarded by its version. The same write stores the messages that it causes.
//
// Decision. There are two engines: MongoDB with its official driver for deployments, and SQLite (pure Go, WAL, synced)
// for one machine. Both store a record as BSON, and beside it the values of its declared fields. Queries and indexes
// can name declared fields only. Both engines therefore return the same results, and one conformance suite tests both.
// FerretDB v1 embedded was tried as the only engine and rejected: it loses concurrent updates (50 of 800 increments
// survived), and an update by id costs a scan, 20 ms at 10,000 documents. SQLite takes 0.24 ms for an update with
// fsync, and 7 microseconds for a read.
//
// A write is durable when the call returns, and atomic with its messages (on MongoDB both are in one document). A write
// that has read a record does not overwrite a change that another writer has made meanwhile. Both engines refuse a query
// that no declared index serves. Both also refuse a query that would ask every shard of a sharded MongoDB, unless its
// index declares why, or the query has neither conditions nor an order.
//
// One process uses a SQLite file. Any number of processes share a MongoDB database.
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

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/engine"
	"github.com/bellbuoy/bellbuoy/libs/document/internal/mongodb"
	"github.com/bellbuoy/bellbuoy/libs/document/internal/plan"
	"github.com/bellbuoy/bellbuoy/libs/document/internal/sqlite"
	"github.com/bellbuoy/bellbuoy/libs/failurelog"
	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// Options are the optional settings of a Database.
type Options struct {
	Log        *slog.Logger
	Tracer     trace.TracerProvider
	Propagator propagation.TextMapPropagator // writes the trace context of a write into its messages; nil: the W3C format
	Metrics    prometheus.Registerer         // registers the age of the outbox; nil: no metric
	// Observe is called with the name of each command sent to MongoDB. On SQLite it is called with "read" for each
	// query and "write" for each write. Tests count operations with it. It must be safe for concurrent use.
	Observe func(operation string)
	// SettleAfter has the times at which Relay computes the fields of records that processes of a former version have
	// written since Migrate. The times count from the start of Relay. nil: 1 minute, 10 minutes, 1 hour and 12 hours. The
	// processes of the former version must end before the last time.
	SettleAfter []time.Duration
}

// Database holds the collections of one service on one engine.
type Database struct {
	name        string
	engine      storage
	log         *slog.Logger
	outages     *failurelog.Log
	tracer      trace.Tracer
	propagator  propagation.TextMapPropagator
	writers     gate
	derivations derivations
	backlog     backlog
	settleAfter []time.Duration

	mu      sync.Mutex
	shapes  []*plan.Shape
	records []Declaration
	written map[*plan.Shape]bool // collections that notify was called for since the last takeWritten
	wake    chan struct{}
}

var databaseName = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

// Open prepares the database name at address. "sqlite:FOLDER" is the file FOLDER/name.db. "mongodb://host/prefix" (or
// mongodb+srv) is the database prefix_name; the default prefix is "bellbuoy". Open contacts no engine. It returns an
// error only for an invalid name or address.
//
// The first write to a SQLite file locks it until the process ends or closes the Database. Writes of a second process
// fail, and its Migrate returns an error at once, without retries. The lock does not exclude a second Database of the
// same process: tests write while a service runs.
func Open(address, name string, options Options) (*Database, error) {
	if !databaseName.MatchString(name) {
		return nil, fmt.Errorf("document: %q is not a valid database name", name)
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if options.Propagator == nil {
		options.Propagator = propagation.TraceContext{}
	}
	if options.Tracer == nil {
		options.Tracer = noop.NewTracerProvider()
	}
	if options.Observe == nil {
		options.Observe = func(string) {}
	}
	if options.SettleAfter == nil {
		options.SettleAfter = []time.Duration{time.Minute, 10 * time.Minute, time.Hour, 12 * time.Hour}
	}
	db := &Database{
		settleAfter: options.SettleAfter,
		name:        name, log: options.Log, outages: failurelog.New(options.Log), propagator: options.Propagator,
		tracer:  options.Tracer.Tracer("github.com/bellbuoy/bellbuoy/libs/document"),
		written: make(map[*plan.Shape]bool), wake: make(chan struct{}, 1),
	}
	scheme, rest, _ := strings.Cut(address, ":")
	var err error
	switch scheme {
	case "sqlite":
		db.engine, err = sqlite.New(strings.TrimPrefix(rest, "//"), name, options.Observe)
	case "mongodb", "mongodb+srv":
		db.engine, err = mongodb.New(address, name, options.Observe)
	default:
		err = fmt.Errorf("document: an address must start with sqlite: or mongodb:, not with %q", scheme)
	}
	if err != nil {
		return nil, err
	}
	if options.Metrics != nil {
		options.Metrics.MustRegister(db.backlog.gauge())
	}
	return db, nil
}

// ViolatedIndex returns the name of the unique index that caused err, a Conflict of this package. It returns "" if err
// means that the key exists already, and for any other error.
func ViolatedIndex(err error) string {
	if conflict, ok := errors.AsType[*engine.ConflictError](err); ok {
		return conflict.Index
	}
	return ""
}

// Ping returns an error if the engine cannot be reached.
func (db *Database) Ping(ctx context.Context) error {
	return engine.Opaque(db.engine.Ping(ctx), "reach the database")
}

// Close finishes the current writes and closes the connections.
func (db *Database) Close() error { return db.engine.Close() }

// Next increments a counter and returns its new value: 1, 2, 3 and so on. No two calls for the same counter, in any
// process, return the same value.
func (db *Database) Next(ctx context.Context, counter string) (int64, error) {
	return db.NextN(ctx, counter, 1)
}

// NextN reserves n consecutive values of a counter and returns the first.
func (db *Database) NextN(ctx context.Context, counter string, n int64) (int64, error) {
	if n < 1 {
		return 0, fault.New(fault.Internal, "document: counter %s cannot reserve %d values", counter, n)
	}
	last, err := db.engine.Next(ctx, counter, n)
	if err != nil {
		return 0, engine.Opaque(err, "increment counter "+counter)
	}
	return last - n + 1, nil
}

// Last returns the last value of a counter, or 0 before the first call of Next.
func (db *Database) Last(ctx context.Context, counter string) (int64, error) {
	last, err := db.engine.Last(ctx, counter)
	return last, engine.Opaque(err, "read counter "+counter)
}

// Migrate changes the database so that it matches the declarations. It creates missing collections, columns and
// indexes, rebuilds changed indexes and drops undeclared indexes. On MongoDB it keeps an undeclared index for a day,
// because processes of the former version may use it. A later Migrate drops the index. An undeclared index with the
// fields of a declared index is dropped at once. If a field is new or its declaration (such as Revision) has changed,
// Migrate computes the fields of the stored records. While the engine does not respond, Migrate logs a line and retries
// until ctx ends. It returns an error without retries if a local path cannot hold the database, or if a newer program
// has used the database (see Format). On MongoDB several processes may migrate at once.
func (db *Database) Migrate(ctx context.Context) error {
	shapes := db.declared()
	pause := 100 * time.Millisecond
	for {
		err := engine.Opaque(db.engine.Migrate(ctx, shapes), "migrate "+db.name)
		if unusable, ok := errors.AsType[*engine.UnusableError](err); ok {
			return unusable // without wrapping: the operator reads this line
		}
		if newer, ok := errors.AsType[*engine.NewerError](err); ok {
			return newer
		}
		if err == nil || !fault.Is(err, fault.Unavailable) {
			return err
		}
		db.log.LogAttrs(ctx, slog.LevelWarn, "waiting for the database",
			slog.String("database", db.name), slog.String("error", err.Error()), slog.String("again_in", pause.String()))
		if !engine.Sleep(ctx, pause) {
			return err
		}
		pause = min(2*pause, 5*time.Second)
	}
}

func (db *Database) declared() []*plan.Shape {
	db.mu.Lock()
	defer db.mu.Unlock()
	return slices.Clone(db.shapes)
}
