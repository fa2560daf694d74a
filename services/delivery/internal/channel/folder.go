package channel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// codeUnwritten means that the message could not be written to its file.
const codeUnwritten = deliverylog.Code("unwritten")

// The folders in the data folder, and the extensions of the files in them.
const (
	mailFolder, mailFile = "mail", ".eml"
	smsFolder, smsFile   = "sms", ".json"
	draftFile            = ".draft" // extension of an incomplete file
)

// pruneBatch is the number of files of a folder that PruneFolders reads at once.
const pruneBatch = 1000

// folder stores messages as files if the operator has configured no server.
type folder struct {
	path string
	log  *slog.Logger
}

// send writes the message to a file with the name. A retry overwrites the file. After an error the message
// waits for its next attempt, because the operator can fix the folder.
func (f folder) send(ctx context.Context, name string, content []byte) dispatch.Result {
	if err := f.write(name, content); err != nil {
		f.log.ErrorContext(ctx, "A message cannot be written to its folder.", "file", name, "error", err)
		return dispatch.Result{Code: codeUnwritten}
	}
	return dispatch.Result{}
}

// write writes a temporary file and renames it, so that a reader never sees an incomplete file. Only the
// owner may read it.
func (f folder) write(name string, content []byte) error {
	if err := os.MkdirAll(f.path, 0o700); err != nil {
		return fmt.Errorf("create the folder: %w", err)
	}
	draft, err := os.CreateTemp(f.path, "*"+draftFile) // mode 0600
	if err != nil {
		return fmt.Errorf("create the file: %w", err)
	}
	defer os.Remove(draft.Name()) // fails after the rename
	_, err = draft.Write(content)
	if err == nil {
		err = draft.Sync()
	}
	if closed := draft.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("write the file: %w", err)
	}
	if err := os.Rename(draft.Name(), filepath.Join(f.path, name)); err != nil {
		return fmt.Errorf("rename the file: %w", err)
	}
	return nil
}

// PruneFolders deletes the message files and the incomplete files below data that were written before a time. Files can
// remain from a time when no server was configured. Several processes may call it.
func PruneFolders(data string, before time.Time) error {
	return errors.Join(
		pruneFolder(filepath.Join(data, mailFolder), before, mailFile, draftFile),
		pruneFolder(filepath.Join(data, smsFolder), before, smsFile, draftFile),
	)
}

// pruneFolder deletes the files that have one of the extensions and were written before a time.
func pruneFolder(path string, before time.Time, ends ...string) error {
	folder, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer folder.Close()
	for {
		files, err := folder.ReadDir(pruneBatch)
		for _, file := range files {
			if !file.Type().IsRegular() || !slices.Contains(ends, filepath.Ext(file.Name())) {
				continue
			}
			info, err := file.Info()
			if err == nil && info.ModTime().Before(before) {
				err = os.Remove(filepath.Join(path, file.Name()))
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
