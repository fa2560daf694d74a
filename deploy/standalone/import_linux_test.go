package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// An import ends at once when it is interrupted, also while it reads, and writes nothing.
func TestAnInterruptEndsAnImport(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	pipe, out := filepath.Join(folder, "in"), filepath.Join(folder, "out")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), filepath.Join(binaries, "standalone"), "import", "lines", pipe, "--lines", out)
	var failure strings.Builder
	run.Stderr = &failure
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits until the command has opened the pipe
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	if err := run.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait() // the code says more than the error
	if code := run.ProcessState.ExitCode(); code != 1 || !strings.Contains(failure.String(), "interrupted") {
		t.Errorf("ended with code %d: %s", code, failure.String())
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("an interrupted import wrote: %v", err)
	}
}
