package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/engine"
	"github.com/bellbuoy/bellbuoy/libs/document/internal/plan"
)

// Engine stores a database in one file, which one process uses. All writes use one connection. Waiting writes share
// one synced transaction. Reads use a few other connections. With WAL they do not wait for writes. One more connection
// makes the checkpoints.
type Engine struct {
	path    string
	observe func(operation string)

	written sync.Map // *plan.Shape: its *writeTexts

	mu     sync.Mutex // guards the fields below
	reads  *statements
	writes *writer
	closed bool
}

const (
	readers = 4
	// busyMillis is the time for which a write waits for a write of another connection.
	busyMillis = 10000
)

func New(folder, name string, observe func(string)) (*Engine, error) {
	if folder == "" {
		return nil, errors.New("document: sqlite: needs a folder")
	}
	return &Engine{path: filepath.Join(folder, name+".db"), observe: observe}, nil
}

// reader returns the reading connections. It opens them at the first call.
func (e *Engine) reader() (*statements, error) {
	return opened(e, &e.reads, func() (*statements, error) {
		db, err := e.connect("query_only(1)", "cache_size(-1000)")
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(readers)
		db.SetMaxIdleConns(readers)
		return &statements{prepare: db.PrepareContext, closers: []io.Closer{db}}, nil
	})
}

// writer returns the writing connection. At the first call it locks the file and opens the connection.
func (e *Engine) writer(ctx context.Context) (*writer, error) {
	return opened(e, &e.writes, func() (*writer, error) {
		const durable = "synchronous(FULL)"
		db, err := e.connect("cache_size(-4000)", "journal_mode(WAL)", durable, fmt.Sprintf("wal_autocheckpoint(%d)", mostLogged), "journal_size_limit(67108864)")
		if err != nil {
			return nil, err
		}
		lock, err := lockFile(e.path + ".lock")
		if err != nil {
			return nil, errors.Join(err, db.Close())
		}
		db.SetMaxOpenConns(1)
		conn, err := db.Conn(ctx)
		if err != nil {
			return nil, errors.Join(err, db.Close(), lock.Close())
		}
		copying, err := e.connect("cache_size(-100)", durable)
		if err != nil {
			return nil, errors.Join(err, conn.Close(), db.Close(), lock.Close())
		}
		copying.SetMaxOpenConns(1)
		return newWriter(conn, newCheckpoints(copying), conn, db, lock), nil
	})
}

// opened returns *at. If *at is nil, opened first sets *at to the result of open.
func opened[T any](e *Engine, at **T, open func() (*T, error)) (*T, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, &engine.UnavailableError{Err: errors.New("the database is closed")}
	}
	if *at == nil {
		err := e.create()
		var made *T
		if err == nil {
			made, err = open()
		}
		if err != nil {
			return nil, &engine.UnavailableError{Err: unusablePath(e.path, err)}
		}
		*at = made
	}
	return *at, nil
}

// create creates the file if there is none. It must not run while SQLite uses the file: when a process closes any
// descriptor of a file, the operating system removes all locks of the process on the file.
func (e *Engine) create() error {
	if e.reads != nil || e.writes != nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(e.path), 0o700); err != nil {
		return err
	}
	// SQLite creates its other files with the mode of this file.
	file, err := os.OpenFile(e.path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// connect returns connections with the pragmas. Each connection has a page cache of its own, of cache_size KiB, so the
// same page may be cached several times. The engine's allocator uses 8 KiB for a page of 4 KiB and its header, so the
// memory is twice cache_size. The operating system also caches the file, so a page that is not in a page cache is still
// read from memory.
func (e *Engine) connect(pragmas ...string) (*sql.DB, error) {
	if err := registerText(); err != nil {
		return nil, err
	}
	v := url.Values{"_dqs": {"0"}, "_pragma": append(
		[]string{fmt.Sprintf("busy_timeout(%d)", busyMillis), "temp_store(MEMORY)"}, pragmas...)}
	return sql.Open("sqlite", fileURL(e.path, v))
}

func fileURL(path string, parameters url.Values) string {
	return (&url.URL{Scheme: "file", Opaque: url.PathEscape(path), RawQuery: parameters.Encode()}).String()
}

var errInUse = errors.New("another process uses it")

// lockFile locks path for this process. The operating system removes the lock when the process ends, also by a kill.
// The file stays.
func lockFile(path string) (io.Closer, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.FcntlFlock(file.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart})
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		err = errInUse
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func (e *Engine) Ping(ctx context.Context) error {
	_, err := e.number(ctx, clause{text: "SELECT 1"})
	return err
}

func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	var errs []error
	if e.reads != nil {
		errs = append(errs, e.reads.close())
	}
	if e.writes != nil {
		errs = append(errs, e.writes.close())
	}
	e.reads, e.writes = nil, nil
	return errors.Join(errs...)
}

func (e *Engine) read(ctx context.Context, q clause, scan func(*sql.Rows) error) error {
	reads, err := e.reader()
	if err != nil {
		return err
	}
	e.observe("read")
	return classified(reads.rows(ctx, q.text, q.args, scan), nil)
}

// number returns the number in the only row, or 0 without a row.
func (e *Engine) number(ctx context.Context, q clause) (n int64, err error) {
	err = e.read(ctx, q, func(rows *sql.Rows) error { return rows.Scan(&n) })
	return n, err
}

// write runs job in a transaction, which may also contain other writes.
func (e *Engine) write(ctx context.Context, s *plan.Shape, job func(*writer) error) error {
	writes, err := e.writer(ctx)
	if err != nil {
		return err
	}
	e.observe("write")
	return classified(writes.do(ctx, job), s)
}

func (e *Engine) Next(ctx context.Context, counter string, n int64) (int64, error) {
	var last int64
	err := e.write(ctx, nil, func(w *writer) error {
		return w.row(`INSERT INTO "~counters" (name, value) VALUES (?, ?)
			ON CONFLICT (name) DO UPDATE SET value = value + excluded.value RETURNING value`, []any{counter, n}, &last)
	})
	return last, err
}

func (e *Engine) Last(ctx context.Context, counter string) (int64, error) {
	return e.number(ctx, clause{`SELECT value FROM "~counters" WHERE name = ?`, []any{counter}})
}

// classified converts an error of the driver to an engine.ConflictError or engine.UnavailableError. It returns any
// other error as it is. s declares the indexes that a write can violate. Without s there is no ConflictError.
func classified(err error, s *plan.Shape) error {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CONSTRAINT:
		if s != nil && (e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY) {
			return &engine.ConflictError{Index: shape{s}.violated(e.Error()), Err: err}
		}
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN,
		sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_PROTOCOL:
		return &engine.UnavailableError{Err: err}
	case sqlite3.SQLITE_ERROR:
		if strings.Contains(e.Error(), "no such ") { // not migrated yet
			return &engine.UnavailableError{Err: err}
		}
	}
	return err
}

// violated returns the name of the unique index whose columns SQLite's message lists, or "" if the key exists already. The
// message does not name the index.
func (s shape) violated(message string) string {
	_, list, _ := strings.Cut(message, "UNIQUE constraint failed: ")
	list, _, _ = strings.Cut(list, " (")
	for i := range s.Indexes {
		table := s.Name
		if s.Indexes[i].Many >= 0 {
			table = s.sideTable(&s.Indexes[i])
		}
		columns := strings.ReplaceAll(s.each(s.Indexes[i].Fields, table+".?", ", "), `"`, "")
		if s.Indexes[i].Unique && columns == list {
			return s.Indexes[i].Name
		}
	}
	return ""
}
