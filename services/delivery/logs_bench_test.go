package delivery_test

import (
	"net/url"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// BenchmarkLogs measures the list of logs for an organization with BENCH_RECORDS (100,000) logs and for one with 1,000, of
// 100 URLs, 5 dashboards and one event for each 100 logs. Requests to the two alternate, and return as many logs: those that
// the smaller organization has, and at most the usual page. For each filter it reports the 99th percentiles of 200 requests
// and their ratio. It runs on SQLite, or on the MongoDB server that apitest.Documents names:
//
//	BENCH_RECORDS=1000000 go test -run NONE -bench Logs -benchtime 1x .
func BenchmarkLogs(b *testing.B) {
	many, err := strconv.Atoi(orElse("BENCH_RECORDS", "100000"))
	if err != nil {
		b.Fatal(err)
	}
	small, large := newLibrary(b, 1000), newLibrary(b, many)
	for _, filter := range []struct {
		name  string
		query func(*library) url.Values
	}{
		{"none", func(*library) url.Values { return url.Values{} }},
		{"status", func(*library) url.Values { return url.Values{"status": {"failed"}} }},
		{"dashboard", func(l *library) url.Values { return url.Values{"dashboardId": {l.dashboards[1]}} }},
		{"URL", func(*library) url.Values { return url.Values{"urlHash": {urlHash(5)}} }},
		{"event", func(l *library) url.Values { return url.Values{"eventId": {l.events[len(l.events)/2]}} }},
		{"from and to", func(l *library) url.Values {
			middle := l.first.Add(time.Since(l.first) / 2)
			return url.Values{"from": {middle.Format(time.RFC3339)}, "to": {middle.Add(time.Hour).Format(time.RFC3339)}}
		}},
		{"dashboard and status", func(l *library) url.Values {
			return url.Values{"dashboardId": {l.dashboards[1]}, "status": {"failed"}}
		}},
		{"dashboard and URL", func(l *library) url.Values {
			return url.Values{"dashboardId": {l.dashboards[1]}, "urlHash": {urlHash(5)}}
		}},
		{"URL and event", func(l *library) url.Values {
			return url.Values{"urlHash": {urlHash(5)}, "eventId": {l.events[len(l.events)/2]}}
		}},
		{"unknown dashboard", func(*library) url.Values { return url.Values{"dashboardId": {newEvent()}} }},
		{"unknown event", func(*library) url.Values { return url.Values{"eventId": {newEvent()}} }},
		{"unknown URL", func(*library) url.Values { return url.Values{"urlHash": {urlHash(1000)}} }},
	} {
		b.Run(filter.name, func(b *testing.B) {
			few, lots := filter.query(small), filter.query(large)
			found, _ := small.service.list(b, topic.Webhook, few)
			for _, query := range []url.Values{few, lots} {
				query.Set("limit", strconv.Itoa(max(1, len(found))))
			}
			for b.Loop() {
				var fast, slow []time.Duration
				for range 210 { // the first warm up
					fast, slow = append(fast, small.took(few)), append(slow, large.took(lots))
				}
				ofFew, ofMany := percentile(fast[10:], 99), percentile(slow[10:], 99)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(ofFew.Seconds()*1e3, "ms-p99-of-few")
				b.ReportMetric(ofMany.Seconds()*1e3, "ms-p99-of-many")
				b.ReportMetric(ofMany.Seconds()/ofFew.Seconds(), "ratio-p99")
				b.ReportMetric(percentile(slow[10:], 50).Seconds()/percentile(fast[10:], 50).Seconds(), "ratio-median")
			}
		})
	}
}

// library is a service with many logs of one organization, over the last 29 days.
type library struct {
	*world
	*journal
	service *service
	first   time.Time
}

func newLibrary(b *testing.B, n int) *library {
	l := &library{world: newWorld(b), journal: newJournal(uint64(n), 5, 100, n/100), first: time.Now().Add(-29 * 24 * time.Hour)}
	kept := l.kept()
	began := time.Now()
	for at := 0; at < n; at += 1000 {
		rows := make([]deliverylog.Delivery, 1000)
		for i := range rows {
			status := deliverylog.StatusDelivered
			if (at+i)%20 == 0 {
				status = deliverylog.StatusFailed
			}
			rows[i] = l.entry(organization, topic.Webhook, status, l.first.Add(time.Duration(at+i)*(29*24*time.Hour/time.Duration(n))).Truncate(time.Millisecond))
			rows[i].EventID = l.events[(at+i)/100]
		}
		if _, err := kept.Insert(b.Context(), rows); err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("%d logs written in %v", n, time.Since(began).Round(time.Second))
	l.service = l.start(l.config())
	return l
}

func (l *library) took(query url.Values) time.Duration {
	began := time.Now()
	l.service.list(l.t, topic.Webhook, query)
	return time.Since(began)
}

// percentile returns the p-th percentile.
func percentile(times []time.Duration, p int) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[(len(sorted)-1)*p/100]
}

// arrive publishes a change and returns the time until n requests have arrived.
func (w *world) arrive(c *counter, n int) time.Duration {
	w.t.Helper()
	c.arrived.Store(0)
	began := time.Now()
	w.publish(change(newEvent(), 1), nil)
	apitest.Eventually(w.t, "the requests", func() bool { return c.arrived.Load() >= int64(n) })
	return time.Since(began)
}

// BenchmarkRetention compares the speed of a fan-out while old logs are deleted all the time with the speed without
// old logs. Fan-outs alternate between two services, and one of them has BENCH_OLD (200,000) expired logs.
//
//	BENCH_ENDPOINTS=10000 go test -run '^$' -bench Retention -benchtime 3x .
func BenchmarkRetention(b *testing.B) {
	old, err := strconv.Atoi(orElse("BENCH_OLD", "200000"))
	if err != nil {
		b.Fatal(err)
	}
	n := endpoints(b)
	type side struct {
		*world
		hooks *counter
		took  time.Duration
	}
	sides := make([]side, 2)
	var deletion *world
	for i := range sides {
		w := newWorld(b)
		sides[i] = side{world: w, hooks: w.counter("hooks.test")}
		w.crowd(organization, n, "hooks.test", 0, false)
		if i == 1 {
			db, kept := w.openStore()
			j := newJournal(1, 5, 100, 100)
			for at := 0; at < old; at += 1000 {
				rows := make([]deliverylog.Delivery, 1000)
				for k := range rows {
					rows[k] = j.entry(newEvent(), topic.Webhook, deliverylog.StatusDelivered, time.Now().Add(-40*24*time.Hour))
				}
				if _, err := kept.Insert(b.Context(), rows); err != nil {
					b.Fatal(err)
				}
			}
			if err := db.Close(); err != nil { // the service is another process
				b.Fatal(err)
			}
			deletion = w
		}
	}
	for i := range sides {
		sides[i].child()
		sides[i].arrive(sides[i].hooks, n) // joined and warm
	}
	before := deletion.recorded()
	began := time.Now()
	for b.Loop() {
		for i := range sides {
			sides[i].took += sides[i].arrive(sides[i].hooks, n)
		}
	}
	deleted := before + int64(n*b.N) - deletion.recorded()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(sides[1].took.Seconds()/sides[0].took.Seconds(), "ratio")
	b.ReportMetric(float64(deleted)/time.Since(began).Seconds(), "deleted/s")
	if deletion.recorded() <= int64(n*(b.N+1)) {
		b.Error("all old logs were deleted before the end; set a larger BENCH_OLD")
	}
}
