package main_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

// The benchmarks of this file (goal S1) compare 1, 2 and 4 processes of a service under a load that waits for others and
// hardly computes, because all processes share the cores of one machine. busy-by-4-% is how much of these cores was in use,
// also by other work. Those of delivery, events and subscribers need MongoDB (BELLBUOY_TEST_MONGODB) and use Apache Kafka
// (BELLBUOY_TEST_KAFKA), as scripts/bench starts them.

// slowly is the time of a service that the gateway waits for. A receiver takes a little less: longer than 0.2 s, and each
// delivery becomes a record of its own instead of a part of a block. The server of scripts/mongo-double reads all records for
// each query, and would be the bound.
const (
	slowly         = 200 * time.Millisecond
	slowlyReceived = 190 * time.Millisecond
)

// scales calls measure with 1, 2 and 4 processes. It reports the rates that measure returns, and divides them by the first.
func scales(b *testing.B, measure func(processes int) (rate, busy float64)) {
	one := 0.0
	for _, n := range []int{1, 2, 4} {
		rate, busy := measure(n)
		one = cmp.Or(one, rate)
		b.ReportMetric(rate, fmt.Sprintf("by-%d/s", n))
		b.ReportMetric(busy, fmt.Sprintf("busy-by-%d-%%", n))
		if n > 1 {
			b.ReportMetric(rate/one, fmt.Sprintf("%d-of-1", n))
		}
	}
	b.ReportMetric(0, "ns/op")
}

// busy returns a function that returns how many percent of the processor time of the machine were used since the call.
func busy(t testing.TB) func() float64 {
	read := func() (used, all float64) {
		stat, err := os.ReadFile("/proc/stat")
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := bytes.Cut(stat, []byte("\n"))
		for i, field := range strings.Fields(string(first))[1:9] { // user nice system idle iowait irq softirq steal
			ticks, err := strconv.ParseFloat(field, 64)
			if err != nil {
				t.Fatal(err)
			}
			if all += ticks; i != 3 && i != 4 {
				used += ticks
			}
		}
		return used, all
	}
	used, all := read()
	return func() float64 {
		usedNow, allNow := read()
		return 100 * (usedNow - used) / (allNow - all)
	}
}

// BenchmarkDeliveryScale sends three events to 10,000 endpoints that take 190 ms to respond. A process has 128 fast slots (package
// slots), so it starts at most 674 such attempts in a second. Only delivery uses MongoDB, because only its processes share a
// database here.
func BenchmarkDeliveryScale(b *testing.B) {
	const n, events = 10_000, 3
	server := os.Getenv("BELLBUOY_TEST_MONGODB")
	if server == "" {
		b.Skip("BELLBUOY_TEST_MONGODB names no MongoDB server")
	}
	l := newTally(b)
	c := startCluster(b, append(l.env, "BELLBUOY_LOG_LEVEL=warn")...)
	env := append(slices.Clone(c.processes["delivery"].env), fmt.Sprintf("DOCUMENTS_URL=%s/scale%d", strings.TrimSuffix(server, "/"), time.Now().UnixNano()))
	leave(b, c.processes["delivery"])
	running := []*process{newProcess(b, "delivery-1", "delivery", env...).start()}
	a := actor{b, provision(b, c.base, "Acme", "acme-admin", "admin", "api")}
	_, component := a.service("Checkout")
	a.endpoints(n, component)
	fanOut := func(events int) time.Duration {
		opened := []string{a.opens(component)}
		arrived := func() (deliveries int) {
			for _, event := range opened {
				deliveries += l.arrived(event, 1)
			}
			return deliveries
		}
		l.await(1, arrived)
		began := time.Now()
		for len(opened) < events {
			opened = append(opened, a.opens(component))
		}
		return l.await(n*events, arrived).Sub(began)
	}
	fanOut(1) // fills caches before the measurement
	l.mu.Lock()
	l.takes = func(int) time.Duration { return slowlyReceived }
	l.mu.Unlock()
	for b.Loop() {
		scales(b, func(processes int) (rate, used float64) {
			for len(running) < processes {
				running = append(running, newProcess(b, fmt.Sprintf("delivery-%d", len(running)+1), "delivery",
					append(slices.Clone(env), "BELLBUOY_ADDR=127.0.0.1:0", "BELLBUOY_INTERNAL_ADDR=127.0.0.1:0")...).start())
			}
			fanOut(1) // until each process has its part of the work
			since := busy(b)
			return n * events / fanOut(events).Seconds(), since()
		})
	}
	l.mu.Lock()
	repeats := l.repeats
	l.mu.Unlock()
	b.ReportMetric(float64(repeats), "repeats")
	for _, p := range running {
		leave(b, p)
	}
}

