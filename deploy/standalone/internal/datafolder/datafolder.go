// Package datafolder locks and marks the data folder of the platform. The platform keeps the lock while it runs. A
// restore keeps the lock while it writes to the folder. A backup needs no lock (see package backup).
package datafolder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document"
)

// Names in the folder. LockFile is the file that is locked. Restoring exists while a restore writes to the folder.
// LostAndFound belongs to the file system, not to the platform.
const (
	LockFile     = "lock"
	Restoring    = "restoring"
	LostAndFound = "lost+found"
	// FormatFile contains the format of the data (document.Format) and the version of the program that last used the
	// folder.
	FormatFile = "format"
	// BackupFile contains the time of the last backup. A backup does not contain the file.
	BackupFile = "last-backup"
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

// LockFolder locks an existing folder itself, not a file in it, until the returned file is closed or the process ends.
// It returns an error if another process has the lock.
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

// Mark writes the format of this program's data and the version of this program to FormatFile. It returns an error if the
// file is damaged or has a newer format. A folder without the file is new, or was written by an older program. The caller
// has the lock.
func Mark(path, program string) error {
	file := filepath.Join(path, FormatFile)
	content, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("BELLBUOY_DATA: %w", err)
	}
	if err == nil {
		number, by, _ := strings.Cut(strings.TrimSpace(string(content)), " ")
		stored, err := strconv.Atoi(number)
		if err != nil {
			return fmt.Errorf("BELLBUOY_DATA: %s is damaged: it must begin with the format of the data; restore it, or write %d if no newer version has used the folder", file, document.Format)
		}
		if err := document.CheckFormat(fmt.Sprintf("the folder %s (last used by version %q)", path, by), stored); err != nil {
			return fmt.Errorf("BELLBUOY_DATA: %w", err)
		}
	}
	mark := fmt.Sprintf("%d %s\n", document.Format, program)
	if string(content) == mark {
		return nil
	}
	return Write(path, FormatFile, []byte(mark))
}

// Write replaces a file of the folder atomically and durably. Only the owner can read the file.
func Write(path, name string, content []byte) error {
	temporary, err := os.CreateTemp(path, name+".*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // has no effect after the rename
	_, err = temporary.Write(content)
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	if err := os.Rename(temporary.Name(), filepath.Join(path, name)); err != nil {
		return err
	}
	return Sync(path)
}

// Sync makes the creation, renaming and deletion of files in a folder durable.
func Sync(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// SetBackup stores when the last backup of the folder was taken.
func SetBackup(path string, taken time.Time) error {
	return Write(path, BackupFile, []byte(taken.UTC().Format(time.RFC3339Nano)+"\n"))
}

// LastBackup returns when the last backup of the folder was taken. It returns nil if there was none.
func LastBackup(path string) (*time.Time, error) {
	content, err := os.ReadFile(filepath.Join(path, BackupFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	taken, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(string(content)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", BackupFile, err)
	}
	return &taken, nil
}
