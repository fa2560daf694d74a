package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/engines"
	"github.com/bellbuoy/bellbuoy/libs/peer"
)

var program = apitest.Program{Package: "./cmd/gateway"}

func TestMain(m *testing.M) { os.Exit(program.Run(m)) }

// command returns the command that runs a gateway in a separate process.
func (w *world) command(t *testing.T, settings ...string) *exec.Cmd {
	t.Helper()
	command := program.Command(t)
	command.Env = append(os.Environ(), "BELLBUOY_ADDR=127.0.0.1:0", "BELLBUOY_INTERNAL_ADDR=127.0.0.1:0",
		"BELLBUOY_SECRET="+testSecret, "REDIS_URL="+apitest.Patient(w.redisURL), "IDENTITY_URL="+w.services[identity].server.URL,
		"EVENTS_URL="+w.services[events].server.URL, "SUBSCRIBERS_URL="+w.services[subscribers].server.URL,
		"INTEGRATIONS_URL="+w.services[integrations].server.URL)
	command.Env = append(command.Env, settings...)
	return command
}

// process starts a gateway in a separate process.
func (w *world) process(t *testing.T) (d *door, kill func()) {
	t.Helper()
	command := w.command(t)
	log, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		_ = command.Process.Kill() // fails only if the process has ended
		_ = command.Wait()         // returns only that the process was killed
	}
	t.Cleanup(kill)
	var ready struct{ Msg, Addr string }
	for lines := bufio.NewReader(log); ready.Msg != "ready"; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatalf("the gateway does not start: %s %v", line, err)
		}
		if err := json.Unmarshal(line, &ready); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, log) }() // until the process is killed
	return &door{base: "http://" + ready.Addr, log: &apitest.Log{}, keys: w.keys, http: w.client}, kill
}

// clock is the clock of a gateway. Its time changes only when a test sets it.
type clock struct{ atomic.Int64 }

func (c *clock) set(now time.Time) { c.Store(now.UnixMilli()) }
func (c *clock) configure(to *Config) {
	to.Now = func() time.Time { return time.UnixMilli(c.Load()).UTC() }
}

// If a gateway is killed between its claim and the response, the write counts as running for a minute and then as
// unknown. It is never repeated.
func TestAWriteOfAKilledGatewayIsNotRepeated(t *testing.T) {
	w := newWorld(t)
	first, kill := w.process(t)
	var now clock
	now.set(time.Now())
	another := w.gateway(t, now.configure)
	header := map[string]string{"Authorization": w.keys.member(nil).bearer(), "Idempotency-Key": "k"}
	arrived := make(chan struct{})
	var done atomic.Int64
	w.services[integrations].handle(func(_ http.ResponseWriter, r *http.Request) {
		if done.Add(1) > 1 {
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		close(arrived)
		<-r.Context().Done()
	})
	left := make(chan error, 1)
	before := time.Now()
	go func() {
		_, err := first.try(context.Background(), "POST", endpointsPath, "{}", header)
		left <- err
	}()
	<-arrived
	behind := time.Now()
	kill()
	if err := <-left; err == nil {
		t.Fatal("a killed gateway responded")
	}
	for _, moment := range []struct {
		at      time.Time
		message string
	}{
		{before.Add(underWay), onceUnderWay},
		{behind.Add(underWay + time.Millisecond), onceUnknown},
		{behind.Add(idempotencyLife - time.Minute), onceUnknown},
	} {
		now.set(moment.at)
		for range 2 {
			g := another.do(t, "POST", endpointsPath, "{}", header)
			wantError(t, g, 409, moment.message)
		}
	}
	if done.Load() != 1 {
		t.Errorf("written %d times", done.Load())
	}
	writes(w.services[integrations], http.StatusCreated)
	header["Idempotency-Key"] = "another"
	wantStatus(t, another.do(t, "POST", endpointsPath, "{}", header), 201)
}

// If the address of a service contains a path, the gateway does not start. Otherwise it would use the path for some
// requests only. Lookups of keys would get 404, and the gateway would refuse valid keys.
func TestAServicesAddressWithAPathStopsTheStart(t *testing.T) {
	w := newWorld(t)
	for _, setting := range []string{"IDENTITY_URL", "EVENTS_URL", "SUBSCRIBERS_URL", "INTEGRATIONS_URL"} {
		for _, behind := range []string{"/", "/prefix", "?a=b", "#a"} {
			said, err := w.command(t, setting+"="+w.services[identity].server.URL+behind).CombinedOutput()
			if _, exited := errors.AsType[*exec.ExitError](err); !exited || !strings.Contains(string(said), setting) || strings.Count(string(said), "\n") != 1 {
				t.Errorf("%s with %s: %v %s", setting, behind, err, said)
			}
		}
	}
}

// A gateway that stops finishes running requests. It stores the response to a write, and another gateway returns this
// response for a repeated request.
func TestAStopKeepsTheResponseOfAWriteInFlight(t *testing.T) {
	w := newWorld(t)
	log := &apitest.Log{}
	c := w.config(t, log)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, c) }()
	stopped := &door{base: "http://" + c.Listener.Addr().String(), http: w.client}
	other := w.gateway(t, nil)
	eventually(t, "the gateway serves", func() bool { return stopped.get(t, "/api/v1/", nil).status == http.StatusOK })
	header := map[string]string{"Authorization": w.keys.member(nil).bearer(), "Idempotency-Key": "k"}
	arrived, release := make(chan struct{}), make(chan struct{})
	w.services[integrations].handle(func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-release
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, "done")
	})
	answer := make(chan got, 1)
	go func() {
		g, err := stopped.try(context.Background(), "POST", endpointsPath, "{}", header)
		if err != nil {
			t.Error(err)
		}
		answer <- g
	}()
	<-arrived
	stop()
	eventually(t, "no connection is taken any more", func() bool {
		_, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(stopped.base + "/healthz")
		return err != nil
	})
	close(release)
	if g := <-answer; g.status != 201 || g.body != "done" {
		t.Errorf("%d %q", g.status, g.body)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if g := other.do(t, "POST", endpointsPath, "{}", header); g.status != 201 || g.body != "done" {
		t.Errorf("repeated: %d %s", g.status, g.body)
	}
	if strings.Contains(log.String(), "Redis cannot be reached") {
		t.Error("the stop was taken for an outage of Redis")
	}
}