// BenchmarkGatewayScale sends the requests of 128 clients to a service that takes 200 ms, through four gateways and through one.
// Requests that wait are no bound of a gateway, so one does as much as four (one-of-4).
func BenchmarkGatewayScale(b *testing.B) {
	const clients, gateways = 128, 4
	c := startCluster(b, "APP_RATE_PER_MINUTE=1000000", "BELLBUOY_LOG_LEVEL=warn")
	of := actor{b, provision(b, c.base, "Acme", "acme-admin", "admin", "api")}
	_, component := of.service("Checkout")
	slow := "EVENTS_URL=http://" + startRelay(b, slowly, c.addresses["events"])
	var bases []string
	for i := range gateways {
		address := apitest.FreeAddress(b)
		newProcess(b, fmt.Sprintf("gateway-of-%d", i+1), "gateway", append(slices.Clone(c.processes["gateway"].env),
			"BELLBUOY_ADDR="+address, "BELLBUOY_INTERNAL_ADDR=127.0.0.1:0", slow)...).start()
		bases = append(bases, "http://"+address)
		eventually(b, time.Minute, "ready", ready(bases[i]))
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}, Timeout: time.Minute}
	through := func(gateways int) float64 {
		rate, used := throughput(b, clients, func(n int) error {
			return call(b, client, http.MethodGet, bases[n%gateways]+"/app/components/"+component, of.app(), nil, http.StatusOK)
		})
		b.ReportMetric(rate, fmt.Sprintf("by-%d/s", gateways))
		b.ReportMetric(used, fmt.Sprintf("busy-by-%d-%%", gateways))
		return rate
	}
	for b.Loop() {
		four := through(gateways)
		b.ReportMetric(through(1)/four, "one-of-4")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkServicesScale sends the requests of 64 clients to events and to subscribers, for which each response of the database
// takes 100 ms longer. Each process has 8 connections to the database and a gateway of its own. Each client reads and changes its
// own record in turn.
func BenchmarkServicesScale(b *testing.B) {
	const clients, connections, takes = 64, 8, 100 * time.Millisecond
	server := os.Getenv("BELLBUOY_TEST_MONGODB")
	if server == "" {
		b.Skip("BELLBUOY_TEST_MONGODB names no MongoDB server")
	}
	for service, of := range map[string]struct {
		path   string
		record func(a actor, i int) map[string]any
		change func(i int) map[string]any
	}{
		"events": {
			"/app/templates",
			func(a actor, i int) map[string]any {
				return map[string]any{"kind": "update", "name": fmt.Sprintf("Template %d", i)}
			},
			func(i int) map[string]any { return map[string]any{"message": fmt.Sprintf("Message %d", i)} },
		},
		"subscribers": {
			"/app/subscribers/email",
			func(a actor, i int) map[string]any {
				return map[string]any{"dashboardId": a.DashboardID, "email": fmt.Sprintf("ann-%d@example.com", i), "confirmed": true}
			},
			func(i int) map[string]any { return map[string]any{"paused": i%2 == 0} },
		},
	} {
		b.Run(service, func(b *testing.B) {
			database := startRelay(b, takes, strings.TrimPrefix(strings.TrimSuffix(server, "/"), "mongodb://"))
			c := startCluster(b, "APP_RATE_PER_MINUTE=1000000", "BELLBUOY_LOG_LEVEL=warn")
			leave(b, c.processes[service])
			env := append(slices.Clone(c.processes[service].env), fmt.Sprintf("DOCUMENTS_URL=mongodb://%s/scale%d?maxPoolSize=%d", database, time.Now().UnixNano(), connections))
			bases := []string{c.base}
			running := []*process{newProcess(b, service+"-1", service, env...).start()}
			eventually(b, time.Minute, "ready", ready(c.base))
			a := actor{b, provision(b, c.base, "Acme", "acme-admin", "admin", "api")}
			var records [clients]string
			for i := range records {
				var made map[string]struct{ ID string }
				send(b, http.MethodPost, c.base+of.path, a.app(), of.record(a, i)).expect(b, http.StatusCreated).into(b, &made)
				for _, record := range made {
					records[i] = record.ID
				}
			}
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}, Timeout: time.Minute}
			for b.Loop() {
				scales(b, func(processes int) (rate, used float64) {
					for len(running) < processes {
						n, address, gateway := len(running)+1, apitest.FreeAddress(b), apitest.FreeAddress(b)
						running = append(running, newProcess(b, fmt.Sprintf("%s-%d", service, n), service,
							append(slices.Clone(env), "BELLBUOY_ADDR="+address, "BELLBUOY_INTERNAL_ADDR=127.0.0.1:0")...).start())
						newProcess(b, fmt.Sprintf("gateway-of-%d", n), "gateway", append(slices.Clone(c.processes["gateway"].env),
							"BELLBUOY_ADDR="+gateway, "BELLBUOY_INTERNAL_ADDR=127.0.0.1:0", strings.ToUpper(service)+"_URL=http://"+address)...).start()
						bases = append(bases, "http://"+gateway)
						eventually(b, time.Minute, "ready", ready(bases[n-1]))
					}
					var done [clients]int
					rate, used = throughput(b, clients, func(n int) error {
						url := bases[n%processes] + of.path + "/" + records[n]
						if err := call(b, client, http.MethodGet, url, a.app(), nil, http.StatusOK); err != nil {
							return err
						}
						done[n]++
						return call(b, client, http.MethodPatch, url, a.app(), of.change(done[n]), http.StatusOK)
					})
					return 2 * rate, used
				})
			}
			for _, p := range running {
				leave(b, p)
			}
		})
	}
}

