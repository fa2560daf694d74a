package document

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// unusablePath tells apart why the file could not be opened: an error that no waiting heals becomes an
// unusableError, any other (a lock, a full disk, a network file system that is away) stays as it is.
func unusablePath(path string, err error) error {
	if damaged := damage(err); damaged != nil {
		return &unusableError{path, damaged}
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
			// SQLite does not say why; its side files need what the file itself did not.
			err = tryFolder(filepath.Dir(path), err)
		}
	}
	failed, ok := errors.AsType[*fs.PathError](err)
	if ok && wrongPath(failed.Err) {
		return &unusableError{path, failed}
	}
	return err
}

// damage finds in err SQLite's verdict that the file is none of its own, or a broken one.
func damage(err error) error {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
			return e
		}
	}
	return nil
}

// tryFolder returns why no file can be made in folder, or err when one can.
func tryFolder(folder string, err error) error {
	probe, failed := os.CreateTemp(folder, ".probe")
	if failed != nil {
		return failed
	}
	return errors.Join(err, probe.Close(), os.Remove(probe.Name()))
}

// wrongPath lists what is wrong with a path itself, or with who may use it.
func wrongPath(err error) bool {
	number, ok := errors.AsType[syscall.Errno](err)
	return ok && slices.Contains([]syscall.Errno{
		syscall.EACCES, syscall.EPERM, syscall.EROFS, syscall.ENOENT, syscall.ENOTDIR, syscall.EISDIR,
		syscall.EEXIST, syscall.ELOOP, syscall.ENAMETOOLONG, syscall.EINVAL,
	}, number)
}
