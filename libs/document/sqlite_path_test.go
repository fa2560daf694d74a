package document_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// refused migrates a database that cannot be opened. Migrate must return one line at once with the file and the reason.
func refused(t *testing.T, folder, reason string) {
	t.Helper()
	var log bytes.Buffer
	db, err := document.Open("sqlite:"+folder, "conformance", document.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	must(t, err)
	document.Declare(db, boats())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err = db.Migrate(ctx)
	if err == nil || ctx.Err() != nil {
		t.Fatalf("migrate: %v (%v)", err, ctx.Err())
	}
	text := err.Error()
	if !strings.HasPrefix(text, filepath.Join(folder, "conformance.db")+" cannot be used: ") || !strings.Contains(text, reason) || strings.Contains(text, "\n") {
		t.Errorf("migrate returned %q, want the file and %q", text, reason)
	}
	if log.Len() > 0 {
		t.Errorf("Migrate waited: %s", &log)
	}
	must(t, db.Close())
}

func TestMigrateRefusesWrongPath(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	t.Run("part is a file", func(t *testing.T) { refused(t, filepath.Join(file, "below"), "not a directory") })
	t.Run("folder is a file", func(t *testing.T) { refused(t, file, "not a directory") })
	t.Run("file is a folder", func(t *testing.T) {
		folder := t.TempDir()
		must(t, os.Mkdir(filepath.Join(folder, "conformance.db"), 0o700))
		refused(t, folder, "is a directory")
	})
	t.Run("folder cannot be made", func(t *testing.T) {
		folder := filepath.Join(t.TempDir(), "dangling")
		must(t, os.Symlink(filepath.Join(folder, "nowhere"), folder))
		refused(t, folder, "file exists")
	})
}

func TestMigrateRefusesDamagedFile(t *testing.T) {
	for name, damage := range map[string]struct {
		spoil  func(file []byte) []byte
		reason string
	}{
		"a few bytes": {func([]byte) []byte { return []byte("garbage") }, "file is not a database"},
		"garbage":     {func([]byte) []byte { return bytes.Repeat([]byte("garbage\n"), 4096) }, "file is not a database"},
		"no schema": {func(file []byte) []byte {
			return append(file[:100], bytes.Repeat([]byte{0xff}, len(file)-100)...)
		}, "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			db, _ := fleet(t, "sqlite:"+folder)
			must(t, db.Close())
			path := filepath.Join(folder, "conformance.db")
			file, err := os.ReadFile(path)
			must(t, err)
			must(t, os.WriteFile(path, damage.spoil(file), 0o600))
			refused(t, folder, damage.reason)
		})
	}
}

// waits is the writer of a log. It ends the wait at the second line.
type waits struct {
	lines  []string
	cancel context.CancelFunc
}

func (w *waits) Write(line []byte) (int, error) {
	if w.lines = append(w.lines, string(line)); len(w.lines) == 2 {
		w.cancel()
	}
	return len(line), nil
}

func TestMigrateWaitsForEngine(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	log := &waits{cancel: cancel}
	db, err := document.Open("mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=50&connectTimeoutMS=50", "conformance",
		document.Options{Log: slog.New(slog.NewJSONHandler(log, nil))})
	must(t, err)
	document.Declare(db, boats())
	if err := db.Migrate(ctx); !fault.Is(err, fault.Unavailable) || !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("migrate: %v (%v)", err, ctx.Err())
	}
	for at, unit := range []string{`"again_in":"100ms"`, `"again_in":"200ms"`} {
		if at >= len(log.lines) || !strings.Contains(log.lines[at], unit) {
			t.Errorf("the lines are %q, want %[3]s in line %[2]d", log.lines, at+1, unit)
		}
	}
	must(t, db.Close())
}
