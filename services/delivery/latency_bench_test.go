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

// BenchmarkHanging sends a change to the receivers of each of several organizations, of which BENCH_ENDPOINTS respond. In
// two of them, 1 % and 5 % of all receivers hang. In the last one, half of the receivers are on Discord and wait for their
// turn. It reports the 99th percentile of the time from the change to the requests to the receivers that respond, and the
// ratios to organizations without others, one of which is measured before and one after those with hanging receivers. Each
// change is the first one of its organization, and the receivers that respond are on one host, to which connections are open.
func BenchmarkHanging(b *testing.B) {
	n := endpoints(b)
	w := newWorld(b)
	w.hanging("hanging.test")
	receivers := w.arrivals("hooks.test")
	made := 0
	crowd := func(total, share int, paced bool) (organization string) {
		made++
		organization = fmt.Sprintf("0190a000-0000-7000-8000-0000000000a%d", made)
		w.crowd(organization, total, "hooks.test", share, paced)
		return organization
	}
	first := crowd(n, 0, false)
	shares := []int{0, 1, 5, 0} // in a hundred
	size := func(share int) int { return n * 100 / (100 - share) }
	organizations := make([]string, len(shares))
	for i, share := range shares {
		organizations[i] = crowd(size(share), share, false)
	}
	owner := crowd(2*n, 0, true)
	w.child("DELIVERY_TIMEOUT=3s") // attempts hang for longer than a fan-out takes
	ended := 0
	end := func(total int) {
		ended += total
		apitest.Eventually(b, "the end of those that hang", func() bool { return w.outcomes.count() == ended })
	}
	send := func(organization string, respond int) {
		receivers.begin()
		w.tell(organization)
		apitest.Eventually(b, "those that respond", func() bool { return receivers.count() == respond })
	}
	// reach sends a change and returns the percentile of those that respond. Another change opens the connections before,
	// because they may close while receivers hang.
	reach := func(organization string, respond int) time.Duration {
		send(first, n)
		end(n)
		send(organization, respond)
		return quantile(receivers.all(), 0.99)
	}
	times := make(map[int][]time.Duration)
	var beside []time.Duration
	for b.Loop() {
		for i, share := range shares {
			total := size(share)
			times[share] = append(times[share], reach(organizations[i], total-hangingOf(total, share)))
			end(total)
		}
		// Last, because those on Discord wait longer than the benchmark runs.
		beside = append(beside, reach(owner, n))
	}
	control := mean(times[0])
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(milliseconds(control), "ms-p99-none")
	for _, share := range []int{1, 5} {
		p99 := mean(times[share])
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
