package gateway

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/etag"
	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// BenchmarkFile reports the time and the allocations of a hit after the edition is confirmed.
func BenchmarkFile(b *testing.B) {
	pages := newPages(nil, nil, nil, 64<<20, time.Now)
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
