package main_test

import (
	"bytes"
	"cmp"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

const crowdHost = "example.com" // a host in the certificate of package httptest

// BenchmarkWholePlatform (goal D1b) posts an incident through the gateway of the platform as one process with its
// default settings, with BENCH_ENDPOINTS (10,000) webhook endpoints. Then another process posts the same bodies to the
// same receiver in a bare net/http loop. It reports the time from the response to the first and the last request, the
// speed of both and their ratio (raw_ratio), and the processor time of both per delivery. The processor time of the
// platform includes the durable logs and the counted outcomes. The receiver runs in this process. Both have opened their
// connections before.
//
//	BENCH_ENDPOINTS=100000 go test -run '^$' -bench WholePlatform -benchtime 3x ./deploy/standalone
func BenchmarkWholePlatform(b *testing.B) {
	n, err := strconv.Atoi(cmp.Or(os.Getenv("BENCH_ENDPOINTS"), "10000"))
	if err != nil {
		b.Fatal(err)
	}
	c := startCrowd(b)
	p, base := started(b, append(c.env(b), "BELLBUOY_INTERNAL_ADDR="+cmp.Or(os.Getenv("BENCH_INTERNAL_ADDR"), "127.0.0.1:0"))...)
	a := actor{b, seeded(b, p)}
	send(b, http.MethodPatch, base+"/operator/v1/organizations/"+a.OrganizationID, a.operator(),
		map[string]any{"limits": map[string]any{"uniqueEndpoints": 1_000_000, "appPerMinute": 1_000_000}}).expect(b, http.StatusOK)
	_, component := a.service("Checkout")
	a.crowd(n, component)
	c.tell(b, a, component, n) // opens the connections, and sets the body of c
	p.quiet()
	var product, raw, first, productCPU, rawCPU time.Duration
	for b.Loop() {
		before, began := p.cpu(), time.Now()
		answered, last := c.tell(b, a, component, n)
		product += last.Sub(answered)
		first += max(0, c.first.Sub(answered))
		productCPU += p.quiet() - before
		a.counted(n, began)
		took, used := c.raw(b, n)
		raw, rawCPU = raw+took, rawCPU+used
	}
	total := float64(n * b.N)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(total/product.Seconds(), "deliveries/s")
	b.ReportMetric(total/raw.Seconds(), "raw/s")
	b.ReportMetric(raw.Seconds()/product.Seconds(), "raw_ratio")
	b.ReportMetric(float64(productCPU.Microseconds())/total, "us-cpu/delivery")
	b.ReportMetric(float64(rawCPU.Microseconds())/total, "us-cpu/raw")
	b.ReportMetric(float64(first.Microseconds())/1000/float64(b.N), "ms-to-first")
	b.ReportMetric(float64(product.Microseconds())/1000/float64(b.N), "ms-to-last")
}

// crowd creates n webhook endpoints of the component.
func (a actor) crowd(n int, component string) {
	a.t.Helper()
	var made atomic.Int64
	var clients sync.WaitGroup
	for range 16 {
		clients.Go(func() {
			for i := made.Add(1); i <= int64(n); i = made.Add(1) {
				got, err := try(a.t.Context(), http.MethodPost, a.BaseURL+"/app/integrations/webhooks/outbound/endpoints", a.app(), map[string]any{
					"dashboardId": a.DashboardID, "url": fmt.Sprintf("https://%s/hooks/%032d", crowdHost, i), "managementEmail": "ops@example.com",
					"componentIds": []string{component},
				})
				if err != nil || got.status != http.StatusCreated {
					a.t.Errorf("endpoint %d: %d %s %v", i, got.status, got.body, err)
					return
				}
			}
		})
	}
	clients.Wait()
	if a.t.Failed() {
		a.t.FailNow()
	}
}

// counted fails the benchmark unless n endpoints show a success after the time since.
func (a actor) counted(n int, since time.Time) {
	a.t.Helper()
	next, seen := "", 0
	for {
		var list struct {
			Endpoints []hookView
			NextToken *string
		}
		send(a.t, http.MethodGet, a.BaseURL+"/app/integrations/webhooks/outbound/endpoints?limit=100"+next, a.app(), nil).
			expect(a.t, http.StatusOK).into(a.t, &list)
		for _, row := range list.Endpoints {
			if row.LastSuccessAt == nil || row.LastSuccessAt.Before(since.Truncate(time.Millisecond)) {
				a.t.Fatalf("the last success of %s was counted at %v, not after %v", row.URLDisplay, row.LastSuccessAt, since)
			}
		}
		seen += len(list.Endpoints)
		if list.NextToken == nil {
			break
		}
		next = "&nextToken=" + *list.NextToken
	}
	if seen != n {
		a.t.Fatalf("%d endpoints are listed instead of %d", seen, n)
	}
}

// crowd is a receiver that counts requests. It stores the times of the first and the last request, and the first body.
type crowd struct {
	server *httptest.Server
	last   chan time.Time

	mu          sync.Mutex
	count, want int
	first       time.Time
	body        []byte
}

func startCrowd(b *testing.B) *crowd {
	c := &crowd{last: make(chan time.Time, 1)}
	c.server = httptest.NewUnstartedServer(c)
	c.server.StartTLS()
	b.Cleanup(c.server.Close)
	return c
}

// env returns the settings with which the platform reaches the receiver.
func (c *crowd) env(b *testing.B) []string {
	b.Helper()
	return []string{"DELIVERY_RESOLVE=" + crowdHost + ":443=" + c.server.Listener.Addr().String(), "DELIVERY_CA_FILE=" + c.authority(b)}
}

func (c *crowd) authority(b *testing.B) string {
	b.Helper()
	file := filepath.Join(b.TempDir(), "ca.pem")
	if err := os.WriteFile(file, c.certificate(), 0o600); err != nil {
		b.Fatal(err)
	}
	return file
}

func (c *crowd) certificate() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.server.Certificate().Raw})
}

