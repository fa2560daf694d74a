package events_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/store"
	"github.com/google/uuid"
)

// BenchmarkUptime measures uptime reports over HTTP of a month with 5,000 events on 100 components: of an organization
// without other events, and of one with 50,000 events in other months. Requests to the two alternate. The benchmark
// reports the medians of five requests and their ratio:
//
//	go test -run NONE -bench Uptime -benchtime 1x .
func BenchmarkUptime(b *testing.B) {
	const rounds = 5
	broker := startBroker(b)
	alone, among := busy(b, broker, 5_000, 0), busy(b, broker, 5_000, 50_000)
	for _, report := range []struct{ name, of string }{{"dashboard", "dashboardId"}, {"component", "componentId"}} {
		b.Run(report.name, func(b *testing.B) {
			for b.Loop() {
				var one, other []time.Duration
				for range rounds + 1 { // the first warms up
					one, other = append(one, alone.report(report.of)), append(other, among.report(report.of))
				}
				few, many := median(one[1:]), median(other[1:])
				b.ReportMetric(few.Seconds()*1e3, "ms-alone")
				b.ReportMetric(many.Seconds()*1e3, "ms-among-others")
				b.ReportMetric(many.Seconds()/few.Seconds(), "ratio")
			}
		})
	}
}

type busyPlatform struct {
	*platform
	component string
}

func (p *busyPlatform) report(of string) time.Duration {
	p.t.Helper()
	id := map[string]string{"dashboardId": dashA, "componentId": p.component}[of]
	began := time.Now()
	if got := p.send("app admin uptime a", "GET", "/app/reports/uptime?month=2040-02&"+of+"="+id, ""); got.status != 200 {
		p.t.Fatalf("the report returned %d %s", got.status, got.body)
	}
	return time.Since(began)
}

// busy starts a service with an organization that has events in February 2040, and others in the years after.
func busy(b *testing.B, broker string, inMonth, others int) *busyPlatform {
	const components = 100
	p := start(b, broker)
	p.ahead.Store(int64(time.Until(time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC))))
	for i := range components {
		p.must(201, "", "POST", "/api/v1/service/", fmt.Sprintf(`{"service_name": "Service %d"}`, i+1))
	}
	p.ahead.Add(int64(6 * 365 * 24 * time.Hour))
	p.must(201, "", "POST", "/api/v1/event/list/", fmt.Sprintf(`{"type": {"id": 1}, "status": {"id": 3}, "severity": {"id": 4}, "description": %q,
		"start": "2040-02-02T03:04:05", "end": "2040-02-02T05:00:00", "event_service": ["/api/v1/service/1/", "/api/v1/service/2/"], "event_update": [{"update": %[1]q}, {"update": %[1]q}, {"update": %[1]q}]}`,
		strings.Repeat("Requests of some regions are answered late. ", 10)))
	db, err := document.Open(p.documents, "events", document.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	c := &copier{p: p, records: store.Declare(db)}
	c.read(b.Context())
	february := time.Date(2040, 2, 1, 0, 0, 0, 0, time.UTC)
	spread := func(n int, from time.Time, days int) {
		for left := n; left > 0; left -= 1000 {
			c.spread(b.Context(), min(left, 1000), from, days)
		}
	}
	spread(inMonth-1, february, 29)
	spread(others, february.AddDate(0, 1, 0), 5*365)
	return &busyPlatform{p, c.components[0]}
}

// spread writes copies of the event, each of up to 3 hours on two components, with random starts within some days.
func (c *copier) spread(ctx context.Context, n int, from time.Time, days int) {
	first, err := c.records.Next(ctx, "event", int64(n))
	c.must(err)
	made := make([]catalog.Event, n)
	for i := range made {
		event := c.events[0]
		event.ID, event.LegacyID = uuid.Must(uuid.NewV7()).String(), first+int64(i)
		event.StartAt = from.Add(time.Duration(rand.IntN(days*24*3600)) * time.Second)
		event.EndAt = new(event.StartAt.Add(time.Duration(rand.IntN(3*3600)) * time.Second))
		event.Links = nil
		for _, at := range rand.Perm(len(c.components))[:2] {
			event.Links = append(event.Links, catalog.Link{LegacyID: 1, ComponentID: c.components[at]})
		}
		made[i] = event
	}
	c.must(c.records.Events.(interface {
		UpsertMany(ctx context.Context, items []catalog.Event) error
	}).UpsertMany(ctx, made))
}
