package main_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/receiver"
	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

// These tests are the tests of the whole system. They build the binaries that are shipped, start
// them as processes, and send requests to the public address.

const (
	receiverHost  = "receiver.example"
	operatorToken = "operator-token-of-the-system-tests-0001"
	secret        = "secret-of-the-system-tests-00000000001"
)

// binaries is the folder into which TestMain builds the binaries.
var binaries string

func TestMain(m *testing.M) {
	if address := os.Getenv(mailServerMark); address != "" {
		fmt.Fprintln(os.Stderr, serveMail(address, os.Getenv(mailJournalMark)))
		os.Exit(1)
	}
	if address, folder, found := strings.Cut(os.Getenv(engineMark), " "); found {
		fmt.Fprintln(os.Stderr, serveEngine(address, folder))
		os.Exit(1)
	}
	apitest.BeRawLoop()
	if os.Getenv(parentMark) != "" {
		fmt.Fprintln(os.Stderr, beParent())
		os.Exit(1)
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "bellbuoy-binaries-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binaries = dir
		build := exec.Command("go", "build", "-ldflags=-s -w -X github.com/bellbuoy/bellbuoy/libs/version.linked=v9.8.7", "-o", dir+string(filepath.Separator),
			".", "./receiver", "./inbound",
			"github.com/bellbuoy/bellbuoy/gateway/cmd/gateway",
			"github.com/bellbuoy/bellbuoy/services/identity/cmd/identity",
			"github.com/bellbuoy/bellbuoy/services/events/cmd/events",
			"github.com/bellbuoy/bellbuoy/services/subscribers/cmd/subscribers",
			"github.com/bellbuoy/bellbuoy/services/integrations/cmd/integrations",
			"github.com/bellbuoy/bellbuoy/services/delivery/cmd/delivery",
			"github.com/bellbuoy/bellbuoy/services/console/cmd/console")
		build.Stdout, build.Stderr = os.Stderr, os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "build:", err)
			return 1
		}
		code := m.Run()
		if err := stopCommon(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return code
	}())
}

// process is a binary under test. It can be killed and started again.
type process struct {
	t       testing.TB
	name    string
	binary  string
	dir     string
	args    []string
	env     []string
	input   *os.File // standard input; nil: none
	command *exec.Cmd
	ended   chan struct{} // closed when the running command has ended
	log     *os.File
	// terminal, if set, gets the output instead of log.
	terminal *os.File
}

// newProcess prepares a process. Its output goes to a file, which is logged if the test fails.
func newProcess(t testing.TB, name, binary string, env ...string) *process {
	t.Helper()
	log, err := os.CreateTemp(t.TempDir(), name+".*.log")
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, name: name, binary: filepath.Join(binaries, binary), dir: t.TempDir(), env: env, log: log}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("what %s wrote:\n%s", name, p.output())
		}
		log.Close()
	})
	return p
}

func (p *process) start() *process {
	p.t.Helper()
	command := exec.Command(p.binary, p.args...)
	command.Dir = p.dir
	command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir}, p.env...)
	out := cmp.Or(p.terminal, p.log)
	command.Stdout, command.Stderr = out, out
	if p.input != nil {
		command.Stdin = p.input
	}
	if err := command.Start(); err != nil {
		p.t.Fatalf("start %s: %v", p.name, err)
	}
	p.command, p.ended = command, make(chan struct{})
	go func(ended chan struct{}) {
		_ = command.Wait() // ProcessState contains the result
		close(ended)
	}(p.ended)
	return p
}

// kill ends the process with SIGKILL, like a power cut.
func (p *process) kill() { p.signal(syscall.SIGKILL) }

// stop ends the process with SIGTERM and returns its exit code.
func (p *process) stop() int {
	p.signal(syscall.SIGTERM)
	return p.command.ProcessState.ExitCode()
}

func (p *process) signal(signal syscall.Signal) {
	if p.command == nil {
		return
	}
	_ = p.command.Process.Signal(signal) // fails only if the process has ended already
	select {
	case <-p.ended:
	case <-time.After(30 * time.Second):
		p.t.Errorf("%s did not end within 30 s of signal %v", p.name, signal)
		_ = p.command.Process.Kill()
		<-p.ended
	}
}

