package main_test

import (
	"net/http"
	"slices"
	"testing"
	"time"
)

// BenchmarkFirstStart (goal P3) measures from the start of the built binary to the
// first 200 of /readyz: on an empty data folder, and on a full one after a kill -9.
func BenchmarkFirstStart(b *testing.B) {
	var empty, full []time.Duration
	for b.Loop() {
		p, base := standalone(b)
		empty = append(empty, untilReady(b, p, base))
		c := seeded(b, p)
		a := actor{b, c}
		uri, _ := a.service("Checkout")
		for range 500 {
			send(b, http.MethodPost, base+"/api/v1/event/list/", c.legacy(), incident(uri, "old")).expect(b, http.StatusCreated)
		}
		p.kill()
		full = append(full, untilReady(b, p, base))
		p.kill()
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(median(empty).Milliseconds()), "ms-empty")
	b.ReportMetric(float64(median(full).Milliseconds()), "ms-full")
}

func untilReady(b *testing.B, p *process, base string) time.Duration {
	b.Helper()
	began := time.Now()
	p.start()
	eventually(b, 30*time.Second, "ready", ready(base))
	return time.Since(began)
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
