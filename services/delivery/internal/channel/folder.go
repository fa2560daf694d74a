package channel

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// codeUnwritten is the code of a file that could not be written.
const codeUnwritten = dispatch.Code("unwritten")

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
	draft, err := os.CreateTemp(f.path, ".draft-*") // mode 0600
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
