package gateway

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/etag"
	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// BenchmarkPage compares the page of a dashboard at the gateway, with the question for the edition, trace and log, with
// a handler of net/http that writes the same bytes with the same headers (bare). It runs the two in turn, five times,
// with 64 clients over kept connections. It reports the medians of the requests per second and of the processor time,
// and their ratios:
//
//	go test -run NONE -bench BenchmarkPage -benchtime 1x ./...
func BenchmarkPage(b *testing.B) {
	const clients, rounds, span = 64, 5, 2 * time.Second
	w := newWorld(b)
	body := []byte(strings.Repeat("a page of 24 KB\n", 24<<10/16))
	newPublication(w)
	serve := w.services[events].handler.Load()
	w.services[events].handle(func(out http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "/files/") {
			(*serve)(out, r)
			return
		}
		out.Header().Set("Content-Encoding", r.Header.Get("Accept-Encoding"))
		out.Header().Set("Content-Security-Policy", policy)
		send(out, r, htmlType, body)
	})
	d := w.gateway(b, func(c *Config) { c.Log = w.config(b, io.Discard).Log })
	g := d.get(b, "/d/main/", map[string]string{"Accept-Encoding": codingBrotli})
	wantStatus(b, g, http.StatusOK)
	bare := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		for name, values := range g.header {
			if name != "Date" {
				out.Header()[name] = values
			}
		}
		out.Write(body)
	}))
	defer bare.Close()

	request := "GET /d/main/ HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: bench\r\nAccept: */*\r\nAccept-Encoding: gzip, deflate, br\r\n\r\n"
	subjects := []struct{ name, base string }{{"gateway", d.base}, {"bare", bare.URL}}
	rates, costs := map[string][]float64{}, map[string][]float64{}
	for b.Loop() {
		for range rounds {
			for _, subject := range subjects {
				before := processorTime(b)
				rate, failed := load(b, strings.TrimPrefix(subject.base, "http://"), []byte(request), clients, span)
				if failed > 0 {
					b.Fatalf("%s: %d responses that are not 200", subject.name, failed)
				}
				rates[subject.name] = append(rates[subject.name], rate)
				costs[subject.name] = append(costs[subject.name], float64(processorTime(b)-before)/(rate*span.Seconds()))
			}
		}
	}
	median := func(all []float64) float64 { return slices.Sorted(slices.Values(all))[len(all)/2] }
	for _, subject := range subjects {
		b.ReportMetric(median(rates[subject.name]), subject.name+"-req/s")
		b.ReportMetric(median(costs[subject.name])/1000, subject.name+"-cpu-us")
	}
	b.ReportMetric(median(rates["gateway"])/median(rates["bare"]), "of-bare")
	b.ReportMetric(median(costs["bare"])/median(costs["gateway"]), "of-bare-by-cpu")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkFile reports the time and the allocations of a hit after the edition is confirmed.
func BenchmarkFile(b *testing.B) {
	pages := newPages(nil, nil, nil, time.Now)
	body := []byte(strings.Repeat("x", 24<<10))
	of := &edition{Edition: peer.Edition{ID: "e1", Number: 1, DashboardID: "d1"}}
	header := http.Header{"Etag": {etag.Of(body)}, "Content-Type": {htmlType}, "Content-Length": {strconv.Itoa(len(body))}}
	pages.keep(pageKey{uri: "d1", coding: codingBrotli}, pages.file(question{edition: of}, http.StatusOK, header, body), true)
	b.ReportAllocs()
	for b.Loop() {
		coding := codingFor([]string{"gzip, deflate, br"})
		if out, stale, err := pages.fileOf(b.Context(), of, false, "", coding, "id"); out == nil || stale || err != nil {
			b.Fatal(err)
		}
	}
}
