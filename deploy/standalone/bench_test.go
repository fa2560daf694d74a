package main_test

import (
	"net/http"
	"slices"
	"testing"
	"time"
)

// BenchmarkFirstStart (goal P3) measures the time from the start of the built binary to the
// first 200 of /readyz: on an empty data folder, including the records and credentials of the
// first start, and on a full folder after a kill -9.
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

// BenchmarkFirstArrival (goal D2) posts incidents through the gateway, one after the other. It measures the time
// from the response to the arrival of the signed request at the receiver.
func BenchmarkFirstArrival(b *testing.B) {
	r, env := startReceiver(b)
	p, base := standalone(b, env...)
	p.start()
	eventually(b, 30*time.Second, "ready", ready(base))
	a := actor{b, seeded(b, p)}
	uri, id := a.service("Checkout")
	a.endpoint("https://"+receiverHost+"/hooks/1", id)
	var took []time.Duration
	post := func(n int) time.Duration {
		send(b, http.MethodPost, base+"/api/v1/event/list/", a.legacy(), incident(uri, "slow")).expect(b, http.StatusCreated)
		answered := time.Now()
		return arrived(b, r, n)[n-1].At.Sub(answered)
	}
	post(1) // opens the connections before the measurement
	for b.Loop() {
		took = append(took, post(len(took)+2))
	}
	slices.Sort(took)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-median")
	b.ReportMetric(float64(took[(len(took)-1)*99/100].Microseconds())/1000, "ms-p99")
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