// ServeHTTP counts a request.
func (c *crowd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	body, _ := io.ReadAll(r.Body) // an incomplete body also counts
	w.WriteHeader(http.StatusNoContent)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count++; c.count == 1 {
		c.first, c.body = at, body
	}
	if c.count == c.want {
		c.last <- time.Now()
	}
}

// expect starts a new count. The crowd stores the time of request number n.
func (c *crowd) expect(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count, c.want = 0, n
}

// arrived returns the time of the last expected request.
func (c *crowd) arrived(b *testing.B) time.Time {
	b.Helper()
	select {
	case at := <-c.last:
		return at
	case <-time.After(10 * time.Minute):
		b.Fatal("not all requests arrived within ten minutes")
		return time.Time{}
	}
}

// tell posts an incident on the component. It returns the time of the response, and the time of the last of n requests.
func (c *crowd) tell(b *testing.B, a actor, component string, n int) (answered, last time.Time) {
	b.Helper()
	c.expect(n)
	send(b, http.MethodPost, a.BaseURL+"/app/events", a.app(), map[string]any{
		"type": "incident", "title": "Checkout is slow", "affectedComponents": []any{map[string]any{"componentId": component}},
		"notify": map[string]any{"webhook": true},
	}).expect(b, http.StatusCreated)
	answered = time.Now()
	return answered, c.arrived(b)
}

// raw runs the control with the body of the first request.
func (c *crowd) raw(b *testing.B, n int) (took, cpu time.Duration) {
	b.Helper()
	loop := apitest.RawLoop{Address: c.server.Listener.Addr().String(), Host: crowdHost, CA: c.certificate(), Body: c.body, N: n}
	c.expect(loop.Requests())
	took, cpu = loop.Run(b)
	c.arrived(b)
	return took, cpu
}

const clockTick = 10 * time.Millisecond // unit of the times in /proc on every Linux that Go supports

// cpu returns the processor time of the process and its children.
func (p *process) cpu() time.Duration {
	p.t.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", p.command.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	var ticks time.Duration
	for _, pid := range append(strings.Fields(string(children)), strconv.Itoa(p.command.Process.Pid)) {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			p.t.Fatal(err)
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		user, _ := strconv.Atoi(fields[11])
		system, _ := strconv.Atoi(fields[12])
		ticks += time.Duration(user + system)
	}
	return ticks * clockTick
}

// quiet waits until the process is idle and returns its processor time.
func (p *process) quiet() time.Duration {
	p.t.Helper()
	return apitest.Quiet(p.t, apitest.AtRest, p.cpu)
}
