package events_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
	"github.com/bellbuoy/bellbuoy/services/events/internal/store"
)

// BenchmarkEdition measures a write of a timeline entry of organizations with 10,000 events in 12 months, of which a
// quarter is on the page, and with 10,000 events in 89 days, which are all on the page. It compares each with one of an
// organization with 100 events. Writes to the three alternate. The benchmark reports the medians and the ratios:
//
//	go test -run NONE -bench Edition -benchtime 1x .
func BenchmarkEdition(b *testing.B) {
	const rounds = 31
	broker := startBroker(b)
	few, many, dense := yearOfEvents(b, broker, 100, 364), yearOfEvents(b, broker, 10_000, 364), yearOfEvents(b, broker, 10_000, 89)
	for b.Loop() {
		var ofFew, ofMany, ofDense []time.Duration
		for range rounds {
			ofFew, ofMany, ofDense = append(ofFew, few.update()), append(ofMany, many.update()), append(ofDense, dense.update())
		}
		short := median(ofFew[1:])
		b.ReportMetric(short.Seconds()*1e3, "ms-of-100")
		for name, took := range map[string][]time.Duration{"10000": ofMany, "dense-10000": ofDense} {
			long := median(took[1:])
			b.ReportMetric(long.Seconds()*1e3, "ms-of-"+name)
			b.ReportMetric(long.Seconds()/short.Seconds(), "ratio-of-"+name)
		}
	}
}

// BenchmarkSweep measures the longest of the writes while a dashboard's former editions are deleted, 200 and 6,000 of them, and
// reports the ratio:
//
//	go test -run NONE -bench Sweep -benchtime 1x .
func BenchmarkSweep(b *testing.B) {
	broker := startBroker(b)
	for b.Loop() {
		few, many := sweep(b, broker, 200), sweep(b, broker, 6000)
		b.ReportMetric(few.Seconds()*1e3, "ms-of-200")
		b.ReportMetric(many.Seconds()*1e3, "ms-of-6000")
		b.ReportMetric(many.Seconds()/few.Seconds(), "ratio")
	}
}

// sweep writes n entries, each of which makes an edition. Then it writes components until only the last edition is left, and
// returns the longest of these writes.
func sweep(b *testing.B, broker string, n int) (longest time.Duration) {
	p := start(b, broker)
	records, component, event := p.records(), p.component("API"), ""
	for i := range n {
		if i%100 == 0 {
			event = p.incident(component, "")
		}
		p.must(201, "app admin a", "POST", "/app/events/"+event+"/timeline", `{"message": "We are on it."}`)
	}
	p.ahead.Add(int64(6 * time.Minute))
	for left := n; left > n/10; {
		began := time.Now()
		p.component(fmt.Sprint("Service ", began.UnixNano()))
		longest = max(longest, time.Since(began))
		rows, err := records.Parts.Keys(b.Context(), find.Query{Where: []find.Condition{find.Eq(edition.FieldDashboard, dashA)}})
		if err != nil {
			b.Fatal(err)
		}
		left = len(rows)
	}
	return longest
}

type yearPlatform struct {
	*platform
	event string
}

// update posts an entry to an open event and returns how long that took.
func (p *yearPlatform) update() time.Duration {
	p.t.Helper()
	began := time.Now()
	p.must(201, "app admin a", "POST", "/app/events/"+p.event+"/timeline", `{"message": "We are on it."}`)
	return time.Since(began)
}

// yearOfEvents starts a service with an organization that has n events in the last days, on 10 components that are a
// year old.
func yearOfEvents(b testing.TB, broker string, n, days int) *yearPlatform {
	p := start(b, broker)
	for i := range 10 {
		p.component(fmt.Sprintf("Service %d", i+1))
	}
	p.ahead.Add(int64(366 * 24 * time.Hour))
	p.must(201, "", "POST", "/api/v1/event/list/", `{"type": {"id": 1}, "status": {"id": 3}, "severity": {"id": 4}, "description": "Requests of some regions are answered late.",
		"start": "2026-01-01T03:04:05", "end": "2026-01-01T05:00:00", "event_service": ["/api/v1/service/1/"], "event_update": [{"update": "We look."}, {"update": "We know."}, {"update": "Over."}]}`)
	db, err := document.Open(p.documents, "events", document.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	c := &copier{p: p, records: store.Declare(db)}
	c.read(b.Context())
	for left := n; left > 0; left -= 1000 {
		c.spread(b.Context(), min(left, 1000), p.now().AddDate(0, 0, -days), days)
	}
	began := time.Now()
	p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, `{"timezone": "Europe/Berlin"}`) // reads all events
	b.Logf("%d events were read in %v", n, time.Since(began).Round(time.Millisecond))
	return &yearPlatform{p, p.incident(c.components[0], "")}
}
