package backup

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// snapshot is the state of all SQLite databases of a folder at one moment. Other processes may use the databases.
//
// All databases must have the state of the same moment, because records of one service refer to records of another. In
// SQLite only one connection at a time can have a write transaction, also across processes. takeSnapshot first begins a
// write transaction in each database, so all other writers must wait. It then begins a read transaction in each
// database, and ends the write transactions. In WAL mode a read transaction keeps the state in which it began.
type snapshot struct {
	names   []string // names of the database files
	sources map[string]*source
}

// source is one database of a snapshot.
type source struct {
	db             *sql.DB
	reader, writer *sql.Conn
}

const (
	// lockPoll is the pause between two attempts to begin a write transaction. SQLite has no queue for writers, and a
	// busy writer leaves the database unlocked for some microseconds only. SQLite's own attempts, up to 100 ms apart,
	// would rarely find the database unlocked.
	lockPoll = 200 * time.Microsecond
	// busyMillis is the time for which a statement of a reader waits while another connection has a lock, in milliseconds.
	busyMillis = 10000
	// copyPages is the number of pages that copy copies before it checks its context again.
	copyPages = 4096
)

// takeSnapshot takes the state of the databases folder/*.db. While all writers are stopped, it calls still, which opens
// other files whose state must be of the same moment. Other writes wait meanwhile, and fail after 10 s. takeSnapshot
// returns an error if there is no database, or if ctx ends.
func takeSnapshot(ctx context.Context, folder string, still func() error) (*snapshot, error) {
	s := &snapshot{sources: map[string]*source{}}
	err := s.open(ctx, folder)
	if err == nil {
		err = s.take(ctx, still)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *snapshot) open(ctx context.Context, folder string) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, file := range files {
		if name := file.Name(); filepath.Ext(name) == ".db" {
			s.names, s.sources[name] = append(s.names, name), &source{}
			if err := s.sources[name].open(ctx, filepath.Join(folder, name)); err != nil {
				return fmt.Errorf("open %s: %w", name, err)
			}
		}
	}
	if len(s.names) == 0 {
		return fmt.Errorf("%s contains no database", folder)
	}
	return nil
}

func (s *snapshot) take(ctx context.Context, still func() error) error {
	for _, name := range s.names {
		defer s.sources[name].unlock()
		if err := s.sources[name].lock(ctx); err != nil {
			return fmt.Errorf("stop the writers of %s: %w", name, err)
		}
	}
	if err := still(); err != nil {
		return err
	}
	for _, name := range s.names {
		if err := s.sources[name].pin(ctx); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
	}
	return nil
}

// copy writes a database as one new file to path, and checks the file. It does not sync the file.
func (s *snapshot) copy(ctx context.Context, name, path string) error {
	err := s.sources[name].reader.Raw(func(conn any) error {
		// A crash makes the copy useless anyway, so the copy needs no journal and no sync.
		to := fileURL(path, url.Values{"_pragma": {"journal_mode(OFF)", "synchronous(OFF)"}})
		backup, err := conn.(interface {
			NewBackup(string) (*sqlite.Backup, error)
		}).NewBackup(to)
		if err != nil {
			return err
		}
		for more := true; more && err == nil; {
			if more, err = backup.Step(copyPages); err == nil {
				err = ctx.Err()
			}
		}
		if finished := backup.Finish(); err == nil { // Finish returns the error of the last Step again
			err = finished
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("copy %s to %s: %w", name, filepath.Dir(path), err)
	}
	return checkFile(ctx, path)
}

// close ends the read transactions. SQLite can then reuse the space of the WAL files.
func (s *snapshot) close() error {
	var errs []error
	for _, source := range s.sources {
		source.unlock()
		if source.reader != nil {
			errs = append(errs, source.reader.Close())
		}
		if source.db != nil {
			errs = append(errs, source.db.Close())
		}
	}
	return errors.Join(errs...)
}

// checkFile returns an error unless SQLite's integrity check of the file succeeds. No process may write to the file.
func checkFile(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", fileURL(path, url.Values{"mode": {"ro"}, "immutable": {"1"}}))
	if err != nil {
		return err
	}
	defer db.Close()
	var result string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&result); err != nil {
		return fmt.Errorf("%s is damaged: %w", filepath.Base(path), err)
	}
	if result != "ok" {
		return fmt.Errorf("%s is damaged: %s", filepath.Base(path), strings.ReplaceAll(result, "\n", "; "))
	}
	return nil
}

func (s *source) open(ctx context.Context, file string) (err error) {
	// In mode rw SQLite does not create a file that was deleted in the meantime.
	s.db, err = sql.Open("sqlite", fileURL(file, url.Values{"mode": {"rw"}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", busyMillis)}}))
	if err != nil {
		return err
	}
	if s.reader, err = s.db.Conn(ctx); err != nil {
		return err
	}
	if s.writer, err = s.db.Conn(ctx); err != nil {
		return err
	}
	_, err = s.writer.ExecContext(ctx, "PRAGMA busy_timeout = 0")
	return err
}

// lock begins a write transaction, which stops all other writers.
func (s *source) lock(ctx context.Context) error {
	for {
		_, err := s.writer.ExecContext(ctx, "BEGIN IMMEDIATE")
		if e, ok := errors.AsType[*sqlite.Error](err); !ok || e.Code()&0xff != sqlite3.SQLITE_BUSY {
			return err
		}
		select {
		case <-time.After(lockPoll):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pin begins a read transaction. The present state stays readable until the transaction ends.
func (s *source) pin(ctx context.Context) error {
	if _, err := s.reader.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	return s.reader.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(new(int))
}

// unlock ends the write transaction, so the other writers continue.
func (s *source) unlock() {
	if s.writer == nil {
		return
	}
	// ROLLBACK fails if there is no transaction. The transaction ends at the latest when the connection is closed.
	_, _ = s.writer.ExecContext(context.Background(), "ROLLBACK")
	_ = s.writer.Close()
	s.writer = nil
}

func fileURL(path string, parameters url.Values) string {
	return (&url.URL{Scheme: "file", Opaque: url.PathEscape(path), RawQuery: parameters.Encode()}).String()
}
