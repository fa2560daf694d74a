package main_test

import (
	"net/http"
	"os"
	"sync"
	"testing"
	"time"
)

// BenchmarkImport imports a page of GitHub's size (819 incidents, 4,570 entries), and one of 10,000 incidents with 50,000
// entries, into an organization with a dashboard that visitors read meanwhile. Each service is a process of its own. The
// memory is the highest of the events service during the large import, above that before it. p99-of-idle is the 99th
// percentile of the time of the dashboard's page during the large import, divided by that of the same platform before.
//
//	go test -run '^$' -bench '^BenchmarkImport$' -benchtime 1x ./deploy/standalone
func BenchmarkImport(b *testing.B) {
	const rest = 15 * time.Second
	for b.Loop() {
		c := startCluster(b, "BELLBUOY_LOG_LEVEL=warn")
		m := newMover(actor{b, provision(b, c.base, "Acme", "acme-admin", "admin", "api")})
		m.component("Checkout", "checkout")
		m.incident(m.component("Gate", "gate"), nil)
		small, large := history(b, "small", time.Now(), 11, 819, 4570, 0), history(b, "large", time.Now(), 100, 10_000, 50_000, 0)
		timed := func(arguments ...string) float64 {
			began := time.Now()
			m.run(0, arguments...)
			return time.Since(began).Seconds()
		}
		b.ReportMetric(timed("import", "lines", small, "--dashboard", "small"), "s-819")
		b.ReportMetric(timed("import", "lines", small, "--dashboard", "small"), "s-819-again")
		idle := m.pages(func() { <-time.After(rest) })
		events := c.processes["events"]
		before, most := events.resident(), 0.0
		busy := m.pages(func() {
			end, ended := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(ended)
				ticks := time.NewTicker(100 * time.Millisecond)
				defer ticks.Stop()
				for {
					select {
					case <-end:
						return
					case <-ticks.C:
						most = max(most, events.resident()-before)
					}
				}
			}()
			b.ReportMetric(timed("import", "lines", large, "--dashboard", "large"), "s-10000")
			close(end)
			<-ended
		})
		load, err := os.ReadFile("/proc/loadavg")
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("load at the end: %s", load)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(most, "MiB-events")
		b.ReportMetric(ms(percentile(idle, 99)), "ms-idle-p99")
		b.ReportMetric(ms(percentile(busy, 99)), "ms-p99")
		b.ReportMetric(float64(percentile(busy, 99))/float64(percentile(idle, 99)), "p99-of-idle")
	}
}

// pages reads the page of the dashboard 40 times in a second until work returns, and returns the times.
func (m *mover) pages(work func()) (times []time.Duration) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	var mutex sync.Mutex
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			ticks := time.NewTicker(100 * time.Millisecond)
			defer ticks.Stop()
			for {
				select {
				case <-done:
					return
				case <-ticks.C:
					began := time.Now()
					send(m.t, http.MethodGet, m.DashboardURL+"/", "", nil).expect(m.t, http.StatusOK)
					mutex.Lock()
					times = append(times, time.Since(began))
					mutex.Unlock()
				}
			}
		})
	}
	group.Wait()
	return times
}
