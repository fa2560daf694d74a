package delivery_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// BenchmarkFlood sends changes, one after the other, to the only receiver of an organization: first without other
// work, then while a change of another organization goes to BENCH_ENDPOINTS receivers. It reports the time from
// the change to the request, and the ratio (flood_ratio). With BENCH_PACED, half of the BENCH_ENDPOINTS are on Discord and
// wait for their turn.
func BenchmarkFlood(b *testing.B) {
	n, paced := endpoints(b), os.Getenv("BENCH_PACED") != ""
	w := newWorld(b)
	flood, single := w.counter("flood.test"), w.counter("single.test")
	w.crowd(organization, n, "flood.test", 0, paced)
	if paced {
		n -= n / 2
	}
	const bystander = "0190a000-0000-7000-8000-000000000002"
	w.peer.addFor(bystander, "single", "https://single.test/")
	w.child()
	one := func() time.Duration {
		before, began := single.arrived.Load(), time.Now()
		w.tell(bystander)
		for single.arrived.Load() == before {
			if time.Since(began) > patience {
				b.Fatal("the single one does not arrive")
			}
			time.Sleep(100 * time.Microsecond)
		}
		return time.Since(began)
	}
	one() // joined and warm
	var idle, busy []time.Duration
	for b.Loop() {
		for range 50 {
			idle = append(idle, one())
		}
		flood.arrived.Store(0)
		w.tell(organization)
		for flood.arrived.Load() < int64(n) {
			busy = append(busy, one())
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(milliseconds(quantile(idle, 0.5)), "ms-idle")
	b.ReportMetric(milliseconds(quantile(busy, 0.5)), "ms-flooded")
	b.ReportMetric(milliseconds(quantile(busy, 0.99)), "ms-flooded-p99")
	b.ReportMetric(float64(quantile(busy, 0.5))/float64(quantile(idle, 0.5)), "flood_ratio")
}

// BenchmarkHanging sends changes to receivers of several organizations, each of which has BENCH_ENDPOINTS receivers that
// respond. One organization has no others. In two further ones, 1 % and 5 % of all receivers hang. In the last one, half of
// the receivers are on Discord and wait for their turn. It reports the 99th percentile of the time from the change to the
// requests to the receivers that respond, and the ratios to the first organization, which is measured before and after
// the others.
func BenchmarkHanging(b *testing.B) {
	n := endpoints(b)
	w := newWorld(b)
	w.hanging("hanging.test")
	shares := []int{0, 1, 5} // in a hundred
	arrivals := make([]*arrivals, len(shares))
	sizes := make([]int, len(shares))
	name := func(i int) string { return fmt.Sprintf("0190a000-0000-7000-8000-0000000000a%d", i) }
	for i, share := range shares {
		host := fmt.Sprintf("hooks%d.test", i)
		arrivals[i] = w.arrivals(host)
		sizes[i] = n * 100 / (100 - share)
		w.crowd(name(i), sizes[i], host, share, false)
	}
	const owner = "0190a000-0000-7000-8000-0000000000af"
	others := w.arrivals("others.test")
	w.crowd(owner, 2*n, "others.test", 0, true)
	w.child()
	// reach sends a change and returns the percentile.
	reach := func(i int) time.Duration {
		ended, respond := w.outcomes.count(), sizes[i]-hangingOf(sizes[i], shares[i])
		arrivals[i].begin()
		w.tell(name(i))
		apitest.Eventually(b, "those that answer", func() bool { return arrivals[i].count() == respond })
		apitest.Eventually(b, "the end of those that hang", func() bool { return w.outcomes.count() == ended+sizes[i] })
		return quantile(arrivals[i].all(), 0.99)
	}
	reach(0) // joined and warm
	var none, beside []time.Duration
	times := make([][]time.Duration, len(shares))
	for b.Loop() {
		none = append(none, reach(0))
		for i := range shares[1:] {
			times[i+1] = append(times[i+1], reach(i+1))
		}
		none = append(none, reach(0))
		// Last, because those on Discord wait longer than the benchmark runs.
		others.begin()
		w.tell(owner)
		apitest.Eventually(b, "those that need not wait", func() bool { return others.count() == n })
		beside = append(beside, quantile(others.all(), 0.99))
	}
	control := mean(none)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(milliseconds(control), "ms-p99-none")
	for i, share := range shares[1:] {
		p99 := mean(times[i+1])
		b.ReportMetric(milliseconds(p99), fmt.Sprintf("ms-p99-%d%%", share))
		b.ReportMetric(float64(p99)/float64(control), fmt.Sprintf("hanging%d%%_ratio", share))
	}
	b.ReportMetric(milliseconds(mean(beside)), "ms-p99-paced")
	b.ReportMetric(float64(mean(beside))/float64(control), "paced_ratio")
}

// hangingOf returns how many of n receivers hang if crowd makes them with this percentage.
func hangingOf(n, percent int) int { return n/100*percent + min(n%100, percent) }

func mean(times []time.Duration) time.Duration {
	var sum time.Duration
	for _, t := range times {
		sum += t
	}
	return sum / time.Duration(len(times))
}

// tell publishes a change of the organization.
func (w *world) tell(organization string) {
	sent := change(newEvent(), 1)
	sent.Organization = organization
	if w.peer.byChannel {
		sent.Notify[topic.Discord] = topic.Wording{}
	}
	w.publish(sent, nil)
}

// arrivals is a receiver that stores the times of requests.
type arrivals struct {
	mu    sync.Mutex
	began time.Time
	after []time.Duration
}

func (a *arrivals) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.after = append(a.after, time.Since(a.began))
	a.mu.Unlock()
	_, _ = io.Copy(io.Discard, r.Body)
	w.WriteHeader(http.StatusNoContent)
}

func (a *arrivals) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.began, a.after = time.Now(), nil
}

func (a *arrivals) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.after)
}

func (a *arrivals) all() []time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.after)
}

func (w *world) arrivals(host string) *arrivals {
	a := &arrivals{}
	w.serve(host, a)
	return a
}

func quantile(times []time.Duration, q float64) time.Duration {
	slices.Sort(times)
	return times[int(q*float64(len(times)-1))]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
