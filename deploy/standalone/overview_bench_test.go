package main_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// BenchmarkOpenOverviews (goal C5) measures the processor time of all services and the gateway, each a process of its own,
// while 200 signed-in members have the overview open and nothing changes. The script of each page asks for the changing
// part every 20 to 40 s. The control is the same time without open pages. The engines of Kafka and Redis run in the
// process of the test and do not count.
//
//	go test -run '^$' -bench '^BenchmarkOpenOverviews$' -benchtime 1x ./deploy/standalone
func BenchmarkOpenOverviews(b *testing.B) {
	const pages, perMember, during = 200, 20, 2 * time.Minute // a member has at most 20 sessions
	for b.Loop() {
		c := startCluster(b, "BELLBUOY_LOG_LEVEL=warn", "BELLBUOY_TRUSTED_PROXIES=127.0.0.0/8", "APP_RATE_PER_MINUTE=1000000")
		acme := provision(b, c.base, "Acme", "acme-admin", "admin", "event", "subscriber", "api")
		fillOverview(b, c.base, acme)
		var cookies []string
		for i := range pages / perMember {
			of := addUser(b, acme, fmt.Sprint("member-", i), "admin", "event", "subscriber")
			cookies = append(cookies, "bellbuoy="+c.signedIn(b, of, "admin", "event", "subscriber").token)
			for range perMember - 1 {
				cookies = append(cookies, "bellbuoy="+c.signIn(b, of, "admin", "event", "subscriber").token)
			}
		}
		spent := func() (total time.Duration) {
			for _, p := range c.processes {
				total += p.cpu()
			}
			return total
		}
		rest := func() time.Duration {
			for _, p := range c.processes {
				p.quiet()
			}
			before := spent()
			time.Sleep(during)
			return spent() - before
		}
		read := func(cookie, path string) time.Duration {
			request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, c.base+"/console"+path, nil)
			if err != nil {
				b.Error(err)
				return 0
			}
			request.Host = "localhost:" + request.URL.Port()
			request.Header.Set("Cookie", cookie)
			began := time.Now()
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				b.Error(err)
				return 0
			}
			defer response.Body.Close()
			if n, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK || n < 1000 {
				b.Errorf("%s: %d, %d bytes, %v", path, response.StatusCode, n, err)
			}
			return time.Since(began)
		}
		for _, cookie := range cookies {
			read(cookie, "/")
		}
		idle := rest()

		before, end := spent(), time.After(during)
		var mutex sync.Mutex
		var times []time.Duration
		var open sync.WaitGroup
		stop := make(chan struct{})
		for _, cookie := range cookies {
			open.Go(func() {
				next := time.Duration(rand.Int64N(int64(20 * time.Second))) // the pages were not opened at once
				for {
					select {
					case <-stop:
						return
					case <-time.After(next):
					}
					took := read(cookie, "/parts/overview")
					mutex.Lock()
					times = append(times, took)
					mutex.Unlock()
					next = 20*time.Second + time.Duration(rand.Int64N(int64(20*time.Second)))
				}
			})
		}
		<-end
		used := spent() - before
		close(stop)
		open.Wait()
		slices.Sort(times)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(100*float64(used)/float64(during), "percent-of-a-core")
		b.ReportMetric(100*float64(idle)/float64(during), "percent-idle")
		b.ReportMetric(ms(percentile(times, 95)), "ms-p95")
		b.ReportMetric(float64(len(times))/during.Seconds(), "requests/s")
	}
}

// fillOverview gives each part of the overview something to show: open events, upcoming maintenance, components that are
// not operational, and messages.
func fillOverview(t testing.TB, base string, of credentials) {
	var components []any
	for i := range 20 {
		var made struct{ Component struct{ ID string } }
		send(t, http.MethodPost, base+"/app/components", of.app(), map[string]any{"name": fmt.Sprint("Component ", i)}).expect(t, http.StatusCreated).into(t, &made)
		components = append(components, map[string]any{"componentId": made.Component.ID})
	}
	for i := range 100 {
		send(t, http.MethodPost, base+"/app/subscribers/email", of.app(), map[string]any{
			"dashboardId": of.DashboardID, "email": fmt.Sprintf("person-%d@example.com", i), "confirmed": true,
		}).expect(t, http.StatusCreated)
	}
	for i := range 5 {
		send(t, http.MethodPost, base+"/app/events", of.app(), map[string]any{
			"type": "incident", "title": fmt.Sprint("Payments fail in region ", i), "affectedComponents": components[i : i+3],
		}).expect(t, http.StatusCreated)
		start := time.Now().Add(time.Duration(i+24) * time.Hour).UTC()
		send(t, http.MethodPost, base+"/app/events", of.app(), map[string]any{
			"type": "maintenance", "title": fmt.Sprint("Upgrade of region ", i), "affectedComponents": components[10 : 12+i],
			"scheduledStartAt": start, "scheduledEndAt": start.Add(time.Hour),
		}).expect(t, http.StatusCreated)
	}
}
