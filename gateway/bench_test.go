package gateway

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/engines"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"go.opentelemetry.io/otel/propagation"
)

// BenchmarkAgainstABareProxy (goal G1) compares the gateway, with key check, rate limit, passport, trace and log, with
// two simple proxies. Both are an httputil.ReverseProxy: one has the default transport (bare), the other has the
// gateway's transport and a pool of buffers (tuned). The three servers run in turn, five times, with 64 clients over
// kept connections. The benchmark reports the medians of the requests per second, and their ratios:
//
//	go test -run NONE -bench BareProxy -benchtime 1x ./...
func BenchmarkAgainstABareProxy(b *testing.B) {
	const clients, rounds, span = 64, 5, 2 * time.Second
	w := newWorld(b)
	answer := []byte(`{"components":[]}`)
	plain := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "application/json")
		_, _ = out.Write(answer)
	}))
	defer plain.Close()
	target, err := url.Parse(plain.URL)
	if err != nil {
		b.Fatal(err)
	}
	tuned := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	tuned.Transport, tuned.BufferPool = newProxy(nil, nil).usual, buffers{}
	tunedServer := httptest.NewServer(tuned)
	defer tunedServer.Close()
	alone := newProxy(map[string]string{events: plain.URL}, propagation.TraceContext{})
	exchangeServer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		response, err := alone.send(r.Context(), r, "0", outgoing{method: r.Method, service: events, ip: "127.0.0.1", scheme: "http"})
		if err != nil {
			b.Error(err)
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		alone.relay(w, response)
	}))
	defer exchangeServer.Close()
	bareServer := httptest.NewServer(httputil.NewSingleHostReverseProxy(target))
	defer bareServer.Close()

	m := w.keys.member(func(c *peer.Credential) { c.Limits.AppPerMinute = 1 << 30 })
	request := "GET /app/components HTTP/1.1\r\nHost: x\r\nUser-Agent: bench\r\nAccept: */*\r\nAuthorization: " + m.bearer() + "\r\n\r\n"
	subjects := []struct{ name, addr string }{
		{"gateway", w.gateway(b, func(c *Config) {
			c.EventsURL = plain.URL
			c.Log = w.config(b, io.Discard).Log
		}).base},
		{"bare", bareServer.URL},
		{"tuned", tunedServer.URL},
		{"exchange", exchangeServer.URL},
	}
	rates, costs := map[string][]float64{}, map[string][]float64{}
	for b.Loop() {
		for range rounds {
			for _, subject := range subjects {
				before := processorTime(b)
				rate, failed := load(b, strings.TrimPrefix(subject.addr, "http://"), []byte(request), clients, span)
				if failed > 0 {
					b.Fatalf("%s: %d responses that are not 200", subject.name, failed)
				}
				rates[subject.name] = append(rates[subject.name], rate)
				costs[subject.name] = append(costs[subject.name], float64(processorTime(b)-before)/(rate*span.Seconds()))
			}
		}
	}
	median := func(all []float64) float64 { return slices.Sorted(slices.Values(all))[len(all)/2] }
	for _, subject := range subjects {
		b.ReportMetric(median(rates[subject.name]), subject.name+"-req/s")
		b.ReportMetric(median(costs[subject.name])/1000, subject.name+"-cpu-us")
	}
	b.ReportMetric(median(rates["exchange"])/median(rates["tuned"]), "exchange-of-tuned")
	for _, control := range []string{"bare", "tuned"} {
		b.ReportMetric(median(rates["gateway"])/median(rates[control]), "of-"+control)
		b.ReportMetric(median(costs[control])/median(costs["gateway"]), "of-"+control+"-by-cpu")
	}
	b.ReportMetric(0, "ns/op")
}

// buffers is a pool of buffers of the usual size for httputil.ReverseProxy.
type buffers struct{}

var pooled = sync.Pool{New: func() any { return make([]byte, copyBuffer) }}

func (buffers) Get() []byte  { return pooled.Get().([]byte) }
func (buffers) Put(b []byte) { pooled.Put(b) }