// call sends a request with the client, which keeps its connections. It returns an error unless the response has the status.
func call(b *testing.B, with *http.Client, method, url, authorization string, in any, status int) error {
	content, err := json.Marshal(in)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(b.Context(), method, url, bytes.NewReader(content))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", authorization)
	response, err := with.Do(request)
	if err != nil {
		return err
	}
	got, err := readAnswer(response)
	if err == nil && got.status != status {
		err = fmt.Errorf("%s %s: %d %s", method, url, got.status, got.body)
	}
	return err
}

// throughput calls request again and again for each of the clients. It returns the calls in a second, and how many percent of the
// processor time of the machine were used, both without the first seconds. The clients begin together, so a common span would
// contain a part of a call of each. Therefore each client counts in a span of its own, from the end of one call to that of another.
func throughput(b *testing.B, clients int, request func(client int) error) (rate, used float64) {
	b.Helper()
	const warm, measured = 5 * time.Second, 30 * time.Second
	var running sync.WaitGroup
	failed, rates := make(chan error, clients), make(chan float64, clients)
	begin := time.Now().Add(warm)
	for i := range clients {
		running.Go(func() {
			var first, last time.Time
			calls := -1
			for {
				if err := request(i); err != nil {
					failed <- err
					return
				}
				now := time.Now()
				if now.After(begin.Add(measured)) {
					rates <- float64(calls) / last.Sub(first).Seconds()
					return
				}
				if now.After(begin) {
					first, last, calls = cmp.Or(first, now), now, calls+1
				}
			}
		})
	}
	<-time.After(warm)
	since := busy(b)
	<-time.After(measured)
	used = since()
	running.Wait()
	close(failed)
	close(rates)
	var all []error
	for err := range failed {
		all = append(all, err)
	}
	if len(all) > 0 {
		b.Fatal(len(all), errors.Join(all[:min(3, len(all))]...))
	}
	for of := range rates {
		rate += of
	}
	if math.IsNaN(rate) || math.IsInf(rate, 0) {
		b.Fatalf("a client ended fewer than two calls in %v", measured)
	}
	return rate, used
}

// startRelay forwards connections to the target. It passes on each part of a response after the delay.
func startRelay(t testing.TB, delay time.Duration, target string) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go relay(from, target, delay)
		}
	}()
	return listener.Addr().String()
}

func relay(from net.Conn, target string, delay time.Duration) {
	defer from.Close()
	to, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(to, from) // ends when one of the connections ends
		to.Close()
	}()
	type part struct {
		due  time.Time
		data []byte
	}
	parts := make(chan part, 1024)
	go func() {
		defer close(parts)
		buffer := make([]byte, 32<<10)
		for {
			n, err := to.Read(buffer)
			if err != nil {
				return
			}
			parts <- part{time.Now().Add(delay), bytes.Clone(buffer[:n])}
		}
	}()
	for p := range parts {
		if wait := time.Until(p.due); wait > 0 {
			<-time.After(wait)
		}
		if _, err := from.Write(p.data); err != nil {
			to.Close() // ends the parts
		}
	}
}