// exit waits until the process has ended, and returns its exit code.
func (p *process) exit(within time.Duration) int {
	p.t.Helper()
	select {
	case <-p.ended:
		return p.command.ProcessState.ExitCode()
	case <-time.After(within):
		p.t.Fatalf("%s still runs after %v; it wrote:\n%s", p.name, within, p.output())
		return 0
	}
}

func (p *process) output() string {
	content, err := os.ReadFile(p.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(content)
}

// eventually waits until check returns nil. After the time within, it fails the test with the last error of check. The
// pauses between the checks grow with the time that has passed, because many checks send requests.
func eventually(t testing.TB, within time.Duration, what string, check func() error) {
	t.Helper()
	began := time.Now()
	for {
		err := check()
		if err == nil {
			return
		}
		passed := time.Since(began)
		if passed > within {
			t.Fatalf("%s: not within %v: %v", what, within, err)
		}
		<-time.After(min(max(10*time.Millisecond, passed/20), 250*time.Millisecond))
	}
}

// answer is the response to a request.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// into decodes the JSON body into out.
func (a answer) into(t testing.TB, out any) {
	t.Helper()
	if err := json.Unmarshal(a.body, out); err != nil {
		t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
}

// expect fails the test unless the response has the status. It returns the response.
func (a answer) expect(t testing.TB, status int) answer {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d instead of %d: %s", a.status, status, a.body)
	}
	return a
}

var client = &http.Client{Timeout: time.Minute}

// try sends a request. Unless in is a string, try encodes in as JSON.
func try(ctx context.Context, method, url, authorization string, in any) (answer, error) {
	var body io.Reader
	switch in := in.(type) {
	case nil:
	case string:
		body = strings.NewReader(in)
	default:
		content, err := json.Marshal(in)
		if err != nil {
			return answer{}, err
		}
		body = bytes.NewReader(content)
	}
	request, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return answer{}, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	return do(request)
}

// do sends a request.
func do(request *http.Request) (answer, error) {
	response, err := client.Do(request)
	if err != nil {
		return answer{}, err
	}
	return readAnswer(response)
}

// readAnswer reads and closes the body of a response.
func readAnswer(response *http.Response) (answer, error) {
	content, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, content}, errors.Join(err, response.Body.Close())
}

// exchange sends a request. It fails the test if there is no response.
func exchange(t testing.TB, request *http.Request) answer {
	t.Helper()
	got, err := do(request)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func send(t testing.TB, method, url, authorization string, in any) answer {
	t.Helper()
	got, err := try(t.Context(), method, url, authorization, in)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return got
}

func ready(base string) func() error {
	return func() error {
		got, err := try(context.Background(), http.MethodGet, base+"/readyz", "", nil)
		if err == nil && got.status != http.StatusOK {
			err = fmt.Errorf("%d %s", got.status, bytes.TrimSpace(got.body))
		}
		return err
	}
}

// startReceiver starts a receiver of webhooks. It returns the settings with which the platform
// reaches the receiver.
func startReceiver(t testing.TB) (*receiver.Receiver, []string) {
	t.Helper()
	servers, env := startReceivers(t, receiverHost)
	return servers[receiverHost], env
}

// startReceivers starts a receiver for each of the hosts. It returns the settings with which the platform reaches them.
func startReceivers(t testing.TB, hosts ...string) (map[string]*receiver.Receiver, []string) {
	t.Helper()
	servers, places, authorities := map[string]*receiver.Receiver{}, []string{}, []byte{}
	for _, host := range hosts {
		file := filepath.Join(t.TempDir(), "ca.pem")
		r, err := receiver.Start("127.0.0.1:0", host, file)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		authority, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		servers[host], places, authorities = r, append(places, host+":443="+r.Addr()), append(authorities, authority...)
	}
	bundle := filepath.Join(t.TempDir(), "all.pem")
	if err := os.WriteFile(bundle, authorities, 0o600); err != nil {
		t.Fatal(err)
	}
	return servers, []string{"DELIVERY_RESOLVE=" + strings.Join(places, ","), "DELIVERY_CA_FILE=" + bundle}
}
