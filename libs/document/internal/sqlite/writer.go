package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"sync"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/engine"
)

// writer runs all writes over one connection. Writes that arrive while a transaction is being synced share the next
// transaction, so many writers need few syncs.
type writer struct {
	cache       *statements
	conn        *sql.Conn
	checkpoints *checkpoints
	jobs        chan *writeJob

	mu     sync.RWMutex // do holds it for reading while it sends a job, so that close cannot close jobs at the same time
	closed bool
	done   chan struct{}
}

type writeJob struct {
	ctx  context.Context
	work func(*writer) error
	err  error
	done chan struct{}
}

const maxGroup = 128

var errRolledBack = errors.New("the shared transaction failed")

// newWriter returns a running writer. The writer's close also closes checkpoints and closers.
func newWriter(conn *sql.Conn, checkpoints *checkpoints, closers ...io.Closer) *writer {
	w := &writer{
		conn: conn, checkpoints: checkpoints, cache: &statements{prepare: conn.PrepareContext, closers: append([]io.Closer{checkpoints}, closers...)},
		jobs: make(chan *writeJob, maxGroup), done: make(chan struct{}),
	}
	go w.loop()
	return w
}

// do runs work in a transaction and returns when the transaction is durable. If ctx has ended before work starts, do
// returns the error of ctx and does not run work. A started work does not end with ctx, and do always waits for its
// result. So an error means that nothing was written.
func (w *writer) do(ctx context.Context, work func(*writer) error) error {
	job := &writeJob{ctx: ctx, work: work, done: make(chan struct{})}
	w.mu.RLock()
	if w.closed {
		w.mu.RUnlock()
		return &engine.UnavailableError{Err: errors.New("the database is closed")}
	}
	w.jobs <- job
	w.mu.RUnlock()
	<-job.done
	return job.err
}

// close finishes the waiting jobs and closes the connection. It is called once.
func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	close(w.jobs)
	<-w.done
	return w.cache.close()
}

func (w *writer) loop() {
	defer close(w.done)
	for job := range w.jobs {
		group := []*writeJob{job}
		for len(group) < maxGroup && len(w.jobs) > 0 {
			group = append(group, <-w.jobs)
		}
		w.commit(group)
		for _, job := range group {
			close(job.done)
		}
		w.checkpoints.committed(w.conn)
	}
}

// commit runs the jobs of a group in one transaction. If the transaction fails, all of its jobs fail.
func (w *writer) commit(group []*writeJob) {
	err := w.exec("BEGIN IMMEDIATE")
	if err == nil {
		err = w.runAll(group)
	}
	if err == nil {
		err = w.exec("COMMIT")
	}
	if err == nil {
		return
	}
	_ = w.exec("ROLLBACK") // fails if BEGIN failed, when there is nothing to roll back
	for _, job := range group {
		if job.err == nil {
			job.err = errors.Join(errRolledBack, err)
		}
	}
}

// runAll runs each job after a savepoint, so that a failed job is undone alone. A single job has no savepoint. runAll
// returns an error if the transaction cannot continue.
func (w *writer) runAll(group []*writeJob) error {
	if len(group) == 1 {
		group[0].err = w.run(group[0])
		return group[0].err
	}
	for _, job := range group {
		if err := w.exec("SAVEPOINT job"); err != nil {
			return err
		}
		if job.err = w.run(job); job.err != nil {
			// After some errors (a full disk) SQLite has rolled back the transaction. Then ROLLBACK TO fails.
			if err := w.exec("ROLLBACK TO job"); err != nil {
				return err
			}
		}
		if err := w.exec("RELEASE job"); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) run(job *writeJob) error {
	if err := job.ctx.Err(); err != nil {
		return err
	}
	return job.work(w)
}

// exec, changes, row and rows run a cached statement on the writing connection. They have no context: a group must
// not fail because one of its callers stops waiting.
func (w *writer) exec(text string, args ...any) error {
	_, err := w.changes(text, args...)
	return err
}

func (w *writer) define(text string) error {
	_, err := w.conn.ExecContext(context.Background(), text)
	return err
}

func (w *writer) changes(text string, args ...any) (int64, error) {
	ctx := context.Background()
	stmt, release, err := w.cache.get(ctx, text)
	if err != nil {
		return 0, err
	}
	defer release()
	result, err := stmt.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// row scans the first row. It returns sql.ErrNoRows if there is none.
func (w *writer) row(text string, args []any, dest ...any) error {
	found := false
	err := w.rows(text, args, func(rows *sql.Rows) error {
		found = true
		return rows.Scan(dest...)
	})
	if err == nil && !found {
		return sql.ErrNoRows
	}
	return err
}

func (w *writer) rows(text string, args []any, scan func(*sql.Rows) error) error {
	return w.cache.rows(context.Background(), text, args, scan)
}

// statements caches prepared statements. Their number is bounded, because each length of a list of values needs a
// statement of its own.
type statements struct {
	prepare func(ctx context.Context, text string) (*sql.Stmt, error)
	closers []io.Closer
	mu      sync.Mutex
	ready   map[string]*sql.Stmt
}

const maxStatements = 300

// get returns a statement, and a function that the caller must call after the use of the statement.
func (s *statements) get(ctx context.Context, text string) (*sql.Stmt, func(), error) {
	s.mu.Lock()
	stmt, ok := s.ready[text]
	s.mu.Unlock()
	if ok {
		return stmt, func() {}, nil
	}
	stmt, err := s.prepare(ctx, text)
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ready == nil {
		s.ready = make(map[string]*sql.Stmt)
	}
	if s.ready[text] != nil || len(s.ready) >= maxStatements {
		return stmt, func() { _ = stmt.Close() }, nil
	}
	s.ready[text] = stmt
	return stmt, func() {}, nil
}

func (s *statements) rows(ctx context.Context, text string, args []any, scan func(*sql.Rows) error) error {
	stmt, release, err := s.get(ctx, text)
	if err != nil {
		return err
	}
	defer release()
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (s *statements) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, stmt := range s.ready {
		errs = append(errs, stmt.Close())
	}
	s.ready = nil
	for _, closer := range s.closers {
		errs = append(errs, closer.Close())
	}
	return errors.Join(errs...)
}
