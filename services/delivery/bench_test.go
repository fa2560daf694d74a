package delivery_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// BenchmarkFanout sends one event to BENCH_ENDPOINTS (10,000) receivers with the service as a separate process.
// Then another process posts as many bodies of the same size in a bare net/http loop. It reports the speed of both to the last
// arrival, their ratio (raw_ratio), the processor time of both per delivery, and the maximum memory of the service. Broker,
// peer and receiver run in this process, whose processor time is reported, too. Both have opened their connections before: the service by a fan-out that is not
// measured.
//
// With BENCH_PACED, half of the receivers are on Discord, where most requests wait for their turn. Only the other half is
// measured.
//
//	BENCH_ENDPOINTS=100000 go test -run '^$' -bench Fanout -benchtime 3x ./services/delivery
func BenchmarkFanout(b *testing.B) {
	n, paced, rest := endpoints(b), os.Getenv("BENCH_PACED") != "", apitest.AtRest
	w := newWorld(b)
	w.outcomes.stop() // reading them would use the processor time that the ratio compares
	hooks := w.counter("hooks.test")
	w.crowd(organization, n, "hooks.test", 0, paced)
	channels := []topic.Channel{topic.Webhook}
	if paced {
		n, channels = n-n/2, append(channels, topic.Discord)
		rest = 0.4 // those that wait have their turns, 45 in a second
	}
	service := w.child("BELLBUOY_INTERNAL_ADDR=" + orElse("BENCH_INTERNAL_ADDR", "127.0.0.1:0"))
	w.publishAndCount(hooks, n, topic.Webhook) // joined and warm
	quiet := func() time.Duration { return apitest.Quiet(b, rest, func() time.Duration { return service.cpu(b) }) }
	quiet()
	asked := w.peer.questions()
	var product, raw time.Duration
	var productCPU, rawCPU, tail, besideProduct, besideRaw time.Duration
	for b.Loop() {
		before := service.cpu(b)
		took, rest, beside := w.publishAndCount(hooks, n, channels...)
		product, tail, besideProduct = product+took, tail+rest, besideProduct+beside
		productCPU += quiet() - before
		beside = apitest.UsedCPU()
		took, used := w.raw(hooks, n)
		raw, rawCPU, besideRaw = raw+took, rawCPU+used, besideRaw+apitest.UsedCPU()-beside
	}
	total := float64(n * b.N)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(total/product.Seconds(), "deliveries/s")
	b.ReportMetric(total/raw.Seconds(), "raw/s")
	b.ReportMetric(raw.Seconds()/product.Seconds(), "raw_ratio")
	b.ReportMetric(float64(productCPU.Microseconds())/total, "us-cpu/delivery")
	b.ReportMetric(float64(rawCPU.Microseconds())/total, "us-cpu/raw")
	b.ReportMetric(float64(besideProduct.Microseconds())/total, "us-cpu-beside/delivery")
	b.ReportMetric(float64(besideRaw.Microseconds())/total, "us-cpu-beside/raw")
	b.ReportMetric(tail.Seconds()*1000/float64(b.N), "ms-to-last-row")
	b.ReportMetric(service.peak(b), "MiB-peak")
	b.ReportMetric(float64(w.peer.questions()-asked)/float64(b.N), "resolves/fan-out")
}

