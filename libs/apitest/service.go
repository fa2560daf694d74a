package apitest

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bellbuoy/bellbuoy/libs/boot"
)

const (
	patience = time.Minute // long enough for a busy machine
	// shortest and longest are the bounds of the time between two checks of Eventually.
	shortest, longest = 5 * time.Millisecond, 100 * time.Millisecond
)

// Process returns the Process of a service, opened for a test: it listens on loopback, logs to logs from level on, and
// uses now as its clock.
func Process(t testing.TB, name, level string, logs io.Writer, now func() time.Time) boot.Process {
	t.Helper()
	process := boot.Process{Settings: boot.Settings{LogLevel: level}}
	closeTelemetry, err := process.Open(t.Context(), name, prometheus.NewRegistry(), logs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeTelemetry)
	if process.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	process.Now = now
	return process
}

// Launch runs a service on the process, waits until the service is ready, and returns its URL. stop ends the service
// and fails the test if Run returned an error. The end of the test calls stop too.
func Launch(t testing.TB, process boot.Process, run func(context.Context) error) (url string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	url = "http://" + process.Listener.Addr().String()
	Ready(t, url)
	return url, stop
}

// givenAddresses contains the addresses that FreeAddress has returned.
var givenAddresses sync.Map

// FreeAddress returns a loopback address with a free port. It is for a server that gets its address as a setting and
// may be restarted on the same address. The port is outside the range of outgoing connections. Otherwise such a
// connection could take the port before the server starts.
func FreeAddress(t testing.TB) string {
	t.Helper()
	const first, ports, tries = 10000, 20000, 100
	for range tries {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(first+rand.IntN(ports)))
		if _, given := givenAddresses.LoadOrStore(address, true); given {
			continue // an earlier result, whose server may not listen yet
		}
		if listener, err := net.Listen("tcp", address); err == nil {
			listener.Close()
			return address
		}
	}
	t.Fatal("no port is free")
	return ""
}

// Ready waits until the service at url is ready.
func Ready(t testing.TB, url string) {
	t.Helper()
	Eventually(t, "ready", func() bool {
		response, err := http.Get(url + "/readyz")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
}

// Patient returns redisURL with a read timeout of one minute, because a slow test machine is not an outage.
func Patient(redisURL string) string {
	separator := "?"
	if strings.Contains(redisURL, "?") {
		separator = "&"
	}
	return redisURL + separator + "read_timeout=1m"
}

// Eventually waits until holds returns true. It is for effects that follow a response. After a minute it fails the test
// with the text what. The longer it has waited, the less often it calls holds, so that many calls of Eventually at the
// same time need little processor time.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for begun := time.Now(); !holds(); {
		waited := time.Since(begun)
		if waited > patience {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(min(max(waited/8, shortest), longest))
	}
}
