package main_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"
)

// BenchmarkConsoleList (goal C1) reads the console's list of 25 events, and the same list by the App call alone, in turn.
// It compares the 95th percentiles. Then it reads each of them many times in a row, and compares the processor time of the
// platform, which is one process with all parts.
//
//	go test -run '^$' -bench '^BenchmarkConsoleList$' -benchtime 1x ./deploy/standalone
func BenchmarkConsoleList(b *testing.B) {
	const events, rounds, blocks, reads = 40, 100, 4, 100 // a session may send 600 requests in a minute
	for b.Loop() {
		p, base := started(b, "APP_RATE_PER_MINUTE=1000000", "BELLBUOY_LOG_LEVEL=warn")
		ada, of := welcomed(b, p, base)
		var made struct{ Component struct{ ID string } }
		send(b, http.MethodPost, base+"/app/components", of.app(), map[string]any{"name": "Checkout"}).expect(b, http.StatusCreated).into(b, &made)
		for i := range events {
			send(b, http.MethodPost, base+"/app/events", of.app(), map[string]any{
				"type": "incident", "title": fmt.Sprintf("Payments fail in region %d", i), "affectedComponents": []any{map[string]any{"componentId": made.Component.ID}},
			}).expect(b, http.StatusCreated)
		}
		// read sends a GET request and returns the time until its body has arrived.
		read := func(address string, header http.Header) time.Duration {
			request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, address, nil)
			if err != nil {
				b.Fatal(err)
			}
			request.Header = header
			began := time.Now()
			response, err := ada.client.Do(request)
			if err != nil {
				b.Fatal(err)
			}
			defer response.Body.Close()
			if n, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK || n < 5000 {
				b.Fatalf("%s: %d, %d bytes, %v", address, response.StatusCode, n, err)
			}
			return time.Since(began)
		}
		page := func() time.Duration { return read(ada.origin+"/console/events", http.Header{}) }
		call := func() time.Duration {
			return read(base+"/app/events?active=true&limit=25", http.Header{"Authorization": {of.app()}})
		}
		var pages, calls []time.Duration
		for range rounds {
			pages, calls = append(pages, page()), append(calls, call())
		}
		spent := func(read func() time.Duration) time.Duration {
			before := p.quiet()
			for range reads {
				read()
			}
			return p.quiet() - before
		}
		var ofPages, ofCalls time.Duration
		for range blocks {
			ofPages, ofCalls = ofPages+spent(page), ofCalls+spent(call)
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(ms(percentile(pages, 95)), "ms-p95-page")
		b.ReportMetric(ms(percentile(calls, 95)), "ms-p95-call")
		b.ReportMetric(float64(percentile(pages, 95))/float64(percentile(calls, 95)), "p95-ratio")
		b.ReportMetric(ms(ofPages/blocks/reads), "ms-cpu-page")
		b.ReportMetric(ms(ofCalls/blocks/reads), "ms-cpu-call")
		b.ReportMetric(float64(ofPages)/float64(ofCalls), "cpu-ratio")
	}
}
