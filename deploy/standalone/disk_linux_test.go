package main_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// limitFiles sets the maximum size of files that the process may write. With size 0, every write to a file fails, as on
// a full disk.
func (p *process) limitFiles(size uint64) {
	p.t.Helper()
	var limit unix.Rlimit
	err := unix.Prlimit(p.command.Process.Pid, unix.RLIMIT_FSIZE, nil, &limit)
	if err == nil {
		limit.Cur = size
		err = unix.Prlimit(p.command.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// While no file can be written, the platform is not ready and gives the reason in one line, and writes get 503.
// Afterwards it recovers without a restart. Every write that was acknowledged before, during or after that time survives a kill
// and is delivered.
func TestAFullDiskLosesNothingAndTheCheckSaysSo(t *testing.T) {
	t.Parallel()
	r, env := startReceiver(t)
	p, base := started(t, append(env, "LEGACY_RATE_PER_HOUR=1000000")...)
	c := seeded(t, p)
	a := actor{t, c}
	uri, id := a.service("Checkout")
	a.endpoint("https://"+receiverHost+"/hooks/1", id)
	once := func(key string) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/app/components", strings.NewReader(`{"name": "`+key+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", c.app())
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", key)
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.StatusCode
	}
	poster := &publisher{credentials: c, service: uri}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); poster.until(ctx) }()
	defer func() { stop(); <-done }()
	for range 2 {
		poster.progress(t, 5)
		p.limitFiles(0)
		eventually(t, 30*time.Second, "a line about the disk", func() error {
			got, err := try(t.Context(), http.MethodGet, base+"/readyz", "", nil)
			if err == nil && (got.status != http.StatusServiceUnavailable || !strings.Contains("\n"+string(got.body), "\ngateway: disk is not ready\n")) {
				err = fmt.Errorf("%d %s", got.status, got.body)
			}
			return err
		})
		if got := send(t, http.MethodPost, base+"/app/components", c.app(), map[string]any{"name": "Search"}); got.status != http.StatusServiceUnavailable {
			t.Errorf("a write: %d %s", got.status, got.body)
		}
		if status := once("without a place"); status != http.StatusServiceUnavailable {
			t.Errorf("a write with an Idempotency-Key: %d", status)
		}
		send(t, http.MethodGet, base+"/app/components", c.app(), nil).expect(t, http.StatusOK)
		p.limitFiles(unix.RLIM_INFINITY)
		eventually(t, 30*time.Second, "ready again", ready(base))
		eventually(t, 30*time.Second, "a write with an Idempotency-Key", func() error {
			if status := once(fmt.Sprint("key ", time.Now().UnixNano())); status != http.StatusCreated {
				return fmt.Errorf("status %d", status)
			}
			return nil
		})
		poster.progress(t, 5)
	}
	p.kill()
	stop()
	<-done
	p.start()
	eventually(t, 30*time.Second, "ready after the kill", ready(base))
	expectEveryPosted(t, r, poster.acknowledged())
}
