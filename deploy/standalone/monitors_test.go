package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

// posts is a proxy in front of the platform. It logs what a monitoring tool posts, and when the tool got the response.
type posts struct {
	URL  string
	last atomic.Pointer[post]
}

type post struct {
	body string
	at   time.Time
}

func startPosts(t *testing.T, base string) *posts {
	t.Helper()
	target, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	p := &posts{}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		forward.ServeHTTP(w, r)
		if strings.Contains(r.URL.Path, "/inbound/") {
			t.Logf("%s %s", r.URL.Path, body)
			p.last.Store(&post{string(body), time.Now()})
		}
	}))
	t.Cleanup(server.Close)
	p.URL = server.URL
	return p
}

// watchedSystem is a system that a monitoring tool watches. While it is down it responds with status 503, or not at all.
type watchedSystem struct {
	URL          string
	down, silent atomic.Bool
}

func startWatchedSystem(t *testing.T) *watchedSystem {
	t.Helper()
	w := &watchedSystem{}
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		switch {
		case w.down.Load() && w.silent.Load():
			panic(http.ErrAbortHandler) // ends the connection
		case w.down.Load():
			out.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(server.Close)
	w.URL = server.URL
	return w
}

// monitoringTool starts a tool that watches w and posts to p with the token. It returns a function that the test
// calls after each change of w, for a tool that does not request w itself.
type monitoringTool func(t *testing.T, a actor, p *posts, w *watchedSystem, token string) (changed func())

// eachMonitor runs the test with each tool. The tool is in this process; it is also the real program if its path is in
// BELLBUOY_TEST_ALERTMANAGER or BELLBUOY_TEST_GATUS.
func eachMonitor(t *testing.T, test func(*testing.T, monitoringTool)) {
	t.Run("Gatus in this process", func(t *testing.T) { test(t, gatusInProcess) })
	for name, start := range map[string]func(program string) monitoringTool{"Alertmanager": alertmanager, "Gatus": gatus} {
		if program := os.Getenv("BELLBUOY_TEST_" + strings.ToUpper(name)); program != "" {
			t.Run(name, func(t *testing.T) { test(t, start(program)) })
		}
	}
}

// exported returns the file for Gatus that posts to p.
func exported(t *testing.T, a actor, p *posts, options ...string) string {
	t.Helper()
	return succeed(t, []string{"BELLBUOY_URL=" + p.URL, "BELLBUOY_APP_KEY=" + strings.TrimPrefix(a.app(), "Bearer ")}, append([]string{"export", "--gatus"}, options...)...)
}

func gatusInProcess(t *testing.T, a actor, p *posts, w *watchedSystem, token string) func() {
	read := readGatus(t, exported(t, a, p), token)
	return func() {
		read.alert(t, 0, map[bool]string{true: "TRIGGERED", false: "RESOLVED"}[w.down.Load()]).expect(t, http.StatusOK)
	}
}

// gatus checks each second instead of each minute.
func gatus(program string) monitoringTool {
	return func(t *testing.T, a actor, p *posts, _ *watchedSystem, token string) func() {
		folder, address := t.TempDir(), apitest.FreeAddress(t)
		file := strings.ReplaceAll(exported(t, a, p, "--database", filepath.Join(folder, "gatus.db")), "interval: 60s", "interval: 1s") +
			"web: {address: 127.0.0.1, port: " + strings.TrimPrefix(address, "127.0.0.1:") + "}\n"
		runTool(t, folder, "gatus.yaml", file, []string{"GATUS_CONFIG_PATH=gatus.yaml", "BELLBUOY_INBOUND_KEY=" + token}, "http://"+address+"/health", program)
		return func() {}
	}
}

// alertmanager reads its file as deploy/README.md has it, and gets alerts as Prometheus sends them.
func alertmanager(program string) monitoringTool {
	return func(t *testing.T, _ actor, p *posts, w *watchedSystem, token string) func() {
		folder, address := t.TempDir(), apitest.FreeAddress(t)
		readme, err := os.ReadFile("../README.md")
		if err != nil {
			t.Fatal(err)
		}
		documented := regexp.MustCompile("(?s)```yaml\n(receivers:\n.*?)```").FindStringSubmatch(string(readme))
		if documented == nil || os.WriteFile(filepath.Join(folder, "inbound-token"), []byte(token), 0o600) != nil {
			t.Fatal("no receiver of Alertmanager in deploy/README.md")
		}
		file := strings.NewReplacer("https://status.example.com", p.URL, "/etc/alertmanager/", folder+"/").Replace(documented[1]) +
			"route: {receiver: bellbuoy, group_by: [alertname], group_wait: 100ms, group_interval: 1s, repeat_interval: 1h}\n"
		runTool(t, folder, "alertmanager.yaml", file, nil, "http://"+address+"/-/ready",
			program, "--config.file=alertmanager.yaml", "--storage.path="+folder, "--web.listen-address="+address, "--cluster.listen-address=")
		alert := map[string]any{
			"labels":       map[string]string{"alertname": "CheckoutLatency", "component": "checkout", "instance": "10.0.0.1:9090", "job": "shop", "severity": "critical"},
			"annotations":  map[string]string{"summary": "Checkout is down", "description": "The p99 is 30 s."},
			"generatorURL": "http://prometheus:9090/graph?g0.expr=up&g0.tab=1", "startsAt": time.Now().UTC(),
		}
		return func() {
			if alert["endsAt"] = time.Now().Add(time.Hour).UTC(); !w.down.Load() {
				alert["endsAt"] = time.Now().UTC()
			}
			send(t, http.MethodPost, "http://"+address+"/api/v2/alerts", "", []any{alert}).expect(t, http.StatusOK)
		}
	}
}

// runTool writes the file, starts a program in the folder, waits until its address responds, and kills the program at
// the end of the test.
func runTool(t *testing.T, folder, name, file string, env []string, address, program string, arguments ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), program, arguments...)
	var output bytes.Buffer
	run.Dir, run.Env, run.Stdout, run.Stderr = folder, append([]string{"HOME=" + folder}, env...), &output, &output
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill() // fails if the program has ended
		if _ = run.Wait(); t.Failed() {
			t.Logf("%s wrote:\n%s", program, &output)
		}
	})
	eventually(t, 30*time.Second, program, func() error {
		got, err := try(context.Background(), http.MethodGet, address, "", nil)
		if err == nil && got.status != http.StatusOK {
			err = errors.New(string(got.body))
		}
		return err
	})
}

