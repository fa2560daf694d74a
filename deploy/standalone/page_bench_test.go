package main_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

// BenchmarkPage (goal P4) compares the platform, as one process with its default settings, with nginx. Both serve the
// same gzip bytes of the page of fullDashboard (see besideNginx). The benchmark needs the Debian packages nginx-light
// and wrk:
//
//	go test -run '^$' -bench '^BenchmarkPage$' -benchtime 1x ./deploy/standalone
func BenchmarkPage(b *testing.B) { besideNginx(b, "/", "gzip") }

// BenchmarkList (goal P1) does the same as BenchmarkPage for the legacy list, which has no content coding.
func BenchmarkList(b *testing.B) { besideNginx(b, "/api/v1/dashboard/", "identity") }

// besideNginx sends requests for a file of a dashboard five times, in turn to the platform and to nginx. wrk sends the
// requests over 64 kept connections and measures the time of each response. besideNginx reports medians: requests per
// second, the 99th percentile of the time, processor time per request, and the ratios of both servers. The platform
// logs each request to a file, and nginx logs nothing. wrk uses processor time that both servers lack. If BENCH_FLAPPING is
// set, a monitoring tool posts 10,000 flapping alerts to the platform meanwhile, at the rate of those of a minute, also while
// nginx is measured.
func besideNginx(b *testing.B, path, coding string) {
	const rounds = 5
	for _, program := range []string{"nginx", "wrk"} {
		if _, err := exec.LookPath(program); err != nil {
			b.Skipf("%s is not installed: apt-get install nginx-light wrk", program)
		}
	}
	p, base := started(b, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "LEGACY_RATE_PER_HOUR=100000")
	a := actor{b, provision(b, base, "Acme", "acme-admin", "admin", "api")}
	a.fullDashboard()
	flapping := os.Getenv("BENCH_FLAPPING") != ""
	if flapping {
		a.component("Flaps", "checkout")
	}
	got := looker{t: b, base: a.DashboardURL}.visit("GET", path, nil, "Accept-Encoding", coding).expect(b, http.StatusOK)
	control, address := startNginx(b, got)
	subjects := []struct {
		name, url string
		process   *process
	}{{"gateway", a.DashboardURL + path, p}, {"nginx", address, control}}
	type result struct{ rate, p99, cpu []float64 }
	results := map[string]*result{"gateway": {}, "nginx": {}}
	var posts sync.WaitGroup
	var refused int64
	if flapping {
		tool := a.tool(map[string]any{"name": "Flapping", "openAfter": "2m"})
		posts.Go(func() { refused = tool.flap(10_000, time.Minute) })
	}
	for b.Loop() {
		for range rounds {
			for _, subject := range subjects {
				of, before := results[subject.name], subject.process.cpu()
				requests, rate, p99 := wrk(b, subject.url, coding)
				of.rate, of.p99 = append(of.rate, rate), append(of.p99, float64(p99.Microseconds())/1000)
				of.cpu = append(of.cpu, float64((subject.process.cpu()-before).Microseconds())/requests)
			}
		}
	}
	posts.Wait()
	b.ReportMetric(float64(refused), "refused")
	middle := func(all []float64) float64 { return slices.Sorted(slices.Values(all))[len(all)/2] }
	for name, of := range results {
		b.ReportMetric(middle(of.rate), name+"-req/s")
		b.ReportMetric(middle(of.p99), name+"-ms-p99")
		b.ReportMetric(middle(of.cpu), name+"-us-cpu")
	}
	product, nginx := results["gateway"], results["nginx"]
	b.ReportMetric(middle(product.rate)/middle(nginx.rate), "of-nginx")
	b.ReportMetric(middle(product.p99)/middle(nginx.p99), "p99-of-nginx")
	b.ReportMetric(float64(len(got.body)), "bytes")
	b.ReportMetric(0, "ns/op")
}

// startNginx starts nginx with a file that has the body of a response, and with its media type and content coding. It
// returns the address of the file. nginx has one worker per core and keeps connections open. All its other settings are
// defaults.
func startNginx(b *testing.B, of answer) (*process, string) {
	b.Helper()
	folder, address := b.TempDir(), apitest.FreeAddress(b)
	name := filepath.Join(folder, "file")
	if of.header.Get("Content-Encoding") == "gzip" {
		name += ".gz" // with gzip_static always, nginx needs only the compressed file
	}
	if err := os.WriteFile(name, of.body, 0o600); err != nil {
		b.Fatal(err)
	}
	owner, err := user.Current() // by default the workers of an nginx that root starts run as another user, who cannot read the file
	if err != nil {
		b.Fatal(err)
	}
	settings := fmt.Sprintf(`
daemon off; user %[1]s; worker_processes auto; pid %[2]s/pid; error_log stderr;
events { worker_connections 1024; }
http {
  access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_timeout 60s; keepalive_requests 1000000000;
  default_type %[3]q;
  client_body_temp_path %[2]s/body; proxy_temp_path %[2]s/proxy; fastcgi_temp_path %[2]s/fastcgi;
  uwsgi_temp_path %[2]s/uwsgi; scgi_temp_path %[2]s/scgi;
  server { listen %[4]s; root %[2]s; location = /file { gzip_static %[5]s; } }
}`, owner.Username, folder, of.header.Get("Content-Type"), address, map[bool]string{true: "always", false: "off"}[filepath.Ext(name) == ".gz"])
	file := filepath.Join(folder, "nginx.conf")
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		b.Fatal(err)
	}
	p := newProcess(b, "nginx", "")
	p.endWithTest("nginx", "-p", folder, "-c", file, "-e", "stderr")
	p.start()
	eventually(b, 30*time.Second, "nginx", listens(address))
	looked := looker{t: b, base: "http://" + address}.visit("GET", "/file", nil, "Accept-Encoding", "gzip").expect(b, http.StatusOK)
	if string(looked.body) != string(of.body) || looked.header.Get("Content-Encoding") != of.header.Get("Content-Encoding") {
		b.Fatalf("nginx does not serve the same bytes: %v", looked.header)
	}
	return p, "http://" + address + "/file"
}

var wrkReport = regexp.MustCompile(`(?s)99%\s+([0-9.a-z]+)\n\s+([0-9]+) requests in .*Requests/sec:\s+([0-9.]+)`)

var wrkFailure = regexp.MustCompile(`Non-2xx|Socket errors`)

// wrk repeats a request for two seconds. It fails the benchmark unless every response has status 200.
func wrk(b *testing.B, url, coding string) (requests, rate float64, p99 time.Duration) {
	b.Helper()
	out, err := exec.CommandContext(b.Context(), "wrk", "--latency", "-t", strconv.Itoa(runtime.NumCPU()), "-c", "64", "-d", "2s",
		"-H", "Accept-Encoding: "+coding, url).CombinedOutput()
	parts := wrkReport.FindStringSubmatch(string(out))
	if err != nil || parts == nil || wrkFailure.Match(out) {
		b.Fatalf("wrk: %v\n%s", err, out)
	}
	if p99, err = time.ParseDuration(parts[1]); err != nil {
		b.Fatal(err)
	}
	requests, _ = strconv.ParseFloat(parts[2], 64) // the text consists of digits
	rate, _ = strconv.ParseFloat(parts[3], 64)     // the text consists of digits
	return requests, rate, p99
}
