package apitest

import (
	"context"
	"fmt"

	"golang.org/x/tools/txtar"
)

// PlayFile plays one script file. The error names the step that failed, with the
// request, the answer and every difference.
func PlayFile(ctx context.Context, target Target, file string) error {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		return fmt.Errorf("reading the script: %w", err)
	}
	return Play(ctx, target, file, archive)
}

// Play plays a parsed script.
func Play(ctx context.Context, target Target, name string, archive *txtar.Archive) error {
	return nil
}
