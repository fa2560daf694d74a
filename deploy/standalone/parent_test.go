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

// endWithParent runs a program in place of the shell. It sends SIGTERM to the program when the standard input ends.
const endWithParent = `exec 3<&0; (trap "" INT TERM; read line <&3; kill $$) & exec "$@" 3<&- </dev/null`

// endWithTest makes the process run a program that has processes of its own, as nginx has. The program receives SIGTERM
// when the test ends, also after a panic or kill -9: the pipe ends with the process of the test.
func (p *process) endWithTest(program string, args ...string) {
	p.t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	p.binary, p.args, p.input = "/bin/sh", append([]string{"-c", endWithParent, "sh", program}, args...), read
	p.t.Cleanup(func() { // before the one that kills
		write.Close()
		if p.command != nil {
			p.exit(30 * time.Second)
		}
		read.Close()
	})
}

// parentMark makes the test binary the parent of a process.
const parentMark = "BELLBUOY_TEST_PARENT"

// beParent runs a program that ends with this process, prints the id of the program, and waits.
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
	defer write.Close() // the pipe is open until this process ends
	fmt.Println(command.Process.Pid)
	return command.Wait()
}

// TestAProgramEndsWithItsTest kills a test that runs a program. A kill leaves the test no time to end the program.
func TestAProgramEndsWithItsTest(t *testing.T) {
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