// endpoints returns BENCH_ENDPOINTS.
func endpoints(b *testing.B) int {
	n, err := strconv.Atoi(orElse("BENCH_ENDPOINTS", "10000"))
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// crowd adds endpoints of an organization on a host, and a percentage of them on a host that hangs. If paced is true,
// each second endpoint is a webhook of Discord, which has a limit of 45 requests a second for all of them.
func (w *world) crowd(owner string, n int, host string, hanging int, paced bool) {
	suffix := owner[len(owner)-12:]
	for i := range n {
		at := host
		if i%100 < hanging {
			at = "hanging.test"
		}
		d := w.peer.addFor(owner, fmt.Sprintf("%s-%012d", suffix, i), fmt.Sprintf("https://%s/t/%s%020d", at, suffix, i))
		if paced && i%2 == 1 {
			d.Channel, d.Secrets, d.URL = topic.Discord, nil, fmt.Sprintf("https://discord.test/api/webhooks/%d/%s", i, suffix)
		}
	}
	if paced && !w.peer.byChannel {
		w.peer.byChannel = true
		w.counter("discord.test")
	}
}

func orElse(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

// counter is a receiver that only counts requests.
type counter struct {
	arrived atomic.Int64
	size    atomic.Int64 // bytes of the last body
	address string
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	size, _ := io.Copy(io.Discard, r.Body)
	w.WriteHeader(http.StatusNoContent)
	c.size.Store(size)
	c.arrived.Add(1)
}

func (w *world) counter(host string) *counter {
	w.t.Helper()
	c := &counter{}
	c.address = w.serve(host, c)
	return c
}

// serve serves a host until the test ends and returns the address. The options change the server before it starts.
func (w *world) serve(host string, handler http.Handler, options ...func(*http.Server)) (address string) {
	w.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	server := &http.Server{Handler: handler, TLSConfig: &tls.Config{Certificates: []tls.Certificate{w.authorities.issue(w.t, host)}, NextProtos: []string{"http/1.1"}},
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)} // killed senders break connections
	for _, option := range options {
		option(server)
	}
	go func() { _ = server.ServeTLS(listener, "", "") }()
	w.t.Cleanup(func() { server.Close() })
	w.resolve = append(w.resolve, host+":443="+listener.Addr().String())
	return listener.Addr().String()
}

// publishAndCount publishes a change for the channels and waits for n requests, then for their durable rows. beside is the processor
// time of this process until the last request.
func (w *world) publishAndCount(c *counter, n int, channels ...topic.Channel) (arrived, recorded, beside time.Duration) {
	w.t.Helper()
	sent := change(newEvent(), 1)
	sent.Notify = topic.Notify{}
	for _, channel := range channels {
		sent.Notify[channel] = topic.Wording{}
	}
	rows := w.recorded()
	used, began := apitest.UsedCPU(), time.Now()
	c.arrived.Store(0)
	w.publish(sent, nil)
	for c.arrived.Load() < int64(n) {
		if time.Since(began) > 10*time.Minute {
			w.t.Fatalf("%d of %d arrived", c.arrived.Load(), n)
		}
		time.Sleep(2 * time.Millisecond)
	}
	arrived, beside = time.Since(began), apitest.UsedCPU()-used
	apitest.Eventually(w.t, "the records", func() bool { return w.recorded() >= rows+int64(n) })
	return arrived, time.Since(began) - arrived, beside
}

// recorded returns the number of deliveries in the service's log.
func (w *world) recorded() int64 {
	w.t.Helper()
	db, err := document.Open(w.documents, "delivery", document.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	rows := document.Declare(db, document.Schema[deliverylog.Delivery]{
		Name: "deliveries", Shard: document.Whole("a test"), Key: func(d *deliverylog.Delivery) string { return d.ID },
		Fields: []document.Field[deliverylog.Delivery]{
			{Name: "waitsIn", Value: func(*deliverylog.Delivery) any { return nil }},
			{Name: "nextAttemptAt", Value: func(*deliverylog.Delivery) any { return nil }},
		},
		Indexes: []document.Index{{Name: "due", Fields: []string{"waitsIn", "nextAttemptAt"}}},
	})
	blocks := document.Declare(db, document.Schema[deliverylog.Block]{
		Name: "blocks", Shard: document.Whole("a test"), Key: func(b *deliverylog.Block) string { return b.ID },
		Fields: []document.Field[deliverylog.Block]{{Name: "size", Value: func(b *deliverylog.Block) any { return b.Size }}},
	})
	n, err := rows.Count(w.t.Context(), find.Query{Where: []find.Condition{find.Absent("waitsIn")}})
	if err != nil {
		return 0 // not migrated yet
	}
	sizes, err := blocks.Keys(w.t.Context(), find.Query{}, "size")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, size := range sizes {
		n += size.Values[0].(int64)
	}
	return n
}

const clockTick = 10 * time.Millisecond // of /proc, on every Linux that Go runs on

// cpu returns the processor time of the process.
func (c *child) cpu(t testing.TB) time.Duration {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.command.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * clockTick
}

// peak returns the maximum memory of the process in MiB.
func (c *child) peak(t testing.TB) float64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.command.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "VmHWM:")
	var kib float64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatalf("no VmHWM: %v\n%s", err, raw)
	}
	return kib / 1024
}

// raw runs the control with bodies of the size of the last request.
func (w *world) raw(c *counter, n int) (took, cpu time.Duration) {
	w.t.Helper()
	authority, err := os.ReadFile(w.caFile)
	if err != nil {
		w.t.Fatal(err)
	}
	loop := apitest.RawLoop{Address: c.address, Host: "hooks.test", CA: authority, Body: bytes.Repeat([]byte("x"), int(c.size.Load())), N: n}
	c.arrived.Store(0)
	took, cpu = loop.Run(w.t)
	if arrived := c.arrived.Load(); arrived != int64(loop.Requests()) {
		w.t.Fatalf("%d requests of the control arrived instead of %d", arrived, loop.Requests())
	}
	return took, cpu
}
