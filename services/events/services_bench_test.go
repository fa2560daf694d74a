package events_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// BenchmarkServices measures POST service over HTTP, by one client and by 8 concurrent clients, for an
// organization with 750 services on its dashboard:
//
//	go test -run NONE -bench Services -benchtime 1x .
func BenchmarkServices(b *testing.B) {
	const there, each = 750, 5
	p := start(b, startBroker(b))
	post := func(n int) (took []time.Duration) {
		for range n {
			begun := time.Now()
			p.must(201, "", "POST", "/api/v1/service/", `{"service_name": "API", "description": "What it is, in some words."}`)
			took = append(took, time.Since(begun))
		}
		return took
	}
	var setup sync.WaitGroup
	for range 25 {
		setup.Go(func() { post(there / 25) })
	}
	setup.Wait()
	for _, clients := range []int{1, 8} {
		b.Run(fmt.Sprintf("%d clients", clients), func(b *testing.B) {
			for b.Loop() {
				var all []time.Duration
				var mu sync.Mutex
				var group sync.WaitGroup
				for range clients {
					group.Go(func() {
						took := post(each)
						mu.Lock()
						defer mu.Unlock()
						all = append(all, took...)
					})
				}
				group.Wait()
				b.ReportMetric(median(all).Seconds()*1e3, "ms-median")
				b.ReportMetric(slices.Max(all).Seconds()*1e3, "ms-longest")
			}
		})
	}
}
