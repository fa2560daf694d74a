package backup

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// A full disk and an interrupt are not reported as damage of the backup.
func TestRestoreReportsDamageOfTheBackupOnly(t *testing.T) {
	source, archive := filepath.Join(t.TempDir(), "secret"), filepath.Join(t.TempDir(), "backup.zip")
	if err := os.WriteFile(source, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := Manifest{Format: format, Version: version}
	if err := writeArchive(archive, &m, func(w *archiveWriter) error { return w.addFile(t.Context(), "secret", source) }); err != nil {
		t.Fatal(err)
	}
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