// processorTime returns the processor time of this process in nanoseconds, which includes clients, services and an embedded Redis.
// Other processes on the machine influence it less than requests per second.
func processorTime(b *testing.B) int64 {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

// BenchmarkRedisKilled (goal G5) sends 800 requests per second, from 16 callers with a key
// each, and kills Redis. It reports the 99th percentile of the response time in the two
// seconds before the kill and in the two seconds after it, and the number of responses
// that are not 200.
//
//	go test -run NONE -bench RedisKilled -benchtime 1x ./...
func BenchmarkRedisKilled(b *testing.B) {
	const callers, each, rounds = 16, 20 * time.Millisecond, 5
	var before, after []float64
	failed := 0
	for b.Loop() {
		for range rounds {
			server, kill := mortalRedis(b)
			w := newWorldOn(b, server)
			d := w.gateway(b, nil)
			keys := make([]member, callers)
			for i := range keys {
				keys[i] = w.keys.member(func(c *peer.Credential) { c.Limits.AppPerMinute = 1 << 30 })
			}
			_, wrong := steady(b, d, keys, each, time.Second)
			calm, alsoWrong := steady(b, d, keys, each, 2*time.Second)
			killed := make(chan error, 1)
			time.AfterFunc(10*time.Millisecond, func() { killed <- kill() })
			stormy, wrongToo := steady(b, d, keys, each, 2*time.Second)
			if err := <-killed; err != nil {
				b.Fatal(err)
			}
			failed += wrong + alsoWrong + wrongToo
			before, after = append(before, calm), append(after, stormy)
		}
	}
	slices.Sort(before)
	slices.Sort(after)
	b.ReportMetric(before[len(before)/2], "before-p99-ms")
	b.ReportMetric(after[len(after)/2], "after-p99-ms")
	b.ReportMetric(after[len(after)/2]/before[len(before)/2], "ratio")
	b.ReportMetric(float64(failed), "failed")
	b.ReportMetric(0, "ns/op")
}

// mortalRedis starts redis-server, or an embedded Redis if it is not installed. kill ends it at once.
func mortalRedis(b *testing.B) (address string, kill func() error) {
	b.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		server, err := engines.StartRedis("127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		return server.URL(), server.Close
	}
	listen := apitest.FreeAddress(b)
	_, port, _ := strings.Cut(listen, ":")
	command := exec.Command(program, "--bind", "127.0.0.1", "--port", port, "--save", "")
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = command.Process.Kill() // it may be dead
		_ = command.Wait()
	})
	apitest.Eventually(b, "Redis", func() bool {
		connection, err := net.Dial("tcp", listen)
		if err == nil {
			err = connection.Close()
		}
		return err == nil
	})
	return "redis://" + listen, command.Process.Kill
}

// steady sends one request of each caller at each interval. It returns the 99th percentile of the response time in ms,
// and the number of responses that are not 200.
func steady(b *testing.B, d *door, callers []member, each, span time.Duration) (p99 float64, wrong int) {
	b.Helper()
	var mu sync.Mutex
	var took []float64
	var group sync.WaitGroup
	for i, m := range callers {
		group.Go(func() {
			start := time.Now().Add(each * time.Duration(i) / time.Duration(len(callers)))
			for at := time.Duration(0); at < span; at += each {
				time.Sleep(time.Until(start.Add(at)))
				due := start.Add(at)
				g, err := d.try(b.Context(), http.MethodGet, "/app/users", "", map[string]string{"Authorization": m.bearer()})
				mu.Lock()
				took = append(took, float64(time.Since(due).Microseconds())/1000)
				if err != nil || g.status != http.StatusOK {
					wrong++
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	slices.Sort(took)
	return took[len(took)*99/100], wrong
}

// load repeats the request over kept connections. It returns the number of responses per second, and the number of
// responses that are not 200.
func load(b *testing.B, addr string, request []byte, clients int, span time.Duration) (rate float64, failed int64) {
	b.Helper()
	var answers, wrong atomic.Int64
	var group sync.WaitGroup
	start := time.Now()
	for range clients {
		group.Go(func() {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				wrong.Add(1)
				return
			}
			defer conn.Close()
			in := bufio.NewReader(conn)
			for time.Since(start) < span {
				if _, err := conn.Write(request); err != nil {
					wrong.Add(1)
					return
				}
				ok, err := readResponse(in)
				if err != nil {
					wrong.Add(1)
					return
				}
				if !ok {
					wrong.Add(1)
				}
				answers.Add(1)
			}
		})
	}
	group.Wait()
	return float64(answers.Load()) / time.Since(start).Seconds(), wrong.Load()
}

// readResponse reads a response with a Content-Length. It uses little processor time, so that the cost of the client
// hardly influences the comparison.
func readResponse(in *bufio.Reader) (ok bool, err error) {
	length, first := -1, true
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return false, err
		}
		if first {
			first, ok = false, bytes.HasPrefix(line, []byte("HTTP/1.1 200"))
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if value, found := bytes.CutPrefix(line, []byte("Content-Length: ")); found {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return false, err
			}
		}
	}
	if length < 0 {
		return false, fmt.Errorf("a response without Content-Length")
	}
	_, err = in.Discard(length)
	return ok, err
}
