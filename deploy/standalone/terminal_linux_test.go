package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo terminal. It collects what a program prints to it.
type terminal struct {
	program *os.File
	mu      sync.Mutex
	text    strings.Builder
	read    chan struct{}
}

func openTerminal(t *testing.T) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{read: make(chan struct{})}
	if term.program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(term.read)
		_, _ = io.Copy(term, master) // ends with an error when the program has closed the terminal
	}()
	t.Cleanup(func() { term.close(); master.Close() })
	return term
}

// Write implements io.Writer.
func (c *terminal) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(p)
}

// close closes the program's side of the terminal and waits until everything was read.
func (c *terminal) close() {
	c.program.Close()
	<-c.read
}

func (c *terminal) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.ReplaceAll(c.text.String(), "\r\n", "\n")
}

// On a terminal, the log has lines for people, with colours unless NO_COLOR is set. In a file, the log is JSON unless
// the setting selects text.
func TestLogsAreReadableOnATerminalAndJSONElsewhere(t *testing.T) {
	t.Parallel()
	line := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\dZ INFO  gateway      ready  addr=127\.0\.0\.1:\d+$`)
	painted := regexp.MustCompile(`(?m)^\x1b\[2m\d\d:\d\d:\d\dZ\x1b\[0m INFO  gateway      ready  addr=`)
	dated := regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ INFO  gateway      ready  addr=`)
	isJSON := func(out string) bool {
		for text := range strings.Lines(out) {
			var logged struct{ Service, Msg string }
			if json.Unmarshal([]byte(text), &logged) == nil && logged.Service == "gateway" && logged.Msg == "ready" {
				return true
			}
		}
		return false
	}
	for name, row := range map[string]struct {
		env   []string
		tty   bool
		right func(string) bool
	}{
		"colours":            {[]string{"TERM=xterm"}, true, painted.MatchString},
		"no colours":         {[]string{"TERM=xterm", "NO_COLOR=1"}, true, line.MatchString},
		"JSON on a terminal": {[]string{"BELLBUOY_LOG_FORMAT=json"}, true, isJSON},
		"a file":             {nil, false, isJSON},
		"text in a file":     {[]string{"BELLBUOY_LOG_FORMAT=text"}, false, dated.MatchString},
	} {
		p, base := standalone(t, append(row.env, "BELLBUOY_SEED=")...)
		output := p.output
		var term *terminal
		if row.tty {
			term = openTerminal(t)
			output, p.terminal = term.String, term.program
		}
		p.start()
		eventually(t, 60*time.Second, "ready", ready(base))
		eventually(t, 30*time.Second, name, func() error {
			if !row.right(output()) {
				return fmt.Errorf("only %q", output())
			}
			return nil
		})
		if code := p.stop(); code != 0 {
			t.Errorf("%s: exit code %d", name, code)
		}
		if got := output(); strings.Contains(got, "WARN") || strings.Contains(got, "ERROR") {
			t.Errorf("%s: a start and a stop print %s", name, got)
		}
	}
}
