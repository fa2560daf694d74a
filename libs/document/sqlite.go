package document

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// sqliteEngine keeps a database in one file that several processes may share. Each process writes
// over one connection, which gathers waiting writes into one synced transaction, and reads over a few others, which
// WAL lets go on meanwhile.
type sqliteEngine struct {
	path string

	mu     sync.Mutex // guards opening
	opened *sqliteFile
	closed bool
}

// sqliteFile is the open file.
type sqliteFile struct {
	writer *sqliteWriter
	reads  *sql.DB
	cache  statements
	relay  relayLock
}

const (
	sqliteReaders = 4
	// How long a write waits for another process's before the database counts as unavailable.
	sqliteBusyMillis = 10000
)

func newSQLite(folder, name string) (*sqliteEngine, error) {
	if folder == "" {
		return nil, errors.New("document: sqlite: needs a folder")
	}
	return &sqliteEngine{path: filepath.Join(folder, name+".db")}, nil
}

// file opens the database at the first use.
func (e *sqliteEngine) file(ctx context.Context) (*sqliteFile, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, &unavailableError{errors.New("the database is closed")}
	}
	if e.opened == nil {
		f, err := openSQLite(ctx, e.path)
		if err != nil {
			return nil, &unavailableError{unusablePath(e.path, err)}
		}
		e.opened = f
	}
	return e.opened, nil
}

func openSQLite(ctx context.Context, path string) (*sqliteFile, error) {
	if err := registerText(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	// SQLite gives its side files the mode of this one.
	created, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := created.Close(); err != nil {
		return nil, err
	}
	pragmas := func(extra ...string) string {
		v := url.Values{"_pragma": append([]string{fmt.Sprintf("busy_timeout(%d)", sqliteBusyMillis)}, extra...), "_dqs": {"0"}}
		return (&url.URL{Scheme: "file", Opaque: url.PathEscape(path), RawQuery: v.Encode()}).String()
	}
	writes, err := sql.Open("sqlite", pragmas("journal_mode(WAL)", "synchronous(FULL)", "journal_size_limit(67108864)", "temp_store(MEMORY)", "cache_size(-16000)"))
	if err != nil {
		return nil, err
	}
	writes.SetMaxOpenConns(1)
	writer, err := newSQLiteWriter(ctx, writes, path)
	if err != nil {
		return nil, errors.Join(err, writes.Close())
	}
	reads, err := sql.Open("sqlite", pragmas("query_only(1)", "temp_store(MEMORY)", "cache_size(-16000)"))
	if err != nil {
		return nil, errors.Join(err, writer.close())
	}
	reads.SetMaxOpenConns(sqliteReaders)
	reads.SetMaxIdleConns(sqliteReaders)
	return &sqliteFile{
		writer: writer, reads: reads, cache: statements{prepare: reads.PrepareContext},
		relay: relayLock{path: path + ".relay"},
	}, nil
}

func (e *sqliteEngine) ping(ctx context.Context) error {
	f, err := e.file(ctx)
	if err != nil {
		return err
	}
	return sqliteError(f.reads.QueryRowContext(ctx, "SELECT 1").Scan(new(int)), nil)
}

func (e *sqliteEngine) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	if e.opened == nil {
		return nil
	}
	f := e.opened
	e.opened = nil
	return errors.Join(f.relay.unlock(), f.reads.Close(), f.writer.close())
}

// read runs a query that yields rows and hands each to scan.
func (e *sqliteEngine) read(ctx context.Context, q *statement, scan func(*sql.Rows) error) error {
	f, err := e.file(ctx)
	if err != nil {
		return err
	}
	rows, err := f.cache.query(ctx, q.text(), q.args)
	if err != nil {
		return sqliteError(err, nil)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return sqliteError(rows.Err(), nil)
}

// write runs job in a transaction, which it may share with other writes.
func (e *sqliteEngine) write(ctx context.Context, s *shape, job func(*sqliteWriter) error) error {
	f, err := e.file(ctx)
	if err != nil {
		return err
	}
	return sqliteError(f.writer.do(ctx, job), s)
}

func (e *sqliteEngine) next(ctx context.Context, counter string, n int64) (int64, error) {
	var last int64
	err := e.write(ctx, nil, func(w *sqliteWriter) error {
		return w.row(`INSERT INTO "~counters" (name, value) VALUES (?, ?)
			ON CONFLICT (name) DO UPDATE SET value = value + excluded.value RETURNING value`, []any{counter, n}, &last)
	})
	return last, err
}

// sqliteError sorts the driver's errors. s tells which index a violated constraint belongs to.
func sqliteError(err error, s *shape) error {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CONSTRAINT:
		if s != nil && (e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY) {
			return &conflictError{index: s.violated(e.Error()), err: err}
		}
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN,
		sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_PROTOCOL:
		return &unavailableError{err}
	case sqlite3.SQLITE_ERROR:
		if strings.Contains(e.Error(), "no such ") { // not migrated yet
			return &unavailableError{err}
		}
	}
	return err
}

// violated finds the unique index whose columns SQLite's message lists; it does not name the index.
func (s *shape) violated(message string) string {
	_, list, _ := strings.Cut(message, "UNIQUE constraint failed: ")
	list, _, _ = strings.Cut(list, " (")
	for i := range s.indexes {
		columns := make([]string, 0, len(s.indexes[i].fields))
		for _, f := range s.indexes[i].fields {
			columns = append(columns, s.name+"."+column(s.fields[f].name))
		}
		if s.indexes[i].unique && strings.Join(columns, ", ") == list {
			return s.indexes[i].name
		}
	}
	return ""
}
