package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/engine"
)

// unusablePath classifies an error of opening the file. It returns an engine.UnusableError if no retry can succeed. For
// other errors (a busy file, a full disk, a network file system that does not respond) it returns err or the error of
// tryFolder.
func unusablePath(path string, err error) error {
	if damaged := damage(err); damaged != nil {
		return &engine.UnusableError{Path: path, Err: damaged}
	}
	if errors.Is(err, errInUse) {
		return &engine.UnusableError{Path: path, Err: errInUse}
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
			// SQLite's error does not contain the reason. The folder is tried too, because SQLite creates other files
			// beside this one.
			err = tryFolder(filepath.Dir(path), err)
		}
	}
	failed, ok := errors.AsType[*fs.PathError](err)
	if ok && wrongPath(failed.Err) {
		return &engine.UnusableError{Path: path, Err: failed}
	}
	return err
}

// damage returns the error of SQLite if the file is not a database or is damaged, else nil.
func damage(err error) error {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
			return e
		}
	}
	return nil
}

// tryFolder returns the error of creating a file in folder, or err if that succeeds.
func tryFolder(folder string, err error) error {
	probe, failed := os.CreateTemp(folder, ".probe")
	if failed != nil {
		return failed
	}
	return errors.Join(err, probe.Close(), os.Remove(probe.Name()))
}

// wrongPath reports whether err is about the path itself or its permissions.
func wrongPath(err error) bool {
	number, ok := errors.AsType[syscall.Errno](err)
	return ok && slices.Contains([]syscall.Errno{
		syscall.EACCES, syscall.EPERM, syscall.EROFS, syscall.ENOENT, syscall.ENOTDIR, syscall.EISDIR,
		syscall.EEXIST, syscall.ELOOP, syscall.ENAMETOOLONG, syscall.EINVAL,
	}, number)
}