// If Redis restarts empty during a write, it has lost the claim. The gateway still stores the response.
func TestAResponseIsStoredInARedisThatLostTheClaim(t *testing.T) {
	server, err := engines.StartRedis("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorldOn(t, server.URL())
	d := w.gateway(t, nil)
	header := map[string]string{"Authorization": w.keys.member(nil).bearer(), "Idempotency-Key": "k"}
	var done atomic.Int64
	w.services[integrations].handle(func(out http.ResponseWriter, _ *http.Request) {
		done.Add(1)
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if server, err = engines.StartRedis(strings.TrimSuffix(strings.TrimPrefix(w.redisURL, "redis://"), "/0")); err != nil {
			t.Error(err)
		}
		out.WriteHeader(http.StatusNoContent)
	})
	defer func() { server.Close() }()
	wantStatus(t, d.do(t, "DELETE", endpointsPath, "", header), 204)
	writes(w.services[integrations], http.StatusTeapot)
	eventually(t, "the response is repeated", func() bool {
		g := d.do(t, "DELETE", endpointsPath, "", header)
		if g.status == http.StatusTeapot {
			t.Fatal("written twice")
		}
		return g.status == http.StatusNoContent && g.header.Get("Idempotency-Replayed") == "true"
	})
	if done.Load() != 1 {
		t.Errorf("written %d times", done.Load())
	}
}

// Two keys are different if they differ only in bytes that are not UTF-8.
func TestIdempotencyKeysAreComparedByByte(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	header := map[string]string{"Authorization": w.keys.member(nil).bearer()}
	writes(w.services[integrations], http.StatusCreated)
	for i, key := range []string{"Gr\xf6\xdfe", "Gr\xe4\xdfe", "Größe", "Gr\ufffd\ufffde"} {
		header["Idempotency-Key"] = key
		g := d.do(t, "POST", endpointsPath, "{}", header)
		if g.header.Get("Idempotency-Replayed") != "" {
			t.Errorf("the %d. write with its own key, %q, got the response of another key: %s", i+1, key, g.body)
		}
	}
}

// For a name that is not UTF-8, identity would look up another text than the name of the Redis entry. A revocation
// would then not void this entry. So the gateway refuses such a name.
func TestAKeyIDThatIsNoTextIsRefused(t *testing.T) {
	w := newWorld(t)
	d := w.gateway(t, nil)
	m := w.keys.member(func(c *peer.Credential) { c.Username = "M\ufffdller" })
	header := map[string]string{"Authorization": m.apiKey()}
	wantStatus(t, d.get(t, "/api/v1/service/", header), 200)
	odd := map[string]string{"Authorization": "ApiKey M\xfcller:" + m.secret}
	wantEmpty403(t, d.get(t, "/api/v1/service/", odd))
	w.keys.revoke(t, m)
	wantEmpty403(t, d.get(t, "/api/v1/service/", header))
	wantEmpty403(t, d.get(t, "/api/v1/service/", odd))
}
