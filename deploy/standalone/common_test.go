package main_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

// common is the platform that tests share which need neither settings of their own nor an empty installation. Each test
// creates its own organizations there. The platform starts with the first of these tests and ends after the last test.
var common struct {
	start    sync.Once
	platform atomic.Pointer[commonPlatform] // nil: not started
	users    atomic.Int64                   // number of users that addUser has created there
}

type commonPlatform struct {
	base    string
	log     string // file with the output
	command *exec.Cmd
	ended   chan struct{} // closed when the process has ended
}

// commonBase returns the base URL of the common platform. If the test fails, it logs what the platform wrote during the
// test.
func commonBase(t testing.TB) string {
	t.Helper()
	common.start.Do(func() { startCommon(t) })
	p := common.platform.Load()
	if p == nil {
		t.Fatal("the common platform did not start")
	}
	eventually(t, 2*time.Minute, "the common platform is ready", ready(p.base))
	before := len(p.output())
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("what the common platform wrote meanwhile, also about other tests:\n%s", p.output()[before:])
		}
	})
	return p.base
}

func startCommon(t testing.TB) {
	t.Helper()
	folder := filepath.Join(binaries, "common") // remains after the test
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	address := apitest.FreeAddress(t)
	p := &commonPlatform{base: "http://" + address, log: filepath.Join(folder, "log"), ended: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p.command = exec.Command(filepath.Join(binaries, "standalone"))
	p.command.Dir, p.command.Stdout, p.command.Stderr = folder, log, log
	p.command.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "BELLBUOY_ADDR=" + address, "BELLBUOY_INTERNAL_ADDR=127.0.0.1:0",
		"BELLBUOY_DATA=" + filepath.Join(folder, "data"), "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN=" + operatorToken,
		"LEGACY_RATE_PER_HOUR=1000000", "APP_RATE_PER_MINUTE=1000000",
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.command.Wait() // ProcessState contains the result
		close(p.ended)
	}()
	common.platform.Store(p)
}

func (p *commonPlatform) output() string {
	content, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(content)
}

// stopCommon ends the common platform with SIGTERM, if it has started. It returns an error if the platform does not end
// with code 0.
func stopCommon() error {
	p := common.platform.Load()
	if p == nil {
		return nil
	}
	_ = p.command.Process.Signal(syscall.SIGTERM) // fails only if the process has ended already
	select {
	case <-p.ended:
	case <-time.After(30 * time.Second):
		_ = p.command.Process.Kill()
		<-p.ended
	}
	if code := p.command.ProcessState.ExitCode(); code != 0 {
		lines := strings.Split(p.output(), "\n")
		return fmt.Errorf("the common platform ended with code %d: %s", code, strings.Join(lines[max(0, len(lines)-20):], "\n"))
	}
	return nil
}

// member creates an organization on the common platform with the components of the first start, and signs its admin in to
// the console.
func member(t testing.TB) (ada *consoleUser, of credentials, base string) {
	t.Helper()
	base = commonBase(t)
	of = provision(t, base, "Acme", "ada", "admin", "api")
	for _, name := range []string{"Website", "API", "Database"} {
		send(t, http.MethodPost, base+"/app/components", of.app(), map[string]any{"name": name, "groupName": "Public"}).expect(t, http.StatusCreated)
	}
	var invitation struct{ URL string }
	send(t, http.MethodPost, base+"/operator/v1/users/"+of.UserID+"/invitation", of.operator(), nil).expect(t, http.StatusCreated).into(t, &invitation)
	of.ConsoleURL = invitation.URL
	return welcome(t, base, of), of, base
}
