package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// endWithParent is a shell script that replaces itself by a program. A process in the background sends SIGTERM to the
// program when the standard input is closed.
const endWithParent = `exec 3<&0; (trap "" INT TERM; read line <&3; kill $$) & exec "$@" 3<&- </dev/null`

// endWithTest makes the process run a program that starts other processes, such as nginx. The program gets SIGTERM when
// the test ends. This also works after a panic or kill -9 of the test, because its standard input is a pipe from the
// test's process.
func (p *process) endWithTest(program string, args ...string) {
	p.t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	p.binary, p.args, p.input = "/bin/sh", append([]string{"-c", endWithParent, "sh", program}, args...), read
	p.t.Cleanup(func() { // runs before the cleanup that kills the process
		write.Close()
		if p.command != nil {
			p.exit(30 * time.Second)
		}
		read.Close()
	})
}

// parentMark is the environment variable that makes the test binary the parent of a process.
const parentMark = "BELLBUOY_TEST_PARENT"

// beParent runs a program that must end together with this process. It prints the process id of the program and waits.
func beParent() error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	command := exec.Command("/bin/sh", "-c", endWithParent, "sh", "sleep", "3600")
	command.Stdin = read
	if err := command.Start(); err != nil {
		return err
	}
	defer write.Close() // the pipe stays open until this process ends
	fmt.Println(command.Process.Pid)
	return command.Wait()
}

// TestAProgramEndsWithItsTest kills a test that runs a program. After a kill, the test itself cannot end the program.
func TestAProgramEndsWithItsTest(t *testing.T) {
	t.Parallel()
	parent := newProcess(t, "parent", "", parentMark+"=yes")
	parent.binary = os.Args[0]
	parent.start()
	pid := 0
	eventually(t, 30*time.Second, "the program", func() (err error) {
		pid, err = strconv.Atoi(strings.TrimSpace(parent.output()))
		return err
	})
	if err := syscall.Kill(pid, 0); err != nil {
		t.Fatal(err)
	}
	parent.kill()
	eventually(t, 30*time.Second, "the end of the program", func() error {
		if state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && !strings.Contains(string(state), ") Z ") {
			return fmt.Errorf("process %d runs", pid)
		}
		return nil
	})
}
