package backup

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/datafolder"
)

// archived writes a backup that contains one file, and returns the path of the backup.
func archived(t *testing.T, name, content string) string {
	t.Helper()
	source, archive := filepath.Join(t.TempDir(), "source"), filepath.Join(t.TempDir(), "backup.zip")
	if err := os.WriteFile(source, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	m := Manifest{Format: format, Version: version}
	if err := writeArchive(archive, &m, func(w *archiveWriter) error { return w.addFile(t.Context(), name, source) }); err != nil {
		t.Fatal(err)
	}
	return archive
}

// If the disk is full or the restore is interrupted, the error does not say that the backup is damaged.
func TestRestoreReportsDamageOfTheBackupOnly(t *testing.T) {
	archive := archived(t, "secret", "s")
	full := errors.New("no space left on device")
	if _, err := each(t.Context(), archive, func(File, io.Reader) error { return full }); !errors.Is(err, full) || errors.Is(err, errDamaged) {
		t.Errorf("a full disk: %v", err)
	}
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	if _, err := Verify(interrupted, archive); !errors.Is(err, context.Canceled) || errors.Is(err, errDamaged) {
		t.Errorf("an interrupt: %v", err)
	}
	if _, err := Verify(t.Context(), archive); err != nil {
		t.Errorf("a whole backup: %v", err)
	}
	if _, err := each(t.Context(), archive, func(File, io.Reader) error { return nil }); !errors.Is(err, errDamaged) {
		t.Errorf("a content with another sum: %v", err)
	}
}

// If a restore fails while it writes to the folder, the platform and the next restore refuse the folder.
func TestFailedRestoreLeavesItsMark(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	_, err := Restore(t.Context(), archived(t, "documents/events.db", "no database"), data)
	if err == nil || !strings.Contains(err.Error(), "delete the folder") {
		t.Errorf("a file that is no database: %v", err)
	}
	if _, err := Restore(t.Context(), archived(t, "secret", "s"), data); err == nil || !strings.Contains(err.Error(), "did not finish") {
		t.Errorf("a restore into the same folder: %v", err)
	}
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), archived(t, "secret", "s"), data); err != nil {
		t.Errorf("a restore into a new folder: %v", err)
	}
	lock, err := datafolder.Lock(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Close(); err != nil {
		t.Error(err)
	}
}
