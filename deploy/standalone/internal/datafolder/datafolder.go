// Package datafolder locks the data folder of the platform. The platform holds the lock while it runs, and a restore
// while it fills the folder. A backup needs no lock (see package backup).
package datafolder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Names in the folder: the file LockFile is locked, and the file Restoring exists while a restore fills the folder. The folder
// LostAndFound belongs to the file system, not to the platform.
const (
	LockFile     = "lock"
	Restoring    = "restoring"
	LostAndFound = "lost+found"
)

// Lock creates the folder if it does not exist, and locks it until the returned file is closed or the process ends. It
// returns an error if another process has the lock, or if a restore into the folder did not finish.
func Lock(path string) (*os.File, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("BELLBUOY_DATA: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, LockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("BELLBUOY_DATA: %w", err)
	}
	err = tryLock(lock)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = fmt.Errorf("BELLBUOY_DATA: the folder %s is in use by another platform", path)
	case err != nil:
		err = fmt.Errorf("BELLBUOY_DATA: the folder %s cannot be locked: %w", path, err)
	default:
		err = CheckRestored(path)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// LockFolder locks an existing folder, and not a file in it, until the returned file is closed or the process ends. It
// returns an error if another process has the lock.
func LockFolder(path string) (*os.File, error) {
	folder, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := tryLock(folder); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), folder.Close())
	}
	return folder, nil
}

func tryLock(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// CheckRestored returns an error if a restore into the folder did not finish.
func CheckRestored(path string) error {
	_, err := os.Stat(filepath.Join(path, Restoring))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("BELLBUOY_DATA: %w", err)
	}
	return fmt.Errorf("BELLBUOY_DATA: a restore into the folder %s did not finish; delete the folder and restore again", path)
}

// Sync makes renamed, created and deleted files of a folder durable.
func Sync(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
