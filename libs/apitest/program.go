package apitest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Program is the command of a service, which tests start and kill as a process of its own. It has no race detector: a race
// in a process that is killed fails no test, and the tests of the service run the same code with the race detector in their
// own process. A start without the race detector takes a fifth of the processor time.
type Program struct {
	Package string // such as ./cmd/events, relative to the folder of the test

	build  sync.Once
	folder string
	err    error
}

// Command returns the program as a command that has not started. The first call builds the program.
func (p *Program) Command(t testing.TB) *exec.Cmd {
	t.Helper()
	p.build.Do(func() {
		if p.folder, p.err = os.MkdirTemp("", "program-"); p.err != nil {
			return
		}
		if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", p.folder+string(filepath.Separator), p.Package).CombinedOutput(); err != nil {
			p.err = fmt.Errorf("build %s: %w: %s", p.Package, err, out)
		}
	})
	if p.err != nil {
		t.Fatal(p.err)
	}
	return exec.Command(filepath.Join(p.folder, filepath.Base(p.Package)))
}

// Run runs the tests of a package, removes the program and returns the exit code. It is for TestMain.
func (p *Program) Run(m *testing.M) int {
	defer func() {
		if p.folder != "" {
			os.RemoveAll(p.folder)
		}
	}()
	return m.Run()
}
