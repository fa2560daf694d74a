package document

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// sqliteWriter is a process's one writing connection. Whoever writes hands it a job; the jobs that wait
// while a transaction is being synced share the next one, so that many writers cost few syncs.
type sqliteWriter struct {
	db    *sql.DB
	conn  *sql.Conn
	cache statements
	turn  turnstile
	jobs  chan *writeJob

	mu      sync.RWMutex // guards closing against senders
	closing bool
	done    chan struct{}
}

type writeJob struct {
	ctx  context.Context
	work func(*sqliteWriter) error
	err  error
	done chan struct{}
}

const maxGroup = 128

var errRolledBack = errors.New("the shared transaction failed")

func newSQLiteWriter(ctx context.Context, db *sql.DB, path string) (*sqliteWriter, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	turn, err := newTurnstile(path + ".turn")
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	w := &sqliteWriter{
		db: db, conn: conn, cache: statements{prepare: conn.PrepareContext}, turn: turn,
		jobs: make(chan *writeJob, maxGroup), done: make(chan struct{}),
	}
	go w.loop()
	return w, nil
}

// do runs a job and returns once it is durable. The outcome is always awaited, for a caller who is told
// of a failure must be able to rely on it; ctx counts until the job's turn has come.
func (w *sqliteWriter) do(ctx context.Context, work func(*sqliteWriter) error) error {
	job := &writeJob{ctx: ctx, work: work, done: make(chan struct{})}
	w.mu.RLock()
	if w.closing {
		w.mu.RUnlock()
		return &unavailableError{errors.New("the database is closed")}
	}
	w.jobs <- job
	w.mu.RUnlock()
	<-job.done
	return job.err
}

func (w *sqliteWriter) close() error {
	w.mu.Lock()
	closing := w.closing
	w.closing = true
	w.mu.Unlock()
	if !closing {
		close(w.jobs)
	}
	<-w.done
	return errors.Join(w.cache.close(), w.conn.Close(), w.db.Close(), w.turn.file.Close())
}

func (w *sqliteWriter) loop() {
	defer close(w.done)
	for job := range w.jobs {
		group := []*writeJob{job}
	gather:
		for len(group) < maxGroup {
			select {
			case next, ok := <-w.jobs:
				if !ok {
					break gather
				}
				group = append(group, next)
			default:
				break gather
			}
		}
		w.commit(group)
		for _, job := range group {
			close(job.done)
		}
	}
}

// commit runs a group in one transaction, each job behind its own savepoint unless it is alone. Should
// the transaction itself fail, all that had succeeded in it have failed.
func (w *sqliteWriter) commit(group []*writeJob) {
	err := w.turn.pass(func() error { return w.exec("BEGIN IMMEDIATE") })
	if err == nil {
		err = w.runAll(group)
	}
	if err == nil {
		err = w.exec("COMMIT")
	}
	if err == nil {
		return
	}
	// When BEGIN failed there is nothing to be rolled back; SQLite says so, which is fine.
	_ = w.exec("ROLLBACK")
	for _, job := range group {
		if job.err == nil {
			job.err = errors.Join(errRolledBack, err)
		}
	}
}

// runAll returns an error when the transaction cannot go on.
func (w *sqliteWriter) runAll(group []*writeJob) error {
	if len(group) == 1 {
		group[0].err = w.run(group[0])
		return group[0].err
	}
	for _, job := range group {
		if err := w.exec("SAVEPOINT job"); err != nil {
			return err
		}
		if job.err = w.run(job); job.err != nil {
			// After some failures (a full disk) SQLite has ended the transaction by itself.
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

func (w *sqliteWriter) run(job *writeJob) error {
	if err := job.ctx.Err(); err != nil {
		return err
	}
	return job.work(w)
}

// exec, changes, row and rows run a cached statement on the writing connection. They take no context: a group
// must not fail because one of its callers went away.
func (w *sqliteWriter) exec(text string, args ...any) error {
	_, err := w.changes(text, args...)
	return err
}

// define runs a statement that is not worth keeping.
func (w *sqliteWriter) define(text string) error {
	_, err := w.conn.ExecContext(context.Background(), text)
	return err
}

func (w *sqliteWriter) changes(text string, args ...any) (int64, error) {
	result, err := w.cache.exec(context.Background(), text, args)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (w *sqliteWriter) row(text string, args []any, dest ...any) error {
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

func (w *sqliteWriter) rows(text string, args []any, scan func(*sql.Rows) error) error {
	rows, err := w.cache.query(context.Background(), text, args)
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

// statements keeps prepared statements, up to a bound: the lengths of lists make many different texts.
type statements struct {
	prepare func(ctx context.Context, text string) (*sql.Stmt, error)
	mu      sync.Mutex
	ready   map[string]*sql.Stmt
}

const maxStatements = 300

// get returns a statement and whether the caller must close it.
func (s *statements) get(ctx context.Context, text string) (*sql.Stmt, bool, error) {
	s.mu.Lock()
	stmt, ok := s.ready[text]
	full := len(s.ready) >= maxStatements
	s.mu.Unlock()
	if ok {
		return stmt, false, nil
	}
	stmt, err := s.prepare(ctx, text)
	if err != nil || full {
		return stmt, true, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.ready[text]; ok {
		return stmt, true, nil
	}
	if s.ready == nil {
		s.ready = make(map[string]*sql.Stmt)
	}
	s.ready[text] = stmt
	return stmt, false, nil
}

func (s *statements) exec(ctx context.Context, text string, args []any) (sql.Result, error) {
	stmt, once, err := s.get(ctx, text)
	if err != nil {
		return nil, err
	}
	if once {
		defer stmt.Close()
	}
	return stmt.ExecContext(ctx, args...)
}

// query's rows keep a statement that is used once open until they are closed: database/sql counts.
func (s *statements) query(ctx context.Context, text string, args []any) (*sql.Rows, error) {
	stmt, once, err := s.get(ctx, text)
	if err != nil {
		return nil, err
	}
	if once {
		defer stmt.Close()
	}
	return stmt.QueryContext(ctx, args...)
}

func (s *statements) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, stmt := range s.ready {
		errs = append(errs, stmt.Close())
	}
	s.ready = nil
	return errors.Join(errs...)
}
