package main_test

import (
	"bytes"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkFlappingAlerts posts 10,000 alerts that flap (a trigger and a resolve each) in a minute, with a key that
// opens events after 2 min. Each service is a process of its own. The benchmark reports the incidents that have opened or will
// open, because their problem is not over, the posts without the status 200, the processor time of a post, and by how much the posts delay visitors and writers: the
// 99th percentile of the time of a page and the median time from the start of a write until the page shows the write, each
// divided by those of the same platform before the alerts.
//
//	go test -run '^$' -bench '^BenchmarkFlappingAlerts$' -benchtime 1x ./deploy/standalone
func BenchmarkFlappingAlerts(b *testing.B) {
	const alerts, during = 10_000, time.Minute
	for b.Loop() {
		c := startCluster(b, "BELLBUOY_LOG_LEVEL=warn", "APP_RATE_PER_MINUTE=1000000")
		acme := actor{b, provision(b, c.base, "Acme", "acme-admin", "admin", "event", "api")}
		component := acme.component("Checkout", "checkout")
		tool := acme.tool(map[string]any{"name": "Flapping", "openAfter": "2m"})
		first := acme.watch(component, 5*time.Second, func() {}) // opens connections and fills caches
		idle := acme.watch(component, during/3, func() {})
		before := c.spent()
		var refused atomic.Int64
		var late time.Duration
		busy := acme.watch(component, during, func() {
			began := time.Now()
			refused.Store(tool.flap(alerts, during))
			late = max(0, time.Since(began)-during)
		})
		used := c.spent()
		var list struct {
			Meta struct {
				TotalCount int `json:"total_count"`
			}
		}
		send(b, http.MethodGet, c.base+"/api/v1/event/list/?limit=1", acme.legacy(), nil).expect(b, http.StatusOK).into(b, &list)
		b.ReportMetric(0, "ns/op")
		problems, lasting := acme.everything("/app/integrations/webhooks/inbound/problems", "problems"), 0
		for _, problem := range problems {
			if problem["state"] != "quiet" {
				lasting++
			}
		}
		if refused.Load() == 0 && len(problems) != alerts {
			b.Fatalf("%d problems are stored, not %d", len(problems), alerts)
		}
		b.ReportMetric(float64(list.Meta.TotalCount-first.events-idle.events-busy.events+lasting), "incidents")
		b.ReportMetric(float64(refused.Load()), "refused")
		b.ReportMetric(late.Seconds(), "s-late")
		for name := range used {
			b.ReportMetric(float64((used[name]-before[name]).Microseconds())/(2*alerts), name+"-us-cpu/post")
		}
		b.ReportMetric(ms(percentile(busy.pages, 99)), "ms-page-p99")
		b.ReportMetric(ms(percentile(busy.shown, 50)), "ms-shown")
		b.ReportMetric(float64(percentile(busy.pages, 99))/float64(percentile(idle.pages, 99)), "page-of-idle")
		b.ReportMetric(float64(percentile(busy.shown, 50))/float64(percentile(idle.shown, 50)), "shown-of-idle")
	}
}

// spent returns the processor time of each process.
func (c *cluster) spent() map[string]time.Duration {
	times := map[string]time.Duration{}
	for name, p := range c.processes {
		times[name] = p.cpu()
	}
	return times
}

// monitor posts messages with the token of a key.
type monitor struct {
	actor
	token string
}

// tool creates a key that takes its secret as a token.
func (a actor) tool(members map[string]any) monitor {
	a.t.Helper()
	var made struct {
		Key struct{ KeyID, Secret string }
	}
	members["bearer"] = true
	send(a.t, http.MethodPost, a.BaseURL+"/app/integrations/webhooks/inbound/keys", a.app(), members).expect(a.t, http.StatusCreated).into(a.t, &made)
	return monitor{a, "Bearer " + made.Key.KeyID + ":" + made.Key.Secret}
}

// flap triggers and resolves the problems, evenly spread over the time. It returns the number of posts without the status 200.
func (m monitor) flap(alerts int, over time.Duration) int64 {
	var refused atomic.Int64
	var group sync.WaitGroup
	began := time.Now()
	next := make(chan int)
	for range 32 {
		group.Go(func() {
			for i := range next {
				for _, body := range []string{`{"action": "trigger", "externalId": "p-%d", "title": "Flaps", "components": ["checkout"]}`, `{"action": "resolve", "externalId": "p-%d"}`} {
					got, err := try(m.t.Context(), http.MethodPost, m.BaseURL+"/public/webhooks/inbound/generic", m.token, fmt.Sprintf(body, i))
					if err != nil || got.status != http.StatusOK {
						refused.Add(1)
					}
				}
			}
		})
	}
	for i := range alerts {
		<-time.After(time.Until(began.Add(over * time.Duration(i) / time.Duration(alerts))))
		next <- i
	}
	close(next)
	group.Wait()
	return refused.Load()
}

// watched are the times of pages, and the times from the start of a write until a page shows the write.
type watched struct {
	pages, shown []time.Duration
	events       int // events that were written
}

// watch reads the page of the dashboard 40 times in a second and creates an incident twice in a second, until work returns,
// and at least for the time. It resolves each incident when the page shows it, so that the page does not grow.
func (a actor) watch(component string, during time.Duration, work func()) (out watched) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		end := time.After(during)
		work()
		<-end
	}()
	var mutex sync.Mutex
	var group sync.WaitGroup
	read := func() []byte {
		began := time.Now()
		got := send(a.t, http.MethodGet, a.DashboardURL+"/", "", nil).expect(a.t, http.StatusOK)
		mutex.Lock()
		defer mutex.Unlock()
		out.pages = append(out.pages, time.Since(began))
		return got.body
	}
	each := func(period time.Duration, do func()) {
		group.Go(func() {
			ticks := time.NewTicker(period)
			defer ticks.Stop()
			for {
				select {
				case <-done:
					return
				case <-ticks.C:
					do()
				}
			}
		})
	}
	for range 4 {
		each(100*time.Millisecond, func() { _ = read() })
	}
	each(500*time.Millisecond, func() {
		out.events++
		title := fmt.Sprintf("Incident %d of %s", out.events, during)
		began := time.Now()
		var made struct{ Event struct{ ID string } }
		send(a.t, http.MethodPost, a.BaseURL+"/app/events", a.app(), map[string]any{
			"type": "incident", "title": title, "affectedComponents": []any{map[string]any{"componentId": component}},
		}).expect(a.t, http.StatusCreated).into(a.t, &made)
		for !bytes.Contains(read(), []byte(title)) {
			continue
		}
		out.shown = append(out.shown, time.Since(began))
		send(a.t, http.MethodPost, a.BaseURL+"/app/events/"+made.Event.ID+"/timeline", a.app(), map[string]any{"status": "resolved", "message": "It is over."}).expect(a.t, http.StatusCreated)
	})
	group.Wait()
	return out
}