// A component goes down and comes back. The page shows each within 2 s after the tool has posted it, and no person or
// process in between does anything.
func TestAMonitorMovesThePageByItself(t *testing.T) {
	t.Parallel()
	base := commonBase(t)
	organizations := 0
	eachMonitor(t, func(t *testing.T, start monitoringTool) {
		organizations++
		a := actor{t, provision(t, base, "Acme", fmt.Sprintf("ann%d", organizations), "admin", "api")}
		w, p := startWatchedSystem(t), startPosts(t, base)
		a.checked("Shop", map[string]any{"name": "Checkout", "externalRefs": []string{"checkout"}, "checkUrl": w.URL + "/health"})
		changed := start(t, a, p, w, a.inboundToken())
		var before *post
		for i, down := range []bool{true, false, true, false} {
			w.silent.Store(i > 1)
			w.down.Store(down)
			changed()
			eventually(t, 30*time.Second, "the tool posts", func() error {
				if p.last.Load() == before {
					return errors.New("nothing")
				}
				return nil
			})
			before = p.last.Load()
			eventually(t, 2*time.Second, "the page", func() error {
				got, err := try(context.Background(), http.MethodGet, a.DashboardURL+"/", "", nil)
				if page := string(got.body); err == nil && (!strings.Contains(page, "Checkout is down") || strings.Contains(page, "All systems are operational") == down) {
					err = fmt.Errorf("the page is %s", got.body)
				}
				return err
			})
			t.Logf("down is %t on the page %s after the post", down, time.Since(before.at))
		}
		if events := a.everything("/app/events", "events"); len(events) != 1 || events[0]["status"] != "resolved" {
			t.Errorf("the events are %v", events)
		}
	})
}
