package apitest

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bellbuoy/bellbuoy/libs/boot"
)

const (
	patience = time.Minute // for a busy machine
	interval = 5 * time.Millisecond
)

// Process returns the part that a service's Config embeds, opened for a test: with a listener on loopback, logs of at
// least level written to logs, and now as its clock.
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

// Launch runs a service on its process, waits until it is ready, and returns its URL. stop ends the service and
// reports its error to the test. The end of the test calls stop too.
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

// givenAddresses are the results of FreeAddress.
var givenAddresses sync.Map

// FreeAddress returns a loopback address with a free port, for a server that gets its address as a setting and may
// start again on the same address. The port is outside the range of outgoing connections, because such a connection
// could take the port before the server starts.
func FreeAddress(t testing.TB) string {
	t.Helper()
	const first, ports, tries = 10000, 20000, 100
	for range tries {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(first+rand.IntN(ports)))
		if _, given := givenAddresses.LoadOrStore(address, true); given {
			continue // its server may not listen yet
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

// Eventually waits until holds returns true, for effects that follow a response. It fails the test after a minute.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(interval) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}
